"""Node `report_ready`: log when all nodes of a launch work, and until then which do not.

In: `/diagnostics`. A node works if its report is OK, or WARN without the value `ready: False`. This
node ends with exit code 1, and the launch with it, when two processes report under one name, or one
on another machine, before all nodes work, and when a node has not run for a minute.
"""

import math
import sys
import time
from dataclasses import dataclass
from socket import gethostname

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from soft_arm_node_kit import qos, runner
from soft_arm_node_kit.diagnostics import OK, WARN
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import declare, parameter
from softarm_cli.readiness import Readiness, Report, listed

_PERIOD_S = 0.5
_FIRST_WAITING_S, _LONGEST_WAITING_S = 5.0, 60.0
_SETTLED_S = 5.0  # excludes rates measured during the start
_MAX_CHARACTERS = 300


@dataclass(frozen=True)
class ReportReadyParameters:
    """Parameters of the node."""

    nodes: list[str] = parameter(
        description='nodes that must work; relative names are in the namespace of this node'
    )
    what: str = parameter(description='launched system, for the line "ready: .."')
    hint: str = parameter('', 'a command to try then, for the same line')


class LaunchError(RuntimeError):
    """The launch cannot continue."""


class ReportReadyNode(Node):
    """Logger of the readiness computed by `softarm_cli.readiness.Readiness`."""

    def __init__(self):
        super().__init__('report_ready')
        self._settings = declare(self, ReportReadyParameters)
        self._start_s = time.monotonic()
        nodes = [self._full_name(name) for name in self._settings.nodes]
        self._readiness = Readiness(nodes, self._start_s)
        self._nodes, self._is_ready, self._silent = len(nodes), False, []
        self._remarks_due_s = math.inf
        self._next_line_s = self._start_s + _FIRST_WAITING_S
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, qos.STATE)
        self.create_timer(_PERIOD_S, self._check)

    def _full_name(self, name: str) -> str:
        return name if name.startswith('/') else f'{self.get_namespace().rstrip("/")}/{name}'

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self._readiness.add(f'/{status.name}', _report(status), time.monotonic())
        if not self._is_ready:
            self._check()

    def _check(self) -> None:
        now_s = time.monotonic()
        self._readiness.see(
            {f'{space.rstrip("/")}/{name}' for name, space in self.get_node_names_and_namespaces()},
            now_s,
        )
        if gone := self._readiness.gone(now_s):
            raise LaunchError(f'{gone[0]} has not run for a minute: see its error above')
        if self._is_ready:
            self._watch(now_s)
            return
        if self._readiness.doubled:
            raise LaunchError(
                f'two {self._readiness.doubled} run in this ROS domain: end one, or use another '
                'domain, ROS_DOMAIN_ID=..'
            )
        missing = self._readiness.missing(now_s)
        if not missing:
            self._is_ready = True
            self._log_ready(now_s)
        elif now_s > self._next_line_s:
            self._next_line_s = now_s + min(now_s - self._start_s, _LONGEST_WAITING_S)
            self.get_logger().info(f'waiting for {listed(missing)}'[:_MAX_CHARACTERS])

    def _log_ready(self, now_s: float) -> None:
        hint = f' Try: {self._settings.hint}' if self._settings.hint else ''
        nodes = '1 node' if self._nodes == 1 else f'{self._nodes} nodes'
        self.get_logger().info(
            f'ready: {self._settings.what}, {nodes}, {now_s - self._start_s:.1f} s.{hint}'
        )
        self._remarks_due_s = now_s + _SETTLED_S

    def _watch(self, now_s: float) -> None:
        if now_s > self._remarks_due_s:
            self._remarks_due_s = math.inf
            if remarks := self._readiness.remarks():
                self.get_logger().warning(f'ready, but {listed(remarks)}'[:_MAX_CHARACTERS])
        silent = self._readiness.silent(now_s)
        for node in set(silent) - set(self._silent):
            self.get_logger().warning(f'{node} has stopped reporting')
        for node in set(self._silent) - set(silent):
            self.get_logger().info(f'{node} reports again')
        self._silent = silent


def _report(status: DiagnosticStatus) -> Report:
    values = {pair.key: pair.value for pair in status.values}
    works = status.level in (OK, WARN) and values.get('ready') != 'False'
    return Report(
        values.get('pid', ''),
        works,
        '' if works and status.level == OK else status.message,
        here=values.get('host') in (None, gethostname()),
    )


def main() -> int:
    """Entry point of the executable."""
    try:
        return runner.run(ReportReadyNode)
    except LaunchError as error:
        sys.stderr.write(f'{error}\n')
        return 1
