"""The PCU2-V, pneumatic controller of a gripper: one chamber between a positive supply and a vacuum, each behind a trigger.

It has neither faults nor a run mode of its own. Its set points are read back in every cycle: when they are not those that were written,
somebody else writes too, its own watchdog has tripped, or it was restarted; in any case it is vented.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pneumatic_driver.device import Device, Exchange
from pneumatic_driver.errors import RegisterMapError
from pneumatic_driver.register import SI_PER_UNIT
from pneumatic_driver.register_map import RegisterMap, Value

_TARGETS = 'positive_target', 'negative_target'
_TRIGGERS = 'positive_trigger', 'negative_trigger'
_LONGEST_STEP_S = 0.1  # a longer pause between two cycles does not let the pressure jump


@dataclass(frozen=True)
class Pcu2vExchange(Exchange):
    """What one cycle with a PCU2-V brought: beside the pressure the four values that can be written, as read back.

    Attributes:
        positive_target_pa: Set point of the positive supply [Pa].
        negative_target_pa: Set point of the vacuum [Pa].
        positive_trigger: Whether the positive supply is on.
        negative_trigger: Whether the vacuum is on.
    """

    positive_target_pa: float
    negative_target_pa: float
    positive_trigger: bool
    negative_trigger: bool


class Pcu2v(Device):
    """A PCU2-V; see `Device`. Its one set point is signed: > 0 positive supply, < 0 vacuum, 0 both off, which vents.

    Between supply and vacuum lies at least one cycle in which the device has said that both triggers are off.
    """

    def __init__(self, register_map: RegisterMap, accept_unverified_map: str = ''):
        super().__init__(register_map, accept_unverified_map, ('pressure', *_TARGETS, *_TRIGGERS), 1)
        (low_kpa, high_kpa), registers = register_map.limits.pressure_kpa, register_map.registers
        for name, limit_kpa in zip(_TARGETS, (high_kpa, low_kpa), strict=True):
            register = registers[name]
            range_pa = [limit * SI_PER_UNIT[register.unit] for limit in register.range or (0.0, 0.0)]
            if not range_pa[0] <= 1e3 * limit_kpa <= range_pa[1]:
                raise RegisterMapError(
                    f'register map {register_map.device.name!r}: pressure_kpa allows {limit_kpa:g} kPa, register {name!r} only '
                    f'[{range_pa[0]:g}, {range_pa[1]:g}] Pa: correct one of them'
                )
        self._slew_pa_s = 1e3 * register_map.limits.slew_kpa_s
        self._forget()

    def _forget(self) -> None:
        self._applied_pa, self._applied_s = 0.0, None
        self._maybe_on = {'positive_trigger', 'negative_trigger'}  # until the device has said otherwise

    def close(self) -> None:
        """Close the connection; what the device holds is unknown from now on."""
        super().close()
        self._forget()

    async def enable(self) -> None:
        """Let it follow set points, from ambient pressure; see `Device.enable`."""
        await super().enable()
        self._applied_pa, self._applied_s = 0.0, None

    async def vent(self) -> None:
        """Both triggers off, then both targets 0."""
        self._applied_pa, self._applied_s = 0.0, None
        await super().vent()

    def _rounded(self, targets_pa: np.ndarray) -> np.ndarray:
        register = self.map.registers[_TARGETS[0] if targets_pa[0] >= 0 else _TARGETS[1]]
        return np.array([register.si(register.raw(targets_pa[0]))])

    def _set_points(self, targets_pa: np.ndarray) -> tuple[dict[str, Value], np.ndarray]:
        now_s = time.monotonic()
        step_pa = self._slew_pa_s * min(now_s - (self._applied_s or now_s), _LONGEST_STEP_S)
        low_pa, high_pa = self._applied_pa - step_pa, self._applied_pa + step_pa
        wanted_pa = self._rounded(np.clip(targets_pa, low_pa, high_pa))
        own, other = _TRIGGERS if wanted_pa[0] > 0 else _TRIGGERS[::-1]
        if wanted_pa[0] * self._applied_pa < 0 or (wanted_pa[0] and other in self._maybe_on):
            wanted_pa = np.zeros(1)  # first both off, and see that they are
        self._applied_pa, self._applied_s = float(wanted_pa[0]), now_s
        self._maybe_on |= {own} if wanted_pa[0] else set()
        registers = self.map.registers
        return {name: value / SI_PER_UNIT[registers[name].unit] for name, value in self._four_values().items()}, wanted_pa

    def _four_values(self) -> dict[str, float]:
        """What the device is told now, in SI units."""
        return {
            'positive_target': max(self._applied_pa, 0.0),
            'negative_target': min(self._applied_pa, 0.0),
            'positive_trigger': float(self._applied_pa > 0),
            'negative_trigger': float(self._applied_pa < 0),
        }

    def _read_out(self, state: Mapping, at_s: float, round_trip_s: float, applied_pa: np.ndarray | None) -> Pcu2vExchange:
        on = {name for name in _TRIGGERS if state[name]}
        pressures_pa = np.array([state['pressure']])
        asked_pa = state['positive_target'] * state['positive_trigger'] + state['negative_target'] * state['negative_trigger']
        found = self._sensors.faults(at_s, pressures_pa, np.array([asked_pa]) if self.enabled else None)
        found = self._latch(found + (['both_triggers_on'] if len(on) == 2 else []))
        self._maybe_on = on
        foreign = self.enabled and any(abs(state[name] - value) > 1e-3 for name, value in self._four_values().items())
        halted = f'latched {", ".join(found)}' if found else ''
        if foreign and not found:
            halted = 'its set points are not those that were written: another client, its panel, a restart or its own watchdog'
        return Pcu2vExchange(
            at_s=at_s,
            round_trip_s=round_trip_s,
            pressures_pa=pressures_pa,
            targets_pa=applied_pa,
            running=not foreign if self.enabled else bool(on),
            faults=found,
            halted=halted,
            positive_target_pa=state['positive_target'],
            negative_target_pa=state['negative_target'],
            positive_trigger='positive_trigger' in on,
            negative_trigger='negative_trigger' in on,
        )
