"""The virtual gripper cell.

An ABB controller, a PCU2-V with a finger behind it, and the camera that looks at the finger.

In: Robot Web Services and Modbus TCP, both on 127.0.0.1; `~/place_object` is the operator's hand.
Out: /finger_camera (names and encodings of orbbec_camera, depth aligned to colour). What the
controller's valves and the finger truly do leaves only on `~/debug/gripper_truth` and
`~/debug/piece_angles_truth`, for tests and reports. When a client falls silent the devices do what
theirs would: see docs/explanation/safety.md.
"""

import math
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
from sensor_msgs.msg import CameraInfo, Image, JointState
from tf2_ros import StaticTransformBroadcaster
from visualization_msgs.msg import Marker

from abb_rws_bridge.credentials import load_credentials
from abb_rws_emulator.controller import irb120
from abb_rws_emulator.emulator_thread import EmulatorThread
from abb_rws_emulator.http.server import Options
from soft_arm_description.robot import load_robot
from soft_arm_msgs.msg import GripperState
from soft_arm_msgs.srv import PlaceObject
from soft_arm_node_kit import qos
from soft_arm_node_kit.diagnostics import OK, WARN, RateMeter, Reporter
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import declare, parameter
from soft_arm_node_kit.runner import run
from soft_arm_physics.errors import PhysicsError
from soft_arm_physics.pneumatic_finger import PneumaticFinger
from soft_arm_sim.cameras.finger_camera import FingerCamera
from soft_arm_sim.cameras.parameters import CONFIG, load_finger_camera_parameters
from soft_arm_sim.devices.modbus_server import RELEASE_S, DeviceThread
from soft_arm_sim.devices.pcu2v import Pcu2v
from soft_arm_sim.ros.conversions import (
    camera_info_message,
    gripper_state_message,
    image_message,
    object_message,
    piece_angles_message,
    transform_message,
)

TRUTH_PERIOD_S = 0.01
FLANGE_PERIOD_S = 0.05  # between turns of the flange: the axes move by 21 deg at most
OPTICAL_FRAME = 'finger_camera_color_optical_frame'
SLOW_RATE = 0.9  # share of the camera's rate below which the cell reports a warning


@dataclass(frozen=True)
class VirtualCellParameters:
    """Parameters of the node."""

    robot: str = parameter('four_piece_finger', 'robot file of the finger: shipped name or path')
    plant_seed: int = parameter(1, 'draws how this finger deviates from the robot file', minimum=0)
    camera_file: str = parameter(
        str(CONFIG / 'finger_camera.yaml'),
        "intrinsics, lens, mounting and noise of the finger's camera",
    )
    modbus_port: int = parameter(
        5021, 'TCP port of the PCU2-V on 127.0.0.1', minimum=0, maximum=65535
    )
    rws_port: int = parameter(
        8080, 'TCP port of the ABB controller on 127.0.0.1', minimum=0, maximum=65535
    )
    control_port: int = parameter(
        0,
        "TCP port for the controller's faults and buttons on 127.0.0.1; 0: none",
        minimum=0,
        maximum=65535,
    )
    credentials_file: str = parameter(
        '', 'whom the controller knows: as of abb_rws_bridge; empty: from the environment'
    )


class FingerCameraNode(Node):
    """/finger_camera/finger_camera.

    Publishes frames as orbbec_camera does with depth_registration.
    """

    def __init__(self, camera: FingerCamera, base_frame: str):
        super().__init__(
            'finger_camera',
            namespace='/finger_camera',
            use_global_arguments=False,
            start_parameter_services=False,
        )
        self._camera, self.meter = camera, RateMeter()
        self._colour, self._depth = (
            self.create_publisher(Image, f'{name}/image_raw', qos.IMAGE)
            for name in ('color', 'depth')
        )
        self._colour_info, self._depth_info = (
            self.create_publisher(CameraInfo, f'{name}/camera_info', qos.STATE)
            for name in ('color', 'depth')
        )
        # Its nominal place: as on hardware, only a calibration finds the true one.
        self._tf = StaticTransformBroadcaster(self)
        self._tf.sendTransform(
            transform_message(
                camera.parameters.mounting.T_base_optical_nominal,
                base_frame,
                OPTICAL_FRAME,
                self.get_clock().now().to_msg(),
            )
        )

    def publish(self, T_base_backbone: np.ndarray) -> None:  # noqa: N803
        """Capture now and publish colour, depth and camera infos with one stamp."""
        stamp, parameters = self.get_clock().now().to_msg(), self._camera.parameters
        rgb, depth = self._camera.capture(T_base_backbone)
        info = camera_info_message(
            parameters.image, stamp, parameters.distortion.opencv, OPTICAL_FRAME
        )
        self._colour_info.publish(info)
        self._depth_info.publish(info)
        self._colour.publish(image_message(rgb, 'rgb8', stamp, OPTICAL_FRAME))
        self._depth.publish(image_message(depth, '16UC1', stamp, OPTICAL_FRAME))
        self.meter.tick()


