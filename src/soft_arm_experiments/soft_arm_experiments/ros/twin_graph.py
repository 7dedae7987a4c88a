"""A graph for the twin to show: what an arm, a finger, an ABB robot and a depth camera publish.

Nothing is simulated. The arm's joints and pressures step from one value to another when told to, so
that the time until a page has them can be measured.
"""

import threading
import time
from typing import Any, Self

import numpy as np
import rclpy
from geometry_msgs.msg import TransformStamped
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from abb_rws_bridge import irb120
from soft_arm_description.robot import Robot, load_robot
from soft_arm_description.urdf import robot_urdf
from soft_arm_msgs.msg import ArmConfiguration, ChamberPressures, ControllerState
from soft_arm_node_kit import qos
from soft_arm_twin.parts.urdf_model import UrdfModel

RATE_HZ, IMAGE_RATE_HZ = 50.0, 15.0
ARM, FINGER, ABB, CAMERA = '/soft_arm', '/gripper', '/abb', '/camera'
DEPTH = f'{CAMERA}/depth/image_raw'
WIDTH, HEIGHT, FOCAL_PX = 640, 480, 600.0
FRAME = 'bench_camera'


class TwinGraph:
    """Publishes from a thread while its `with` statement is open.

    Args:
        domain: ROS domain.

    Attributes:
        vented_s: When the arm's `vent` was last called (monotonic) [s].
    """

    def __init__(self, domain: int):
        self._domain, self.vented_s = domain, 0.0
        self._robots = {ARM: load_robot('two_module_arm'), FINGER: load_robot('four_piece_finger')}
        self._joint_names = {
            at: UrdfModel(robot_urdf(robot)).joint_names for at, robot in self._robots.items()
        }
        self._joint_rad = self._pressure_pa = 0.0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._context = Context()
        rclpy.init(
            args=[],
            context=self._context,
            domain_id=self._domain,
            signal_handler_options=SignalHandlerOptions.NO,
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._nodes: list[Node] = []
        self._joints, self._pressures = {}, {}
        for at, robot in self._robots.items():
            self._add_robot(at, robot)
        self._add_abb()
        self._add_camera()
        self._thread = threading.Thread(target=self._spin, name='twin graph')
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._executor.shutdown()
        self._thread.join()
        for node in self._nodes:
            node.destroy_node()
        self._context.try_shutdown()

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException:
            return

    def _node(self, name: str, namespace: str = '') -> Node:
        node = Node(name, namespace=namespace, context=self._context, use_global_arguments=False)
        self._executor.add_node(node)
        self._nodes.append(node)
        return node

    def _add_robot(self, at: str, robot: Robot) -> None:
        node = self._node('forward_kinematics', at)
        node.declare_parameter('robot', 'two_module_arm' if at == ARM else 'four_piece_finger')
        node.create_publisher(ArmConfiguration, 'configuration', qos.STATE)
        self._joints[at] = node.create_publisher(JointState, 'joint_states', qos.STATE)
        self._pressures[at] = node.create_publisher(ChamberPressures, 'pressures', qos.STATE)
        node.create_timer(1 / RATE_HZ, lambda: self._publish(at))
        if at == ARM:
            node.create_service(Trigger, 'vent', self._vent)

    def _vent(self, _: Any, response: Any) -> Any:
        self.vented_s = time.monotonic()
        response.success, response.message = True, 'vented'
        return response

    def _publish(self, at: str) -> None:
        names, chambers = self._joint_names[at], list(self._robots[at].chambers)
        with self._lock:
            joints, pressures = [self._joint_rad] * len(names), [self._pressure_pa] * len(chambers)
            self._joints[at].publish(JointState(name=names, position=joints))
            self._pressures[at].publish(ChamberPressures(names=chambers, pressures_pa=pressures))

    def step(self, joint_rad: float, pressure_pa: float) -> float:
        """Publish other values of the arm from now on; return when (monotonic) [s]."""
        with self._lock:
            self._joint_rad, self._pressure_pa = joint_rad, pressure_pa
            stepped_s = time.monotonic()
        self._publish(ARM)
        return stepped_s

    def _add_abb(self) -> None:
        node = self._node('abb_rws_bridge', ABB)
        self._latched = [
            node.create_publisher(String, 'robot_description', qos.LATCHED),
            node.create_publisher(ControllerState, 'controller_state', qos.LATCHED),
        ]
        text = irb120.urdf('abb_')
        self._latched[0].publish(String(data=text))
        self._latched[1].publish(ControllerState(link='up', speed_ratio=1.0))
        names = UrdfModel(text).joint_names
        message = JointState(name=names, position=[0.1] * len(names))
        joints = node.create_publisher(JointState, 'joint_states', qos.STATE)
        node.create_timer(1 / RATE_HZ, lambda: joints.publish(message))

    def _add_camera(self) -> None:
        node = self._node('camera', CAMERA)
        static = node.create_publisher(TFMessage, '/tf_static', qos.LATCHED)
        self._latched.append(static)
        stamped = TransformStamped(child_frame_id=FRAME)
        stamped.header.frame_id = 'world'
        stamped.transform.translation.z = 0.5
        static.publish(TFMessage(transforms=[stamped]))
        rows = np.linspace(400, 900, HEIGHT, dtype=np.uint16)
        depth = Image(height=HEIGHT, width=WIDTH, step=2 * WIDTH, encoding='16UC1')
        depth.data = np.repeat(rows, WIDTH).tobytes()
        info = CameraInfo(height=HEIGHT, width=WIDTH)
        info.k = [FOCAL_PX, 0.0, WIDTH / 2, 0.0, FOCAL_PX, HEIGHT / 2, 0.0, 0.0, 1.0]
        depth.header.frame_id = info.header.frame_id = FRAME
        images = node.create_publisher(Image, DEPTH, qos.STATE)
        infos = node.create_publisher(CameraInfo, f'{CAMERA}/depth/camera_info', qos.STATE)

        def publish() -> None:
            infos.publish(info)
            images.publish(depth)

        node.create_timer(1 / IMAGE_RATE_HZ, publish)
