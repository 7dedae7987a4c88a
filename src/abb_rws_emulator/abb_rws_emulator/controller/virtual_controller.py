"""The emulated controller without HTTP: panel, program execution, jogging and event log.

It holds its other parts: the robot, program memory, I/O signals, access rights of the sessions,
configuration and files. Requests come from `abb_rws_emulator.resources`.
"""

import math
import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from abb_rws_emulator import refusals
from abb_rws_emulator.controller import gripper_cell, irb120, program
from abb_rws_emulator.controller.access_rights import AccessRights
from abb_rws_emulator.controller.configuration import Configuration
from abb_rws_emulator.controller.file_store import FileStore
from abb_rws_emulator.controller.io_signals import IoSignals
from abb_rws_emulator.controller.message_queue import MessageQueue
from abb_rws_emulator.controller.program import Module
from abb_rws_emulator.controller.program_memory import ProgramMemory
from abb_rws_emulator.controller.robot import Robot
from abb_rws_emulator.request_numbers import decimal
from abb_rws_emulator.worker_thread import in_worker_thread

LOG_LENGTH = 1000
CYCLES = ('forever', 'asis', 'once', 'oncedone')
JOG_STEP_RAD = {'': math.radians(1.0), 'Small': 1e-4, 'Medium': 4e-4, 'Large': 2.5e-3, 'User': 1e-3}
"""Step of a jog request with an axis at 1000 [rad], by increment of the pendant.
"""
START_FIELDS = {'regain', 'execmode', 'cycle', 'condition', 'stopatbp', 'alltaskbytsp'}


