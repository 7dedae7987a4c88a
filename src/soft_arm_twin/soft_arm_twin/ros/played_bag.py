"""Playback of a bag into a ROS domain, for the twin in the same process."""

import sys
import threading
from pathlib import Path
from typing import Self

from softarm_cli.bags.file import open_bag, warn_of_cut
from softarm_cli.bags.replay import Replay
from softarm_cli.errors import BagError
from softarm_cli.ros.bag_player import play

DOMAIN = 231  # not used by rigs, so that a replay moves nothing


class PlayedBag:
    """Play a bag in a thread, again and again. Use it in a `with` statement.

    Args:
        path: Folder of the bag.
        domain: ROS domain.

    Raises:
        BagError: If the bag does not exist or is damaged.
    """

    def __init__(self, path: Path, domain: int):
        with open_bag(path) as bag:
            warn_of_cut(bag, 'twin')
        self._path, self._replay = path, Replay(commands=True, domain=domain)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name='played_bag', daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                play(self._path, self._replay, self._stop)
        except BagError as error:
            sys.stderr.write(f'twin: {error}\n')
