"""Pair colour and depth images of one frameset by their stamps, both running and recorded."""

from collections import Counter, OrderedDict, deque
from statistics import median
from typing import Any, Literal

from soft_arm_vision.frames import stamp_ns

KEPT_NS = 200_000_000  # age by stamp up to which the other half of a frameset may still come
# Where every pair counts, so many wait however old: a bag whose recorder stalled holds several
# images of one kind before the first of the other, and `softarm bag play` waits for 8 pairs.
KEPT_OF_ALL = 8
PERIODS = 15  # intervals of one kind whose median is its period

Kind = Literal['colour', 'depth']
OTHER: dict[Kind, Kind] = {'colour': 'depth', 'depth': 'colour'}


class Pairing:
    """Images that wait for the other half of their frameset.

    Halves of a frameset have equal stamps. A running camera must synchronize them; recordings of
    cameras without synchronization cannot be repeated.

    Args:
        keep_all: Whether every pair counts; else one image of each kind and those of the last
            `KEPT_NS` wait.
        unequal: Whether the nearest images within half a period are a frameset as well, if fewer
            stamps are equal than images are unpaired.

    Attributes:
        waiting: Images by stamp [ns], of each kind.
        dropped: Number of images of each kind that were discarded.
        differences_ns: Stamp of depth minus stamp of colour of the newest framesets [ns].
    """

    def __init__(self, keep_all: bool, unequal: bool = False):
        self._unequal = unequal
        self._least = KEPT_OF_ALL if keep_all else 1
        self.waiting: dict[Kind, OrderedDict[int, Any]] = {
            'colour': OrderedDict(),
            'depth': OrderedDict(),
        }
        self.dropped: Counter[Kind] = Counter()
        self.differences_ns: deque[int] = deque(maxlen=1000)
        self._newest: dict[Kind, int] = {}
        self._intervals: dict[Kind, deque[int]] = {kind: deque(maxlen=PERIODS) for kind in OTHER}
        self._equal_count = 0

    def put(self, kind: Kind, image: Any) -> tuple[Any, Any] | None:
        """Return colour and depth if the other half of an image waits; else let it wait."""
        stamp = stamp_ns(image.header.stamp)
        if interval := abs(stamp - self._newest.get(kind, stamp)):
            self._intervals[kind].append(interval)
        self._newest[kind] = stamp
        others = self.waiting[OTHER[kind]]
        nearest = min(others, key=lambda other: abs(other - stamp), default=None)
        if nearest is not None and self._belong_together(stamp, nearest):
            self._equal_count += stamp == nearest
            match = others.pop(nearest)
            self.differences_ns.append(nearest - stamp if kind == 'colour' else stamp - nearest)
            return (image, match) if kind == 'colour' else (match, image)
        waiting = self.waiting[kind]
        waiting[stamp] = image
        # The absolute age: a clock may jump back.
        while len(waiting) > self._least and abs(stamp - next(iter(waiting))) > KEPT_NS:
            waiting.popitem(last=False)
            self.dropped[kind] += 1
        return None

    def _belong_together(self, one_ns: int, other_ns: int) -> bool:
        if one_ns == other_ns:
            return True
        if not self._unequal or self._equal_count > sum(self.unpaired.values()):
            return False
        periods_ns = [median(intervals) for intervals in self._intervals.values() if intervals]
        return bool(periods_ns) and abs(one_ns - other_ns) < min(periods_ns) / 2

    @property
    def apart_ms(self) -> float | None:
        """Least difference of the stamps of waiting images of both kinds [ms]; None: one waits."""
        colour, depth = self.waiting.values()
        apart_ns = [abs(one - other) for one in colour for other in depth]
        return min(apart_ns) * 1e-6 if apart_ns else None

    @property
    def unpaired(self) -> dict[Kind, int]:
        """Number of images of each kind without the other half so far."""
        return {kind: self.dropped[kind] + len(waiting) for kind, waiting in self.waiting.items()}
