"""Operator of a driver node: its process and a ROS client."""

import os
import subprocess
from pathlib import Path

import rclpy
from ament_index_python.packages import get_package_prefix
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor

from soft_arm_msgs.msg import ChamberPressures

from ..boards import wait_for

FOLDER = Path(get_package_prefix('pneumatic_driver')) / 'lib' / 'pneumatic_driver'


class Operator:
    """ROS client of the driver, with the driver's process."""

    def __init__(self, namespace: str, executable: str, chambers: list[str]):
        self._namespace, self._executable, self._chambers = namespace, executable, chambers
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self._node = rclpy.create_node('operator', namespace=namespace, context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self.pressures = []
        self._node.create_subscription(ChamberPressures, 'pressures', self.pressures.append, 10)
        self._commands = self._node.create_publisher(ChamberPressures, 'pressure_command', 1)
        self.process = None
        self.environment = {}  # added to the environment of this process
        self.driver_ahead_s = 0.0  # of this process' clock

    def start(self, **parameters) -> None:
        arguments = [f'{name}:={value}' for name, value in parameters.items()]
        arguments = [part for argument in arguments for part in ('-p', argument)]
        command = [
            FOLDER / self._executable,
            '--ros-args',
            '-r',
            f'__ns:={self._namespace}',
            *arguments,
        ]
        environment = os.environ | self.environment
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)

    def wait(self, condition, deadline_s: float = 120.0, command=None, what: str = 'the condition'):
        def step():
            if command is not None:
                self.command(self._chambers, command)
            self._executor.spin_once(timeout_sec=0.02)
            assert self.process.poll() is None, self.process.stderr.read()
            return condition()

        return wait_for(step, deadline_s, what)

    def command(self, names, pressures_pa, age_s: float | None = 0.0) -> None:
        """Command pressures [Pa] with a stamp of this age [s] for the driver; None: no stamp."""
        message = ChamberPressures(names=names, pressures_pa=[float(p) for p in pressures_pa])
        if age_s is not None:
            ahead = Duration(seconds=self.driver_ahead_s - age_s)
            message.header.stamp = (self._node.get_clock().now() + ahead).to_msg()
        self._commands.publish(message)

    def call(self, kind, name, request=None):
        client = self._node.create_client(kind, name)
        self.wait(client.service_is_ready, what=f'service {name}')
        future = client.call_async(request or kind.Request())
        self.wait(future.done, what=f'answer of {name}')
        self._node.destroy_client(client)
        return future.result()

    def transition(self, number: int) -> bool:
        return self.call(
            ChangeState,
            f'{self._executable}/change_state',
            ChangeState.Request(transition=Transition(id=number)),
        ).success

    @property
    def state(self) -> str:
        return self.call(GetState, f'{self._executable}/get_state').current_state.label

    def listen(self, kind, topic: str) -> list:
        """Return a list that receives all messages of a topic."""
        messages = []
        self._node.create_subscription(kind, topic, messages.append, 10)
        return messages

    def close(self) -> None:
        if self.process is not None:
            if self.process.poll() is None:
                self.process.kill()
            self.process.communicate(timeout=60.0)
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)


def operator_of(name: str, executable: str, chambers: list[str]):
    """Fixture body: an operator in a separate namespace."""
    operator = Operator(f'/test_{os.getpid()}_{abs(hash(name)) % 10_000}', executable, chambers)
    yield operator
    operator.close()
