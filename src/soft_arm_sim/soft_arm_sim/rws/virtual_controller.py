"""The controller's own state and rules, without any HTTP: panel, RAPID, signals, mastership, event log."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np

from abb_rws_bridge import irb120, mapping
from abb_rws_bridge.errors import ConfigurationError
from soft_arm_sim.rws import cell, refusals
from soft_arm_sim.rws.robot import Robot

CYCLES = ('forever', 'asis', 'once', 'oncedone')
START_FIELDS = {'regain', 'execmode', 'cycle', 'condition', 'stopatbp', 'alltaskbytsp'}


class VirtualController:
    """State and rules. `on_change` is told every resource that changed, by its RWS 1.0 address.

    Args:
        strict_mastership: RAPID writes need a mastership that was asked for (OmniCore); IRC5 takes a free one by itself.
    """

    def __init__(self, *, strict_mastership: bool = False, clock: Callable[[], float] = time.monotonic):
        self.clock = clock
        self.strict_mastership = strict_mastership
        self.on_change: Callable[[str], None] = lambda _resource: None
        self.robot = Robot(clock)
        self.control_state, self.operation_mode, self.speed_percent = 'motoroff', 'AUTO', 100
        self.running, self.cycle, self.pointer = False, 'forever', True
        self.booting = False
        self.active_tasks = {'T_ROB1': True}
        self.symbols, self.signals = cell.symbols(), cell.signals()
        self.masters: dict[str, str | None] = dict.fromkeys(('edit', 'motion') if strict_mastership else ('cfg', 'motion', 'rapid'))
        self.remote_privilege: dict[str, str] = {}
        self.event_log: list[tuple[int, int, int, str, str]] = []
        self.files: dict[str, bytes] = {}
        self.log(10017)
        self.log(10010)

    # panel

    def set_control_state(self, session: str, wanted: str) -> None:
        """Motors on or off from outside."""
        if wanted not in ('motoron', 'motoroff'):
            raise refusals.invalid()
        self._require_auto()
        if self.control_state in ('guardstop', 'emergencystop', 'sysfail'):
            raise refusals.access_denied()
        if wanted == 'motoroff':
            self._end_program()
        self._enter(wanted)

    def _enter(self, state: str) -> None:
        if state != self.control_state:
            self.control_state = state
            self.on_change('/rw/panel/ctrlstate')
            self.log({'motoron': 10011, 'motoroff': 10010, 'guardstop': 10012, 'emergencystop': 10013, 'sysfail': 10014}.get(state, 10010))

    def emergency_stop(self, pressed: bool) -> None:
        """Press or release the button; motors stay off until they are asked for."""
        if pressed:
            self._end_program()
            self._enter('emergencystop')
        elif self.control_state == 'emergencystop':
            self._enter('emergencystopreset')

    def guard_stop(self, open_door: bool) -> None:
        """Open or close the safety fence."""
        if open_door:
            self._end_program()
            self._enter('guardstop')
        elif self.control_state == 'guardstop':
            self._enter('motoroff')

    def set_operation_mode(self, mode: str) -> None:
        """Turn the key: AUTO, MANR or MANF. The motors go off and the program stops."""
        if mode == self.operation_mode:
            return
        self._end_program()
        self.operation_mode = mode
        self.remote_privilege.clear()
        if self.control_state == 'motoron':
            self._enter('motoroff' if mode == 'AUTO' else 'guardstop')
        self.on_change('/rw/panel/opmode')
        self.log(10017 if mode == 'AUTO' else 10015)

    def set_speed(self, session: str, text: str) -> None:
        """Speed ratio in percent; automatic only."""
        try:
            percent = float(text)
        except ValueError:
            raise refusals.invalid() from None
        if not 0 <= percent <= 100 or percent != int(percent):
            raise refusals.invalid()
        if self.strict_mastership and self.masters['edit'] != session:
            raise refusals.mastership_missing()
        self._require_auto()
        self.speed_percent = int(percent)
        if self.running:
            self.robot.change_speed(self.speed_percent / 100)
        self.on_change('/rw/panel/speedratio')

    def _require_auto(self) -> None:
        if self.operation_mode != 'AUTO':
            raise refusals.wrong_mode()

    # RAPID

    def start(self, session: str, form: dict[str, str]) -> None:
        """Start the program at its pointer."""
        if not set(form) >= START_FIELDS or form['cycle'] not in CYCLES:
            raise refusals.invalid()
        self._require_auto()
        holder = self.masters.get('edit')
        if holder not in (None, session):
            raise refusals.held('rws_rapid\\rws_resource_rapid_execution.cpp')
        if self.control_state != 'motoron' or self.running or self.booting:
            raise refusals.wrong_state()
        if not self.pointer:
            raise refusals.no_pointer()
        if form['cycle'] != 'asis':
            self._set_cycle(form['cycle'])
        self.running = True
        self._execution_changed()
        self.log(10150)
        self._begin_move()

    def stop(self) -> None:
        """Stop the program; harmless when none runs."""
        self._end_program()

    def reset_pointer(self, session: str) -> None:
        """Program pointer to main."""
        self._require_auto()
        self._require_edit(session)
        if self.running:
            raise refusals.wrong_state()
        self.pointer = True
        self.on_change('/rw/rapid/tasks/T_ROB1/pcp')

    def set_cycle(self, text: str) -> None:
        """Cycle mode of the next start."""
        if text not in CYCLES:
            raise refusals.invalid()
        self._set_cycle(text)

    def _set_cycle(self, cycle: str) -> None:
        if cycle != self.cycle:
            self.cycle = cycle
            self.on_change('/rw/rapid/execution;rapidexeccycle')

    def _begin_move(self) -> None:
        """The paper's program: MoveAbsJ to J_Orientation_Target."""
        goal_rad = np.deg2rad(np.array(mapping.parse_literal(self.symbols[cell.TARGET_SYMBOL])[0]))
        if np.any(goal_rad < irb120.LIMITS_RAD[:, 0]) or np.any(goal_rad > irb120.LIMITS_RAD[:, 1]):
            self.log(50027)
            self._end_program()
            return
        self.robot.move_to(goal_rad, self.speed_percent / 100)
        self._put_symbol(cell.IN_POSITION_SYMBOL, '1' if self.robot.arrived else '0')

    def advance(self) -> None:
        """Let the program go on: at the end of a move it ends, or begins again with the target it then finds."""
        if not self.running or not self.robot.arrived:
            return
        self._put_symbol(cell.IN_POSITION_SYMBOL, '1')
        if self.cycle in ('once', 'oncedone'):
            self._end_program()
        else:
            self._begin_move()

    def _end_program(self) -> None:
        self.robot.halt()
        if self.running:
            self.running = False
            self._execution_changed()
            self.log(10122)

    def _execution_changed(self) -> None:
        self.on_change('/rw/rapid/execution;ctrlexecstate')
        self.on_change('/rw/rapid/tasks/T_ROB1;excstate')

    def find_symbol(self, path: str) -> str | None:
        """Full path of a symbol; the module may be left out."""
        if path in self.symbols:
            return path
        task, _, rest = path.partition('/')
        name = rest.rpartition('/')[2]
        candidates = [known for known in self.symbols if known.startswith(f'{task}/') and known.endswith(f'/{name}') and '/' not in rest]
        return candidates[0] if candidates else None

    def set_symbol(self, session: str, path: str, literal: str | None) -> None:
        """Write a variable; its type and shape stay what they are."""
        found = self.find_symbol(path)
        if found is None:
            raise refusals.no_symbol_written()
        if self.operation_mode != 'AUTO' and self.remote_privilege.get(session) != 'GRANTED':
            raise refusals.mastership_missing()
        self._require_edit(session)
        try:
            same = literal is not None and _shape(mapping.parse_literal(literal)) == _shape(mapping.parse_literal(self.symbols[found]))
        except ConfigurationError:
            same = False
        if not same:
            raise refusals.invalid('Value does not match the type of the symbol')
        self._put_symbol(found, literal.replace('9E9', '9E+09'))

    def _put_symbol(self, path: str, literal: str) -> None:
        if self.symbols[path] != literal:
            self.symbols[path] = literal
            self.on_change(f'/rw/rapid/symbol/data/RAPID/{path};value')

    def _require_edit(self, session: str) -> None:
        holder = self.masters['edit' if self.strict_mastership else 'rapid']
        if holder is None and not self.strict_mastership:
            return
        if holder is None:
            raise refusals.mastership_missing()
        if holder != session:
            raise refusals.held()

    # mastership

    def request_mastership(self, session: str, domains: list[str]) -> None:
        """Take one or all."""
        if self.operation_mode != 'AUTO' and self.remote_privilege.get(session) != 'GRANTED':
            raise refusals.wrong_mode()
        if any(self.masters[domain] not in (None, session) for domain in domains):
            raise refusals.held()
        for domain in domains:
            self._set_master(domain, session)

    def release_mastership(self, session: str, domains: list[str]) -> None:
        """Give one or all back."""
        if any(self.masters[domain] != session for domain in domains):
            raise refusals.not_held()
        for domain in domains:
            self._set_master(domain, None)

    def steal_mastership(self, domain: str, holder: str | None) -> None:
        """Someone at the pendant takes it, or gives it back (None)."""
        self._set_master(domain, holder)

    def forget_session(self, session: str) -> None:
        """What a session held falls with it."""
        self.remote_privilege.pop(session, None)
        for domain, holder in self.masters.items():
            if holder == session:
                self._set_master(domain, None)

    def _set_master(self, domain: str, holder: str | None) -> None:
        self.masters[domain] = holder
        self.on_change(f'/rw/mastership/{domain}')

    # signals

    def find_signal(self, path: str) -> cell.SignalState | None:
        """Signal by network/device/name or by name alone."""
        if path in self.signals:
            return self.signals[path]
        return next((s for s in self.signals.values() if '/' not in path and s.name == path), None)

    def set_signal(self, path: str, form: dict[str, str]) -> None:
        """Write a signal as a client does."""
        signal = self.find_signal(path)
        if signal is None:
            raise refusals.no_signal()
        if signal.access != 'All' or (signal.kind in ('DI', 'AI', 'GI') and not signal.simulated):
            raise refusals.access_denied()
        try:
            value = 1.0 - signal.value if form.get('mode') == 'invert' else float(form['lvalue'])
        except (KeyError, ValueError):
            raise refusals.invalid() from None
        if not np.isfinite(value) or (signal.kind in ('DI', 'DO') and value not in (0.0, 1.0)):
            raise refusals.invalid()
        self.put_signal(signal.path, value)

    def put_signal(self, path: str, value: float) -> None:
        """Set a signal from the process side."""
        if self.signals[path].value != value:
            self.signals[path].value = value
            self.on_change(f'/rw/iosystem/signals/{path};state')

    # event log

    def log(self, code: int) -> None:
        """Add an entry."""
        kind, title = cell.EVENT_TEXTS[code]
        stamp = datetime.now(UTC).strftime('%Y-%m-%d T  %H:%M:%S')
        self.event_log.append((len(self.event_log) + 1, kind, code, stamp, title))
        self.on_change('/rw/elog/0')

    def restart(self) -> None:
        """Warm start: the program is stopped, the motors are off, nobody holds anything; variables and log stay."""
        self._end_program()
        self.control_state, self.pointer = 'motoroff', True
        self.masters = dict.fromkeys(self.masters)
        self.remote_privilege.clear()
        self.log(10010)


def _shape(value) -> object:
    """Type tree of a RAPID value: lists by their elements, the rest by type."""
    return tuple(map(_shape, value)) if isinstance(value, list) else type(value)
