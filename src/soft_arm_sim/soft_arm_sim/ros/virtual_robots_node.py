"""Node `virtual_robots`: the robots of any assembly file in any world file, in real time.

In: `limb_configuration` (ArmConfiguration; any tendon segments of any robots, by name),
`ROBOT/pressure_command` (ChamberPressures) of each robot with chambers, `ROBOT/torque_command`
(JointState; `name` and `effort`) of each robot with torques. Out: `joint_states` of all
robots' URDFs; /tf of the ends of segments, of what is on tips and of free bodies and objects;
/tf_static of bases and fixed bodies and objects; `CAMERA/image_raw` and `CAMERA/camera_info` of
each camera of the world, while somebody subscribes; `scene` (markers). A command that is refused
changes nothing, and /diagnostics says why. A simulation that diverges ends the node.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from sensor_msgs.msg import CameraInfo, Image, JointState
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster
from visualization_msgs.msg import MarkerArray

from soft_arm_description.assembly import load_assembly
from soft_arm_description.world import load_world
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ros.conversions import (
    arcs_from_msg,
    joint_state_msg,
    transform_msg,
)
from soft_arm_msgs.msg import ArmConfiguration, ChamberPressures
from soft_arm_node_kit import qos
from soft_arm_node_kit.diagnostics import OK, WARN, RateMeter, Reporter
from soft_arm_node_kit.messages import pressures_from_msg
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import declare, parameter
from soft_arm_node_kit.runner import run
from soft_arm_physics import PhysicsError
from soft_arm_sim.cameras.world_camera import PictureThread, image_of
from soft_arm_sim.ros.conversions import camera_info_message, image_message
from soft_arm_sim.ros.scene_markers import scene_message
from soft_arm_sim.running_simulation import RunningSimulation
from soft_arm_sim.simulated_frames import Frame, SimulatedFrames

SCENE_PERIOD_S = 0.2
SLOW_RATE, SLOW_FACTOR = 0.9, 0.97  # shares of what is due, below which it reports a warning


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
    """Owns the threads of the simulation and of the cameras."""

    def __init__(self):
        super().__init__('virtual_robots')
        p = declare(self, VirtualRobotsParameters)
        self._settings = p
        assembly, self._world = load_assembly(p.assembly), load_world(p.world)
        self._bodies = (*assembly.bodies, *self._world.objects)
        self._fault = ''
        self._running = RunningSimulation(assembly, self._world, p.time_step_s)
        view = self._running.view()
        self._frames = SimulatedFrames(view, assembly, self._running.robots)
        self._rate, self._camera_rates = RateMeter(), {}
        self._images: dict[str, tuple] = {}
        with ExitStack() as threads:  # what runs is ended when the next cannot be started
            self._running.start()
            threads.callback(self._running.stop)
            self._add_cameras(view.model, threads)
            self._threads = threads.pop_all()
        self._joints = self.create_publisher(JointState, 'joint_states', qos.STATE)
        self._scene = self.create_publisher(MarkerArray, 'scene', qos.STATE)
        self._tf, self._static_tf = TransformBroadcaster(self), StaticTransformBroadcaster(self)
        self._frames.move(self._running.positions())
        self._static_tf.sendTransform(self._transforms(self._frames.still_frames()))
        self.create_subscription(
            ArmConfiguration, 'limb_configuration', self._on_arcs, qos.ANY_COMMAND
        )
        for name, robot in self._running.robots.items():
            if robot.chambers:
                take = partial(self._on_pressures, name)
                topic = f'{name}/pressure_command'
                self.create_subscription(ChamberPressures, topic, take, qos.ANY_COMMAND)
            if any(segment.kind == 'torque' for segment in robot.segments):
                turn = partial(self._on_torques, name)
                topic = f'{name}/torque_command'
                self.create_subscription(JointState, topic, turn, qos.ANY_COMMAND)
        self.create_timer(1.0 / p.rate_hz, self._publish)
        self.create_timer(SCENE_PERIOD_S, self._publish_scene)
        served = f'{assembly.name} in {self._world.name}'  # a replay finds both by it
        self._reporter = Reporter(self, served, self._status)
        names = ', '.join(self._running.robots)
        self.get_logger().info(f'{assembly.name} in {self._world.name}: {names}')

    def destroy_node(self) -> None:
        """End the threads and free the cameras."""
        self._threads.close()
        super().destroy_node()

    def _add_cameras(self, model, threads: ExitStack) -> None:
        if not self._world.cameras:
            return
        for camera in self._world.cameras:
            self._camera_rates[camera.name] = RateMeter()
            self._images[camera.name] = (
                self.create_publisher(Image, f'{camera.name}/image_raw', qos.IMAGE),
                self.create_publisher(CameraInfo, f'{camera.name}/camera_info', qos.STATE),
                image_of(camera, self._settings.camera_rate_hz),
            )
        pictures = PictureThread(
            model,
            self._world.cameras,
            self._settings.camera_rate_hz,
            self._watched,
            self._running.positions,
            self._publish_image,
        )
        pictures.start()
        threads.callback(pictures.stop)

    def _watched(self, camera: str) -> bool:
        return bool(self._images[camera][0].get_subscription_count())

    def _publish_image(self, camera: str, rgb) -> None:
        images, infos, image = self._images[camera]
        stamp, frame = self.get_clock().now().to_msg(), self._frames.optical_frames[camera]
        infos.publish(camera_info_message(image, stamp, frame_id=frame))
        images.publish(image_message(rgb, 'rgb8', stamp, frame))
        self._camera_rates[camera].tick()

    def _on_arcs(self, message: ArmConfiguration) -> None:
        self._obey('limb_configuration', lambda: self._running.bend(arcs_from_msg(message)))

    def _on_pressures(self, name: str, message: ChamberPressures) -> None:
        def press() -> None:
            robot = self._running.robots[name]
            pressures_pa = pressures_from_msg(message, robot, PhysicsError)
            values = dict(zip(robot.chambers, pressures_pa.tolist(), strict=True))
            self._running.drive(name, values)

        self._obey(f'{name}/pressure_command', press)

    def _on_torques(self, name: str, message: JointState) -> None:
        def turn() -> None:
            if len(message.name) != len(message.effort):
                raise PhysicsError(
                    f'{len(message.name)} names but {len(message.effort)} torques in `effort`: '
                    'give one torque for each name'
                )
            self._running.drive(name, dict(zip(message.name, message.effort, strict=True)))

        self._obey(f'{name}/torque_command', turn)

    def _obey(self, topic: str, act) -> None:
        try:
            act()
            self._fault = ''
        except (KinematicsError, PhysicsError) as error:
            self._fault = f'{topic} is ignored: {error}'
            self.get_logger().warning(self._fault, throttle_duration_sec=10.0)

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
        touch, p = self._running.touch(), self._settings
        cameras = {f'{name}_hz': meter.rate_hz for name, meter in self._camera_rates.items()}
        values = {
            'real_time_factor': self._running.real_time_factor(),
            'joint_states_hz': self._rate.rate_hz,
            **cameras,
            'contacts': touch.contacts,
            'largest_contact_n': touch.largest_n,
        }
        if self._fault:
            return WARN, self._fault, values
        slow = values['real_time_factor'] < SLOW_FACTOR or any(
            0.0 < rate_hz < SLOW_RATE * p.camera_rate_hz for rate_hz in cameras.values()
        )
        if slow or values['joint_states_hz'] < SLOW_RATE * p.rate_hz:
            return WARN, 'slower than real time: fewer programs or cameras, or more cores', values
        return OK, 'in real time', values


def main() -> int:
    """Run the node."""
    return run(VirtualRobotsNode)
