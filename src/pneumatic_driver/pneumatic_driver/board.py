"""Valve board: several channels with one set point each, and its own faults, key and watchdog."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pneumatic_driver.device import Device, Exchange
from pneumatic_driver.link_client import Client, Trace, client_for
from pneumatic_driver.register import SI_PER_UNIT
from pneumatic_driver.register_map import Link, RegisterMap, State, Values

_EXPLAINED = {
    'foreign_master': 'another Modbus client wrote to the board: find and stop it, then clear the '
    'faults'
}
_READ = ('pressure', 'drive', 'status', 'faults', 'uptime', 'supply', 'overruns')


@dataclass(frozen=True)
class BoardExchange(Exchange):
    """Result of one cycle with a valve board.

    Attributes:
        drives_pa: Pressures commanded to the valves now, after the board's slew limit, shape
            (channels,) [Pa].
        uptime_s: Time since the board started [s].
        supply_pa: Supply pressure [Pa].
        overruns: Number of passes of the board's own loop that took too long.
    """

    drives_pa: np.ndarray
    uptime_s: float
    supply_pa: float
    overruns: int


class Board(Device):
    """A valve board; see `Device`."""

    def __init__(
        self,
        register_map: RegisterMap,
        accept_unverified_map: str = '',
        clock: Callable[[], float] = time.monotonic,
        new_client: Callable[[Link, Trace], Client] = client_for,
    ):
        self._target = register_map.register('target')
        super().__init__(
            register_map, accept_unverified_map, _READ, self._target.count, clock, new_client
        )
        self._uptime_s = 0.0

    def _rounded(self, targets_pa: np.ndarray) -> np.ndarray:
        target = self._target
        return np.array([target.si(target.raw(target_pa)) for target_pa in targets_pa.tolist()])

    async def _cycle(self, targets_pa: np.ndarray | None) -> BoardExchange:
        values: dict[str, float | list[float]] = {}
        if targets_pa is not None:
            values['target'] = (targets_pa / SI_PER_UNIT[self._target.unit]).tolist()
        if values or self._hold is not None:
            values.update(self._next_heartbeat())
        started_s = self._clock()
        state, heartbeat = await self._write_and_read(values), self.map.heartbeat
        if values and heartbeat is not None and state[heartbeat.echo] != self._heartbeat:
            raise self._failed(
                f'the answer is to an earlier request: heartbeat {state[heartbeat.echo]:g}, sent '
                f'{self._heartbeat}'
            )
        at_s = self._clock()
        return self._read_out(state, at_s, at_s - started_s, targets_pa)

    async def _write_and_read(self, values: Values) -> State:
        poll, conventions = self.map.polls[0], self.map.conventions
        spans = self.map.encode(values) if values else []
        if len(spans) == 1 and conventions.cycle_fc == 23:
            words = await self._request(
                'readwrite_registers',
                read_address=self._wire(poll.start),
                read_count=poll.count,
                write_address=self._wire(spans[0][0]),
                values=spans[0][1],
            )
        else:
            for address, words in spans:
                await self._write(address, words)
            words = await self._read(poll.start, poll.count)
        return self.map.decode(poll.start, words)

    def _read_out(
        self, state: State, at_s: float, round_trip_s: float, applied_pa: np.ndarray | None
    ) -> BoardExchange:
        pressures_pa, drives_pa = np.array(state['pressure']), np.array(state['drive'])
        own = tuple(name for name, latched in state['faults'].items() if latched)
        found = self._latch(
            self._sensors.faults(at_s, pressures_pa, drives_pa if self.enabled else None)
        )
        running, restarted = state['status']['run'], state['uptime'] < self._uptime_s
        self._uptime_s = state['uptime']
        if not state['status'].get('held', True):
            self._hold = None  # the hold has lapsed, or the board was restarted
        halted = f'latched {", ".join(found)}' if found else ''
        if not running:
            causes = [
                f'{name} ({_EXPLAINED[name]})' if name in _EXPLAINED else name
                for name in own + found
            ]
            halted = 'the board vented itself: ' + (
                ', '.join(causes) or ('it was restarted' if restarted else 'it left its run mode')
            )
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
