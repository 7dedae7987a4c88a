"""Limb states: joint states of all limbs of a body at 50 Hz, with the frames on their tips.

In: `limb_configuration` (ArmConfiguration; any segments of any limbs, by name). Out: `joint_states`
of every rigid section of every limb and, where `frames` is set, /tf of the tip frames (camera,
light) and static /tf of the limbs' bases. A robot_state_publisher for each limb's URDF gives the
same frames from the joint states: unset `frames` then. A configuration that is refused changes
nothing, and /diagnostics says why.
"""

from dataclasses import dataclass

from sensor_msgs.msg import JointState
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster

from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.limbs import SQUID, Limbs
from soft_arm_kinematics.ros import conversions
from soft_arm_msgs.msg import ArmConfiguration
from soft_arm_node_kit import diagnostics, parameters, qos, runner
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import parameter


@dataclass(frozen=True)
class LimbStatesParameters:
    """Parameters of the node."""

    robots: list[str] = parameter(SQUID, "names or paths of the limbs' robot files")
    rate_hz: float = parameter(50.0, 'joint states per second [Hz]', minimum=1.0, maximum=200.0)
    frames: bool = parameter(True, 'also publish the frames of bases and tips')


class LimbStatesNode(Node):
    """Translates configurations into joint states."""

    def __init__(self):
        super().__init__('limb_states')
        settings = parameters.declare(self, LimbStatesParameters)
        self._limbs, self._fault, self._rate = (
            Limbs(settings.robots),
            '',
            diagnostics.RateMeter(self.now_s),
        )
        self._names = list(self._limbs.joint_names)
        self._publisher = self.create_publisher(JointState, 'joint_states', qos.STATE)
        self._frames = TransformBroadcaster(self) if settings.frames else None
        if settings.frames:
            stamp = self.get_clock().now().to_msg()
            self._static_frames = StaticTransformBroadcaster(self)
            self._static_frames.sendTransform(
                [
                    conversions.transform_msg(T, parent, child, stamp)
                    for parent, child, T in self._limbs.base_frames()
                ]
            )
        self.create_subscription(
            ArmConfiguration, 'limb_configuration', self._on_configuration, qos.STATE
        )
        self.create_timer(1.0 / settings.rate_hz, self._publish)
        diagnostics.Reporter(self, 'limbs', self._status)

    def _on_configuration(self, message: ArmConfiguration) -> None:
        try:
            self._limbs.bend(conversions.arcs_from_msg(message))
            self._fault = ''
        except KinematicsError as error:
            self._fault = str(error)
            self.get_logger().warning(
                f'configuration is ignored: {error}', throttle_duration_sec=10.0
            )

    def _publish(self) -> None:
        stamp = self.get_clock().now().to_msg()
        self._publisher.publish(
            conversions.joint_state_msg(self._names, self._limbs.joint_values, stamp)
        )
        if self._frames:
            self._frames.sendTransform(
                [
                    conversions.transform_msg(T, parent, child, stamp)
                    for parent, child, T in self._limbs.tip_frames()
                ]
            )
        self._rate.tick()

    def _status(self):
        values = {'joint_states_hz': self._rate.rate_hz, 'joints': len(self._names)}
        return (
            (diagnostics.WARN, self._fault, values)
            if self._fault
            else (diagnostics.OK, 'publishing joint states', values)
        )


def main() -> int:
    """Entry point."""
    return runner.run(LimbStatesNode)
