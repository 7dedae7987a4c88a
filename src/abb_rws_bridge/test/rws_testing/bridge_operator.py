"""ROS client of the bridge node, for component tests."""

import os
import subprocess
import sys
import time

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Log
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool
from tf2_msgs.msg import TFMessage

from rws_testing.cell import USER
from rws_testing.emulator_process import EmulatorProcess
from soft_arm_msgs.action import MoveJoints
from soft_arm_msgs.msg import ControllerEvent, ControllerState, IoSignals
from soft_arm_msgs.srv import SetSpeedRatio

START = [
    sys.executable,
    '-c',
    'import sys; from abb_rws_bridge.ros.bridge_node import main; sys.exit(main())',
    '--ros-args',
]
CONFIGURE, CLEANUP = Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_CLEANUP
ACTIVATE, DEACTIVATE = Transition.TRANSITION_ACTIVATE, Transition.TRANSITION_DEACTIVATE


class Operator:
    """Client of the bridge, which also starts and ends its process.

    Attributes:
        process: Process of the bridge.
        joints, transforms, diagnostics, states, io, events, feedback, descriptions: Received
            messages, oldest first.
        logs: Texts on /rosout, oldest first.
    """

    def __init__(self, namespace: str, port: int, **parameters):
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self._node = rclpy.create_node('operator', namespace=namespace, context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self.joints, self.transforms, self.diagnostics = [], [], []
        self._node.create_subscription(JointState, 'joint_states', self.joints.append, 10)
        self._node.create_subscription(TFMessage, '/tf', self.transforms.append, 10)
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        self.states, self.io, self.events, self.feedback = [], [], [], []
        self._node.create_subscription(ControllerState, 'controller_state', self.states.append, 10)
        self._node.create_subscription(IoSignals, 'io', self.io.append, 10)
        self._node.create_subscription(ControllerEvent, 'event_log', self.events.append, 10)
        self.descriptions = []
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._node.create_subscription(
            String, 'robot_description', self.descriptions.append, latched
        )
        self.logs = []
        self._node.create_subscription(
            Log, '/rosout', lambda message: self.logs.append(message.msg), 100
        )
        self._mover = ActionClient(self._node, MoveJoints, 'move_joints')
        values = [
            part
            for name, value in ({'host': '127.0.0.1', 'port': port} | parameters).items()
            for part in ('-p', f'{name}:={value}')
        ]
        environment = os.environ | {'ABB_RWS_USER': USER.user, 'ABB_RWS_PASSWORD': USER.password}
        self.process = subprocess.Popen(
            [*START, '-r', f'__ns:={namespace}', *values],
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        self.diagnostics += [
            status for status in message.status if status.name.endswith('abb_rws_bridge')
        ]

    def wait(self, condition, deadline_s: float = 120.0, what: str = 'the condition') -> float:
        began_s = time.monotonic()
        while not condition():
            assert self.process.poll() is None, self.process.stderr.read()
            assert time.monotonic() - began_s < deadline_s, f'{what} not within {deadline_s} s'
            self._executor.spin_once(timeout_sec=0.02)
        return time.monotonic() - began_s

    def ask(self, kind, name, **fields):
        client = self._node.create_client(kind, name)
        self.wait(client.service_is_ready, what=f'service {name}')
        return client, client.call_async(kind.Request(**fields))

    def call(self, kind, name, **fields):
        client, future = self.ask(kind, name, **fields)
        self.wait(future.done, what=f'answer of {name}')
        self._node.destroy_client(client)
        return future.result()

    def transition(self, number: int) -> bool:
        return self.call(
            ChangeState, 'abb_rws_bridge/change_state', transition=Transition(id=number)
        ).success

    def state(self) -> str:
        return self.call(GetState, 'abb_rws_bridge/get_state').current_state.label

    def start(self) -> None:
        assert self.transition(CONFIGURE) and self.transition(ACTIVATE)

    def rest(self) -> None:
        for state, number in (
            ('active', DEACTIVATE),
            ('inactive', CLEANUP),
        ):  # rclpy raises for unavailable transitions
            if self.state() == state:
                assert self.transition(number)

    def motors_on(self) -> None:
        assert self.call(SetBool, 'set_motors', data=True).success

    def send_goal(self, degrees, names=None, **fields):
        self.wait(self._mover.server_is_ready, what='the action move_joints')
        goal = MoveJoints.Goal(
            names=names or [f'abb_joint_{i}' for i in range(1, 7)],
            position_rad=np.deg2rad(degrees).tolist(),
            **fields,
        )
        sent = self._mover.send_goal_async(
            goal, feedback_callback=lambda message: self.feedback.append(message.feedback)
        )
        self.wait(sent.done, what='the goal')
        return sent.result(), sent.result().get_result_async()

    def move(self, degrees, names=None, **fields) -> MoveJoints.Result:
        _, result = self.send_goal(degrees, names, **fields)
        self.wait(result.done, what='the result')
        return result.result().result

    def begin_slow_move(self, peer: EmulatorProcess):
        """Start a move of 20 s; return its handle and the future of its result."""
        if self.state() != 'active':
            self.start()
        self.motors_on()
        assert self.call(SetSpeedRatio, 'set_speed_ratio', speed_ratio=0.03).success
        handle, result = self.send_goal([160, 0, 0, 0, 0, 0])
        self.wait(lambda: peer.state()['running'] or result.done(), what='the start of the program')
        assert not result.done(), result.result().result
        return handle, result

    def age_s(self, stamp) -> float:
        return self._node.get_clock().now().nanoseconds * 1e-9 - (stamp.sec + stamp.nanosec * 1e-9)

    def wait_a_little(self, seconds: float) -> None:
        end_s = time.monotonic() + seconds
        self.wait(lambda: time.monotonic() > end_s, seconds + 120.0)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=60.0)
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)
