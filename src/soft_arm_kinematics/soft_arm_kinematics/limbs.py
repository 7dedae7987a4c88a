"""Several limbs on one body (squid paper): bends in, joint values of all rigid sections out."""

from collections.abc import Iterable, Sequence

import numpy as np

from soft_arm_description.robot import load_robot
from soft_arm_description.urdf import joint_names
from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.configuration import Configuration
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.segments.sections import joint_values

SQUID = 'squid_grasper', 'squid_palpation', 'squid_camera', 'squid_light'


class Limbs:
    """Limbs of tendon segments, each from its own robot file, at rest to begin with.

    Attributes:
        arms: The limbs.
        joint_names: Names of all joints, limb after limb, base to tip.
        joint_values: Values (j,) [rad, m] of all joints, in the same order.
    """

    def __init__(self, robots: Sequence[str] = SQUID):
        """Load the limbs.

        Raises:
            RobotFileError: If a robot file is missing or wrong.
            KinematicsError: If a segment is not a tendon segment, or two segments share a name.
        """
        self.arms = tuple(Arm(load_robot(name)) for name in robots)
        self._places: dict[str, tuple[int, np.ndarray]] = {}
        for i, arm in enumerate(self.arms):
            for segment, columns in zip(arm.robot.segments, arm.columns, strict=True):
                if segment.kind != 'tendon':
                    raise KinematicsError(
                        f'limb {arm.robot.name}: segment {segment.name} is of kind {segment.kind}: '
                        'limbs have tendon segments only'
                    )
                if segment.name in self._places:
                    raise KinematicsError(
                        f'segment {segment.name} is in two limbs: give each its own name'
                    )
                self._places[segment.name] = i, columns
        self.joint_names = tuple(name for arm in self.arms for name in joint_names(arm.robot))
        self._set([arm.at(arm.rest_q) for arm in self.arms])

    def _set(self, shapes: list[Configuration]) -> None:
        self.joint_values = np.concatenate([joint_values(shape) for shape in shapes])
        self._shapes = shapes

    def bend(self, arcs: Iterable[tuple[str, float, float, float]]) -> None:
        """Set the arcs of some segments: name, bend [rad], direction [rad] and length [m] of each.

        Raises:
            KinematicsError: If a segment is unknown, a value is outside its limits, or a
                section would bend by more than 90 deg; nothing is changed then.
        """
        bent = [shape.q.copy() for shape in self._shapes]
        for segment, *values in arcs:
            if segment not in self._places:
                raise KinematicsError(
                    f'segment {segment[:40]!r} is not known: the limbs have '
                    f'{", ".join(self._places)}'
                )
            i, columns = self._places[segment]
            limits = self.arms[i].q_limits[:, columns]
            inside = (values >= limits[0] - 1e-9) & (values <= limits[1] + 1e-9)
            if not inside.all():
                k = int(np.argmin(inside))
                coordinate = self.arms[i].robot.coordinates[columns[k]]
                raise KinematicsError(
                    f'{coordinate.name} is {values[k]:.6g} {coordinate.unit}, outside '
                    f'{limits[0, k]:.6g}..{limits[1, k]:.6g} {coordinate.unit}: give a value inside'
                )
            bent[i][columns] = np.clip(values, *limits)
        self._set([arm.at(own) for arm, own in zip(self.arms, bent, strict=True)])

    def base_frames(self) -> list[tuple[str, str, np.ndarray]]:
        """Return (parent frame, base frame, T_parent_base (4, 4)) of every limb."""
        return [
            (arm.robot.base.parent_frame, arm.robot.base.frame, arm.base_pose) for arm in self.arms
        ]

    def tip_frames(self) -> list[tuple[str, str, np.ndarray]]:
        """Return (base frame, frame, T_base_tip (4, 4)) of all frames on tips, as of a camera."""
        return [
            (shape.arm.robot.base.frame, frame, shape.tip_pose)
            for shape in self._shapes
            for frame in shape.arm.robot.tip_frames
        ]
