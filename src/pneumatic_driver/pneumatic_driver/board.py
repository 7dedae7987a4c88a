"""Valve board: one set point per channel, with its own faults, session key and watchdog."""

from dataclasses import dataclass

import numpy as np

from pneumatic_driver.device import Device
from pneumatic_driver.exchange import Exchange
from pneumatic_driver.register import SI_PER_UNIT
from pneumatic_driver.register_map import State, Values

_EXPLAINED = {
    'foreign_master': 'another Modbus client wrote to the board: find and stop it, then clear the '
    'faults',
    'brown_out_detection_off': 'a fuse of its processor: run `make -C firmware fuse`',
}


@dataclass(frozen=True)
class BoardExchange(Exchange):
    """Result of one cycle with a valve board.

    Attributes:
        drives_pa: Present set points of the valves, after the board's slew limit, shape
            (channels,) [Pa].
        uptime_s: Time since power-on [s].
        supply_pa: Supply pressure [Pa].
        overruns: Overruns of the board's control loop.
    """

    drives_pa: np.ndarray
    uptime_s: float
    supply_pa: float
    overruns: int


class Board(Device):
    """Valve board; see `Device`."""

    CYCLE_REGISTERS = ('pressure', 'drive', 'status', 'faults', 'uptime', 'supply', 'overruns')
    _uptime_s = 0.0

    def _rounded(self, targets_pa: np.ndarray) -> np.ndarray:
        target = self.map.register('target')
        return np.array([target.si(target.raw(target_pa)) for target_pa in targets_pa.tolist()])

    async def _cycle(self, targets_pa: np.ndarray | None) -> BoardExchange:
        values: dict[str, float | list[float]] = {}
        if targets_pa is not None:
            values['target'] = (targets_pa / SI_PER_UNIT[self.map.register('target').unit]).tolist()
        if values or (self._hold is not None and not self.vent_pending):
            values.update(self._next_heartbeat())
        started_s = self._clock()
        state = await self._write_and_read(values)
        self._check_echo(state, bool(values))
        at_s = self._clock()
        return self._read_out(state, at_s, at_s - started_s, targets_pa)

    def _check_echo(self, state: State, written: bool) -> None:
        """Check by the heartbeat that the answer belongs to the last request."""
        heartbeat = self.map.heartbeat
        if heartbeat is None or not (written or self._hold is not None):
            return
        sent = self._heartbeat if self._hold is None else self._hold.code
        if state[heartbeat.echo] != sent:
            raise self._modbus.failed(
                f'the answer is to an earlier request: heartbeat {state[heartbeat.echo]:g}, sent '
                f'{sent}'
            )

    async def _write_and_read(self, values: Values) -> State:
        poll = self.map.polls[0]
        spans = self.map.encode(values) if values else []
        if len(spans) == 1 and self.map.conventions.cycle_fc == 23:
            words = await self._modbus.write_and_read(*spans[0], poll.start, poll.count)
        else:
            for address, span in spans:
                await self._modbus.write(address, span)
            words = await self._modbus.read(poll.start, poll.count)
        return self.map.decode(poll.start, words)

    def _read_out(
        self, state: State, at_s: float, round_trip_s: float, applied_pa: np.ndarray | None
    ) -> BoardExchange:
        pressures_pa, drives_pa = np.array(state['pressure']), np.array(state['drive'])
        own = tuple(name for name, latched in state['faults'].items() if latched)
        found = self._latch(
            self._sensors.faults(at_s, pressures_pa, drives_pa if self.enabled else None)
        )
        status = state['status']
        running, restarted = status['run'], state['uptime'] < self._uptime_s
        vented = not (running or status.get('hold', False))
        self._uptime_s = state['uptime']
        if not status.get('held', True):
            self._hold = None  # lapsed, or the board was restarted
        if not vented and self._hold is not None:
            self._may_run = True  # only the holder can start the board
        causes = [
            f'{name} ({_EXPLAINED[name]})' if name in _EXPLAINED else name for name in own + found
        ]
        if status.get('fault', False) and not own:
            causes.append('a fault without a name')
        if running:
            halted = f'latched {", ".join(causes)}' if causes else ''
        else:
            halted = 'the board vented itself: ' if vented else 'the board holds its pressures: '
            halted += ', '.join(causes) or (
                'it was restarted' if restarted else 'it left its run mode'
            )
        return BoardExchange(
            at_s=at_s,
            round_trip_s=round_trip_s,
            pressures_pa=pressures_pa,
            targets_pa=applied_pa,
            running=running,
            vented=vented,
            faults=own + found,
            halted=halted,
            drives_pa=drives_pa,
            uptime_s=state['uptime'],
            supply_pa=state['supply'],
            overruns=int(state['overruns']),
        )
