"""PCU2-V, pneumatic controller of a gripper: one chamber, triggers for supply and vacuum.

The device reports neither faults nor a run mode and cannot be held, so every cycle reads first. If
the set points differ from those written, only venting writes follow: if all except the last
write are 0, the device was restarted before that write or its watchdog has tripped; otherwise
another client writes as well, which is latched as a fault. Triggers and targets are written only on
change, so that a restart and another client's values are detected instead of overwritten.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pneumatic_driver.device import Device
from pneumatic_driver.errors import RegisterMapError
from pneumatic_driver.exchange import Exchange
from pneumatic_driver.register import SI_PER_UNIT
from pneumatic_driver.register_map import State

_TARGETS = 'positive_target', 'negative_target'
_TRIGGERS = 'positive_trigger', 'negative_trigger'
_MAX_SLEW_STEP_S = 0.1  # a pause must not cause a jump
_MAX_WRITE_DELAY_S = 2.0  # of a gateway that delays requests


@dataclass(frozen=True)
class Pcu2vExchange(Exchange):
    """Result of one cycle with a PCU2-V: the pressure and the four set points as read back.

    Attributes:
        positive_target_pa: Set point of the positive supply [Pa].
        negative_target_pa: Set point of the vacuum [Pa].
        positive_trigger: True if the positive supply is on.
        negative_trigger: True if the vacuum is on.
    """

    positive_target_pa: float
    negative_target_pa: float
    positive_trigger: bool
    negative_trigger: bool


class Pcu2v(Device):
    """PCU2-V; see `Device`.

    The set point is signed: > 0 positive supply, < 0 vacuum, 0 both off, which vents. A trigger is
    switched on only after the device has reported the other as off.
    """

    CYCLE_REGISTERS = ('pressure', *_TARGETS, *_TRIGGERS)

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        low_kpa, high_kpa = self.map.limits.pressure_kpa
        for name, limit_kpa in zip(_TARGETS, (high_kpa, low_kpa), strict=True):
            register = self.map.registers[name]
            unit_pa = SI_PER_UNIT[register.unit]
            low_pa, high_pa = (unit_pa * limit for limit in register.range or (0.0, 0.0))
            if not low_pa <= 1e3 * limit_kpa <= high_pa:
                raise RegisterMapError(
                    f'register map {self.map.device.name!r}: pressure_kpa allows {limit_kpa:g} '
                    f'kPa, register {name!r} only [{low_pa:g}, {high_pa:g}] Pa: correct one of them'
                )
        self._slew_pa_s = 1e3 * self.map.limits.slew_kpa_s
        # Times [s] and values of writes that may still take effect.
        self._written_at: deque[tuple[float, dict[str, float]]] = deque(maxlen=200)
        self._forget()

    def _forget(self) -> None:
        self._applied_pa = 0.0
        self._applied_s: float | None = None
        # Set points that the device may hold [SI units]: several after a write without an answer.
        self._expected: tuple[dict[str, float], ...] = ()
        self._last_written: dict[str, float] = {}

    def close(self) -> None:
        """Close the connection; the set points of the device are unknown afterwards."""
        super().close()
        self._forget()

    async def enable(self) -> None:
        """Enable the device, from ambient pressure; see `Device.enable`."""
        await super().enable()
        self._forget()
        self._expected = (self._four_values(),)

    async def vent(self) -> Exchange:
        """Switch both triggers off, then set both targets to 0; see `Device.vent`."""
        self._forget()
        return await super().vent()

    def _rounded(self, targets_pa: np.ndarray) -> np.ndarray:
        register = self.map.registers[_TARGETS[0] if targets_pa[0] >= 0 else _TARGETS[1]]
        return np.array([register.si(register.raw(targets_pa[0]))])

    async def _cycle(self, targets_pa: np.ndarray | None) -> Pcu2vExchange:
        poll, heartbeat, started_s = self.map.polls[0], self.map.heartbeat, self._clock()
        state = self.map.decode(poll.start, await self._modbus.read(poll.start, poll.count))
        at_s = self._clock()
        set_points_pa = (
            state['positive_target'] * state['positive_trigger']
            + state['negative_target'] * state['negative_trigger']
        )
        pressures_pa = np.array([state['pressure']])
        on = {name for name in _TRIGGERS if state[name]}
        new = self._sensors.faults(
            at_s, pressures_pa, np.array([set_points_pa]) if self.enabled else None
        )
        foreign = self.enabled and all(
            any(abs(state[n] - v) > 1e-3 for n, v in expected.items())
            for expected in self._expected
        )
        all_names = (*_TARGETS, *_TRIGGERS, *([heartbeat.echo] if heartbeat else []))
        restarted = foreign and _left_by(self._last_written, state, all_names)
        if on and self._may_be_own(state, at_s):
            self._may_run = True
        new += ['both_triggers_on'] if len(on) == 2 else []
        new += ['foreign_master'] if foreign and not restarted else []
        found = self._latch(new)
        self._written |= {name: float(name in on) for name in _TRIGGERS}
        halted = f'latched {", ".join(found)}' if found else ''
        if 'foreign_master' in found:
            halted += (
                ': its set points are not those that were written: another client or '
                'its panel changed them: stop that, then clear the faults'
            )
        elif restarted:
            halted = (
                'its set points are gone: it was restarted, its own watchdog has tripped, or '
                'another client has switched it off'
            )
        applied_pa = None
        if targets_pa is not None and not halted:
            applied_pa = await self._follow(targets_pa, state, at_s)
        return Pcu2vExchange(
            at_s=at_s,
            round_trip_s=at_s - started_s,
            pressures_pa=pressures_pa,
            targets_pa=applied_pa,
            running=not foreign if self.enabled else bool(on),
            vented=not on,
            faults=found,
            halted=halted,
            positive_target_pa=state['positive_target'],
            negative_target_pa=state['negative_target'],
            positive_trigger='positive_trigger' in on,
            negative_trigger='negative_trigger' in on,
        )

    async def _follow(self, targets_pa: np.ndarray, state: State, now_s: float) -> np.ndarray:
        """Step towards the set point within the slew limit from the `state` just read."""
        step_pa = self._slew_pa_s * min(now_s - (self._applied_s or now_s), _MAX_SLEW_STEP_S)
        applied_pa = self._rounded(
            np.clip(targets_pa, self._applied_pa - step_pa, self._applied_pa + step_pa)
        )
        other = _TRIGGERS[1] if applied_pa[0] > 0 else _TRIGGERS[0]
        if applied_pa[0] and state[other]:
            applied_pa = np.zeros(1)  # first switch the other off; the next cycle checks it
        self._applied_pa, self._applied_s = float(applied_pa[0]), now_s
        four, registers = self._four_values(), self.map.registers
        write = [name for name in _TRIGGERS if four[name] != state[name]]
        if any(abs(four[name] - state[name]) > 1e-3 for name in _TARGETS):
            write += _TARGETS
        values = {name: four[name] / SI_PER_UNIT[registers[name].unit] for name in write}
        values |= self._next_heartbeat()
        expected = four | (
            {self.map.heartbeat.echo: float(self._heartbeat)} if self.map.heartbeat else {}
        )
        self._expected += (expected,)
        self._last_written = {name: expected.get(name, 0.0) for name in values}
        self._written_at.append((now_s, self._last_written))
        await self._write_values(values)
        self._expected = (expected,)
        return applied_pa

    def _may_be_own(self, state: State, now_s: float) -> bool:
        """Return True if delayed writes of this host can have led to this state."""
        while self._written_at and now_s - self._written_at[0][0] > _MAX_WRITE_DELAY_S:
            self._written_at.popleft()
        writes = [written for _, written in self._written_at]
        return all(
            any(_left_by(written, state, (name,)) for written in writes)
            for name in (*_TARGETS, *_TRIGGERS)
        )

    def _four_values(self) -> dict[str, float]:
        """Return the four set points of the applied pressure [SI units]."""
        return {
            'positive_target': max(self._applied_pa, 0.0),
            'negative_target': min(self._applied_pa, 0.0),
            'positive_trigger': float(self._applied_pa > 0),
            'negative_trigger': float(self._applied_pa < 0),
        }


def _left_by(written: Mapping[str, float], state: State, names: Sequence[str]) -> bool:
    """Return True if this write, or a part of it, leads from all zeros to this state."""
    return all(min(abs(state[n]), abs(state[n] - written.get(n, 0.0))) <= 1e-3 for n in names)
