"""Contact estimator: pressures and tip poses of a modal bellows in; contact and its site out.

In: `pressures` (ChamberPressures), `tip_pose` (PoseWithCovarianceStamped, tip in the arm's base, z
along the backbone). Out: `contact` (ContactEstimate) for every pose; while there is contact,
its site is located at `locate_rate_hz`. The noise is the covariance of the pose, or given by the
parameters for poses without covariance. A pose is ignored if it is not finite, far from the
bellows, in another frame, or without a pressure measured around the same time; /diagnostics reports
the reason.
"""

import numpy as np
from geometry_msgs.msg import PoseWithCovarianceStamped

from soft_arm_description.named_values import pressures_from_msg
from soft_arm_description.robot import load_robot
from soft_arm_kinematics.contact import ContactEstimate as Estimate
from soft_arm_kinematics.contact import ContactStream, Detection, tracker_covariance
from soft_arm_kinematics.contact.pressure_history import PressureHistory
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ros.contact_conversions import contact_msg, planar_covariance, planar_pose
from soft_arm_kinematics.ros.contact_parameters import ContactEstimatorParameters
from soft_arm_kinematics.segments.modal import ModalModel
from soft_arm_msgs.msg import ChamberPressures, ContactEstimate
from soft_arm_node_kit import diagnostics, parameters, qos, runner
from soft_arm_node_kit.messages import seconds
from soft_arm_node_kit.node import Node

FARTHEST = 2.0  # lengths of the bellows from its base; poses beyond it are ignored


class ContactEstimatorNode(Node):
    """Translates pressures and poses into contact."""

    def __init__(self):
        super().__init__('contact_estimator')
        settings = parameters.declare(self, ContactEstimatorParameters)
        self._robot = load_robot(settings.robot)
        kinds = [segment.kind for segment in self._robot.segments]
        if kinds != ['modal']:
            raise KinematicsError(
                f'contact_estimator: robot {self._robot.name} has segments {kinds}: choose one '
                'with a single modal segment'
            )
        self._phi_rad = self._robot.segments[0].phi_rad
        self._model = ModalModel.of_segment(self._robot.segments[0])
        self._stream = ContactStream(
            self._model,
            tracker_covariance(settings.position_sigma_m, settings.angle_sigma_rad),
            settings.false_alarms_per_min,
            settings.pose_rate_hz,
            settings.window,
        )
        self._pressures = PressureHistory(settings.pressure_age_s)
        self._detection: Detection | None = None
        self._estimate: Estimate | None = None
        self._noise_from = 'parameters'
        self._fault = ''
        self._rate = diagnostics.RateMeter(self.now_s)
        self._publisher = self.create_publisher(ContactEstimate, 'contact', qos.STATE)
        self.create_subscription(ChamberPressures, 'pressures', self._on_pressures, qos.SENSOR)
        self.create_subscription(PoseWithCovarianceStamped, 'tip_pose', self._on_pose, qos.SENSOR)
        self.create_timer(1.0 / settings.locate_rate_hz, self._locate)
        diagnostics.Reporter(self, self._robot.name, self._status)

    def _on_pressures(self, message: ChamberPressures) -> None:
        try:
            pressure_pa = float(pressures_from_msg(message, self._robot, KinematicsError)[0])
        except KinematicsError as error:
            self._ignore(f'pressures are ignored: {error}')
            return
        self._pressures.add(
            seconds(message.header.stamp),
            float(np.clip(pressure_pa, *self._model.pressure_limits_pa)),
        )

    def _on_pose(self, message: PoseWithCovarianceStamped) -> None:
        try:
            self._detection = self._detect(message)
        except ValueError as error:  # also of a covariance that cannot be inverted
            self._ignore(f'pose is ignored: {error}')
            return
        self._fault = ''
        self._estimate = self._estimate if self._detection.in_contact else None
        self._rate.tick()
        self._publisher.publish(contact_msg(self._detection, self._estimate, message.header))

    def _detect(self, message: PoseWithCovarianceStamped) -> Detection:
        frame, own = message.header.frame_id, self._robot.base.frame
        if frame not in ('', own):
            raise KinematicsError(f'it is in frame {frame[:40]!r}: give it in {own}')
        pressure_pa = self._pressures.at(seconds(message.header.stamp))
        if pressure_pa is None:
            raise KinematicsError(
                'no pressures of the same time: is the driver active, and are the clocks equal?'
            )
        pose = planar_pose(
            message.pose.pose,
            self._phi_rad,
            float(self._model.angles(self._model.length_m, pressure_pa)),
        )
        if np.abs(pose[:2]).max() > FARTHEST * self._model.length_m:
            raise KinematicsError(
                f'({pose[0]:.4g}, {pose[1]:.4g}) m is out of reach of a bellows of '
                f'{self._model.length_m:.4g} m'
            )
        covariance = planar_covariance(message.pose.covariance, self._phi_rad)
        self._noise_from = 'parameters' if covariance is None else 'tip_pose'
        return self._stream.update(pressure_pa, pose, covariance)

    def _ignore(self, why: str) -> None:
        self._fault = why
        self.get_logger().warning(why, throttle_duration_sec=10.0)

    def _locate(self) -> None:
        try:
            self._estimate = self._stream.estimate()
        except ValueError as error:
            self._ignore(f'the contact cannot be located: {error}')

    def _status(self):
        values = {'poses_hz': self._rate.rate_hz, 'noise_from': self._noise_from}
        if self._fault:
            return diagnostics.ERROR, self._fault, values
        if not self._rate.rate_hz:
            return diagnostics.STALE, 'no poses come in: is the tracker active?', values
        text = (
            self._estimate.message
            if self._estimate
            else 'contact'
            if self._detection.in_contact
            else 'free motion'
        )
        return diagnostics.OK, text, values


def main() -> int:
    """Entry point."""
    return runner.run(ContactEstimatorNode)
