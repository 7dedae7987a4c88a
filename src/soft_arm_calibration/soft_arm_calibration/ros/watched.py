"""Serve the twin of a rig on demand."""

import contextlib
import os
import select
import socket
import subprocess
import threading
from pathlib import Path
from typing import Self

from soft_arm_calibration.ros.rig_process import end

HOST = '127.0.0.1'
TWIN = ('softarm', 'twin', '--no-browser')


class Watched:
    """Offer the twin of the graph in this ROS domain while the context is open.

    A socket listens; the first connection starts `softarm twin` in a separate process of the lowest
    priority. Failures of this process are ignored.

    Args:
        log: File for what the twin prints.
        command: Command of the twin; `--socket` and the descriptor of the socket are appended.

    Attributes:
        url: Address of the page; None if it cannot be offered.
    """

    def __init__(self, log: Path, command: tuple[str, ...] = TWIN):
        self._log, self._command = log, command
        self._process: subprocess.Popen | None = None
        self._over = threading.Event()
        self.url: str | None = None

    def __enter__(self) -> Self:
        try:
            self._listener = socket.create_server((HOST, 0))
        except OSError:
            return self
        self.url = f'http://{HOST}:{self._listener.getsockname()[1]}/'
        self._thread = threading.Thread(target=self._wait_for_page, name='watched', daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.url is None:
            return
        self._over.set()
        if self._process is None:
            with contextlib.suppress(OSError):  # the twin has just been given the socket
                self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._thread.join()
        if self._process is not None:
            end(self._process)

    def _wait_for_page(self) -> None:
        """Wait for the first page, then give the socket to the twin."""
        with self._listener:
            select.select([self._listener], [], [])
            if not self._over.is_set():
                with contextlib.suppress(OSError):
                    self._start(self._listener.fileno())

    def _start(self, descriptor: int) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open('w') as log:
            self._process = subprocess.Popen(
                [*self._command, '--socket', str(descriptor)],
                pass_fds=[descriptor],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        os.sched_setscheduler(self._process.pid, os.SCHED_IDLE, os.sched_param(0))
