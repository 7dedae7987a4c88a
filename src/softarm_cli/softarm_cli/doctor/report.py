"""What `softarm doctor` says about the running graph: nodes missing, doubled, killed and deaf, topics, diagnostics, and what to do."""

import os
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.qos import QoSProfile, ReliabilityPolicy

from softarm_cli.errors import MessageTypeError
from softarm_cli.graph.graph import Graph, RunningNode
from softarm_cli.graph.message_types import message_class
from softarm_cli.graph.node_states import NO_ANSWER, deaf_nodes, lifecycle_states
from softarm_cli.launching.logs import Launch, last_launch, running_launches

_TOLERANCE = 0.2
_SAMPLE_S = 2.5  # two diagnostics of each node
_BUSY_SHARE = 0.15  # of a core; what is left to a node that computes on a busy machine
_RECENT_S = 600.0
_LONGEST_MESSAGE = 200
_LEVELS = {
    DiagnosticStatus.OK: 'ok',
    DiagnosticStatus.WARN: 'warning',
    DiagnosticStatus.ERROR: 'error',
    DiagnosticStatus.STALE: 'stale',
}


@dataclass(frozen=True)
class System:
    """Nodes that belong together, by their names inside one namespace, and what they publish.

    Attributes:
        name: What it is.
        nodes: Names in the namespace; two of them make a system.
        others: Full names of the nodes that it needs outside.
        rates_hz: Expected rates [Hz] by topic; names without a leading slash are in the namespace.
        launch: How it is started.
    """

    name: str
    nodes: tuple[str, ...]
    others: tuple[str, ...]
    rates_hz: dict[str, float]
    launch: str


