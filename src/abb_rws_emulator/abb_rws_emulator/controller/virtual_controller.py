"""State and rules of the emulated controller, without HTTP.

It owns the robot, program memory, I/O signals, write access of the sessions, and files.
Requests arrive from `abb_rws_emulator.resources`.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np

from abb_rws_emulator import refusals
from abb_rws_emulator.controller import gripper_cell, irb120
from abb_rws_emulator.controller.access_rights import AccessRights
from abb_rws_emulator.controller.file_store import FileStore
from abb_rws_emulator.controller.io_signals import IoSignals
from abb_rws_emulator.controller.program_memory import ProgramMemory
from abb_rws_emulator.controller.robot import Robot
from abb_rws_emulator.request_numbers import decimal

MAX_LOG_ENTRIES = 1000
CYCLES = ('forever', 'asis', 'once', 'oncedone')
START_FIELDS = {'regain', 'execmode', 'cycle', 'condition', 'stopatbp', 'alltaskbytsp'}
_STATE_EVENTS = {
    'motoron': 10011,
    'guardstop': 10012,
    'emergencystop': 10013,
    'sysfail': 10014,
}
"""Event code of each controller state; 10010 for the others."""


class VirtualController:
    """Controller state; calls `on_change` with the RWS 1.0 path of each resource that changes.

    Args:
        robotware: Version; determines the write access that a session needs (`AccessRights`).
        clock: Returns the time [s].
    """

    def __init__(self, robotware: str = '6.16.2027', clock: Callable[[], float] = time.monotonic):
        self.robotware = robotware
        self.on_change: Callable[[str], None] = lambda _resource: None
        self.signals = IoSignals(self._changed)
        self.access = AccessRights(
            int(robotware.split('.')[0]),
            lambda: self.operation_mode == 'AUTO',
            self._changed,
        )
        self.generation = 2 if self.access.strict_mastership else 1
        self.robot = Robot(clock)
        self.control_state, self.operation_mode, self.speed_percent = 'motoroff', 'AUTO', 100
        self.running, self.cycle, self.pointer = False, 'forever', True
        self.booting = self._door_open = False
        self.active_tasks = {'T_ROB1': True}
        self.memory = ProgramMemory()
        self.event_log: list[tuple[int, int, int, str, str]] = []
        self._logged = 0
        self.store = FileStore(self.generation)
        self.log(10017)
        self.log(10010)

    def _changed(self, resource: str) -> None:
        self.on_change(resource)

    # panel

    def set_control_state(self, wanted: str) -> None:
        """Switch the motors on or off for a client."""
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
            self.log(_STATE_EVENTS.get(state, 10010))

    def emergency_stop(self, pressed: bool) -> None:
        """Press or release the emergency stop; the motors stay off until switched on."""
        if pressed:
            self._end_program()
            self._enter('emergencystop')
        elif self.control_state == 'emergencystop':
            self._enter('emergencystopreset')

    def guard_stop(self, open_door: bool) -> None:
        """Open or close the safety fence."""
        self._door_open = open_door
        if open_door:
            self._end_program()
            self._enter('guardstop')
        elif self.control_state == 'guardstop' and self.operation_mode == 'AUTO':
            self._enter('motoroff')

    def set_operation_mode(self, mode: str) -> None:
        """Turn the key to AUTO, MANR or MANF; motors off, program stopped."""
        if mode == self.operation_mode:
            return
        self._end_program()
        self.operation_mode = mode
        if self.control_state in ('motoron', 'guardstop'):
            self._enter('motoroff' if mode == 'AUTO' and not self._door_open else 'guardstop')
        self.on_change('/rw/panel/opmode')
        self.log(10017 if mode == 'AUTO' else 10015)

    def set_speed(self, session: str, text: str) -> None:
        """Set the speed ratio in percent; automatic mode only."""
        percent = decimal(text)
        if not 0 <= percent <= 100 or percent != int(percent):
            raise refusals.invalid()
        if self.access.strict_mastership:
            self.access.require_edit(session)
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
        holder = self.access.masters.get('edit')
        if holder not in (None, session):
            raise refusals.held('rws_rapid\\rws_resource_rapid_execution.cpp')
        if self.control_state != 'motoron' or self.running or self.booting:
            raise refusals.wrong_state()
        if not self.pointer:
            raise refusals.no_pointer()
        if form['cycle'] != 'asis':
            self.cycle = form['cycle']
        self.running = True
        self._changed('/rw/rapid/execution;ctrlexecstate')
        self.log(10150)
        self._begin_move()

    def stop(self) -> None:
        """Stop the program; without one, do nothing."""
        self._end_program()

    def reset_pointer(self, session: str) -> None:
        """Set the program pointer to main."""
        self.access.require_automatic()
        self.access.require_edit(session)
        if self.running:
            raise refusals.wrong_state()
        self.pointer = True

    def _begin_move(self) -> None:
        """Run the program of the gripper paper: MoveAbsJ to J_Orientation_Target."""
        goal_rad = np.deg2rad(self.memory.values[gripper_cell.TARGET_SYMBOL][0])
        if np.any(goal_rad < irb120.RANGE_RAD[:, 0]) or np.any(goal_rad > irb120.RANGE_RAD[:, 1]):
            self.log(50027)
            self._end_program()
            return
        self.robot.move_to(goal_rad, self.speed_percent / 100)
        self._set_in_position(self.robot.arrived)

    def advance(self) -> None:
        """Advance the program: after a move, end it or start the next cycle."""
        if not self.running or not self.robot.arrived:
            return
        self._set_in_position(True)
        if self.cycle in ('once', 'oncedone'):
            self._end_program()
        else:
            self._begin_move()

    def _end_program(self) -> None:
        self.robot.halt()
        if self.running:
            self.running = False
            self._changed('/rw/rapid/execution;ctrlexecstate')
            self.log(10122)

    def activate_task(self, session: str, task: str, active: bool) -> None:
        """Activate or deactivate a task."""
        if self.access.strict_mastership:
            self.access.require_edit(session)
        if self.running:
            raise refusals.wrong_state()
        self.active_tasks[task] = active

    def symbol(self, path: str) -> str:
        """Return the literal of a variable."""
        if self.booting:
            raise refusals.no_symbol_read(self.generation)
        return self.memory.read(path, self.generation)

    def set_symbol(self, session: str, path: str, literal: str | None) -> None:
        """Write a variable or one of its elements; type and shape stay."""
        if self.memory.find_symbol(path) is None:
            raise refusals.no_symbol_written()
        self.access.require_automatic()
        self.access.require_edit(session)
        self._write_symbol(path, literal)

    def _write_symbol(self, path: str, literal: str | None) -> None:
        changed = self.memory.write(path, literal)
        if changed is not None:
            self.on_change(f'/rw/rapid/symbol/data/RAPID/{changed};value')

    def _set_in_position(self, arrived: bool) -> None:
        self._write_symbol(gripper_cell.IN_POSITION_SYMBOL, '1' if arrived else '0')

    # event log

    def log(self, code: int) -> None:
        """Append an entry to the event log."""
        level, title = gripper_cell.EVENT_TITLES[code]
        stamp = datetime.now(UTC).strftime('%Y-%m-%d T  %H:%M:%S')
        self._logged += 1
        self.event_log.append((self._logged, level, code, stamp, title))
        del self.event_log[:-MAX_LOG_ENTRIES]
        self.on_change('/rw/elog/0')

    def restart(self) -> None:
        """Restart: stop program and motors, release masterships; keep variables and log."""
        self._end_program()
        self.control_state, self.pointer = 'motoroff', True
        self.access.clear()
        self.log(10010)
