"""Virtual gripper cell: an ABB controller, a PCU2-V with a finger, and the finger's camera.

In: Robot Web Services and Modbus TCP, both on 127.0.0.1; `~/place_object` is the operator's hand.
Out: /finger_camera (names and encodings of orbbec_camera, depth aligned to colour). True states are
published on `~/debug/gripper_truth` and `~/debug/piece_angles_truth`, for tests and reports. The
devices react to a silent client as docs/explanation/safety.md states.
"""

import math
from contextlib import ExitStack
from dataclasses import dataclass

from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker

from abb_rws_bridge.credentials import load_credentials
from abb_rws_emulator.controller import irb120
from abb_rws_emulator.emulator_thread import EmulatorThread
from abb_rws_emulator.http.server import Options
from soft_arm_description.robot import load_robot
from soft_arm_kinematics.ros.conversions import joint_state_msg
from soft_arm_msgs.msg import GripperState
from soft_arm_msgs.srv import PlaceObject
from soft_arm_node_kit import qos
from soft_arm_node_kit.diagnostics import Reporter
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import declare, parameter
from soft_arm_node_kit.runner import run
from soft_arm_physics.errors import PhysicsError
from soft_arm_physics.pneumatic_finger import PneumaticFinger
from soft_arm_sim.cameras.finger_camera import FingerCamera
from soft_arm_sim.cameras.parameters import CONFIG, load_finger_camera_parameters
from soft_arm_sim.devices.modbus_server import serve
from soft_arm_sim.devices.pcu2v import Pcu2v
from soft_arm_sim.ros.camera_node import CameraNode
from soft_arm_sim.ros.conversions import gripper_state_message, object_message
from soft_arm_sim.ros.pace import pace_status

TRUTH_PERIOD_S = 0.01
FLANGE_PERIOD_S = 0.05  # between turns of the flange: the axes move by 21 deg at most


@dataclass(frozen=True)
class VirtualCellParameters:
    """Parameters of the node."""

    robot: str = parameter('four_piece_finger', 'robot file of the finger: shipped name or path')
    plant_seed: int = parameter(1, 'draws how this finger deviates from the robot file', minimum=0)
    camera_file: str = parameter(
        str(CONFIG / 'finger_camera.yaml'),
        "intrinsics, lens, mounting and noise of the finger's camera",
    )
    modbus_port: int = parameter(5021, 'TCP port of the PCU2-V', minimum=0, maximum=65535)
    rws_port: int = parameter(8080, 'TCP port of the ABB controller', minimum=0, maximum=65535)
    control_port: int = parameter(
        0, "TCP port for the controller's faults and buttons; 0: none", minimum=0, maximum=65535
    )
    credentials_file: str = parameter(
        '', "the controller's user, as for abb_rws_bridge; empty: from the environment"
    )


class VirtualCellNode(Node):
    """Owner of the devices and the camera, which renders in the executor's thread."""

    def __init__(self):
        super().__init__('virtual_cell')
        p = declare(self, VirtualCellParameters)
        robot, camera_parameters = load_robot(p.robot), load_finger_camera_parameters(p.camera_file)
        credentials = load_credentials(p.credentials_file or None)
        self._names = list(robot.segment_names)
        self._plant = PneumaticFinger(robot, p.plant_seed)
        with ExitStack() as devices:  # closes them if a later one fails
            self._camera = FingerCamera(robot, camera_parameters, p.plant_seed)
            devices.callback(self._camera.close)
            self._pcu2v = Pcu2v(self._plant, port=p.modbus_port)
            options = Options({credentials.user: credentials.password}, port=p.rws_port)
            abb = EmulatorThread(options, p.control_port or None)
            abb.start()
            devices.callback(abb.stop)
            assert abb.emulator is not None  # `start` makes it
            self._abb = abb.emulator.controller.robot
            self._turn_flange()
            self._server = serve(self._pcu2v, devices)
            nominal = camera_parameters.mounting.T_base_optical_nominal  # as before calibration
            self._camera_node = CameraNode(
                'finger_camera',
                '/finger_camera',
                ('color', 'depth'),
                camera_parameters.image,
                camera_parameters.distortion.opencv,
                [(robot.base.frame, 'finger_camera_color_optical_frame', nominal)],
            )
            devices.callback(self._camera_node.destroy_node)
            self.companions = (self._camera_node,)
            self._devices = devices.pop_all()
        self._gripper = self.create_publisher(GripperState, '~/debug/gripper_truth', qos.STATE)
        self._angles = self.create_publisher(JointState, '~/debug/piece_angles_truth', qos.STATE)
        self._object = self.create_publisher(Marker, '~/object', qos.LATCHED)
        self._base_frame = robot.base.frame
        self.create_service(PlaceObject, '~/place_object', self._place_object)
        self._rate_hz = camera_parameters.image.rate_hz
        self.create_timer(1.0 / self._rate_hz, self._capture)
        self.create_timer(TRUTH_PERIOD_S, self._publish_truth)
        self.create_timer(FLANGE_PERIOD_S, self._turn_flange)
        self._reporter = Reporter(self, f'{robot.name} seed {p.plant_seed}', self._status)
        self.get_logger().info(
            f'PCU2-V on 127.0.0.1:{self._pcu2v.port}, ABB controller on '
            f'127.0.0.1:{abb.emulator.port}'
        )

    def destroy_node(self) -> None:
        """Serve the PCU2-V until its host has vented it; switch off devices and camera."""
        self._devices.close()
        super().destroy_node()

    def _capture(self) -> None:
        stamp = self.get_clock().now().to_msg()
        self._camera_node.publish(*self._camera.capture(self._plant.T_base_backbone()), stamp)

    def _publish_truth(self) -> None:
        self._server.check()
        stamp, plant = self.get_clock().now().to_msg(), self._plant
        state = gripper_state_message(plant.pressure_pa, self._pcu2v.logic, stamp)
        self._gripper.publish(state)
        self._angles.publish(joint_state_msg(self._names, plant.piece_angles_rad, stamp))

    def _turn_flange(self) -> None:
        self._plant.turn_flange(irb120.tool_pose(self._abb.joints_rad)[:3, :3])

    def _place_object(
        self, request: PlaceObject.Request, response: PlaceObject.Response
    ) -> PlaceObject.Response:
        try:
            self._plant.place_object(None if math.isnan(request.gap_m) else request.gap_m)
            response.success, stamp = True, self.get_clock().now().to_msg()
            cube = self._plant.object_cube()
            self._object.publish(object_message(cube, self._base_frame, stamp))
        except PhysicsError as error:
            response.message = str(error)
        return response

    def _status(self) -> tuple[bytes, str, dict]:
        rate_hz = self._camera_node.meter.rate_hz
        return pace_status({'camera_hz': rate_hz}, [(rate_hz, self._rate_hz)])


def main() -> int:
    """Run the node."""
    return run(VirtualCellNode)
