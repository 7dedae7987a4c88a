"""Runs the processes of a launch description: prefixes their output, restarts them, ends them in order.

Every process leads a group of its own, and signals go to the group, so nothing that a node starts
is left behind.
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

from softarm_cli.launching.description import Process

_ESCALATION_S = 5.0  # from SIGINT to SIGTERM, and from there to SIGKILL, as ros2 launch does
_CONFIGURATION_IS_WRONG = 2  # exit code of a node
_MOST_CHARACTERS = 300
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def run(processes: list[Process]) -> int:
    """Run until every process has ended, or SIGINT or SIGTERM ends them; return the exit code.

    What happens when a process ends is said in the launch file, as for `ros2 launch`:
    on_exit="shutdown" ends the others, respawn="true" starts it again, neither leaves it ended. The
    exit code is 0 after SIGINT or SIGTERM and when all have ended, 1 when a process that the others
    need has ended or cannot be started, and 2 when a node's configuration is wrong: a node says so
    by its exit code 2, is not started again, and ends the others.
    """
    with _Log() as log:
        return asyncio.run(_Launch(processes, log).run())


class _Log:
    """The screen, and launch.log in a folder of its own."""

    def __enter__(self):
        root = (
            os.environ.get('ROS_LOG_DIR')
            or Path(os.environ.get('ROS_HOME') or Path.home() / '.ros') / 'log'
        )
        folder = (
            Path(root)
            / f'{time.strftime("%Y-%m-%d-%H-%M-%S")}-{socket.gethostname()}-{os.getpid()}'
        )
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
        self._code, self._cause = 0, ''
        self._last_errors: dict[str, str] = {}  # last line on stderr by the process's name

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_signal, number)
        await asyncio.gather(*(self._keep(process) for process in self._processes))
        if self._cause:
            self._log.line(
                f'[ERROR] [launch]: ended because {self._cause}'[:_MOST_CHARACTERS],
                stream=sys.stderr,
            )
        return self._code

    def _on_signal(self, number):
        if not self._stopping.is_set():
            self._log.line(
                f'[WARNING] [launch]: user interrupted with {signal.Signals(number).name}: ending every process',
                stream=sys.stderr,
            )
            self._stopping.set()

    async def _keep(self, process: Process) -> None:
        started = 0
        while not self._stopping.is_set():
            code = await self._once(process)
            started += 1
            if self._stopping.is_set():
                return
            if process.node and code == _CONFIGURATION_IS_WRONG:
                self._end_all(
                    _CONFIGURATION_IS_WRONG,
                    f'{process.node} cannot run: {self._last_words(process)}',
                )
            elif process.shutdown_on_exit:
                words = f': {self._last_words(process)}' if code > 0 else ''
                self._end_all(
                    1, f'{process.node or process.name}, which the others need, {_how(code)}{words}'
                )
            if not process.respawn:
                return
            if started > process.respawn_max_retries >= 0:
                text = (
                    f'[ERROR] [{process.name}]: has ended {started} times and is not started again'
                )
                self._log.line(text, stream=sys.stderr)
                return
            await self._stops_within(process.respawn_delay_s)

    def _last_words(self, process: Process) -> str:
        return self._last_errors.get(process.name, 'it does not say why')

    def _end_all(self, code: int, cause: str) -> None:
        self._code, self._cause = code, cause
        self._stopping.set()

    async def _stops_within(self, seconds: float) -> None:
        if seconds > 0:
            await asyncio.wait([asyncio.ensure_future(self._stopping.wait())], timeout=seconds)

    async def _once(self, process: Process) -> int | None:
        """Start the process and wait until it has ended; return its exit code, None where it cannot be started."""
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
            asyncio.create_task(
                self._copy(process, child.stdout, process.output != 'log', sys.stdout)
            ),
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
        return child.returncode

    async def _end(self, process: Process, child, ended) -> None:
        if process.node and not _handles_signals(child.pid):
            _signal_group(
                child.pid, signal.SIGTERM
            )  # still importing: SIGINT would only make a traceback
        for number, following in (
            (signal.SIGINT, signal.SIGTERM),
            (signal.SIGTERM, signal.SIGKILL),
        ):
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
            text = line.decode(errors='replace').rstrip()
            self._log.line(f'[{process.name}] {text}', screen, stream)
            if stream is sys.stderr and text:
                self._last_errors[process.name] = text

    def _report(self, process: Process, child) -> None:
        if child.returncode == 0:
            self._log.line(
                f'[INFO] [{process.name}]: process has finished cleanly [pid {child.pid}]'
            )
        elif self._stopping.is_set() and child.returncode in (-signal.SIGINT, -signal.SIGTERM):
            self._log.line(
                f'[INFO] [{process.name}]: process was ended by {signal.Signals(-child.returncode).name} [pid {child.pid}]'
            )
        else:
            how = f"pid {child.pid}, exit code {child.returncode}, cmd '{shlex.join(process.command)}'"
            self._log.line(
                f'[ERROR] [{process.name}]: process has died [{how}].', stream=sys.stderr
            )


def _how(code: int | None) -> str:
    """How a process ended, from its exit code."""
    return (
        f'was killed by {signal.Signals(-code).name}'
        if code < 0
        else f'ended with exit code {code}'
    )


def _handles_signals(pid: int) -> bool:
    """Whether a process has set up its own end: every node handles SIGTERM."""
    try:
        status = Path(f'/proc/{pid}/status').read_text()
    except FileNotFoundError:
        return True
    caught = int(
        next(line.split()[1] for line in status.splitlines() if line.startswith('SigCgt:')), 16
    )
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def _end_with_parent() -> None:
    """In the child before it starts: get SIGTERM should the launcher be killed outright, so that a node vents and closes."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _signal_group(leader: int, number: int) -> None:
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return  # all of the group has ended
