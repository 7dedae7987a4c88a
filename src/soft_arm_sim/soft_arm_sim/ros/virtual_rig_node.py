"""The virtual rig: the plant behind its devices, in real time or in lockstep.

Out: the D435i's topics under /camera/<camera_name> (30 Hz, names and encodings of
realsense2_camera), its inner frames on /tf_static, a valve board on Modbus TCP (loopback). In: that
board's registers; `~/place_ring` is the operator's hand. `~/motion_capture/pose` is what a
motion-capture system measures of a body on the tip. The plant's true tip leaves only on
`~/debug/tip_truth`, for reports. Without commands the board's watchdog vents. A node that is told
to end serves the board until its host has vented: a launch file tells all of its nodes at once.

With `use_sim_time` it publishes `/clock` (see lockstep.py): plant, board, camera and their delays
run in simulated time, which goes on when the nodes that are waited for have answered.
"""

import time
from contextlib import ExitStack
from dataclasses import dataclass

from geometry_msgs.msg import PoseStamped
from rclpy.time import Time

from soft_arm_description.robot import load_robot
from soft_arm_msgs.srv import PlaceRing
from soft_arm_node_kit import qos
from soft_arm_node_kit.diagnostics import ERROR, OK, WARN, Reporter
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import declare, parameter
from soft_arm_node_kit.runner import run
from soft_arm_physics.pneumatic_arm import SHIPPED, pneumatic_arm
from soft_arm_physics.simulation import Simulation
from soft_arm_sim.cameras.camera import VirtualCamera
from soft_arm_sim.cameras.parameters import load_calibration_jig
from soft_arm_sim.cameras.placement import camera_of, jig_for
from soft_arm_sim.delays import load_delays
from soft_arm_sim.devices.modbus_server import RELEASE_S, DeviceThread, ModbusDevice
from soft_arm_sim.devices.stepped_board import SteppedBoard
from soft_arm_sim.devices.valve_board import ValveBoard
from soft_arm_sim.errors import SimulationError
from soft_arm_sim.ros.conversions import pose_message
from soft_arm_sim.ros.lockstep import Lockstep
from soft_arm_sim.ros.motion_capture import MotionCapturePublisher
from soft_arm_sim.ros.virtual_camera import CameraNode
from soft_arm_sim.running_plant import RunningPlant
from soft_arm_sim.stepped_rig import TICK_S, SteppedRig

TRUTH_PERIOD_S = 0.02
SLOW_RATE, SLOW_FACTOR = 0.9, 0.97  # shares of what is due, below which the rig reports a warning


@dataclass(frozen=True)
class VirtualRigParameters:
    """Parameters of the node."""

    robot: str = parameter('two_module_arm', 'shipped robot or path of a robot file')
    pneumatics_file: str = parameter(str(SHIPPED), 'valves, sensors, walls, mismatch')
    plant_seed: int = parameter(1, 'draws the mismatch of this arm', minimum=0)
    camera_file: str = parameter(
        'virtual',
        'virtual: a D435i, placed for the robot; stereo: one whose depth is matched in rendered '
        'infrared images, some 2 frames/s; or a YAML file with intrinsics, mounting and noise',
    )
    camera_name: str = parameter('camera', 'name of the camera, with which its frames begin')
    jig_file: str = parameter(
        '', 'YAML file with the pegs that hold the ring; empty: nine, placed for the robot'
    )
    modbus_port: int = parameter(
        5020, 'TCP port of the valve board on 127.0.0.1', minimum=0, maximum=65535
    )
    delays_file: str = parameter(
        '', 'YAML file with the delays of the devices in simulated time; empty: the shipped one'
    )
    real_time_factor: float = parameter(
        0.0,
        'largest simulated time over wall time; 0: as fast as possible',
        minimum=0.0,
        maximum=1000.0,
    )
    answers_from: list[str] = parameter(
        ('pneumatic_driver',), 'nodes whose answer each tick of simulated time waits for'
    )
    image_answers_from: str = parameter(
        '', 'node whose answer to each image simulated time waits for; empty: none'
    )
    pose_answers_from: str = parameter(
        '',
        'node whose answer to each pose of the motion capture simulated time waits for, instead of '
        'one that answers images; empty: none',
    )
    program: str = parameter(
        '', 'node of a program that is waited for as those of answers_from; empty: none'
    )
    answer_timeout_s: float = parameter(
        5.0,
        'wall-clock time after which simulated time goes on without a node that had answered [s]',
        minimum=0.1,
        maximum=600.0,
    )


