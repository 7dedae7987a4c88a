"""Identification of simulated arms whose parameters are known."""

from dataclasses import replace

import numpy as np
import pytest

from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_description.calibration import load_calibration
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_identification.cli.identify import main
from soft_arm_identification.errors import RecordingError
from soft_arm_identification.identify.bellows_model import BellowsModel
from soft_arm_identification.identify.estimate import estimate
from soft_arm_identification.identify.identification import identify
from soft_arm_identification.identify.result_files import save, summary
from soft_arm_identification.identify.unknowns import Unknown
from soft_arm_identification.recording import Channels, Recording
from soft_arm_kinematics.calibration.pressure_length import PressureLength
from soft_arm_physics.pneumatic_arm import pneumatic_arm

SEED, STEP_S, NOISE_M = 4, 0.02, 2e-4
LONGER, WIDER, HELD = 1.03, 1.06, 'm2_b3'


def changed_robot(robot):
    """The arm that is recorded: its bellows are longer and further apart than in the file."""
    segments = []
    for segment in robot.segments:
        a = segment.actuators
        curve = {'length_m': tuple(LONGER * length for length in a.curve.length_m)}
        values = {
            'centre_radius_m': WIDER * a.centre_radius_m,
            'curve': a.curve.model_copy(update=curve),
        }
        segments.append(segment.model_copy(update={'actuators': a.model_copy(update=values)}))
    return robot.model_copy(update={'segments': tuple(segments)})


def record(robot, duration_s):
    """Recording of a simulated arm under random ramps of all pressures but one."""
    arm, random = pneumatic_arm(robot, SEED), np.random.default_rng(SEED)
    low_pa, high_pa = robot.pressure_limits_pa
    knots_s = np.arange(0.0, duration_s + 4.0, 2.0)
    knots_pa = random.uniform(0.7 * low_pa, 0.7 * high_pa, (len(knots_s), len(low_pa)))
    knots_pa[0] = 0.0
    knots_pa[:, robot.chambers.index(HELD)] = 0.0
    times_s = np.arange(0.0, duration_s, STEP_S)
    commands_pa = np.column_stack([np.interp(times_s, knots_s, k) for k in knots_pa.T])
    measured_pa, tips_m = [], []
    for command_pa in commands_pa:
        measured_pa.append(arm.robot.sensor_pressures_pa())
        tips_m.append(arm.robot.T_base_tip()[:3, 3] + NOISE_M * random.standard_normal(3))
        arm.robot.actuate(command_pa)
        arm.step(STEP_S)
    units = ('Pa',) * len(low_pa)
    return Recording(
        'run',
        times_s,
        Channels(robot.chambers, units, commands_pa),
        Channels(robot.chambers, units, np.array(measured_pa)),
        ('tip',),
        np.array(tips_m)[:, None],
        np.full((len(times_s), 1, 4), np.nan),
        0.2,
    )


@pytest.fixture(scope='module')
def robot():
    return load_robot('two_module_arm')


@pytest.fixture(scope='module')
def recording(robot):
    return record(changed_robot(robot), 40.0)


@pytest.fixture(scope='module')
def identified(robot, recording):
    return identify(robot, [recording])


def test_the_model_predicts_what_it_has_not_seen(identified):
    assert identified.before_mean_m > 5e-3
    assert identified.held_out_mean_m < 1e-3


def test_parameters_are_found(identified, robot):
    radius_m = robot.segments[0].actuators.centre_radius_m
    for segment in robot.segments:
        found_m = identified.value(f'{segment.name}.centre_radius')
        assert found_m == pytest.approx(WIDER * radius_m, rel=0.03)
    assert identified.value('valve_time_constant') == pytest.approx(0.2, rel=0.05)
    assert identified.value('hysteresis_3.threshold') == pytest.approx(20e3, rel=0.05)
    assert identified.value('creep_share') == pytest.approx(0.03, abs=0.015)
    assert identified.value('frequency_scale') == pytest.approx(1.0, abs=0.05)


def test_derived_values_are_found(identified):
    derived = summary(identified)['derived']
    for name, true, within in (
        ('half-width of the hysteresis', 0.158 * 4e3 + 0.126 * 10e3 + 0.095 * 20e3, 0.05),
        ('dynamic / static stiffness', 1.0, 0.1),
    ):
        low, high = derived[name]['interval_95']
        assert low < derived[name]['value'] < high
        assert derived[name]['value'] == pytest.approx(true, rel=within)


def test_what_the_motion_does_not_excite_is_not_determined(identified):
    parameters = summary(identified)['parameters']
    assert not parameters[f'{HELD}.valve_gain']['determined']
    assert not parameters['valve_rate_limit']['determined']  # the ramps are too slow
    assert parameters['m1_b1.valve_gain']['determined']
    assert parameters['m1_b1.slope']['determined']


def test_each_cause_contributes(identified):
    whole_m = identified.causes_m['']
    assert identified.causes_m['hysteresis'] > 3.0 * whole_m
    assert identified.causes_m['gravity'] > 3.0 * whole_m
    assert identified.causes_m['swing'] > 1.5 * whole_m


def test_the_result_is_a_rig(identified, tmp_path):
    save(identified, tmp_path / 'rig', 'virtual')
    rig = load_rig(tmp_path / 'rig')
    robot = load_robot(tmp_path / 'rig/robot.yaml')
    curves = load_calibration(rig, PressureLength, robot).values
    dynamics = load_calibration(rig, Dynamics, robot).values
    assert curves.chambers['m1_b1'].curve.value_0 == identified.value('m1_b1.length')
    assert dynamics.valve_time_constant_s == pytest.approx(0.2, rel=0.05)
    assert (tmp_path / 'rig/tip.png').stat().st_size > 0
    assert 'not determined' in (tmp_path / 'rig/report.md').read_text()


