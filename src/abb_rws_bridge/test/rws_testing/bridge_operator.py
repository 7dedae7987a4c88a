"""ROS client of the bridge node, for component tests."""

import sys
import time

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from rcl_interfaces.msg import Log
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
from system_testing.node_operator import NodeOperator

START = [
    sys.executable,
    '-c',
    'import sys; from abb_rws_bridge.ros.bridge_node import main; sys.exit(main())',
]
CONFIGURE, CLEANUP = Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_CLEANUP
ACTIVATE, DEACTIVATE = Transition.TRANSITION_ACTIVATE, Transition.TRANSITION_DEACTIVATE


class Operator(NodeOperator):
    """Client of the bridge, which also starts and ends its process.

    Attributes:
        joints, transforms, diagnostics, states, io, events, feedback, descriptions: Received
            messages, oldest first.
        logs: Texts on /rosout, oldest first.
    """

    def __init__(self, namespace: str, port: int, **parameters):
        super().__init__(namespace, 'abb_rws_bridge')
        self.joints = self.listen(JointState, 'joint_states')
        self.transforms = self.listen(TFMessage, '/tf')
        self.states = self.listen(ControllerState, 'controller_state')
        self.io = self.listen(IoSignals, 'io')
        self.events = self.listen(ControllerEvent, 'event_log')
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.descriptions = self.listen(String, 'robot_description', latched)
        self.diagnostics, self.logs, self.feedback = [], [], []
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        self.create_subscription(Log, '/rosout', lambda m: self.logs.append(m.msg), 100)
        credentials = {'ABB_RWS_USER': USER.user, 'ABB_RWS_PASSWORD': USER.password}
        self.launch(START, credentials, host='127.0.0.1', port=port, **parameters)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        self.diagnostics += [
            status for status in message.status if status.name.endswith('abb_rws_bridge')
        ]

    def start(self) -> None:
        assert self.transition(CONFIGURE) and self.transition(ACTIVATE)

    def rest(self) -> None:
        for state, number in (
            ('active', DEACTIVATE),
            ('inactive', CLEANUP),
        ):  # rclpy raises for unavailable transitions
            if self.state == state:
                assert self.transition(number)

    def motors_on(self) -> None:
        assert self.call(SetBool, 'set_motors', data=True).success

    def send_move(self, degrees, names=None, **fields):
        goal = MoveJoints.Goal(
            names=names or [f'abb_joint_{i}' for i in range(1, 7)],
            position_rad=np.deg2rad(degrees).tolist(),
            **fields,
        )
        handle, self.feedback = self.send_goal(MoveJoints, 'move_joints', goal)
        return handle, self.called(handle.get_result_async)

    def move(self, degrees, names=None, **fields) -> MoveJoints.Result:
        _, result = self.send_move(degrees, names, **fields)
        return self.result(result, 'the result').result

    def begin_slow_move(self, peer: EmulatorProcess):
        """Start a move of 20 s; return its handle and the future of its result."""
        if self.state != 'active':
            self.start()
        self.motors_on()
        assert self.call(SetSpeedRatio, 'set_speed_ratio', speed_ratio=0.03).success
        handle, result = self.send_move([160, 0, 0, 0, 0, 0])
        self.wait(lambda: peer.state()['running'] or result.done(), what='the start of the program')
        assert not result.done(), result.result().result
        return handle, result

    def age_s(self, stamp) -> float:
        return self.get_clock().now().nanoseconds * 1e-9 - (stamp.sec + stamp.nanosec * 1e-9)

    def wait_a_little(self, seconds: float) -> None:
        end_s = time.monotonic() + seconds
        self.wait(lambda: time.monotonic() > end_s)