class VirtualRigNode(Node):
    """Owns plant, board and camera; renders in the executor's thread."""

    def __init__(self):
        super().__init__('virtual_rig')
        p = declare(self, VirtualRigParameters)
        robot = load_robot(p.robot)
        self._frame = robot.base.frame
        plant = pneumatic_arm(robot, p.plant_seed, p.pneumatics_file)
        camera_parameters = camera_of(robot, p.camera_file)
        jig = load_calibration_jig(p.jig_file) if p.jig_file else jig_for(robot)
        self._rate_hz = camera_parameters.image.rate_hz
        self._truth = self.create_publisher(PoseStamped, '~/debug/tip_truth', qos.STATE)
        self._motion_capture = MotionCapturePublisher(self, p.plant_seed)
        with ExitStack() as devices:  # what has been opened is closed when the next cannot be
            self._camera = VirtualCamera(robot, camera_parameters, jig, p.plant_seed)
            devices.callback(self._camera.close)
            self._camera_node = CameraNode(self._camera, p.camera_name, self.now_s)
            devices.callback(self._camera_node.destroy_node)
            if self.get_parameter('use_sim_time').value:
                board = self._begin_in_lockstep(plant, p, devices)
            else:
                board = self._begin_in_real_time(plant, p, devices)
            self._devices = devices.pop_all()
        self._service = self.create_service(PlaceRing, '~/place_ring', self._place_ring)
        self._reporter = Reporter(self, f'{robot.name} seed {p.plant_seed}', self._status)
        self.get_logger().info(
            f'{robot.name}, plant seed {p.plant_seed}, valve board on 127.0.0.1:{board.port}'
        )

    def _begin_in_real_time(
        self, plant: Simulation, p: VirtualRigParameters, devices: ExitStack
    ) -> ModbusDevice:
        self._lockstep: Lockstep | None = None
        self._plant = RunningPlant(plant)
        self._plant.start()
        devices.callback(self._plant.stop)
        board = ValveBoard(self._plant, port=p.modbus_port, channels=self._plant.channels)
        self._serve(board, devices)
        self.create_timer(1.0 / self._rate_hz, self._capture)
        self.create_timer(TRUTH_PERIOD_S, self._publish_truth)
        self.create_timer(self._motion_capture.period_s, self._measure)
        return board

    def _begin_in_lockstep(
        self, plant: Simulation, p: VirtualRigParameters, devices: ExitStack
    ) -> ModbusDevice:
        self._rig = SteppedRig(
            plant, load_delays(p.delays_file) if p.delays_file else load_delays(), self._rate_hz
        )
        self._board = SteppedBoard(self._rig.logic, port=p.modbus_port)
        self._image_ns, self._mark = -1, (time.monotonic(), 0)
        self._awaits_poses = bool(p.pose_answers_from)
        if self._awaits_poses and p.image_answers_from:
            raise SimulationError(
                f'image_answers_from {p.image_answers_from!r} and pose_answers_from '
                f'{p.pose_answers_from!r}: one of them measures the tip; leave the other empty'
            )
        by_stamp = p.pose_answers_from or p.image_answers_from
        self._lockstep = Lockstep(
            self,
            TICK_S,
            self._advance,
            (self._motion_capture if self._awaits_poses else self._camera_node).publish_again,
            [*p.answers_from, p.program] if p.program else p.answers_from,
            [by_stamp] if by_stamp else [],
            p.answer_timeout_s,
            p.real_time_factor,
        )
        self._serve(self._board, devices)
        return self._board

    def _serve(self, board: ModbusDevice, devices: ExitStack) -> None:
        self._server = DeviceThread(board)
        self._server.start()
        devices.callback(self._server.stop, RELEASE_S)

    def destroy_node(self) -> None:
        """Serve the board until its host has vented and left it.

        Close it, end the plant, free the camera.
        """
        self._devices.close()
        super().destroy_node()

    def _capture(self) -> None:
        self._camera_node.publish(self._plant.snapshot().qpos, self.get_clock().now().to_msg())

    def _measure(self) -> None:
        now_ns = self.get_clock().now().nanoseconds
        self._motion_capture.measure(now_ns, self._plant.snapshot().T_base_tip)

    def _publish_truth(self) -> None:
        self._server.check()
        stamp = self.get_clock().now().to_msg()
        self._truth.publish(pose_message(self._plant.snapshot().T_base_tip, self._frame, stamp))

    def _advance(self, time_ns: int) -> int:
        """Advance the rig to a time [ns]; return the stamp of what is to be answered."""
        with self._board.lock:
            exposures = self._rig.advance()
        for exposure in exposures:
            self._image_ns = round(1e9 * exposure.stamp_s)
            self._camera_node.publish(exposure.qpos, Time(nanoseconds=self._image_ns).to_msg())
        if time_ns % round(1e9 * self._motion_capture.period_s) == 0:
            self._motion_capture.measure(time_ns, self._rig.snapshot().T_base_tip)
        if time_ns % round(1e9 * TRUTH_PERIOD_S) == 0:
            stamp = Time(nanoseconds=time_ns).to_msg()
            self._truth.publish(pose_message(self._rig.snapshot().T_base_tip, self._frame, stamp))
        return self._motion_capture.stamp_ns if self._awaits_poses else self._image_ns

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
        rate_hz = self._camera_node.meter.rate_hz
        if self._lockstep is not None:
            return self._lockstep_status(self._lockstep, rate_hz)
        factor = self._plant.real_time_factor()
        slow = factor < SLOW_FACTOR or rate_hz < SLOW_RATE * self._rate_hz
        message = 'slower than real time: fewer programs, or more cores' if slow else 'in real time'
        return WARN if slow else OK, message, {'real_time_factor': factor, 'camera_hz': rate_hz}

    def _lockstep_status(self, lockstep: Lockstep, rate_hz: float) -> tuple[bytes, str, dict]:
        (before_s, before_ns), self._mark = self._mark, (time.monotonic(), lockstep.time_ns)
        factor = 1e-9 * (self._mark[1] - before_ns) / max(self._mark[0] - before_s, 1e-6)
        values = {
            'real_time_factor': factor,
            'camera_hz': rate_hz,
            'simulated_time_s': 1e-9 * lockstep.time_ns,
        }
        if lockstep.lost:
            return ERROR, f'time goes on without {", ".join(lockstep.lost)}', values
        if factor == 0.0:
            return (
                WARN,
                f'time waits for {", ".join(lockstep.missing())}',
                values | {'ready': False},
            )
        return OK, f'in lockstep, {factor:.2f} x real time', values


def main() -> int:
    """Run the node."""
    return run(VirtualRigNode)
