"""The valve board: several channels with one set point each, faults, key and watchdog of its own."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pneumatic_driver.device import Device, Exchange
from pneumatic_driver.register import SI_PER_UNIT
from pneumatic_driver.register_map import RegisterMap, Value

_NEEDED = ('pressure', 'target', 'drive', 'status', 'faults', 'uptime', 'supply', 'overruns')


@dataclass(frozen=True)
class BoardExchange(Exchange):
    """What one cycle with a valve board brought.

    Attributes:
        drives_pa: What the board asks of its valves now, after its slew limit, shape (channels,) [Pa].
        uptime_s: Since the board started [s].
        supply_pa: Supply pressure [Pa].
        overruns: Passes of the board's own loop that took too long.
    """

    drives_pa: np.ndarray
    uptime_s: float
    supply_pa: float
    overruns: int


class Board(Device):
    """A valve board; see `Device`."""

    def __init__(self, register_map: RegisterMap, accept_unverified_map: str = ''):
        channels = register_map.registers['target'].count if 'target' in register_map.registers else 0
        super().__init__(register_map, accept_unverified_map, _NEEDED, channels)
        self._target = register_map.registers['target']
        self._uptime_s = 0.0

    def _rounded(self, targets_pa: np.ndarray) -> np.ndarray:
        return np.array([self._target.si(self._target.raw(target_pa)) for target_pa in targets_pa])

    def _set_points(self, targets_pa: np.ndarray) -> tuple[dict[str, Value], np.ndarray]:
        return {'target': list(targets_pa / SI_PER_UNIT[self._target.unit])}, targets_pa

    def _read_out(self, state: Mapping, at_s: float, round_trip_s: float, applied_pa: np.ndarray | None) -> BoardExchange:
        pressures_pa, drives_pa = np.array(state['pressure']), np.array(state['drive'])
        own = tuple(name for name, latched in state['faults'].items() if latched)
        found = self._latch(self._sensors.faults(at_s, pressures_pa, drives_pa if self.enabled else None))
        running, restarted = state['status']['run'], state['uptime'] < self._uptime_s
        self._uptime_s = state['uptime']
        halted = f'latched {", ".join(found)}' if found else ''
        if not running:
            halted = 'the board vented itself: ' + (', '.join(own + found) or ('it was restarted' if restarted else 'it left its run mode'))
        return BoardExchange(
            at_s=at_s,
            round_trip_s=round_trip_s,
            pressures_pa=pressures_pa,
            targets_pa=applied_pa,
            running=running,
            faults=own + found,
            halted=halted,
            drives_pa=drives_pa,
            uptime_s=state['uptime'],
            supply_pa=state['supply'],
            overruns=int(state['overruns']),
        )