SYSTEMS = (
    System(
        'arm',
        (
            'pneumatic_driver',
            'forward_kinematics',
            'inverse_kinematics',
            'ring_detector',
            'tip_controller',
        ),
        ('/camera/camera',),
        {
            'pressures': 50.0,
            'configuration': 50.0,
            'ring_pose': 30.0,
            '/camera/camera/color/image_raw': 30.0,
            '/camera/camera/color/camera_info': 30.0,
            '/camera/camera/aligned_depth_to_color/image_raw': 30.0,
        },
        'softarm launch launch/sim.launch.xml, or launch/rig.launch.xml',
    ),
    System(
        'gripper',
        ('pcu2v_driver', 'finger_kinematics', 'finger_detector', 'gripper_controller'),
        ('/abb/abb_rws_bridge', '/finger_camera/finger_camera'),
        {
            'pressures': 50.0,
            'state': 50.0,
            'configuration': 50.0,
            '/finger_camera/color/image_raw': 15.0,
            '/finger_camera/depth/image_raw': 15.0,
        },
        'softarm launch launch/cell.launch.xml',
    ),
)
# Who starts a node that no executable of its own stands for.
_PUBLISHED_BY = {
    '/camera/camera': 'virtual_rig or realsense2_camera',
    '/finger_camera/finger_camera': 'virtual_cell or orbbec_camera',
}
# What to do about a diagnostic message that does not say so itself: the first that is found in it.
_REMEDIES = (
    (r'compiling', 'wait: it is done once after an installation'),
    (
        r'link lost|no connection|no answer|refused|timed? ?out',
        'check power, cable and address of the device; then run: softarm node activate {driver}',
    ),
    (
        r'set points are not those|heartbeat|another (client|master)',
        'find the other client of this device and end it; then run: softarm node activate {driver} --clear-faults',
    ),
    (
        r'_stuck|out_of_range|latched',
        'check sensor, valve, tube and supply of that channel; then run: softarm node activate {driver} --clear-faults',
    ),
    (r'no pairs of colour', 'check that the camera runs with aligned depth'),
    (
        r'ring lost|no ring',
        'look at the debug overlay of ring_detector: light, what covers the ring, things of its colour, ring of the robot file',
    ),
    (r'slower than real time', 'end other programs, or use a machine with more cores'),
    (
        r'vented: no commands',
        'nothing, if no goal is running: the driver vents until the next command',
    ),
    (
        r'driver lost|driver is inactive|inactive',
        'see what the driver says, clear the cause, and run: softarm node activate {driver}',
    ),
)


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, in a sentence without its full stop, and what to do about it."""

    what: str
    remedy: str

    def __str__(self) -> str:
        return f'{self.what}. {self.remedy}'


@dataclass(frozen=True)
class Topic:
    """One topic; rates in Hz, None where nothing was received or nothing is expected."""

    name: str
    rate_hz: float | None
    expected_hz: float | None
    publishers: tuple[str, ...]

    @property
    def is_wrong(self) -> bool:
        """Whether the rate is missing or off by more than a fifth."""
        if self.expected_hz is None:
            return False
        return (
            self.rate_hz is None
            or abs(self.rate_hz - self.expected_hz) > _TOLERANCE * self.expected_hz
        )


@dataclass(frozen=True)
class Report:
    """What was heard of the graph."""

    nodes: list[RunningNode]
    states: dict[str, str]
    deaf: list[str]
    topics: list[Topic]
    diagnostics: dict[str, DiagnosticStatus]
    launches: list[Launch]
    last_launch: Launch | None
    busy_shares: dict[int, float] = field(default_factory=dict)

    def findings(self) -> list[Finding]:
        """Return everything that is wrong, causes before what follows from them."""
        died = list(self._died())
        return [
            *died,
            *self._missing(),
            *self._doubled(),
            *self._shared_devices(),
            *self._deaf(),
            *self._diagnosed(),
            *self._inactive(),
            *self._slow_topics(),
        ]

    def _died(self) -> Iterator[Finding]:
        running = {node.name for node in self.nodes}
        for launch in self.launches:
            for process in launch.processes:
                if process.name in running:
                    continue
                if process.has_died:
                    yield Finding(f'{process.name} {process.end}', _again(launch))
                elif process.exit_code is None and _is_stopped(process.pid):
                    yield _stopped(process.name, process.pid)
        last = self.last_launch
        if (
            not self.nodes
            and last
            and last.cause
            and not last.is_running
            and time.time() - last.ended_s < _RECENT_S
        ):
            yield Finding(
                f'nothing runs: the last launch ended {time.time() - last.ended_s:.0f} s ago because {last.cause}',
                'Mend that and launch again',
            )

    def _missing(self) -> Iterator[Finding]:
        running = {node.name for node in self.nodes}
        named = {
            p.name
            for launch in self.launches
            for p in launch.processes
            if p.has_died or _is_stopped(p.pid)
        }
        declared = {p.name for launch in self.launches for p in launch.processes}
        for system, namespace in self.systems():
            expected = {f'{namespace}/{name}' for name in system.nodes}
            lacking = sorted(
                (expected & declared or expected) - running
            )  # a launch may leave some out
            for name in (
                n
                for n in [*lacking, *(o for o in system.others if o not in running)]
                if n not in named
            ):
                of = f' (started by {_PUBLISHED_BY[name]})' if name in _PUBLISHED_BY else ''
                again = (
                    _again(self.launches[0]) if len(self.launches) == 1 else f'Run: {system.launch}'
                )
                yield Finding(
                    f'node {name}{of} is missing: the {system.name} in {namespace or "/"} needs it',
                    again,
                )

    def systems(self) -> list[tuple[System, str]]:
        """Return each system of which two nodes run, with its namespace."""
        found: dict[tuple, int] = defaultdict(int)
        for name in {node.name for node in self.nodes}:
            namespace, _, own = name.rpartition('/')
            for i, system in enumerate(SYSTEMS):
                found[i, namespace] += own in system.nodes
        return [
            (SYSTEMS[i], namespace) for (i, namespace), count in sorted(found.items()) if count >= 2
        ]

    def _doubled(self) -> Iterator[Finding]:
        by_name = defaultdict(list)
        for node in self.nodes:
            by_name[node.name].append(node)
        for name, same in by_name.items():
            if len(same) > 1:
                pids = [node.pid for node in same if node.pid is not None]
                end = (
                    f'run: kill -INT {max(pids)}'
                    if pids
                    else 'end the one that does not belong here'
                )
                yield Finding(
                    f'node {name} runs {len(same)} times ({", ".join(node.where for node in same)}): both act, and results are garbage',
                    f'Keep one; to end the newest, {end}' if pids else end.capitalize(),
                )

    def _shared_devices(self) -> Iterator[Finding]:
        users = defaultdict(list)
        for name, status in self.diagnostics.items():
            if name.endswith('_driver') and status.hardware_id:
                users[status.hardware_id].append(f'/{name}')
        for device, names in users.items():
            if len(names) > 1:
                yield Finding(
                    f'{" and ".join(sorted(names))} both drive the device at {device}',
                    'End one of them before anything is commanded',
                )

    def _deaf(self) -> Iterator[Finding]:
        pids = {node.name: node.pid for node in self.nodes}
        for name in self.deaf:
            pid = pids.get(name)
            share = self.busy_shares.get(pid, 0.0)
            if _is_stopped(pid):
                yield _stopped(name, pid)
            elif share > _BUSY_SHARE:
                yield Finding(
                    f'node {name} (pid {pid}) is busy with {100 * share:.0f} % of a core, and does not answer',
                    'Wait a minute, since a new arm is compiled once; then look again',
                )
            else:
                where = f' (pid {pid})' if pid else ''
                yield Finding(
                    f'node {name}{where} runs, but does not answer',
                    'End the launch by Ctrl-C and launch again',
                )

    def _diagnosed(self) -> Iterator[Finding]:
        for name, status in sorted(self.diagnostics.items()):
            if status.level != DiagnosticStatus.OK and not _is_idle(status.message):
                message = one_line(status.message)
                yield Finding(
                    f'/{name} reports ({_LEVELS.get(status.level, "?")}): {message}',
                    _sentence(remedy(message, self._driver_for(f'/{name}'))),
                )

    def _driver_for(self, name: str) -> str:
        """The driver that a node belongs to: itself, or the one in its namespace."""
        namespace = name.rpartition('/')[0]
        return (
            name
            if name in self.states
            else next((n for n in self.states if n.rpartition('/')[0] == namespace), 'NAME')
        )

    def _inactive(self) -> Iterator[Finding]:
        reported = {
            f'/{name}'
            for name, status in self.diagnostics.items()
            if status.level == DiagnosticStatus.ERROR
        }
        for name, state in sorted(self.states.items()):
            if state not in ('active', NO_ANSWER) and name not in reported:
                yield Finding(
                    f'the driver {name} is {state}: it obeys no command',
                    f'When nobody can be hurt, run: softarm node activate {name}',
                )

    def _slow_topics(self) -> Iterator[Finding]:
        troubled = {
            f'/{name}'
            for name, status in self.diagnostics.items()
            if status.level != DiagnosticStatus.OK
        } | set(self.deaf)
        wrong = [
            topic for topic in self.topics if topic.is_wrong and topic.publishers
        ]  # of another its node is missing
        for topic in (
            topic
            for topic in wrong
            if topic.rate_hz is None and not troubled.intersection(topic.publishers)
        ):
            by = ' and '.join(topic.publishers)
            yield Finding(
                f'{topic.name} is silent, though {by} runs',
                f'Run: softarm topic echo {topic.name}; then launch again',
            )
        slow = [
            f'{topic.name} at {hz(topic.rate_hz)} of {topic.expected_hz:g}'
            for topic in wrong
            if topic.rate_hz is not None
        ]
        if slow:
            load, cores = os.getloadavg()[0], os.cpu_count() or 1
            why, remedy = (
                (f', and the load is {load:.1f} on {cores} cores', 'End other programs')
                if load > cores
                else ('', 'Run: softarm topic hz NAME')
            )
            yield Finding(f'topics do not come at their rates: {", ".join(slow)}{why}', remedy)


def look() -> Report:
    """Listen to the graph of this ROS domain; takes seven seconds, and four more where nodes do not answer."""
    with Graph() as graph:
        graph.discover()
        diagnostics: dict[str, DiagnosticStatus] = {}
        graph.node.create_subscription(
            DiagnosticArray,
            '/diagnostics',
            lambda array: diagnostics.update({s.name: s for s in array.status}),
            QoSProfile(depth=100),
        )
        nodes = graph.nodes()
        known = Report(nodes, {}, [], [], {}, [], None)
        expected = {
            topic if topic.startswith('/') else f'{namespace}/{topic}': rate
            for system, namespace in known.systems()
            for topic, rate in system.rates_hz.items()
        }
        watched = {name: kind for name, kind in graph.topics().items() if name in expected}
        arrivals: dict[str, list[float]] = {name: [] for name in watched}
        for name, kind in watched.items():
            _listen(graph, name, kind, arrivals[name])
        used_s = {node.pid: _cpu_s(node.pid) for node in nodes if node.pid}
        graph.spin(_SAMPLE_S)
        busy = {pid: (_cpu_s(pid) - before_s) / _SAMPLE_S for pid, before_s in used_s.items()}
        topics = [
            Topic(n, _rate(arrivals.get(n, [])), expected[n], tuple(graph.publishers(n)))
            for n in sorted(expected)
        ]
        states = lifecycle_states(graph)
        deaf = sorted(
            {*deaf_nodes(graph), *(name for name, state in states.items() if state == NO_ANSWER)}
        )
    domain = int(os.environ.get('ROS_DOMAIN_ID') or 0)
    return Report(
        nodes, states, deaf, topics, diagnostics, running_launches(domain), last_launch(), busy
    )


def remedy(message: str, driver: str) -> str:
    """Return what to do about a diagnostic message; its own words where it says so itself.

    Args:
        message: One line.
        driver: Full name of the driver of that system.
    """
    if 'softarm ' in message or re.search(
        r': (add|calibrate|check|choose|clear|correct|end|free|give|make|measure|run|see|set|start|stop|use|write)\b',
        message,
    ):
        return 'do as it says'
    found = next(
        (what for pattern, what in _REMEDIES if re.search(pattern, message)),
        'see docs/how-to/runbook.md, "When something is wrong"',
    )
    return found.format(driver=driver)


def one_line(message: str) -> str:
    """Return a message as one line without dumps of bytes, at most 200 characters."""
    text = re.sub(
        r'(?:\b(?:0x)?[0-9a-fA-F]{2}[\s,:]+){8,}(?:0x)?[0-9a-fA-F]{2}\b|\b[0-9a-fA-F]{32,}\b',
        '(bytes)',
        ' '.join(message.split()),
    )
    return text if len(text) <= _LONGEST_MESSAGE else f'{text[: _LONGEST_MESSAGE - 3]}...'


def hz(rate: float | None) -> str:
    """Return a rate in words."""
    return 'silent' if rate is None else f'{rate:.1f} Hz'


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _again(launch: Launch) -> str:
    return f'End the launch by Ctrl-C and run: {launch.command}'


def _stopped(name: str, pid: int) -> Finding:
    return Finding(
        f'node {name} (pid {pid}) is stopped by a signal, and does nothing',
        f'Run: kill -CONT {pid}',
    )


def _is_idle(message: str) -> bool:
    return message.startswith('vented: no commands')  # as it should be between goals


def _listen(graph: Graph, name: str, kind: str, arrivals: list[float]) -> None:
    best_effort = QoSProfile(
        depth=10, reliability=ReliabilityPolicy.BEST_EFFORT
    )  # hears every publisher
    try:
        graph.node.create_subscription(
            message_class(kind),
            name,
            lambda _raw: arrivals.append(time.monotonic()),
            best_effort,
            raw=True,
        )
    except MessageTypeError:
        return  # a type that is not installed here: listed, without a rate


def _rate(arrivals: list[float]) -> float | None:
    if len(arrivals) < 2:
        return None
    return (len(arrivals) - 1) / (arrivals[-1] - arrivals[0])


def _stat(pid: int | None) -> list[str]:
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    except OSError:
        return []


def _is_stopped(pid: int | None) -> bool:
    return _stat(pid)[:1] in (['T'], ['t'])


def _cpu_s(pid: int) -> float:
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK') if fields else 0.0
