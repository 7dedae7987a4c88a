"""Node `virtual_robots`: the robots of any assembly file in any world file, in real time.

In: `limb_configuration` (ArmConfiguration; any tendon segments of any robots, by name),
`ROBOT/pressure_command` (ChamberPressures) of each robot with chambers, `ROBOT/torque_command`
(JointState; `name` and `effort`) of each robot with torques. Out: `joint_states` of all
robots' URDFs; /tf of the ends of segments, of what is on tips and of free bodies and objects;
/tf_static of bases and fixed bodies and objects; `CAMERA/image_raw` and `CAMERA/camera_info` of
each camera of the world, while somebody subscribes; `scene` (markers). A refused command changes
nothing, and /diagnostics states the reason. A simulation that diverges ends the node.
"""

from contextlib import ExitStack
from dataclasses import dataclass

from sensor_msgs.msg import JointState
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster
from visualization_msgs.msg import MarkerArray

from soft_arm_description.assembly import load_assembly
from soft_arm_description.world import load_world
from soft_arm_kinematics.ros.conversions import joint_state_msg, transform_msg
from soft_arm_node_kit import qos
from soft_arm_node_kit.diagnostics import WARN, RateMeter, Reporter
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import declare, parameter
from soft_arm_node_kit.runner import run
from soft_arm_sim.ros.pace import pace_status
from soft_arm_sim.ros.robot_commands import RobotCommands
from soft_arm_sim.ros.scene_markers import scene_message
from soft_arm_sim.ros.world_camera_topics import WorldCameraTopics
from soft_arm_sim.running_simulation import RunningSimulation
from soft_arm_sim.simulated_frames import Frame, SimulatedFrames

SCENE_PERIOD_S = 0.2


@dataclass(frozen=True)
class VirtualRobotsParameters:
    """Parameters of the node."""

    assembly: str = parameter(description='assembly file: shipped name or path')
    world: str = parameter('empty', 'world file: shipped name or path')
    time_step_s: float = parameter(0.001, 'time step [s]', minimum=1e-5, maximum=0.01)
    rate_hz: float = parameter(
        50.0, 'joint states and frames a second [Hz]', minimum=1.0, maximum=200.0
    )
    camera_rate_hz: float = parameter(
        15.0, 'pictures a second of each camera [Hz]', minimum=0.1, maximum=60.0
    )


class VirtualRobotsNode(Node):
    """Owner of the threads of the simulation and of the cameras."""

    def __init__(self):
        super().__init__('virtual_robots')
        p = declare(self, VirtualRobotsParameters)
        self._settings = p
        assembly, world = load_assembly(p.assembly), load_world(p.world)
        self._bodies = (*assembly.bodies, *world.objects)
        self._running = RunningSimulation(assembly, world, p.time_step_s)
        view = self._running.view()
        self._frames = SimulatedFrames(view, assembly, self._running.robots)
        self._rate = RateMeter()
        with ExitStack() as threads:  # ends them if a later one fails
            self._running.start()
            threads.callback(self._running.stop)
            self._cameras = WorldCameraTopics(
                self,
                view.model,
                world.cameras,
                self._frames.optical_frames,
                p.camera_rate_hz,
                self._running.positions,
            )
            threads.callback(self._cameras.stop)
            self._threads = threads.pop_all()
        self._joints = self.create_publisher(JointState, 'joint_states', qos.STATE)
        self._scene = self.create_publisher(MarkerArray, 'scene', qos.STATE)
        self._tf, self._static_tf = TransformBroadcaster(self), StaticTransformBroadcaster(self)
        self._frames.move(self._running.positions())
        self._static_tf.sendTransform(self._transforms(self._frames.still_frames()))
        self._commands = RobotCommands(self, self._running)
        self.create_timer(1.0 / p.rate_hz, self._publish)
        self.create_timer(SCENE_PERIOD_S, self._publish_scene)
        served = f'{assembly.name} in {world.name}'  # a replay finds both by it
        self._reporter = Reporter(self, served, self._status)
        self.get_logger().info(f'{served}: {", ".join(self._running.robots)}')

    def destroy_node(self) -> None:
        """End the threads and free the cameras."""
        self._threads.close()
        super().destroy_node()

    def _transforms(self, frames: list[Frame]) -> list:
        stamp = self.get_clock().now().to_msg()
        return [transform_msg(T, parent, child, stamp) for parent, child, T in frames]

    def _publish(self) -> None:
        stamp = self.get_clock().now().to_msg()
        self._frames.move(self._running.positions())
        names, values = self._frames.joint_names, self._frames.joint_values()
        self._joints.publish(joint_state_msg(names, values, stamp))
        self._tf.sendTransform(self._transforms(self._frames.moving_frames()))
        self._rate.tick()

    def _publish_scene(self) -> None:
        if self._scene.get_subscription_count():
            stamp = self.get_clock().now().to_msg()
            robots = self._running.robots
            self._scene.publish(scene_message(self._bodies, robots, self._frames, stamp))

    def _status(self) -> tuple[bytes, str, dict]:
        (contacts, largest_n), p = self._running.contacts(), self._settings
        factor, rate_hz = self._running.real_time_factor(), self._rate.rate_hz
        cameras_hz = self._cameras.rates_hz
        values = {
            'real_time_factor': factor,
            'joint_states_hz': rate_hz,
            **{f'{name}_hz': hz for name, hz in cameras_hz.items()},
            'contacts': contacts,
            'largest_contact_n': largest_n,
        }
        if self._commands.fault:
            return WARN, self._commands.fault, values
        watched = [(hz, p.camera_rate_hz) for hz in cameras_hz.values() if hz]
        return pace_status(values, [(rate_hz, p.rate_hz), *watched], factor)


def main() -> int:
    """Run the node."""
    return run(VirtualRobotsNode)
