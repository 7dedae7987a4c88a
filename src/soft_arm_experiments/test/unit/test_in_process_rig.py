"""A whole rig as one object: deterministic, late as its file says, and safe as the graph."""

import json
import subprocess
import sys

import numpy as np
import pytest
import yaml

from soft_arm_calibration.rig import Rig
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_description.calibration import load_calibration
from soft_arm_description.rig import load_rig
from soft_arm_experiments.arm.experiment_runner import ExperimentRunner, Pace
from soft_arm_experiments.arm.experiments import experiment
from soft_arm_experiments.arm.in_process_rig import InProcessRig, in_process_rig
from soft_arm_experiments.arm.ring_noise import RingNoise, fitted
from soft_arm_experiments.arm.tip_sensors import TipNoiseModel
from soft_arm_experiments.cli.experiment import bend
from soft_arm_kinematics.arm import load_bellows_arm
from soft_arm_sim.cameras.parameters import CONFIG
from soft_arm_sim.delays import load_delays
from soft_arm_sim.devices.valve_board import VENT

SEED = 23
NONE_HELD = [], False, 1e-3, 10.0


@pytest.fixture(scope='module')
def arm():
    return load_bellows_arm('two_module_arm', 'virtual')


def values(kind, arm):
    return load_calibration(load_rig('virtual'), kind, arm.robot).values


@pytest.fixture
def make_rig(arm):
    def make(**delays) -> InProcessRig:
        sensor = TipNoiseModel(values(RingNoise, arm), SEED)
        late = load_delays().model_copy(update=delays)
        return InProcessRig(arm, values(Dynamics, arm), sensor, SEED, late)

    return make


def bent(arm, share):
    low_pa, high_pa = arm.pressure_limits_pa
    pressures_pa = np.zeros(arm.n_actuators)
    pressures_pa[arm.columns[-1][0]] = share * high_pa[arm.columns[-1][0]]
    return arm.lengths(np.clip(pressures_pa, low_pa, high_pa))


def test_the_same_seed_gives_the_same_report_to_the_last_bit(make_rig, arm):
    def report() -> str:
        rig: Rig = make_rig()
        pace = Pace(step_s=2.5, table_7_deg=(90.0,))
        runner = ExperimentRunner(rig, arm, values(Dynamics, arm), pace, lambda _: None)
        return json.dumps(runner.run(experiment(arm, 'bend', 3)).as_json())

    first = report()
    assert report() == first
    found = json.loads(first)
    assert found['clock'] == 'in_process' and found['plant_seed'] == SEED
    assert found['rates_hz'] == {'camera': 30.0, 'valves': 50.0, 'tip_pose': 30.0}
    assert found['closed_loop_mean_m'] < 1e-3 < found['open_loop_mean_m']
    assert found['settle_s'].keys() == found['valve_limit_s'].keys()


def test_the_camera_may_come_from_a_file(arm, tmp_path):
    file = tmp_path / 'camera.yaml'
    camera = yaml.safe_load((CONFIG / 'virtual_camera.yaml').read_text())
    camera['image']['rate_hz'] = 15.0
    file.write_text(yaml.safe_dump(camera))
    rig, given = load_rig('virtual'), {'tip_source': 'colour', 'camera_file': str(file)}
    with in_process_rig(rig, arm, values(Dynamics, arm), SEED, **given) as virtual:
        virtual.wait_until(1.0)
        assert virtual.rates_hz(0.0)['tip_pose'] == 15.0


def test_a_goal_ends_where_it_should_and_its_way_is_recorded(make_rig, arm):
    rig, lengths_m = make_rig(), bent(arm, 0.5)
    start_s, target_m = rig.now_s(), arm.at(lengths_m).tip_m
    ending = rig.move_tip(target_m, lengths_m, *NONE_HELD)
    assert ending() is None
    rig.wait_until(start_s + 4.0)
    assert ending() == (True, '')
    times_s, tips_m = rig.tips(start_s, start_s + 4.0)
    assert len(times_s) == len(tips_m) == 201
    assert times_s[0] == pytest.approx(start_s) and times_s[-1] == pytest.approx(rig.now_s())
    assert np.linalg.norm(tips_m[-1] - target_m) < 2e-3 < np.linalg.norm(tips_m[0] - target_m)


