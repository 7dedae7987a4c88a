"""Goals that end while the arm moves: the pressures stop, and the message is true."""

import numpy as np
import pytest

from soft_arm_control.outcome import Outcome
from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_control.tip.controller import ControllerSettings

FREE = (True,) * 6
SETTINGS = ControllerSettings(tip_timeout_s=0.2)  # lost while the arm moves at full velocity
REST_S = 0.4
RATE_LIMIT_PA_S = 150e3
NOISE_PA = 300.0  # of six sensors, and of the stop
TRAVEL_M = 0.03  # of the tip after the end, when the upper module moves


def stop(loop, reason, moving_s, lengths_m):
    """Move, end the goal after a time; return its last status."""
    if reason == 'cancel':
        loop.controller.start(loop.goal(lengths_m, FREE, 1e-6), loop.now_s)
        loop.run(moving_s)
        return loop.controller.cancel(loop.now_s)
    if reason == 'tip':  # measured since the goal started; else the arm would return first
        loop.controller.start(loop.goal(lengths_m, FREE, 1e-6), loop.now_s)
        loop.run(0.1 + moving_s)
        loop.tip = False
    else:
        setattr(loop, reason, False)
        loop.run({'camera': 0.8, 'driver': 0.3}[reason] - moving_s)
        loop.controller.start(loop.goal(lengths_m, FREE, 1e-6), loop.now_s)
    status = loop.until_end(1.0)
    setattr(loop, reason, True)
    return status


def pressures_pa(loop, duration_s):
    """Run; return the pressures of each tick (k, 6)."""
    seen_pa = []
    for _ in range(round(duration_s / PERIOD_S)):
        loop.run(PERIOD_S)
        seen_pa.append(loop.plant.robot.pressures_pa)
    return np.array(seen_pa)


@pytest.mark.parametrize(
    ('reason', 'outcome', 'delay_periods'),
    [
        ('cancel', Outcome.CANCELLED, 2),  # the command of this tick has been sent
        ('tip', Outcome.TIP_LOST, 1),
        ('camera', Outcome.CAMERA_STALE, 1),
    ],
)
def test_the_pressures_stop_where_they_are(make_loop, reason, outcome, delay_periods):
    random = np.random.default_rng(5)
    for plant_seed in (21, 22):
        loop = make_loop(plant_seed, settings=SETTINGS)
        low_m, high_m = loop.arm.length_limits_m
        for _ in range(4):
            shares = np.append(np.full(3, 0.3), random.uniform(0.0, 1.0, 3))
            lengths_m = low_m + shares * (high_m - low_m)
            status = stop(loop, reason, random.uniform(0.1, 0.28), lengths_m)
            assert status.outcome is outcome
            stopped_pa, tip_m = loop.plant.robot.pressures_pa, loop.tips_m[-1]
            beyond_pa = np.abs(pressures_pa(loop, 1.0) - stopped_pa).max(axis=1)
            # As far as the valves go until the next command reaches them, not to the lead.
            assert beyond_pa.max() < delay_periods * PERIOD_S * RATE_LIMIT_PA_S + NOISE_PA
            assert beyond_pa[round(REST_S / PERIOD_S) :].max() < 2 * NOISE_PA
            travels_m = np.linalg.norm(np.array(loop.tips_m[-50:]) - tip_m, axis=1)
            assert travels_m.max() < TRAVEL_M


@pytest.mark.parametrize('scaling', [1.0, 0.4])
def test_pressures_move_at_the_velocity_scaling(make_loop, scaling):
    loop = make_loop(21)
    low_m, high_m = loop.arm.length_limits_m
    middle_m = (low_m + high_m) / 2
    goal = loop.goal(middle_m, FREE, open_loop=True, velocity_scaling=scaling)
    loop.controller.start(goal, loop.now_s)
    rates_pa_s = np.abs(np.diff(pressures_pa(loop, 1.0), axis=0)).max(axis=1) / PERIOD_S
    assert rates_pa_s.max() == pytest.approx(scaling * RATE_LIMIT_PA_S, rel=0.08)
    loop.run(3.0)
    loop.controller.start(loop.goal(low_m, FREE, open_loop=True), loop.now_s)
    rates_pa_s = np.abs(np.diff(pressures_pa(loop, 1.0), axis=0)).max(axis=1) / PERIOD_S
    assert rates_pa_s.max() == pytest.approx(RATE_LIMIT_PA_S, rel=0.08)


@pytest.mark.parametrize('reason', ['cancel', 'tip', 'driver'])
def test_the_next_goal_starts_without_a_transient(make_loop, reason):
    loop = make_loop(21, settings=SETTINGS)
    low_m, high_m = loop.arm.length_limits_m
    stop(loop, reason, 0.25, low_m + 0.7 * (high_m - low_m))
    loop.run(2.0)
    resting_pa = loop.plant.robot.pressures_pa
    here_m = loop.arm.lengths(loop.arm.clip_pressures(loop.controller.measured_pa))
    loop.controller.start(loop.goal(here_m, FREE, open_loop=True), loop.now_s)
    assert np.abs(pressures_pa(loop, 0.5) - resting_pa).max() < 2 * NOISE_PA


def test_a_goal_that_ends_before_its_first_command_commands_nothing(make_loop):
    loop = make_loop(21)
    loop.camera = False
    loop.run(1.0)
    loop.controller.start(loop.goal(loop.arm.length_limits_m[1], FREE), loop.now_s)
    assert loop.run(PERIOD_S).outcome is Outcome.CAMERA_STALE
    loop.run(0.2)
    assert loop.controller.applied_pa is None


def test_pressures_that_are_not_measured_any_more_do_not_mislead_the_valves(make_loop):
    """Between the last measured pressures and the end of the goal the valves go by their model."""
    loop = make_loop(21)
    low_m, high_m = loop.arm.length_limits_m
    goal = loop.goal(low_m + 0.6 * (high_m - low_m), FREE, open_loop=True)
    loop.controller.start(goal, loop.now_s)
    loop.run(0.3)
    loop.driver = False
    loop.until_end(1.0)
    stopped_pa = loop.plant.robot.pressures_pa
    beyond_pa = np.abs(pressures_pa(loop, 0.6) - stopped_pa)
    assert beyond_pa[round(REST_S / PERIOD_S) :].max() < PERIOD_S * RATE_LIMIT_PA_S