def test_derivatives_agree_with_differences_of_predictions(robot, recording):
    model = BellowsModel(robot, [recording.at(recording.time_s < 6.0)], poses=60)
    x = np.array([unknown.guess for unknown in model.unknowns])
    model.prepare(x)
    derivatives = model.derivatives(x)
    for name in ('base_rotation_x', 'module_2.effective_area', 'm1_b2.length', 'creep_share'):
        i = [unknown.name for unknown in model.unknowns].index(name)
        step = 1e-3 * model.unknowns[i].spread * np.eye(len(x))[i]
        difference = (model.predict(x + step) - model.predict(x - step)) / (2.0 * step[i])
        error = np.linalg.norm(derivatives[..., i] - difference) / np.linalg.norm(difference)
        assert error < 0.01, name


def test_hysteresis_is_first_sought_within_the_recorded_pressures(robot, recording):
    """Half-widths guessed from the robot's limits led to a wrong minimum for small pressures."""
    channels = recording.measured
    small = Channels(channels.names, channels.units, 0.25 * channels.values)
    widest_pa = []
    for measured in (channels, small):
        unknowns = BellowsModel(robot, [replace(recording, measured=measured)]).unknowns
        widest_pa.append(max(u.guess for u in unknowns if u.name.endswith('.threshold')))
    assert widest_pa[1] == pytest.approx(0.25 * widest_pa[0])
    assert widest_pa[1] < np.ptp(small.values, axis=0).max() / 2.0


def test_commands_pass_the_valves_of_the_model(robot, recording):
    empty = Channels((), (), np.empty((len(recording.time_s), 0)))
    measured = BellowsModel(robot, [recording])
    commanded = BellowsModel(robot, [replace(recording, measured=empty)])
    assert commanded.commanded and not measured.commanded
    expected_m = measured.predict(np.array([unknown.guess for unknown in measured.unknowns]))
    errors_m = []
    for valve in ({'time_constant': 0.2, 'delay': 0.0}, {'time_constant': 0.6, 'delay': 0.0}):
        at = {f'valve_{key}': value for key, value in valve.items()}
        x = np.array([at.get(unknown.name, unknown.guess) for unknown in commanded.unknowns])
        errors_m.append(np.linalg.norm(commanded.predict(x) - expected_m, axis=1).mean())
    assert errors_m[0] < 3e-3
    assert errors_m[1] > 4.0 * errors_m[0]


class Line:
    """y = a + b t with correlated errors, and a parameter that has no effect.

    With `model_error`, a smooth function of the time, drawn with this standard deviation, is added.
    """

    def __init__(self, seed, model_error=0.0, least_error=0.0, samples=400):
        random = np.random.default_rng(seed)
        self.least_error = least_error
        self.unknowns = [Unknown(name, '1', 0.0, 10.0) for name in ('a', 'b', 'nothing')]
        self.truth, self.lengths = np.array([1.0, -2.0, 0.0]), [samples]
        self._times = np.linspace(0.0, 1.0, samples)
        rows = np.stack([np.ones(samples), self._times, np.zeros(samples)], axis=1)
        self._rows = rows[:, None]
        errors = np.zeros(samples)
        for t in range(1, samples):
            errors[t] = 0.8 * errors[t - 1] + 0.1 * random.standard_normal()
        frequencies, phases = random.normal(0.0, 2.5, 50), random.uniform(0.0, 2.0 * np.pi, 50)
        waves = np.cos(np.outer(self._times, frequencies) + phases) @ random.standard_normal(50)
        errors += model_error * np.sqrt(2.0 / 50) * waves
        self.values = self.predict(self.truth) + errors[:, None]

    def prepare(self, x):
        pass

    def predict(self, x):
        return self._rows @ x

    def derivatives(self, x):
        return self._rows

    def states(self, x):
        return self._times[:, None]


def scores(**options):
    """Errors of a and b in standard deviations, (100, 2)."""
    found = []
    for seed in range(100):
        line = Line(seed, **options)
        estimated = estimate(line, 1.0, lambda: None)
        assert not estimated.determined[2]
        found.append((estimated.x - line.truth) / estimated.deviations)
    return np.array(found)[:, :2]


def test_intervals_under_correlated_errors():
    errors = scores()
    assert np.mean(np.abs(errors) < 1.96) > 0.9
    assert np.sqrt(np.mean(np.square(errors))) > 0.4  # not too wide either


def test_intervals_under_an_error_of_the_model():
    inside = [np.mean(np.abs(scores(model_error=1.0, least_error=e)) < 1.96) for e in (0.0, 1.0)]
    assert inside[0] < 0.8
    assert 0.9 < inside[1] < 0.99


def test_bad_recordings_are_refused(robot, recording, tmp_path, capsys):
    with pytest.raises(RecordingError, match='some minutes of motion'):
        identify(robot, [recording.at(recording.time_s < 1.0)])
    names = tuple(f'other_{i}' for i in range(6))
    other = Channels(names, recording.inputs.units, recording.inputs.values)
    with pytest.raises(RecordingError, match='chamber m1_b1 of the robot'):
        identify(robot, [replace(recording, inputs=other, measured=other)])
    path = tmp_path / 'run.npz'
    recording.save(path)
    assert main([str(path), '--robot', 'soft_finger', '-o', str(tmp_path / 'out')]) == 2
    assert 'bellows' in capsys.readouterr().err
