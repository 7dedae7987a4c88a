"""One configuration of an arm: actuation in; poses, arcs, Jacobian and backbone out.

Each quantity is computed once, when it is asked for.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from soft_arm_kinematics.segments import chain, pcc

if TYPE_CHECKING:
    from soft_arm_kinematics.arm import Arm


class Configuration:
    """An arm at one actuation, or at each of a batch; made by `Arm.configuration`.

    All arrays keep the leading shape (...) of the actuation. Poses are in the arm's base frame.

    Attributes:
        arm: The arm.
        actuation: (..., n) in the order of `Robot.actuation`, read-only.
    """

    def __init__(self, arm: Arm, actuation: np.ndarray):
        """Check the actuation; raises as `Arm.checked`."""
        self.arm = arm
        self.actuation = arm.checked(actuation).view()
        self.actuation.flags.writeable = False

    @cached_property
    def segment_poses(self) -> np.ndarray:
        """Poses of the segments' ends, (..., n_segments, 4, 4) [m]."""
        return chain.segment_poses(self.arm.chain, self.actuation)

    @property
    def tip_pose(self) -> np.ndarray:
        """T_base_tip (..., 4, 4) [m]."""
        return self.segment_poses[..., -1, :, :]

    @property
    def tip_m(self) -> np.ndarray:
        """Tip position (..., 3) [m]."""
        return self.tip_pose[..., :3, 3]

    @cached_property
    def arcs(self) -> np.ndarray:
        """Arcs (..., n_segments, 3) [rad, rad, m] as in `pcc`; see `Arm.segment_arcs`."""
        return chain.arcs(self.arm.chain, self.actuation)

    @cached_property
    def _polar(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.arm.polar_from_arcs(self.actuation, self.arcs)

    @property
    def theta_rad(self) -> np.ndarray:
        """Bend of every segment (..., n_segments) [rad].

        It has a sign where the bending plane is known apart from the bend, and is >= 0 for bellows.
        """
        return self._polar[0]

    @property
    def phi_rad(self) -> np.ndarray:
        """Direction of every segment's bending plane, (..., n_segments) [rad]."""
        return self._polar[1]

    @property
    def ell_m(self) -> np.ndarray:
        """Length of every segment's centre line, (..., n_segments) [m]."""
        return self._polar[2]

    @cached_property
    def twist_jacobian(self) -> np.ndarray:
        """Twist of the tip per unit of each coordinate, (..., 6, n); see `Arm.twist_jacobian`."""
        return self.arm.twist_jacobian(self.actuation)

    @property
    def tip_jacobian(self) -> np.ndarray:
        """Derivative of the tip position by the actuation, (..., 3, n) [m per unit]."""
        return self.twist_jacobian[..., :3, :]

    @cached_property
    def section_poses(self) -> np.ndarray:
        """Poses of base, ends of all sections and rigid ends that have a length, (..., m, 4, 4).

        The places are those of `SimulatedRobot.T_world_backbone`; z is the tangent.
        """
        robot, start = (
            self.arm.robot,
            np.broadcast_to(np.eye(4), self.segment_poses.shape[:-3] + (4, 4)),
        )
        found = [start[..., None, :, :]]
        for i, (segment, columns) in enumerate(zip(robot.segments, self.arm.columns, strict=True)):
            end = self.segment_poses[..., i, :, :]
            found.append(chain.section_poses(segment, columns, start, end, self.actuation))
            if segment.rigid_length_m > 0.0:
                found.append(end[..., None, :, :])
            start = end
        return np.concatenate(found, axis=-3)

    def backbone(self, points_per_segment: int = 20) -> np.ndarray:
        """Return the centre line from base to tip, (..., 1 + n_segments * points, 3) [m].

        A modal segment is drawn as the arc that bends its end as far, a segment of hinges as the
        middle lines of its links. Rigid ends are straight lines to the next segment's first point.
        """
        lead = self.arcs.shape[:-2]
        base = np.broadcast_to(np.eye(4), (*lead, 1, 4, 4))
        starts = np.concatenate([base, self.segment_poses[..., :-1, :, :]], axis=-3)
        shares = np.arange(1, points_per_segment + 1) / points_per_segment
        parts = self.arcs[..., None, :] * shares[:, None]
        ends = (starts[..., None, :, :] @ pcc.arc_transforms(parts))[..., :3, 3]
        for i, segment in enumerate(self.arm.robot.segments):
            if segment.kind == 'torque':
                ends[..., i, :, :] = chain.points_of_links(
                    segment, self.arm.columns[i], starts[..., i, :, :], self.actuation, shares
                )
        return np.concatenate([np.zeros((*lead, 1, 3)), ends.reshape(*lead, -1, 3)], axis=-2)