def test_a_goal_that_another_replaces_is_over(make_rig, arm):
    rig, lengths_m = make_rig(), bent(arm, 0.5)
    first = rig.move_tip(arm.at(lengths_m).tip_m, lengths_m, *NONE_HELD)
    rig.wait_until(rig.now_s() + 0.1)
    rig.move_tip(arm.at(lengths_m).tip_m, lengths_m, *NONE_HELD)
    assert first() == (False, '')


def test_a_goal_outside_the_workspace_is_refused(make_rig, arm):
    ending = make_rig().move_tip(np.array([0.0, 0.0, 2.0]), bent(arm, 0.2), *NONE_HELD)
    reached, problem = ending()
    assert not reached and 'target' in problem


@pytest.mark.parametrize('late_s', [0.0, 0.1])
def test_commands_follow_images_by_the_delays_of_the_file(make_rig, arm, late_s):
    rig = make_rig(exposure_to_host_s=late_s, processing_s=0.0)
    lengths_m = bent(arm, 0.3)
    rig.move_tip(arm.at(lengths_m).tip_m, lengths_m, *NONE_HELD)
    rig.wait_until(rig.now_s() + 2.0)
    latency_ms = rig.latency_ms()
    assert 1e3 * late_s < latency_ms['p50'] <= latency_ms['p99'] < 1e3 * late_s + 30


def test_a_foreign_master_vents_the_board_and_the_driver_recovers(make_rig, arm):
    rig, lengths_m = make_rig(), bent(arm, 0.3)
    ending = rig.move_tip(arm.at(lengths_m).tip_m, lengths_m, [], False, 1e-6, 30.0)
    rig.wait_until(1.0)
    assert rig._rig.logic.write(107, [0b111111, 2])  # enable and run, without the holder's code
    rig.wait_until(1.1)
    assert rig._rig.logic.mode == VENT and 'foreign_master' in rig.problems[0]
    rig.wait_until(4.0)
    assert 'driver' in ending()[1]
    assert rig._rig.logic.mode == VENT  # a fault of another kind than the watchdog stays latched


def test_calibrated_noise_is_found_again():
    random = np.random.default_rng(8)
    places_m = random.uniform(-0.1, 0.1, (20_000, 3)) + (0.0, 0.0, 0.2)
    covariance_m2 = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 9.0]]) * 1e-8
    noise = RingNoise(
        middle_m=(0.0, 0.01, 0.2),
        offset_m=(1e-4, -2e-4, 3e-4),
        slope=((2e-3, 0.0, 1e-3), (0.0, -1e-3, 0.0), (5e-4, 0.0, 3e-3)),
        covariance_m2=tuple(map(tuple, covariance_m2.tolist())),
        correlation=0.3,
        stated_covariance_m2=tuple(map(tuple, covariance_m2.tolist())),
    )
    errors = noise.errors(random)
    errors_m = np.array([errors.at(place_m) for place_m in places_m])
    stated_m2 = np.tile(errors.covariance_m2, (len(places_m), 1, 1))
    found, residuals = fitted(places_m, errors_m, stated_m2)
    assert found.covariance_m2 == pytest.approx(covariance_m2, abs=3e-9)
    assert found.slope == pytest.approx(np.array(noise.slope), abs=2e-4)
    assert found.correlation == pytest.approx(0.3, abs=0.03)
    assert residuals['sigma_z_m'] == pytest.approx(3e-4, rel=0.05)
    shift_m = np.array(found.slope) @ (np.array(noise.middle_m) - found.middle_m)
    assert found.offset_m + shift_m == pytest.approx(np.array(noise.offset_m), abs=2e-5)


def test_the_command_runs_without_ros(tmp_path):
    code = (
        'import sys\n'
        'from soft_arm_experiments.cli.experiment import bend\n'
        f"assert bend(['--in-process', '--pose-noise', '--quick', '--steps', '2', '--json',"
        f" '--report', {str(tmp_path)!r}]) == 0\n"
        "assert 'rclpy' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found['clock'] == 'in_process' and len(found['steps']) == 2
    assert (tmp_path / 'bend_1' / 'report.md').exists()


def test_pose_noise_needs_a_rig_in_this_process(capsys):
    assert bend(['--pose-noise']) == 2
    assert '--in-process' in capsys.readouterr().err
