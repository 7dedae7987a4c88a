"""Readiness of the nodes of a launch, from their diagnostics."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

FRESH_S = 5.0  # nodes report once a second; a busy machine stalls
GONE_S = 60.0
_NAMED = 3


@dataclass(frozen=True)
class Report:
    """Report of a node.

    Attributes:
        pid: Reporting process; empty if unknown.
        works: True if the node can do its work.
        remark: Fault; empty without one.
        here: Whether the process runs on this machine, as all nodes of a launch do.
    """

    pid: str
    works: bool
    remark: str
    here: bool = True


class Readiness:
    """Collect the reports of the nodes of a launch. All times are on one monotonic clock [s].

    Args:
        nodes: Full names of the nodes.
        now_s: Present time.

    Attributes:
        doubled: Node of which two processes report, or empty.
    """

    def __init__(self, nodes: Sequence[str], now_s: float):
        self._reports: dict[str, Report] = {}
        self._reported_s: dict[str, float] = {}
        self._present_s = dict.fromkeys(nodes, now_s)
        self._replaced: dict[str, set[str]] = {node: set() for node in nodes}
        self.doubled = ''

    def add(self, node: str, report: Report, now_s: float) -> None:
        """Add the report of a node; reports of other nodes are ignored."""
        if node not in self._present_s:
            return
        before = self._reports.get(node, report)
        if before.pid != report.pid:
            self._replaced[node].add(before.pid)
        if report.pid in self._replaced[node] or not report.here:
            self.doubled = node  # the old process of a restarted node would be silent
        self._reports[node], self._reported_s[node] = report, now_s
        self._present_s[node] = now_s

    def see(self, present: set[str], now_s: float) -> None:
        """Record the names of the running nodes."""
        for node in present & self._present_s.keys():
            self._present_s[node] = now_s

    def missing(self, now_s: float) -> dict[str, str]:
        """Return the reasons for which nodes do not work yet, by node."""
        return {node: why for node in self._present_s if (why := self._why(node, now_s))}

    def silent(self, now_s: float) -> list[str]:
        """Return the nodes that have not reported for `FRESH_S`."""
        return [
            node
            for node in self._present_s
            if now_s - self._reported_s.get(node, -math.inf) > FRESH_S
        ]

    def gone(self, now_s: float) -> list[str]:
        """Return the nodes that have not run for `GONE_S`: they are not being restarted."""
        return [node for node, seen_s in self._present_s.items() if now_s - seen_s > GONE_S]

    def remarks(self) -> dict[str, str]:
        """Return the remarks of all nodes, by the node's name."""
        return {node: report.remark for node, report in self._reports.items() if report.remark}

    def _why(self, node: str, now_s: float) -> str:
        if node in self.silent(now_s):
            return 'has not reported yet' if node not in self._reports else 'has stopped reporting'
        report = self._reports[node]
        return '' if report.works else report.remark or 'not ready'


def listed(reasons: dict[str, str]) -> str:
    """Return nodes and reasons as one line."""
    named = [f'{node.rpartition("/")[2]}: {why}' for node, why in reasons.items()]
    more = f'; and {len(named) - _NAMED} more' if len(named) > _NAMED else ''
    return '; '.join(named[:_NAMED]) + more
