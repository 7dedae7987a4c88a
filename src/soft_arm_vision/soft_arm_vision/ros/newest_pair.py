"""Pairs colour and depth of one frameset and hands the newest pair, or each, to a thread."""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from sensor_msgs.msg import Image

from soft_arm_vision.frames import stamp_ns

KEPT_NS = 200_000_000  # age by stamp up to which the other half of a frameset may still come
# With keep_all so many are kept however old: a bag whose recorder stalled holds several images of
# one kind before the first of the other, and `softarm bag play` waits for each of 8 pairs.
KEPT_OF_ALL = 8


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
        self._waiting = {'colour': OrderedDict(), 'depth': OrderedDict()}
        self._pairs: deque[tuple[Image, Image]] = deque()
        self._keep_all, self._closing, self._begun_s = keep_all, False, None
        self._last_stamp_ns: int | None = None
        self.skipped = 0  # pairs that were dropped because a newer one came
        self._thread = threading.Thread(target=self._run, name='newest_pair', daemon=True)
        self._thread.start()

    def put_colour(self, image: Image) -> None:
        """Store a colour image."""
        self._put('colour', 'depth', image)

    def put_depth(self, image: Image) -> None:
        """Store a depth image."""
        self._put('depth', 'colour', image)

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
                next(reversed(self._waiting[kind]), None) for kind in ('colour', 'depth')
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
            f'stamps of colour and depth differ by {abs(colour - depth) / 1e6:.0f} ms: turn '
            'enable_sync on'
        )

    def close(self) -> None:
        """End the thread, after the frame that it is working on."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout=5.0)

    def _put(self, kind: str, other: str, image: Image) -> None:
        stamp = stamp_ns(image.header.stamp)
        with self._changed:
            match = self._waiting[other].pop(stamp, None)
            if match is None:
                waiting = self._waiting[kind]
                waiting[stamp] = image
                least = KEPT_OF_ALL if self._keep_all else 1
                # The absolute age: a clock may jump back.
                while len(waiting) > least and abs(stamp - next(iter(waiting))) > KEPT_NS:
                    waiting.popitem(last=False)
                return
            if self._keep_all and stamp == self._last_stamp_ns:
                return
            self._last_stamp_ns = stamp
            if self._pairs and not self._keep_all:
                self._pairs.clear()
                self.skipped += 1
            self._pairs.append((image, match) if kind == 'colour' else (match, image))
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
