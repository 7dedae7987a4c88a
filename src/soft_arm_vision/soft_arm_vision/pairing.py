"""Pair colour and depth images of one frameset by their stamps, running and recorded ones alike."""

from collections import Counter, OrderedDict
from typing import Any, Literal

from soft_arm_vision.frames import stamp_ns

KEPT_NS = 200_000_000  # age by stamp up to which the other half of a frameset may still come
# Where every pair counts, so many wait however old: a bag whose recorder stalled holds several
# images of one kind before the first of the other, and `softarm bag play` waits for 8 pairs.
KEPT_OF_ALL = 8

Kind = Literal['colour', 'depth']
OTHER: dict[Kind, Kind] = {'colour': 'depth', 'depth': 'colour'}


class Pairing:
    """Images that wait for the other half of their frameset.

    Args:
        keep_all: Whether every pair counts; else one image of each kind and those of the last
            `KEPT_NS` wait.

    Attributes:
        waiting: Images by stamp [ns], of each kind.
        dropped: Number of images of each kind that wait no longer.
    """

    def __init__(self, keep_all: bool):
        self._least = KEPT_OF_ALL if keep_all else 1
        self.waiting: dict[Kind, OrderedDict[int, Any]] = {
            'colour': OrderedDict(),
            'depth': OrderedDict(),
        }
        self.dropped: Counter[Kind] = Counter()

    def put(self, kind: Kind, image: Any) -> tuple[Any, Any] | None:
        """Return colour and depth if the other half of an image waits; else let it wait."""
        stamp = stamp_ns(image.header.stamp)
        match = self.waiting[OTHER[kind]].pop(stamp, None)
        if match is not None:
            return (image, match) if kind == 'colour' else (match, image)
        waiting = self.waiting[kind]
        waiting[stamp] = image
        # The absolute age: a clock may jump back.
        while len(waiting) > self._least and abs(stamp - next(iter(waiting))) > KEPT_NS:
            waiting.popitem(last=False)
            self.dropped[kind] += 1
        return None

    @property
    def unpaired(self) -> dict[Kind, int]:
        """Number of images of each kind without the other half so far."""
        return {kind: self.dropped[kind] + len(waiting) for kind, waiting in self.waiting.items()}
