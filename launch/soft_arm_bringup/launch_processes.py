"""Runs the processes of a launch description: prefixes their output, restarts them, ends them in order.

Every process leads a group of its own, and signals go to the group, so nothing that a node starts is left behind.
"""

import asyncio
import ctypes
import os
import shlex
import signal
import socket
import sys
import time
from pathlib import Path

from soft_arm_bringup.launch_description import Process

_ESCALATION_S = 5.0  # from SIGINT to SIGTERM, and from there to SIGKILL, as ros2 launch does
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def run(processes: list[Process]) -> int:
    """Run until every process has ended, or SIGINT or SIGTERM ends them; return the exit code.

    As with `ros2 launch` a node that dies does not end the others (unless it says on_exit="shutdown") and does not change the exit
    code; a process that cannot be started does.
    """
    with _Log() as log:
        return asyncio.run(_Launch(processes, log).run())


class _Log:
    """The screen, and launch.log in a folder of its own."""

    def __enter__(self):
        root = os.environ.get('ROS_LOG_DIR') or Path(os.environ.get('ROS_HOME') or Path.home() / '.ros') / 'log'
        folder = Path(root) / f'{time.strftime("%Y-%m-%d-%H-%M-%S")}-{socket.gethostname()}-{os.getpid()}'
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / 'launch.log').open('w')
        self.line(f'[INFO] [launch]: All log files can be found below {folder}')
        return self

    def __exit__(self, *error):
        self._file.close()

    def line(self, text: str, screen: bool = True, stream=None) -> None:
        """Write one line to the log, and to the screen unless told not to."""
        self._file.write(f'{time.time():.6f} {text}\n')
        self._file.flush()
        if screen:
            print(text, file=stream or sys.stdout, flush=True)


class _Launch:
    def __init__(self, processes: list[Process], log: _Log):
        self._processes = processes
        self._log = log
        self._stopping = asyncio.Event()
        self._code = 0

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_signal, number)
        await asyncio.gather(*(self._keep(process) for process in self._processes))
        return self._code

    def _on_signal(self, number):
        if not self._stopping.is_set():
            self._log.line(
                f'[WARNING] [launch]: user interrupted with {signal.Signals(number).name}: ending every process', stream=sys.stderr
            )
            self._stopping.set()

    async def _keep(self, process: Process) -> None:
        while True:
            await self._once(process)
            if process.shutdown_on_exit:
                self._stopping.set()
            if not process.respawn or await self._stops_within(process.respawn_delay_s):
                return

    async def _stops_within(self, seconds: float) -> bool:
        if seconds > 0 and not self._stopping.is_set():
            await asyncio.wait([asyncio.ensure_future(self._stopping.wait())], timeout=seconds)
        return self._stopping.is_set()

    async def _once(self, process: Process) -> None:
        if self._stopping.is_set():
            return
        try:
            child = await asyncio.create_subprocess_exec(
                *process.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=2**20,
                env=process.environment,
                cwd=process.directory,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )
        except OSError as error:
            self._log.line(f'[ERROR] [{process.name}]: cannot start {shlex.join(process.command)}: {error}', stream=sys.stderr)
            self._code = 1
            self._stopping.set()
            return
        self._log.line(f'[INFO] [{process.name}]: process started with pid [{child.pid}]')
        copies = [
            asyncio.create_task(self._copy(process, child.stdout, process.output != 'log', sys.stdout)),
            asyncio.create_task(self._copy(process, child.stderr, True, sys.stderr)),
        ]
        ended = asyncio.create_task(child.wait())
        stop = asyncio.create_task(self._stopping.wait())
        await asyncio.wait([ended, stop], return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            await self._end(process, child, ended)
        stop.cancel()
        _signal_group(child.pid, signal.SIGKILL)  # what the process has started and left
        await asyncio.gather(*copies)
        self._report(process, child)

    async def _end(self, process: Process, child, ended) -> None:
        for number, following in ((signal.SIGINT, signal.SIGTERM), (signal.SIGTERM, signal.SIGKILL)):
            _signal_group(child.pid, number)
            await asyncio.wait([ended], timeout=_ESCALATION_S)
            if ended.done():
                return
            self._log.line(
                f"[ERROR] [{process.name}]: process[{process.name}] failed to terminate '{_ESCALATION_S:g}' seconds after receiving "
                f"'{number.name}', escalating to '{following.name}'",
                stream=sys.stderr,
            )
        _signal_group(child.pid, signal.SIGKILL)
        await ended

    async def _copy(self, process: Process, source, screen: bool, stream) -> None:
        while True:
            try:
                line = await source.readline()
            except ValueError:  # a line longer than the limit: asyncio drops what it has
                line = b'(a line of more than 1 MiB)\n'
            if not line:
                return
            self._log.line(f'[{process.name}] {line.decode(errors="replace").rstrip()}', screen, stream)

    def _report(self, process: Process, child) -> None:
        if child.returncode == 0:
            self._log.line(f'[INFO] [{process.name}]: process has finished cleanly [pid {child.pid}]')
        else:
            how = f"pid {child.pid}, exit code {child.returncode}, cmd '{shlex.join(process.command)}'"
            self._log.line(f'[ERROR] [{process.name}]: process has died [{how}].', stream=sys.stderr)


def _end_with_parent() -> None:
    """In the child before it starts: get SIGTERM should the launcher be killed outright, so that a node vents and closes."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _signal_group(leader: int, number: int) -> None:
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return  # all of the group has ended
