"""Launch in a separate process, and a node that subscribes to its topics."""

import os
import re
import signal
import socket
import subprocess
import threading
from pathlib import Path

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import ListParameters
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rclpy.signals import SignalHandlerOptions
from tf2_ros import Buffer, TransformListener

LAUNCH = Path(__file__).parents[2]
DEADLINE_S = 300.0


class LaunchedGraph:
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
        self._context = Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self.node = Node('system_test', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._changed = threading.Condition()
        self.latest, self.killed, self._streams = {}, [], set(streams)
        for name, kind in streams.items():
            self.listen(name, kind)
        self.node.create_subscription(
            DiagnosticArray,
            '/diagnostics',
            lambda array: [self._keep(s.name, s) for s in array.status],
            10,
        )
        self.buffer = Buffer()
        self._listener = TransformListener(self.buffer, self.node)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()

    def listen(self, name, kind):
        """Keep the newest message of a topic in `latest`."""
        self.node.create_subscription(
            kind, name, lambda message: self._keep(name, message), qos_profile_sensor_data
        )

    def _spin(self):
        while not self._stopping.is_set():
            self._executor.spin_once(timeout_sec=0.1)
            with self._changed:
                self._changed.notify_all()

    def _keep(self, name, message):
        with self._changed:
            self.latest[name] = message
            self._changed.notify_all()

    def wait(self, condition, what):
        with self._changed:
            assert self._changed.wait_for(condition, DEADLINE_S), (
                f'{what}, within {DEADLINE_S} s; the launch said:\n{self.output()}'
            )

    def pause(self, seconds, condition):
        """Wait for so long, or until the condition holds."""
        with self._changed:
            self._changed.wait_for(condition, seconds)

    def answers(self, node):
        """Wait until a node answers one of the services that every node has."""
        self.call(ListParameters, f'{node}/list_parameters', ListParameters.Request())

    def wait_for_streams(self):
        self.wait(
            lambda: self._streams <= set(self.latest),
            f'each of {sorted(self._streams)} was received',
        )

    def kill(self, executable):
        os.kill(self.pids()[executable], signal.SIGKILL)
        self.killed.append(executable)

    def result(self, future, what):
        self.wait(future.done, what)
        return future.result()

    def called(self, request):
        """The future of an action's request, made in the executor's thread.

        In another thread the answer may arrive before the call returns, and is lost.
        """
        return self.result(self._executor.create_task(request), 'the request is sent')

    def call(self, kind, name, request):
        client = self.node.create_client(kind, name)
        self.wait(client.service_is_ready, f'{name} is offered')
        return self.result(client.call_async(request), f'{name} answers')

    def send_goal(self, kind, name, goal):
        client = ActionClient(self.node, kind, name)
        self.wait(client.server_is_ready, f'{name} is offered')
        return self.result(
            self.called(lambda: client.send_goal_async(goal)), 'the goal is answered'
        )

    def act(self, kind, name, goal):
        handle = self.send_goal(kind, name, goal)
        assert handle.accepted
        return self.result(self.called(handle.get_result_async), 'the goal ends').result

    def nodes(self):
        return {
            f'{namespace.rstrip("/")}/{name}'
            for name, namespace in self.node.get_node_names_and_namespaces()
        }

    def output(self):
        return self._log.read_text()

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
        self._stopping.set()
        self._thread.join()
        self._listener.unregister()
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()
        if self.launch.poll() is None:
            # On SIGTERM ros2 launch would leave the nodes.
            os.killpg(self.launch.pid, signal.SIGINT)
            self.launch.wait(60)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]
