"""Nodes that simulated time waits for; without ROS."""

from collections.abc import Iterable

_NEVER = -1


class AwaitedAnswers:
    """Keeps how far each node has come in simulated time.

    Nodes that are expected are waited for from the start on, however long it takes; a program joins
    with its first answer. A node that is given up is waited for again when it answers again. All
    times are simulated [ns].

    Args:
        by_tick: Names of the nodes that are expected to answer ticks.
        by_image: Names of the nodes that are expected to answer images, with their stamps.

    Attributes:
        lost: Expected nodes that were given up.
    """

    def __init__(self, by_tick: Iterable[str], by_image: Iterable[str] = ()):
        self._by_image = frozenset(by_image)
        self._expected = frozenset(by_tick) | self._by_image
        self._until_ns = dict.fromkeys(sorted(self._expected), _NEVER)
        self.lost: set[str] = set()

    def answer(self, node: str, until_ns: int) -> None:
        """Record that a node has done all its work up to a time, or on the image of this stamp."""
        if node not in self._by_image:
            until_ns = max(until_ns, self._until_ns.get(node, _NEVER))
        self._until_ns[node] = until_ns
        self.lost.discard(node)

    def leave(self, node: str) -> None:
        """Wait no more for a node."""
        self._until_ns.pop(node, None)
        self.lost.discard(node)

    def missing(self, tick_ns: int, image_ns: int) -> list[str]:
        """Return the nodes that have not answered the last tick, or the last image's stamp."""
        return [
            node
            for node, until_ns in self._until_ns.items()
            if node not in self.lost
            and (until_ns != image_ns if node in self._by_image else until_ns < tick_ns)
        ]

    def starting(self, node: str) -> bool:
        """Return whether a node has not answered yet."""
        return self._until_ns.get(node) == _NEVER

    def give_up(self, nodes: Iterable[str]) -> list[str]:
        """Go on without these nodes, save those that are still starting; return who is given up."""
        given_up = [node for node in nodes if not self.starting(node)]
        for node in given_up:
            if node in self._expected:
                self.lost.add(node)
            else:
                self.leave(node)
        return given_up