class VirtualController:
    """State and rules; calls `on_change` with the RWS 1.0 address of each resource that changes.

    Args:
        robotware: Version; decides what a session needs in order to write (`AccessRights`).
        clock: Returns the time [s].
    """

    def __init__(self, robotware: str = '6.16.2027', clock: Callable[[], float] = time.monotonic):
        self.clock = clock
        self.robotware = robotware
        self.on_change: Callable[[str], None] = lambda _resource: None
        self.on_restart: Callable[[], None] = lambda: None
        self.sessions: Callable[[], list[str]] = lambda: []
        self.signals = IoSignals(self._changed)
        self.access = AccessRights(
            int(robotware.split('.')[0]),
            lambda: self.operation_mode == 'AUTO',
            lambda: self.clock(),
            self._changed,
        )
        self.generation = 2 if self.access.strict_mastership else 1
        self.robot = Robot(clock)
        self.control_state, self.operation_mode, self.speed_percent = 'motoroff', 'AUTO', 100
        self.running, self.cycle, self.pointer = False, 'forever', True
        self.booting = self._door_open = False
        self.active_tasks = {'T_ROB1': True}
        self.pointer_at = ('Module1', 'main', 9)
        self.memory = ProgramMemory(map(program.load, gripper_cell.MODULE_TEXTS.values()))
        self.mode_lock = ''
        self.motion_changes = self.structure_changes = 1
        self.restarts = self.works = 0
        self.clock_offset = timedelta()
        self.settings = dict(gripper_cell.SETTINGS)
        self.configuration = Configuration(self.signals.by_path)
        self.queues: dict[str, MessageQueue] = {}
        self.event_log: list[tuple[int, int, int, str, str]] = []
        self._logged = 0
        self.store = FileStore(self.generation)
        self.log(10017)
        self.log(10010)

    def _changed(self, resource: str) -> None:
        self.on_change(resource)

    # panel

    def set_control_state(self, session: str, wanted: str) -> None:
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
            self.log(
                {
                    'motoron': 10011,
                    'motoroff': 10010,
                    'guardstop': 10012,
                    'emergencystop': 10013,
                    'sysfail': 10014,
                }.get(state, 10010)
            )

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

    def turn_key(self, mode: str) -> None:
        """Turn the key of a virtual controller, unless it is locked."""
        if self.mode_lock:
            raise refusals.access_denied()
        self.set_operation_mode(mode)

    def lock_mode(self, pin: str, permanent: str) -> None:
        """Lock the operation mode."""
        if not re.fullmatch(r'[0-9]{4}', pin) or permanent not in ('0', '1'):
            raise refusals.invalid()
        self.mode_lock = 'permanent' if permanent == '1' else 'locked'

    def enabling_device(self, pressed: bool) -> None:
        """Press or release the enabling device, which switches the motors in manual mode."""
        if (
            self.operation_mode != 'AUTO'
            and not self._door_open
            and self.control_state in ('guardstop', 'motoroff', 'motoron')
        ):
            if not pressed:
                self._end_program()
            self._enter('motoron' if pressed else 'guardstop')

    def set_operation_mode(self, mode: str) -> None:
        """Turn the key: AUTO, MANR or MANF. The motors go off and the program stops."""
        if mode == self.operation_mode:
            return
        self._end_program()
        self.operation_mode = mode
        self.access.privilege.clear()
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

    def require_manual(self) -> None:
        """Refuse what only an operator beside the robot may do."""
        if self.operation_mode == 'AUTO':
            raise refusals.wrong_mode()

    # RAPID

    def start_from_main(self, session: str) -> None:
        """Start the program at its production entry."""
        self.reset_pointer(session)
        self.start(session, dict.fromkeys(START_FIELDS, '') | {'cycle': 'asis'})

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
            self._set_cycle(form['cycle'])
        self.running = True
        self._execution_changed()
        self.log(10150)
        self._begin_move()

    def stop(self) -> None:
        """Stop the program; harmless when none runs."""
        self._end_program()

    def reset_pointer(self, session: str) -> None:
        """Set the program pointer to main."""
        self.access.require_remote_right(session)
        self.access.require_edit(session)
        if self.running:
            raise refusals.wrong_state()
        self._point_at('Module1', 'main')

    def _point_at(self, module: str, routine: str) -> None:
        found = self.memory.find_module(module)
        line = (
            next((at for name, _, at in found.routines if name.lower() == routine.lower()), 0)
            if found
            else 0
        )
        self.pointer, self.pointer_at = line > 0, (found.name if found else '', routine, line)
        self.on_change('/rw/rapid/tasks/T_ROB1/pcp')

    def set_pointer(self, session: str, module: str, routine: str, line: int = 0) -> None:
        """Set the program pointer to a routine or to a line of a module."""
        self.access.require_edit(session)
        if self.running:
            raise refusals.wrong_state()
        modules = [
            m for m in self.memory.modules.values() if module.lower() in ('', m.name.lower())
        ]
        for candidate in modules:
            last = candidate.text.count('\n')
            for name, _, at in candidate.routines:
                if name.lower() == routine.lower() or (not routine and at <= line <= last):
                    self.pointer, self.pointer_at = True, (candidate.name, name, line or at)
                    self.on_change('/rw/rapid/tasks/T_ROB1/pcp')
                    return
        raise refusals.no_module() if not modules else refusals.no_symbol_written()

    def set_cycle(self, text: str) -> None:
        """Set the cycle mode of the next start."""
        if text not in CYCLES:
            raise refusals.invalid()
        self._set_cycle(text)

    def _set_cycle(self, cycle: str) -> None:
        if cycle != self.cycle:
            self.cycle = cycle
            self.on_change('/rw/rapid/execution;rapidexeccycle')

    def _begin_move(self) -> None:
        """Run the paper's program: MoveAbsJ to J_Orientation_Target."""
        declared = self.memory.declarations.get(gripper_cell.TARGET_SYMBOL)
        if declared is None or declared.data_type != 'jointtarget' or declared.dimensions:
            return  # another program, which moves nothing
        goal_rad = np.deg2rad(self.memory.values[gripper_cell.TARGET_SYMBOL][0])
        if np.any(goal_rad < irb120.RANGE_RAD[:, 0]) or np.any(goal_rad > irb120.RANGE_RAD[:, 1]):
            self.log(50027)
            self._end_program()
            return
        self.robot.move_to(goal_rad, self.speed_percent / 100)
        self._tell_in_position(self.robot.arrived)

    def advance(self) -> None:
        """Advance the program: at the end of a move it ends, or begins again."""
        if not self.running or not self.robot.arrived:
            return
        self._tell_in_position(True)
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

    def activate_task(self, session: str, task: str, active: bool) -> None:
        """Activate or deactivate a task."""
        if self.access.strict_mastership:
            self.access.require_edit(session)
        if self.running:
            raise refusals.wrong_state()
        self.active_tasks[task] = active

    # modules

    def load_module(self, session: str, module: Module, replace_old: bool) -> None:
        """Load a module; replace one of its name only with `replace_old`."""
        self._require_edit_of_program(session)
        if self.memory.find_module(module.name) is not None and not replace_old:
            raise refusals.name_taken()
        self.memory.add(module)
        self._lose_pointer_in(module.name)
        self.structure_changes += 1

    def unload_module(self, session: str, name: str) -> None:
        """Unload a module."""
        self._require_edit_of_program(session)
        if self.memory.find_module(name) is None:
            raise refusals.no_module_to_unload(self.generation)
        self._drop_module(name)
        self.structure_changes += 1

    def edit_module(self, session: str, old: Module, new: Module) -> None:
        """Change the text of a module and reset its variables.

        Raises:
            Refused: If the text is another module's.
        """
        self._require_edit_of_program(session)
        if new.name.lower() != old.name.lower():
            raise refusals.invalid('The text belongs to another module')
        self.memory.add(replace(new, name=old.name, file=old.file, changes=old.changes + 1))
        self._lose_pointer_in(old.name)

    async def compiled(self, text: str, file: str = '') -> Module:
        """Return the module of a text, parsed in the worker thread.

        Raises:
            Refused: If the text is not a module.
        """
        return await in_worker_thread(program.load, text, file)

    def load_program(self, session: str, modules: list[Module], replace_old: bool) -> None:
        """Load the modules of a program, in place of the loaded ones or in addition."""
        self._require_edit_of_program(session)
        for old in [m for m in self.memory.modules.values() if replace_old and m.kind == 'ProgMod']:
            self._drop_module(old.name)
        for module in modules:
            self.load_module(session, module, replace_old=True)
        self.structure_changes += 1

    def _require_edit_of_program(self, session: str) -> None:
        self.access.require_remote_right(session)
        self.access.require_edit(session)
        if self.running:
            raise refusals.wrong_state()

    def _drop_module(self, name: str) -> None:
        self._lose_pointer_in(self.memory.drop(name).name)

    def _lose_pointer_in(self, module: str) -> None:
        if self.pointer_at[0].lower() == module.lower():
            self.pointer = False

    # symbols

    def symbol(self, path: str) -> str:
        """Return the literal of a variable."""
        if self.booting:
            raise refusals.no_symbol_read(self.generation)
        return self.memory.read(path, self.generation)

    def set_symbol(self, session: str, path: str, literal: str | None) -> None:
        """Write a variable or one of its elements; type and shape stay."""
        if self.memory.find_symbol(path) is None:
            raise refusals.no_symbol_written()
        self.access.require_remote_right(session)
        self.access.require_edit(session)
        self._write_symbol(path, literal)

    def _write_symbol(self, path: str, literal: str | None) -> None:
        changed = self.memory.write(path, literal)
        if changed is not None:
            self.on_change(f'/rw/rapid/symbol/data/RAPID/{changed};value')

    def _tell_in_position(self, arrived: bool) -> None:
        declared = self.memory.declarations.get(gripper_cell.IN_POSITION_SYMBOL)
        if declared is not None and declared.shape == 'num' and declared.symbol_type != 'con':
            self._write_symbol(gripper_cell.IN_POSITION_SYMBOL, '1' if arrived else '0')

    # motion

    def place(self, joints_rad: np.ndarray) -> None:
        """Put the robot at joint angles [rad] at once, as a virtual controller can."""
        try:
            self.robot.place(irb120.in_range(joints_rad))
        except irb120.OutOfReach:
            raise refusals.out_of_reach() from None
        self.motion_changes += 1

    def jog(self, session: str, axes: list[float], increment: str) -> None:
        """Jog each axis by -1000..1000 in manual mode with the enabling device pressed."""
        self.require_manual()
        self.access.require_motion(session)
        if increment not in JOG_STEP_RAD:
            raise refusals.invalid()
        if self.control_state != 'motoron' or self.running:
            raise refusals.wrong_state()
        wanted = (
            self.robot.joints_rad
            + np.clip(axes, -1000.0, 1000.0) / 1000.0 * JOG_STEP_RAD[increment]
        )
        self.robot.move_to(np.clip(wanted, *irb120.RANGE_RAD.T), 0.1)
        self.motion_changes += 1

    def begin_work(self) -> str:
        """Return the address for the progress of a long operation."""
        self.works += 1
        return f'/progress/{self.works}'

    # event log

    def log(self, code: int) -> None:
        """Add an entry to the event log."""
        kind, title = gripper_cell.EVENT_TEXTS[code]
        stamp = datetime.now(UTC).strftime('%Y-%m-%d T  %H:%M:%S')
        self._logged += 1
        self.event_log.append((self._logged, kind, code, stamp, title))
        del self.event_log[:-LOG_LENGTH]
        self.on_change('/rw/elog/0')

    def restart(self) -> None:
        """Restart: stop program and motors, release masterships; keep variables and log."""
        self._end_program()
        self.control_state, self.pointer = 'motoroff', True
        self.restarts += 1
        self.access.clear()
        self.log(10010)
