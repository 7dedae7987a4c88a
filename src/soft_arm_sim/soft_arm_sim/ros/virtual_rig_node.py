"""Virtual rig: the plant behind its devices, in real time or in lockstep.

Out: the D435i's topics under /camera/<camera_name> (30 Hz, names and encodings of
realsense2_camera), its inner frames on /tf_static, and `~/motion_capture/pose`, the measured pose
of a body on the tip; `~/debug/tip_truth`, the true tip, for reports. In: a valve board on Modbus
TCP (127.0.0.1), whose watchdog vents without commands, and `~/place_ring`, the operator's hand. On
shutdown, keep serving the board until its host has vented: a launch file ends all nodes at once.

With `use_sim_time` it publishes `/clock` (see lockstep.py): plant, board, camera and their delays
run in simulated time, which advances when all awaited nodes have answered.
"""

from contextlib import ExitStack
from dataclasses import dataclass

from soft_arm_description.robot import load_robot
from soft_arm_msgs.srv import PlaceRing
from soft_arm_node_kit.diagnostics import Reporter
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import declare, parameter
from soft_arm_node_kit.runner import run
from soft_arm_physics.pneumatic_arm import SHIPPED, pneumatic_arm
from soft_arm_sim.cameras.parameters import load_calibration_jig
from soft_arm_sim.cameras.placement import camera_of, jig_for
from soft_arm_sim.delays import load_delays
from soft_arm_sim.errors import SimulationError
from soft_arm_sim.ros.rig_clocks import LockstepRig, RealTimeRig
from soft_arm_sim.ros.rig_outputs import RigOutputs


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
    camera_frames: bool = parameter(
        True, "false: leave out the camera's frames, whose pose in the base frame is not calibrated"
    )
    jig_file: str = parameter(
        '', 'YAML file with the pegs that hold the ring; empty: nine, placed for the robot'
    )
    modbus_port: int = parameter(5020, 'TCP port of the valve board', minimum=0, maximum=65535)
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
    program: str = parameter('', 'name of a program, which is added to answers_from; empty: none')
    answer_timeout_s: float = parameter(
        5.0,
        'wall-clock time after which simulated time goes on without a node that had answered [s]',
        minimum=0.1,
        maximum=600.0,
    )


class VirtualRigNode(Node):
    """Owner of plant, board and camera; it renders in the executor's thread."""

    def __init__(self):
        super().__init__('virtual_rig')
        p = declare(self, VirtualRigParameters)
        if p.pose_answers_from and p.image_answers_from:
            raise SimulationError(
                f'image_answers_from {p.image_answers_from!r} and pose_answers_from '
                f'{p.pose_answers_from!r}: one of them measures the tip; leave the other empty'
            )
        robot = load_robot(p.robot)
        plant = pneumatic_arm(robot, p.plant_seed, p.pneumatics_file)
        jig = load_calibration_jig(p.jig_file) if p.jig_file else jig_for(robot)
        camera = camera_of(robot, p.camera_file)
        with ExitStack() as devices:  # closes them if a later one fails
            outputs = RigOutputs(
                self,
                robot,
                camera,
                jig,
                p.camera_name,
                p.plant_seed,
                devices,
                camera_frames=p.camera_frames,
            )
            self._camera, self.companions = outputs.camera, (outputs.camera_node,)
            self._rig: RealTimeRig | LockstepRig
            if self.get_parameter('use_sim_time').value:
                self._rig = LockstepRig(
                    self,
                    outputs,
                    plant,
                    p.modbus_port,
                    devices,
                    delays=load_delays(p.delays_file) if p.delays_file else load_delays(),
                    by_tick=[*p.answers_from, p.program] if p.program else p.answers_from,
                    by_image=p.pose_answers_from or p.image_answers_from,
                    by_pose=bool(p.pose_answers_from),
                    timeout_s=p.answer_timeout_s,
                    real_time_factor=p.real_time_factor,
                )
            else:
                self._rig = RealTimeRig(self, outputs, plant, p.modbus_port, devices)
            self._devices = devices.pop_all()
        self._service = self.create_service(PlaceRing, '~/place_ring', self._place_ring)
        seed, port = p.plant_seed, self._rig.board.port
        self._reporter = Reporter(self, f'{robot.name} seed {seed}', self._rig.status)
        self.get_logger().info(f'{robot.name}, plant seed {seed}, valve board on 127.0.0.1:{port}')

    def destroy_node(self) -> None:
        """Serve the board until its host has vented it; end plant and camera."""
        self._devices.close()
        super().destroy_node()

    def _place_ring(
        self, request: PlaceRing.Request, response: PlaceRing.Response
    ) -> PlaceRing.Response:
        try:
            self._camera.place_ring(request.peg)
            response.success = True
        except SimulationError as error:
            response.message = str(error)
        return response


def main() -> int:
    """Run the node."""
    return run(VirtualRigNode)
