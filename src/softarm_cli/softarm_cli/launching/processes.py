"""Execution of a launch description: prefixed output, restarts, shutdown.

Every process leads a process group, and signals go to the group, so that no child of a node is left
behind.
"""

import asyncio
import ctypes
import os
import shlex
import signal
import socket
import sys
import time
from asyncio.subprocess import Process as Child
from pathlib import Path
from typing import TextIO

from softarm_cli.launching.description import Process
from softarm_cli.launching.logs import log_root

_ESCALATION_S = 5.0  # between SIGINT, SIGTERM and SIGKILL, as in ros2 launch
_BAD_CONFIGURATION_CODE = 2
_MAX_CHARACTERS = 300
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def run(processes: list[Process]) -> int:
    """Run until every process has ended, or SIGINT or SIGTERM ends them; return the exit code.

    The launch file decides what follows the end of a process, as in `ros2 launch`:
    on_exit="shutdown" ends the others, respawn="true" starts it again. The exit code is 0 after
    SIGINT or SIGTERM, when all have ended, and when an <executable> with on_exit="shutdown" has
    ended with 0, its work done. It is 1 when another process with on_exit="shutdown" has ended or
    a process cannot be started, and 2 when a node's configuration is wrong: such a node ends with
    exit code 2, is not started again, and ends the others.
    """
    with _Log() as log:
        return asyncio.run(_Launch(processes, log).run())


class _Log:
    """Output to the screen and to launch.log in a new folder."""

    def __enter__(self) -> '_Log':
        name = f'{time.strftime("%Y-%m-%d-%H-%M-%S")}-{socket.gethostname()}-{os.getpid()}'
        folder = log_root() / name
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / 'launch.log').open('w')
        self.line(f'[INFO] [launch]: All log files can be found below {folder}')
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def line(self, text: str, screen: bool = True, stream: TextIO | None = None) -> None:
        """Write a line to the log, and optionally to the screen."""
        now_s = time.time()  # noqa: TID251  # other processes read it
        self._file.write(f'{now_s:.6f} {text}\n')
        self._file.flush()
        if screen:
            print(text, file=stream or sys.stdout, flush=True)

    def error(self, text: str) -> None:
        """Write one line to the log and to standard error."""
        self.line(text, stream=sys.stderr)


