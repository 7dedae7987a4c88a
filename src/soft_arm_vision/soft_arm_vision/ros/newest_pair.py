"""Pairs colour and depth of one frameset and hands the newest pair, or each, to a thread."""

import threading
import time
from collections import deque
from collections.abc import Callable

from sensor_msgs.msg import Image

from soft_arm_vision.frames import stamp_ns
from soft_arm_vision.pairing import Kind, Pairing


class NewestPair:
    """Hand the newest pair of colour and depth images with equal stamps to a thread.

    Older pairs are dropped while the thread is at work, unless all are to be kept.

    Args:
        work: Called in the thread with (colour, depth); the lock is not held.
        keep_all: Whether the thread works on every pair, in their order; on a pair with the stamp
            of the one before, which was sent again, it does not.
    """

    def __init__(self, work: Callable[[Image, Image], None], keep_all: bool = False):
        self._work, self._changed = work, threading.Condition()
        self._pairing = Pairing(keep_all)
        self._pairs: deque[tuple[Image, Image]] = deque()
        self._keep_all, self._closing, self._begun_s = keep_all, False, None
        self._last_stamp_ns: int | None = None
        self.skipped = 0  # pairs that were dropped because a newer one came
        self._thread = threading.Thread(target=self._run, name='newest_pair', daemon=True)
        self._thread.start()

    def put_colour(self, image: Image) -> None:
        """Store a colour image."""
        self._put('colour', image)

    def put_depth(self, image: Image) -> None:
        """Store a depth image."""
        self._put('depth', image)

    @property
    def alive(self) -> bool:
        """Whether the thread still runs."""
        return self._thread.is_alive()

    @property
    def busy_s(self) -> float:
        """For how long the thread has been at work on one pair [s], 0 if it is idle."""
        begun_s = self._begun_s
        return 0.0 if begun_s is None else time.monotonic() - begun_s

    @property
    def trouble(self) -> str | None:
        """Why there are no pairs although images arrive; None if no image has arrived."""
        with self._changed:
            colour, depth = (
                next(reversed(waiting), None) for waiting in self._pairing.waiting.values()
            )
        if colour is None and depth is None:
            return None
        if colour is None or depth is None:
            return (
                'only colour images come: is align_depth on?'
                if depth is None
                else 'only depth images come'
            )
        return (
            f'stamps of colour and depth differ by {abs(colour - depth) / 1e6:.6g} ms: turn '
            'enable_sync on'
        )

    def close(self) -> None:
        """End the thread, after the frame that it is working on."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout=5.0)

    def _put(self, kind: Kind, image: Image) -> None:
        stamp = stamp_ns(image.header.stamp)
        with self._changed:
            pair = self._pairing.put(kind, image)
            if pair is None:
                return
            if self._keep_all and stamp == self._last_stamp_ns:
                return
            self._last_stamp_ns = stamp
            if self._pairs and not self._keep_all:
                self._pairs.clear()
                self.skipped += 1
            self._pairs.append(pair)
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._pairs or self._closing)
                if self._closing:
                    return
                pair = self._pairs.popleft()
            self._begun_s = time.monotonic()
            self._work(*pair)
            self._begun_s = None
