"""Plant and board in simulated time: images and drives are as late as the file says."""

import numpy as np
import pytest

from soft_arm_description.robot import load_robot
from soft_arm_physics import Pneumatics, Simulation, load_pneumatics
from soft_arm_physics.errors import PhysicsError
from soft_arm_sim.delays import Delays, load_delays
from soft_arm_sim.devices.valve_board import HOLD, KEY, RUN, SETTINGS_START, VENT
from soft_arm_sim.stepped_rig import TICK_S, SteppedRig

RATE_HZ = 30.0
VALVE = load_pneumatics('two_module_arm').valve
IDEAL = Pneumatics(valve=VALVE.model_copy(update={'gain_std': 0.0, 'offset_std_pa': 0.0}))
NO_DELAY = Delays(exposure_to_host_s=0.0, processing_s=0.0, drive_to_valve_s=0.0)
HELD = [1, 1] + [0] * 10  # a key and no name


def rig_of(delays: Delays) -> SteppedRig:
    return SteppedRig(Simulation(load_robot('two_module_arm'), pneumatics=IDEAL), delays, RATE_HZ)


def drive(rig: SteppedRig, target_pa: float, mode: int = RUN) -> None:
    """Hold the board, as a driver does, and let it drive every channel to one pressure."""
    targets = SETTINGS_START
    first = targets + rig.channels
    code = 0
    assert rig.logic.write(first + KEY, HELD) == 0
    for values in ([0b111111, mode], None):
        code = (code * 5 + 1) & 0xFFFF  # of the key (1, 1)
        if values is not None:
            assert rig.logic.write(first, [code, *values]) == 0
        else:
            counts = [int(target_pa / 10) & 0xFFFF] * rig.channels
            assert rig.logic.write(targets, [*counts, code]) == 0


@pytest.mark.parametrize('late_s', [0.0, 0.030, 0.045])
def test_an_image_arrives_when_the_delays_are_over(late_s):
    rig = rig_of(NO_DELAY.model_copy(update={'exposure_to_host_s': late_s}))
    arrived = []
    for _ in range(100):
        arrived += [(rig.time_s, exposure) for exposure in rig.advance()]
    stamps_s = [exposure.stamp_s for _, exposure in arrived]
    assert stamps_s == [k / RATE_HZ for k in range(len(stamps_s))] and len(stamps_s) >= 28
    for arrived_s, exposure in arrived[1:]:  # the first is exposed at the start, before any tick
        assert late_s - 1e-6 <= arrived_s - exposure.stamp_s < late_s + TICK_S - 1e-6


def test_processing_counts_as_the_way_to_the_host_does():
    delays = load_delays()
    assert delays.image_s == pytest.approx(delays.exposure_to_host_s + delays.processing_s)


def test_an_exposure_shows_the_arm_as_it_was_then():
    rig = rig_of(NO_DELAY.model_copy(update={'exposure_to_host_s': 0.2}))
    drive(rig, 40e3)
    seen, tips_m = [], {}
    for _ in range(60):
        seen += rig.advance()
        tips_m[round(rig.time_s, 3)] = rig.snapshot().T_base_tip
    at_100_ms = [exposure for exposure in seen if abs(exposure.stamp_s - 0.1) < 1e-6]
    assert at_100_ms[0].T_base_tip == pytest.approx(tips_m[0.1], abs=1e-12)
    assert np.abs(tips_m[0.3] - tips_m[0.1]).max() > 1e-3  # it moved meanwhile


@pytest.mark.parametrize('late_s', [0.0, 0.020, 0.050])
def test_drives_reach_the_valves_later(late_s):
    rig = rig_of(NO_DELAY.model_copy(update={'drive_to_valve_s': late_s}))
    for _ in range(10):
        rig.advance()
    drive(rig, 40e3)
    started_s, chambers = rig.time_s, rig._plant.state.chambers
    while not chambers.target_pa.any():
        rig.advance()
    assert rig.time_s - started_s == pytest.approx(late_s + TICK_S, abs=1e-9)


def test_the_watchdog_of_the_board_counts_simulated_time():
    rig = rig_of(load_delays())
    rig.advance()
    drive(rig, 40e3)
    started_s = rig.time_s
    while rig.logic.mode != VENT:
        assert rig.time_s < started_s + 1.0
        rig.advance()
    watchdog_s = 1e-3 * rig.logic.watchdog_ms
    assert watchdog_s <= rig.time_s - started_s <= watchdog_s + TICK_S
    assert not rig.logic.held and rig.logic.faults


def test_the_board_starts_vented_and_hold_drives_nothing():
    rig = rig_of(load_delays())
    assert rig.logic.mode == VENT and rig.time_s == 0.0
    drive(rig, 40e3, HOLD)
    for _ in range(10):
        rig.advance()
    assert not rig._plant.state.chambers.target_pa.any()


def test_a_delay_below_zero_is_refused(tmp_path):
    file = tmp_path / 'delays.yaml'
    file.write_text('exposure_to_host_s: -0.01\nprocessing_s: 0.0\ndrive_to_valve_s: 0.0\n')
    with pytest.raises(PhysicsError, match='exposure_to_host_s'):
        load_delays(file)
