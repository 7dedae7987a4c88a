"""Launch in a separate process, and a probe that keeps the newest messages of its topics."""

import functools
import os
import re
import signal
import subprocess
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import qos_profile_sensor_data
from tf2_ros import Buffer, TransformListener

from soft_arm_msgs.action import MoveTip
from system_testing.probe import Probe

LAUNCH = Path(__file__).parents[2]


def tip_goal(target_m, tolerance_m=0.001, timeout_s=40.0) -> MoveTip.Goal:
    """Return a goal for the tip at a point in the base frame."""
    goal = MoveTip.Goal(tolerance_m=tolerance_m, timeout_s=timeout_s)
    goal.target.position.x, goal.target.position.y, goal.target.position.z = map(float, target_m)
    return goal


class LaunchedGraph(Probe):
    """Process of `softarm launch` and its listener; `close` ends both.

    Attributes:
        latest: Newest message of every stream by topic, and newest diagnostics by the node's name.
        killed: Names of the executables that a test has killed.
    """

    def __init__(self, log: Path, command: list[str], streams: dict[str, type]):
        self._log = log
        with log.open('w') as out:
            self.launch = subprocess.Popen(
                ['softarm', 'launch', *command],
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        super().__init__('system_test')
        self.latest, self.killed, self._streams = {}, [], set(streams)
        for name, kind in streams.items():
            self.keep(name, kind)
        self.create_subscription(
            DiagnosticArray,
            '/diagnostics',
            lambda array: self.latest.update({s.name: s for s in array.status}),
            10,
        )
        self.spin()

    @functools.cached_property
    def buffer(self):
        """Transforms, received from the first use on."""
        buffer = Buffer()
        self._listener = TransformListener(buffer, self)
        return buffer

    def keep(self, name, kind):
        """Keep the newest message of a topic in `latest`."""
        self.create_subscription(
            kind, name, lambda m: self.latest.update({name: m}), qos_profile_sensor_data
        )

    def wait_for_streams(self):
        self.wait(
            lambda: self._streams <= set(self.latest),
            f'each of {sorted(self._streams)} was received',
        )

    def kill(self, executable):
        os.kill(self.pids()[executable], signal.SIGKILL)
        self.killed.append(executable)

    def act(self, kind, name, goal):
        handle, _ = self.send_goal(kind, name, goal)
        assert handle.accepted
        return self.result(self.called(handle.get_result_async), 'the goal ends').result

    def node_names(self):
        return {
            f'{namespace.rstrip("/")}/{name}'
            for name, namespace in self.get_node_names_and_namespaces()
        }

    def output(self):
        return self._log.read_text()

    def said(self):
        return f'the launch said:\n{self.output()}'

    def pids(self):
        return {
            name: int(pid)
            for name, pid in re.findall(
                r'\[(\w+)-\d+\]: process started with pid \[(\d+)\]', self.output()
            )
        }

    def deaths(self):
        return re.findall(r'\[(\w+)-\d+\]: process has died', self.output())

    def close(self):
        super().close()
        if self.launch.poll() is None:
            # On SIGTERM ros2 launch would leave the nodes.
            os.killpg(self.launch.pid, signal.SIGINT)
            self.launch.wait(60)
