"""Node `tip_tracker` without a camera: pose of a tracked body in, pose of the tip out.

In: `body_pose` (PoseStamped in the frame of the measuring system, such as motion capture). Out:
`tip_pose` in the base frame, for every pose that can be used, its stamp earlier by the calibrated
latency; `tip_by_vision` on /tf; diagnostics. A pose of a body that is not tracked (values not
finite, no unit quaternion, the identity), in another frame or with a stamp below the latency is
left out; the diagnostics state the last reason and the number. With `use_sim_time` each pose is
answered on /clock_answers with its stamp.
"""

import sys
from dataclasses import dataclass

import numpy as np
from builtin_interfaces.msg import Time as TimeMessage
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from rclpy.duration import Duration
from rclpy.time import Time
from tf2_ros import TransformBroadcaster

from soft_arm_description.calibration import load_calibration
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_node_kit import diagnostics, parameters, qos, runner
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.ticker import Answers
from soft_arm_vision.calibration.motion_capture import MotionCapture
from soft_arm_vision.errors import VisionError
from soft_arm_vision.ros import conversions

SAY_EVERY_S = 5.0


@dataclass(frozen=True)
class TipFromPoseParameters:
    """Parameters of the node."""

    rig: str = parameters.parameter(
        description='name of a rig, or path of its folder; its motion_capture calibration is used'
    )
    robot: str = parameters.parameter(
        'two_module_arm', 'name of a shipped robot or path of a robot file'
    )
    stale_s: float = parameters.parameter(
        0.2, 'age of the newest pose that is an error [s]', minimum=0.05, maximum=10.0
    )


class TipFromPoseNode(Node):
    """Turns poses of the tracked body into poses of the tip."""

    def __init__(self):
        super().__init__('tip_tracker')
        given = parameters.declare(self, TipFromPoseParameters)
        robot, rig = load_robot(given.robot), load_rig(given.rig)
        self._calibration = load_calibration(rig, MotionCapture, robot).values
        self._tip_frame = f'{robot.base.frame_prefix}tip_by_vision'
        self._latency = Duration(seconds=self._calibration.latency_s)
        self._stale_s, self._trouble = given.stale_s, ''
        self._left_out = 0
        self._found = diagnostics.RateMeter(self.now_s)
        self._pose = self.create_publisher(PoseWithCovarianceStamped, 'tip_pose', qos.STATE)
        self._tf = TransformBroadcaster(self)
        self._answers = Answers(self) if self.get_parameter('use_sim_time').value else None
        self.create_subscription(PoseStamped, 'body_pose', self._on_pose, qos.SENSOR)
        self._reporter = diagnostics.Reporter(self, robot.name, self._status)

    def _on_pose(self, message: PoseStamped) -> None:
        self._use(message)
        if self._answers is not None:
            self._answers.done_until(message.header.stamp)

    def _use(self, message: PoseStamped) -> None:
        try:
            T_world_body = conversions.pose_from_msg(message, self._calibration.world_frame)
            stamp = self._seen_at(message.header.stamp)
        except VisionError as error:
            self._trouble = str(error)
            self._left_out += 1
            self.get_logger().warning(self._trouble, throttle_duration_sec=SAY_EVERY_S)
            return
        sight = self._calibration.sight(T_world_body)
        base_frame = self._calibration.base_frame
        transform = conversions.transform_message(
            stamp, base_frame, self._tip_frame, np.asarray(sight.T_base_tip)
        )
        self._pose.publish(
            conversions.pose_message(transform.header, sight.T_base_tip, sight.covariance)
        )
        self._tf.sendTransform(transform)
        self._trouble = ''
        self._found.tick()

    def _seen_at(self, stamp: TimeMessage) -> TimeMessage:
        """Return the time at which the body was where a pose of this stamp has it."""
        earlier_ns = stamp.sec * 10**9 + stamp.nanosec - self._latency.nanoseconds
        if earlier_ns < 0:
            raise VisionError(
                f'stamp {stamp.sec}.{stamp.nanosec:09d} s of body_pose is below the calibrated '
                f'latency {self._calibration.latency_s:g} s: set the clock of the tracking system'
            )
        return Time(nanoseconds=earlier_ns).to_msg()

    def _status(self) -> tuple[bytes, str, dict]:
        age_s = self._found.age_s
        values = {'detection_rate_hz': self._found.rate_hz, 'poses_left_out': self._left_out}
        if age_s is None or age_s > self._stale_s:
            why = self._trouble or 'no pose on body_pose: does the tracking system run?'
            return diagnostics.ERROR, f'tip lost: {why}', values
        return diagnostics.OK, 'tip in view', values


def main(args=None) -> int:
    """Run the node."""
    return runner.run(TipFromPoseNode, args)


if __name__ == '__main__':
    sys.exit(main())
