"""Forward kinematics: measured pressures in; configuration, frames and visualization out.

In: `pressures` (ChamberPressures). Out: `configuration` (ArmConfiguration) and /tf for every
message; `body` (Marker) and `joint_states` (the rigid sections of the URDF) at
`visualization_rate_hz` at most; static /tf of the base, which for a finger is its mount on the
robot's flange. Without pressures nothing is published, and /diagnostics reports it. A rig without
calibrated curves takes those of the robot file, which /diagnostics reports. The robot must be
driven by pressures alone; its frames share the prefix of the base frame, such as `soft_arm_` or
`soft_gripper_`.
"""

from dataclasses import dataclass

import numpy as np
from rclpy.time import Time
from sensor_msgs.msg import JointState
from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster
from visualization_msgs.msg import Marker

from soft_arm_description.named_values import pressures_from_msg
from soft_arm_description.urdf import joint_names
from soft_arm_kinematics.arm import BellowsArm, load_arm, uncalibrated_shape
from soft_arm_kinematics.configuration import Configuration
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ros import conversions
from soft_arm_kinematics.segments.sections import joint_values
from soft_arm_msgs.msg import ArmConfiguration, ChamberPressures
from soft_arm_node_kit import diagnostics, parameters, qos, runner
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import parameter

POINTS_PER_SEGMENT = 20


@dataclass(frozen=True)
class ForwardKinematicsParameters:
    """Parameters of the node."""

    robot: str = parameter(description='name or path of the robot file')
    rig: str = parameter(description='rig whose calibration is used')
    visualization_rate_hz: float = parameter(
        15.0, 'highest rate of body and joint_states [Hz]', minimum=0.1, maximum=50.0
    )


class ForwardKinematicsNode(Node):
    """Translates pressures into the shape of the robot."""

    def __init__(self):
        super().__init__('forward_kinematics')
        settings = parameters.declare(self, ForwardKinematicsParameters)
        self._arm = load_arm(settings.robot, settings.rig, uncalibrated=True)
        self._robot = self._arm.robot
        if not self._arm.is_pressure_driven:
            kinds = ', '.join(f'{s.name} ({s.kind})' for s in self._robot.segments)
            raise KinematicsError(
                f'forward_kinematics: pressures alone do not set robot {self._robot.name} '
                f'({kinds}): use limb_states for tendon segments'
            )
        self._visualization_period_s = 1.0 / settings.visualization_rate_hz
        self._last_visualized: Time | None = None
        self._joint_names = joint_names(self._robot)
        self._nominal = uncalibrated_shape(self._arm, settings.rig)
        self._clipped_pa, self._fault, self._rate = 0.0, '', diagnostics.RateMeter(self.now_s)
        self._configuration = self.create_publisher(ArmConfiguration, 'configuration', qos.STATE)
        self._body = self.create_publisher(Marker, 'body', qos.STATE)
        self._joint_states = self.create_publisher(JointState, 'joint_states', qos.STATE)
        self._frames = TransformBroadcaster(self)
        self._static_frames = StaticTransformBroadcaster(self)
        self._static_frames.sendTransform(
            conversions.base_transform(self._arm, self.get_clock().now().to_msg())
        )
        self.create_subscription(
            ChamberPressures, 'pressures', self._on_pressures, self.sensor_qos()
        )
        diagnostics.Reporter(self, self._robot.name, self._status)

    def _on_pressures(self, message: ChamberPressures) -> None:
        try:
            measured_pa = pressures_from_msg(message, self._robot, KinematicsError)
            pressures_pa = self._arm.clip_pressures(measured_pa)
            self._clipped_pa = float(np.abs(measured_pa - pressures_pa).max())
            self._rate.tick()
            shape = self._arm.at(self._arm.q_at(pressures_pa))
            self._publish(shape, message.header.stamp)
            self._fault = ''
        except KinematicsError as error:
            self._fault = str(error)
            self.get_logger().warning(self._fault, throttle_duration_sec=10.0)

    def _publish(self, shape: Configuration, stamp) -> None:
        self._frames.sendTransform(conversions.tip_transforms(shape, stamp))
        self._configuration.publish(conversions.configuration_msg(shape, self._robot, stamp))
        if self._visualization_due():
            self._body.publish(
                conversions.body_msg(shape.backbone(POINTS_PER_SEGMENT), self._robot, stamp)
            )
            self._joint_states.publish(
                conversions.joint_state_msg(self._joint_names, joint_values(shape), stamp)
            )

    def _visualization_due(self) -> bool:
        now, last = self.get_clock().now(), self._last_visualized
        if last is not None and 0 <= (now - last).nanoseconds * 1e-9 < self._visualization_period_s:
            return False
        self._last_visualized = now
        return True

    def _status(self):
        values = {
            'pressures_hz': self._rate.rate_hz,
            'robot_fingerprint': self._robot.kinematic_fingerprint,
        }
        if isinstance(self._arm, BellowsArm):
            values['calibration_date'] = self._arm.curve.date
        if self._fault:
            return diagnostics.ERROR, self._fault, values
        if not self._rate.rate_hz:
            return diagnostics.STALE, 'no pressures are received: activate the driver', values
        if self._clipped_pa > 0.0:
            text = (
                f'a pressure is {self._clipped_pa:.0f} Pa beyond the calibrated range and is taken '
                'as its end: calibrate over a wider range'
            )
            return diagnostics.WARN, text, values
        if self._nominal:
            return diagnostics.WARN, self._nominal, values
        return diagnostics.OK, 'following the pressures', values


def main() -> int:
    """Entry point."""
    return runner.run(ForwardKinematicsNode)
