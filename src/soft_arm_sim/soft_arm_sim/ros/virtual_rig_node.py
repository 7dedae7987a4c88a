"""The virtual rig: the plant in real time behind its devices.

Out: the D435i's topics under /camera/<camera_name> (30 Hz, names and encodings of
    realsense2_camera), its
inner frames on /tf_static, a valve board on Modbus TCP (loopback). In: that board's registers;
`~/place_ring` is the operator's hand. The plant's true tip leaves only on `~/debug/tip_truth`, for
reports. Without commands the board's watchdog vents. A node that is told to end serves the board
until its host has vented: a launch file tells all of its nodes at once.
"""

from contextlib import ExitStack
from dataclasses import dataclass

from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import CameraInfo, Image
from tf2_ros import StaticTransformBroadcaster

from soft_arm_description.robot import load_robot
from soft_arm_msgs.srv import PlaceRing
from soft_arm_node_kit import qos
from soft_arm_node_kit.diagnostics import OK, WARN, RateMeter, Reporter
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import declare, parameter
from soft_arm_node_kit.runner import run
from soft_arm_physics.pneumatic_arm import SHIPPED, pneumatic_arm
from soft_arm_sim.cameras.camera import VirtualCamera
from soft_arm_sim.cameras.parameters import load_calibration_jig, load_camera_parameters
from soft_arm_sim.cameras.placement import camera_for, jig_for
from soft_arm_sim.devices.modbus_server import RELEASE_S, DeviceThread
from soft_arm_sim.devices.valve_board import ValveBoard
from soft_arm_sim.errors import SimulationError
from soft_arm_sim.ros.conversions import (
    camera_info_message,
    image_message,
    inner_frame_messages,
    pose_message,
)
from soft_arm_sim.running_plant import RunningPlant

TRUTH_PERIOD_S = 0.02
SLOW_RATE, SLOW_FACTOR = 0.9, 0.97  # shares of what is due, below which the rig reports a warning


@dataclass(frozen=True)
class VirtualRigParameters:
    """Parameters of the node."""

    robot: str = parameter('two_module_arm', 'shipped robot or path of a robot file')
    pneumatics_file: str = parameter(str(SHIPPED), 'valves, sensors, walls, mismatch')
    plant_seed: int = parameter(1, 'draws the mismatch of this arm', minimum=0)
    camera_file: str = parameter(
        '',
        'YAML file with the intrinsics, mounting and noise of the camera; empty: a D435i, placed '
        'for the robot',
    )
    camera_name: str = parameter('camera', 'name of the camera, with which its frames begin')
    jig_file: str = parameter(
        '', 'YAML file with the pegs that hold the ring; empty: nine, placed for the robot'
    )
    modbus_port: int = parameter(
        5020, 'TCP port of the valve board on 127.0.0.1', minimum=0, maximum=65535
    )


class CameraNode(Node):
    """/camera/<name>.

    Publishes frames as realsense2_camera does with align_depth and enable_sync.
    """

    def __init__(self, camera: VirtualCamera, name: str):
        # The arguments of this process name and place the virtual rig, not its camera.
        super().__init__(
            name,
            namespace='/camera',
            use_global_arguments=False,
            start_parameter_services=False,
        )
        self._camera, self.meter = camera, RateMeter()
        self._optical_frame = f'{name}_color_optical_frame'
        self._topics = [
            (
                self.create_publisher(Image, f'~/{stream}/image_raw', qos.IMAGE),
                self.create_publisher(CameraInfo, f'~/{stream}/camera_info', qos.STATE),
                encoding,
            )
            for stream, encoding in (('color', 'rgb8'), ('aligned_depth_to_color', '16UC1'))
        ]
        self._tf = StaticTransformBroadcaster(self)
        self._tf.sendTransform(inner_frame_messages(name, self.get_clock().now().to_msg()))

    def publish(self, qpos) -> None:
        """Capture now and publish colour, depth and camera infos with one stamp."""
        stamp = self.get_clock().now().to_msg()
        frame = self._camera.capture(qpos)
        for pixels, (images, infos, encoding) in zip(
            (frame.rgb, frame.depth), self._topics, strict=True
        ):
            infos.publish(
                camera_info_message(
                    self._camera.parameters.image, stamp, frame_id=self._optical_frame
                )
            )
            images.publish(image_message(pixels, encoding, stamp, self._optical_frame))
        self.meter.tick()


class VirtualRigNode(Node):
    """Owns the plant's and the board's threads; renders the camera in the executor's thread."""

    def __init__(self):
        super().__init__('virtual_rig')
        parameters = declare(self, VirtualRigParameters)
        robot = load_robot(parameters.robot)
        self._frame = robot.base.frame
        plant = pneumatic_arm(robot, parameters.plant_seed, parameters.pneumatics_file)
        camera_parameters, jig = (
            load_camera_parameters(parameters.camera_file)
            if parameters.camera_file
            else camera_for(robot),
            load_calibration_jig(parameters.jig_file) if parameters.jig_file else jig_for(robot),
        )
        with ExitStack() as devices:  # what has been opened is closed when the next cannot be
            self._camera = VirtualCamera(robot, camera_parameters, jig, parameters.plant_seed)
            devices.callback(self._camera.close)
            self._plant = RunningPlant(plant)
            self._plant.start()
            devices.callback(self._plant.stop)
            board = ValveBoard(
                self._plant, port=parameters.modbus_port, channels=self._plant.channels
            )
            self._server = DeviceThread(board)
            self._server.start()
            devices.callback(self._server.stop, RELEASE_S)
            self._camera_node = CameraNode(self._camera, parameters.camera_name)
            devices.callback(self._camera_node.destroy_node)
            self._devices = devices.pop_all()
        self._truth = self.create_publisher(PoseStamped, '~/debug/tip_truth', qos.STATE)
        self._service = self.create_service(PlaceRing, '~/place_ring', self._place_ring)
        self._rate_hz = camera_parameters.image.rate_hz
        self.create_timer(1.0 / self._rate_hz, self._capture)
        self.create_timer(TRUTH_PERIOD_S, self._publish_truth)
        self._reporter = Reporter(self, f'{robot.name} seed {parameters.plant_seed}', self._status)
        self.get_logger().info(
            f'{robot.name}, plant seed {parameters.plant_seed}, valve board on '
            f'127.0.0.1:{board.port}'
        )

    def destroy_node(self) -> None:
        """Serve the board until its host has vented and left it.

        Close it, end the plant, free the camera.
        """
        self._devices.close()
        super().destroy_node()

    def _capture(self) -> None:
        self._camera_node.publish(self._plant.snapshot().qpos)

    def _publish_truth(self) -> None:
        self._server.check()
        stamp = self.get_clock().now().to_msg()
        self._truth.publish(pose_message(self._plant.snapshot().T_base_tip, self._frame, stamp))

    def _place_ring(
        self, request: PlaceRing.Request, response: PlaceRing.Response
    ) -> PlaceRing.Response:
        try:
            self._camera.place_ring(request.peg)
            response.success = True
        except SimulationError as error:
            response.message = str(error)
        return response

    def _status(self) -> tuple[bytes, str, dict]:
        factor, rate_hz = self._plant.real_time_factor(), self._camera_node.meter.rate_hz
        slow = factor < SLOW_FACTOR or rate_hz < SLOW_RATE * self._rate_hz
        message = 'slower than real time: fewer programs, or more cores' if slow else 'in real time'
        return WARN if slow else OK, message, {'real_time_factor': factor, 'camera_hz': rate_hz}


def main() -> int:
    """Run the node."""
    return run(VirtualRigNode)