class _Launch:
    def __init__(self, processes: list[Process], log: _Log):
        self._processes = processes
        self._log = log
        self._stopping = asyncio.Event()
        self._code, self._cause = 0, ''
        self._last_errors: dict[str, str] = {}  # by process

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_signal, number)
        await asyncio.gather(*(self._keep(process) for process in self._processes))
        if self._cause:
            self._log.error(f'[ERROR] [launch]: ended because {self._cause}'[:_MAX_CHARACTERS])
        return self._code

    def _on_signal(self, number: int) -> None:
        if not self._stopping.is_set():
            name = signal.Signals(number).name
            self._log.error(
                f'[WARNING] [launch]: user interrupted with {name}: ending every process'
            )
            self._stopping.set()

    async def _keep(self, process: Process) -> None:
        started = 0
        while not self._stopping.is_set():
            code = await self._once(process)
            started += 1
            if self._stopping.is_set():
                return
            if process.node and code == _BAD_CONFIGURATION_CODE:
                self._end_all(
                    _BAD_CONFIGURATION_CODE,
                    f'{process.node} cannot run: {self._last_words(process)}',
                )
            elif process.shutdown_on_exit and code == 0 and process.node is None:
                self._stopping.set()
            elif process.shutdown_on_exit and code is not None:
                words = f': {self._last_words(process)}' if code > 0 else ''
                self._end_all(
                    1, f'{process.node or process.name}, which the others need, {_how(code)}{words}'
                )
            if not process.respawn:
                return
            if started > process.respawn_max_retries >= 0:
                self._log.error(
                    f'[ERROR] [{process.name}]: has ended {started} times and is not started again'
                )
                return
            await self._stops_within(process.respawn_delay_s)

    def _last_words(self, process: Process) -> str:
        return self._last_errors.get(process.name, 'no error message')

    def _end_all(self, code: int, cause: str) -> None:
        self._code, self._cause = code, cause
        self._stopping.set()

    async def _stops_within(self, seconds: float) -> None:
        if seconds > 0:
            await asyncio.wait([asyncio.ensure_future(self._stopping.wait())], timeout=seconds)

    async def _once(self, process: Process) -> int | None:
        """Start a process, wait for its end; return its exit code, or None if it cannot start."""
        try:
            child = await asyncio.create_subprocess_exec(
                *process.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=2**20,
                env=process.environment,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )
        except OSError as error:
            self._end_all(1, f'{process.name} cannot be started: {error}')
            return None
        self._log.line(f'[INFO] [{process.name}]: process started with pid [{child.pid}]')
        copies = [
            asyncio.create_task(self._copy(process, source, screen, stream))
            for source, screen, stream in (
                (child.stdout, process.output == 'screen', sys.stdout),
                (child.stderr, True, sys.stderr),
            )
            if source is not None
        ]
        ended = asyncio.create_task(child.wait())
        stop = asyncio.create_task(self._stopping.wait())
        await asyncio.wait([ended, stop], return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            await self._end(process, child, ended)
        stop.cancel()
        _signal_group(child.pid, signal.SIGKILL)  # remaining children
        await asyncio.gather(*copies)
        code = ended.result()
        self._report(process, child.pid, code)
        return code

    async def _end(self, process: Process, child: Child, ended: asyncio.Task[int]) -> None:
        if process.node and not _handles_signals(child.pid):
            # During imports SIGINT would print a traceback.
            _signal_group(child.pid, signal.SIGTERM)
        for number, following in (
            (signal.SIGINT, signal.SIGTERM),
            (signal.SIGTERM, signal.SIGKILL),
        ):
            _signal_group(child.pid, number)
            await asyncio.wait([ended], timeout=_ESCALATION_S)
            if ended.done():
                return
            self._log.error(
                f'[ERROR] [{process.name}]: process[{process.name}] failed to terminate '
                f"'{_ESCALATION_S:g}' seconds after receiving '{number.name}', "
                f"escalating to '{following.name}'"
            )
        _signal_group(child.pid, signal.SIGKILL)
        await ended

    async def _copy(
        self, process: Process, source: asyncio.StreamReader, screen: bool, stream: TextIO
    ) -> None:
        while True:
            try:
                line = await source.readline()
            except ValueError:  # asyncio drops a line beyond the limit
                line = b'(a line of more than 1 MiB)\n'
            if not line:
                return
            text = line.decode(errors='replace').rstrip()
            self._log.line(f'[{process.name}] {text}', screen, stream)
            if stream is sys.stderr and text:
                self._last_errors[process.name] = text

    def _report(self, process: Process, pid: int, code: int) -> None:
        if code == 0:
            text = f'process has finished cleanly [pid {pid}]'
        elif self._stopping.is_set() and code in (-signal.SIGINT, -signal.SIGTERM):
            text = f'process was ended by {signal.Signals(-code).name} [pid {pid}]'
        else:
            command = shlex.join(process.command)
            self._log.error(
                f'[ERROR] [{process.name}]: process has died '
                f"[pid {pid}, exit code {code}, cmd '{command}']."
            )
            return
        self._log.line(f'[INFO] [{process.name}]: {text}')


def _how(code: int) -> str:
    """Describe the end of a process."""
    if code < 0:
        return f'was killed by {signal.Signals(-code).name}'
    return f'ended with exit code {code}'


def _handles_signals(pid: int) -> bool:
    """Return whether a process handles SIGTERM, as every running node does."""
    try:
        status = Path(f'/proc/{pid}/status').read_text()
    except FileNotFoundError:
        return True
    caught = int(
        next(line.split()[1] for line in status.splitlines() if line.startswith('SigCgt:')), 16
    )
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def _end_with_parent() -> None:
    """In the child: ask for SIGTERM when the launcher is killed, so that a driver vents."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _signal_group(leader: int, number: int) -> None:
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return  # the whole group has ended
