import numpy as np
import pytest

from soft_arm_control.tip.command_shaper import PERIOD_S, CommandShaper

LIMITS = np.array([[-96e3] * 2, [96e3] * 2])


class Valve:
    """Valves with these dynamics, and with gain and offset that the controller does not know."""

    def __init__(self, dynamics, gain=1.0, offset_pa=0.0):
        self.dynamics, self.gain, self.offset_pa = dynamics, gain, offset_pa
        self.pressure_pa, self.sent_pa = np.zeros(2), [np.zeros(2)]

    def step(self, command_pa):
        self.sent_pa.append(command_pa)
        for _ in range(20):
            rate = (
                self.sent_pa[-2] * self.gain + self.offset_pa - self.pressure_pa
            ) / self.dynamics.valve_time_constant_s
            self.pressure_pa = self.pressure_pa + PERIOD_S / 20 * np.clip(
                rate, *np.array([-1, 1]) * self.dynamics.valve_rate_limit_pa_s
            )


def run(shaper, valve, wanted_pa, duration_s):
    seen = []
    for _ in range(round(duration_s / PERIOD_S)):
        valve.step(shaper.step(wanted_pa, valve.pressure_pa))
        seen.append(valve.pressure_pa)
    return np.array(seen)


def test_a_large_step_arrives_near_the_rate_limit_without_overshoot(dynamics):
    wanted_pa = np.array([60e3, -30e3])
    seen = run(CommandShaper(dynamics, LIMITS, np.zeros(2)), Valve(dynamics), wanted_pa, 1.5)
    arrived_s = PERIOD_S * np.flatnonzero(np.abs(seen - wanted_pa).max(axis=1) > 0.02 * 60e3)[-1]
    # Alone the valve takes 0.2 s + 0.2 s * ln(30 / 1.2) = 0.84 s.
    assert arrived_s < 60e3 / 150e3 + 0.25
    assert (np.abs(seen) <= np.abs(wanted_pa) * 1.01).all()


def test_commands_stay_inside_the_limits_and_the_reference_waits_for_the_valve(dynamics):
    shaper, valve = CommandShaper(dynamics, LIMITS, np.zeros(2)), Valve(dynamics)
    for _ in range(100):
        command_pa = shaper.step(np.array([95e3, 96e3]), valve.pressure_pa)
        assert (command_pa <= LIMITS[1]).all() and (command_pa >= LIMITS[0]).all()
        valve.step(command_pa)
    # released from the limit, it leaves at once: nothing has wound up
    seen = run(shaper, valve, np.zeros(2), 0.3)
    assert (seen[-1] < 65e3).all()


@pytest.mark.parametrize(('gain', 'offset_pa'), [(1.02, 0.0), (0.98, 800.0), (1.0, -1500.0)])
def test_the_valves_gain_and_offset_are_taken_off(dynamics, gain, offset_pa):
    wanted_pa = np.array([50e3, -50e3])
    seen = run(
        CommandShaper(dynamics, LIMITS, np.zeros(2)),
        Valve(dynamics, gain, offset_pa),
        wanted_pa,
        4.0,
    )
    assert np.abs(seen[-1] - wanted_pa).max() < 60.0


@pytest.mark.parametrize(('gain', 'offset_pa'), [(0.98, 0.0), (1.0, 900.0), (1.01, -700.0)])
def test_it_knows_what_the_valve_reaches_at_its_limits(dynamics, gain, offset_pa):
    for limit in (0, 1):
        shaper, valve = (
            CommandShaper(dynamics, LIMITS, np.zeros(2)),
            Valve(dynamics, gain, offset_pa),
        )
        seen = run(shaper, valve, LIMITS[limit], 4.0)
        reached_pa = np.clip(seen[-1], *LIMITS)
        assert shaper.reachable_pa[limit] == pytest.approx(reached_pa, abs=60.0)