class VirtualCellNode(Node):
    """Owns the threads of the devices and the camera, which renders in the executor's thread."""

    def __init__(self):
        super().__init__('virtual_cell')
        p = declare(self, VirtualCellParameters)
        robot, camera_parameters = load_robot(p.robot), load_finger_camera_parameters(p.camera_file)
        credentials = load_credentials(p.credentials_file or None)
        self._names, self._plant = robot.segment_names, PneumaticFinger(robot, p.plant_seed)
        with ExitStack() as devices:  # what has been opened is closed when the next cannot be
            camera = FingerCamera(robot, camera_parameters, p.plant_seed)
            devices.callback(camera.close)
            self._pcu2v = Pcu2v(self._plant, port=p.modbus_port)
            options = Options({credentials.user: credentials.password}, port=p.rws_port)
            abb = EmulatorThread(options, p.control_port or None)
            abb.start()
            devices.callback(abb.stop)
            assert abb.emulator is not None  # `start` makes it
            self._abb = abb.emulator.controller.robot
            self._turn_flange()
            self._server = DeviceThread(self._pcu2v)
            self._server.start()
            devices.callback(self._server.stop, RELEASE_S)
            self._camera_node = FingerCameraNode(camera, robot.base.frame)
            devices.callback(self._camera_node.destroy_node)
            self._devices = devices.pop_all()
        self._gripper = self.create_publisher(GripperState, '~/debug/gripper_truth', qos.STATE)
        self._angles = self.create_publisher(JointState, '~/debug/piece_angles_truth', qos.STATE)
        self._object, self._base_frame = (
            self.create_publisher(Marker, '~/object', qos.LATCHED),
            robot.base.frame,
        )
        self.create_service(PlaceObject, '~/place_object', self._place_object)
        self._rate_hz = camera_parameters.image.rate_hz
        self.create_timer(
            1.0 / self._rate_hz, lambda: self._camera_node.publish(self._plant.T_base_backbone())
        )
        self.create_timer(TRUTH_PERIOD_S, self._publish_truth)
        self.create_timer(FLANGE_PERIOD_S, self._turn_flange)
        self._reporter = Reporter(self, f'{robot.name} seed {p.plant_seed}', self._status)
        self.get_logger().info(
            f'PCU2-V on 127.0.0.1:{self._pcu2v.port}, ABB controller on '
            f'127.0.0.1:{abb.emulator.port}'
        )

    def destroy_node(self) -> None:
        """Serve the PCU2-V until its host has vented and left it.

        Switch the devices off, free the camera.
        """
        self._devices.close()
        super().destroy_node()

    def _publish_truth(self) -> None:
        self._server.check()
        stamp = self.get_clock().now().to_msg()
        self._gripper.publish(
            gripper_state_message(self._plant.pressure_pa, self._pcu2v.logic, stamp)
        )
        self._angles.publish(piece_angles_message(self._names, self._plant.piece_angles_rad, stamp))

    def _turn_flange(self) -> None:
        self._plant.turn_flange(irb120.tool_pose(self._abb.joints_rad)[:3, :3])

    def _place_object(
        self, request: PlaceObject.Request, response: PlaceObject.Response
    ) -> PlaceObject.Response:
        try:
            self._plant.place_object(None if math.isnan(request.gap_m) else request.gap_m)
            response.success = True
            self._object.publish(
                object_message(
                    self._plant.object_cube(), self._base_frame, self.get_clock().now().to_msg()
                )
            )
        except PhysicsError as error:
            response.message = str(error)
        return response

    def _status(self) -> tuple[bytes, str, dict]:
        rate_hz = self._camera_node.meter.rate_hz
        slow = rate_hz < SLOW_RATE * self._rate_hz
        message = 'slower than real time: fewer programs, or more cores' if slow else 'in real time'
        return WARN if slow else OK, message, {'camera_hz': rate_hz}


def main() -> int:
    """Run the node."""
    return run(VirtualCellNode)
