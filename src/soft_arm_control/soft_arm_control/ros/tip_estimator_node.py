"""Node `tip_estimator`: the controller's estimate of the tip, without a controller.

In: `pressures`, `tip_pose`. Out: `tip_estimate` (PointStamped in the base frame) for every message
of pressures, and diagnostics. It has no command to publish, so it runs beside a replayed bag. A
message with a value that is not finite, another frame or an old stamp is ignored, as by
`tip_controller`; what that learns at its goals this node does not know. When time jumps back, as in
a bag that is played again, the estimate begins again.
"""

from dataclasses import dataclass

from geometry_msgs.msg import PointStamped, PoseWithCovarianceStamped
from std_msgs.msg import Header

from soft_arm_control.errors import MessageError
from soft_arm_control.ros import conversions
from soft_arm_control.ros.unusable_messages import UnusableMessages
from soft_arm_control.tip.bias_filter import BiasFilter
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_control.tip.residual_model import ResidualModel
from soft_arm_description.calibration import load_calibration
from soft_arm_description.rig import load_rig
from soft_arm_kinematics.arm import load_bellows_arm
from soft_arm_msgs.msg import ChamberPressures
from soft_arm_node_kit import diagnostics, qos
from soft_arm_node_kit.messages import pressures_from_msg
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import declare, parameter
from soft_arm_node_kit.runner import run


@dataclass(frozen=True)
class TipEstimatorParameters:
    """Parameters of the node."""

    robot: str = parameter(description='name or path of the robot file')
    rig: str = parameter(description='rig whose calibration is used')


class TipEstimatorNode(Node):
    """Connect `soft_arm_control.tip.bias_filter.BiasFilter` to topics."""

    def __init__(self):
        super().__init__('tip_estimator')
        p = declare(self, TipEstimatorParameters)
        arm = load_bellows_arm(p.robot, p.rig)
        self._robot = arm.robot
        dynamics = load_calibration(load_rig(p.rig), Dynamics, self._robot).values
        nothing_learnt = ResidualModel(arm.n_actuators)
        self._filter = BiasFilter(arm, nothing_learnt, dynamics)
        self._ignored = UnusableMessages(self)
        self._pressures_rate = diagnostics.RateMeter(self.now_s)
        self._tip_rate = diagnostics.RateMeter(self.now_s)
        self._estimate = self.create_publisher(PointStamped, 'tip_estimate', qos.STATE)
        measured = self.sensor_qos()
        self.create_subscription(ChamberPressures, 'pressures', self._on_pressures, measured)
        self.create_subscription(PoseWithCovarianceStamped, 'tip_pose', self._on_tip_pose, measured)
        self._reporter = diagnostics.Reporter(self, self._robot.name, self._report)

    def _on_pressures(self, message: ChamberPressures) -> None:
        with self._ignored.of('pressures'):
            stamp_s = conversions.recent_s(message.header.stamp, self.now_s())
            pressures_pa = pressures_from_msg(message, self._robot, MessageError)
            jumps = self._filter.time_jumps
            if not self._filter.add_pressures(stamp_s, pressures_pa):
                raise MessageError('its stamp is not newer than the stamp of the message before')
            if self._filter.time_jumps > jumps:
                self.get_logger().warning('time has jumped back: the estimate begins again')
            self._pressures_rate.tick()
            header = Header(stamp=message.header.stamp, frame_id=self._robot.base.frame)
            point = conversions.point_message(self._filter.tip_m())
            self._estimate.publish(PointStamped(header=header, point=point))

    def _on_tip_pose(self, message: PoseWithCovarianceStamped) -> None:
        with self._ignored.of('tip_pose'):
            stamp_s = conversions.recent_s(message.header.stamp, self.now_s())
            ring = conversions.tip_from_msg(message, self._robot.base.frame)
            self._filter.add_tip_pose(stamp_s, *ring)
            self._tip_rate.tick()

    def _report(self) -> tuple[bytes, str, dict]:
        values = {
            'pressures_hz': self._pressures_rate.rate_hz,
            'tip_pose_hz': self._tip_rate.rate_hz,
            'ignored_messages': self._ignored.count,
            'time_jumps': self._filter.time_jumps,
        }
        if not self._pressures_rate.rate_hz:
            values['remedy'] = 'activate the driver'
            return diagnostics.STALE, self._ignored.last or 'no pressures are received', values
        if not self._tip_rate.rate_hz:
            return diagnostics.WARN, self._ignored.last or 'no tip_pose: by the model', values
        return diagnostics.OK, 'estimating the tip', values


def main() -> int:
    """Run the node."""
    return run(TipEstimatorNode)
