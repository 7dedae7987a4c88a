"""Node `tip_estimator`: the controller's estimate of the tip, without a controller.

In: `pressures`, `tip_pose`. Out: `tip_estimate` (PointStamped in the base frame) for every message
of pressures, and diagnostics. It publishes no command, so it can run with a replayed bag. A message
with a value that is not finite, another frame or an old stamp is ignored, as in `tip_controller`.
It has no residual model, which `tip_controller` learns at its goals. When time jumps back, as in a
bag that is replayed, the estimate is reset.
"""

from dataclasses import dataclass

from geometry_msgs.msg import PointStamped, PoseWithCovarianceStamped
from std_msgs.msg import Header

from soft_arm_control.errors import MessageError
from soft_arm_control.ros.conversions import point_message, tip_from_msg
from soft_arm_control.ros.inputs import Inputs
from soft_arm_control.tip.bias_filter import BiasFilter
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_control.tip.residual_model import ResidualModel
from soft_arm_description.calibration import load_calibration
from soft_arm_description.named_values import pressures_from_msg
from soft_arm_description.rig import load_rig
from soft_arm_kinematics.arm import load_bellows_arm
from soft_arm_msgs.msg import ChamberPressures
from soft_arm_node_kit import diagnostics, qos
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
        self._filter = BiasFilter(arm, ResidualModel(arm.n_actuators), dynamics)
        self._estimate = self.create_publisher(PointStamped, 'tip_estimate', qos.STATE)
        self._inputs = Inputs(self)
        measured = self.sensor_qos()
        self._inputs.subscribe(ChamberPressures, 'pressures', self._on_pressures, measured)
        self._inputs.subscribe(PoseWithCovarianceStamped, 'tip_pose', self._on_tip_pose, measured)
        self._reporter = diagnostics.Reporter(self, self._robot.name, self._report)

    def _on_pressures(self, stamp_s: float, message: ChamberPressures) -> None:
        jumps = self._filter.time_jumps
        if not self._filter.add_pressures(
            stamp_s, pressures_from_msg(message, self._robot, MessageError)
        ):
            raise MessageError('its stamp is not newer than the stamp of the message before')
        if self._filter.time_jumps > jumps:
            self.get_logger().warning('time has jumped back: the estimate is reset')
        header = Header(stamp=message.header.stamp, frame_id=self._robot.base.frame)
        point = point_message(self._filter.tip_m())
        self._estimate.publish(PointStamped(header=header, point=point))

    def _on_tip_pose(self, stamp_s: float, message: PoseWithCovarianceStamped) -> None:
        self._filter.add_tip_pose(stamp_s, *tip_from_msg(message, self._robot.base.frame))

    def _report(self) -> tuple[bytes, str, dict]:
        values = self._inputs.values() | {'time_jumps': self._filter.time_jumps}
        if not self._inputs.rates['pressures'].rate_hz:
            return diagnostics.STALE, self._inputs.fault or 'no pressures are received', values
        if not self._inputs.rates['tip_pose'].rate_hz:
            text = self._inputs.fault or 'no tip_pose: the model alone gives the tip'
            return diagnostics.WARN, text, values
        return diagnostics.OK, 'estimating the tip', values


def main() -> int:
    """Run the node."""
    return run(TipEstimatorNode)
