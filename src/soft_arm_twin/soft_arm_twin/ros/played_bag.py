"""Playback of a bag into a ROS domain, for the twin in the same process."""

import sys
import threading
from pathlib import Path
from socket import socket
from typing import Self

from soft_arm_node_kit.node_names import AlreadyRunsError, hold
from softarm_cli.bags.file import open_bag
from softarm_cli.bags.replay import Replay
from softarm_cli.errors import BagError
from softarm_cli.ros.bag_player import play

DOMAINS = range(231, 221, -1)
"""ROS domains of played bags; rigs do not use them, so that a replay moves nothing."""


class PlayedBag:
    """Play a bag in a thread, again and again. Use it in a `with` statement.

    Args:
        path: Folder of the bag.
        domain: ROS domain; None is the first of `DOMAINS` into which no other bag is played.

    Attributes:
        domain: ROS domain.

    Raises:
        BagError: If the bag does not exist or is damaged, or bags are played into all `DOMAINS`.
    """

    def __init__(self, path: Path, domain: int | None = None):
        with open_bag(path):
            pass  # it can be read; what is left out is reported once
        self.domain, self._lock = _free_domain() if domain is None else (domain, None)
        self._path, self._replay = path, Replay(commands=True, domain=self.domain)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name='played_bag', daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._lock:
            self._lock.close()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                play(self._path, self._replay, self._stop, is_quiet=True)
        except BagError as error:
            sys.stderr.write(f'twin: {error}\n')


def _free_domain() -> tuple[int, socket]:
    """Return a domain without a played bag, and the lock on it."""
    for domain in DOMAINS:
        try:
            return domain, hold('/played_bag', str(domain))
        except AlreadyRunsError:
            continue
    raise BagError(
        f'bags are played into all of the ROS domains {DOMAINS[-1]} to {DOMAINS[0]}: end one of '
        'the twins, or give --domain'
    )
