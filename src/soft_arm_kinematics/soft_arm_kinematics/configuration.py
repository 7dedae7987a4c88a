"""One configuration of an arm: poses, arcs, Jacobian and backbone at q.

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
    """One configuration of an arm, or a batch of them; made by `Arm.at`.

    All arrays keep the leading shape (...) of q. Poses are in the arm's base frame.

    Attributes:
        arm: The arm.
        q: (..., n) in the order of `Robot.coordinates`, read-only.
    """

    def __init__(self, arm: Arm, q: np.ndarray):
        """Check q; raises as `Arm.checked`."""
        self.arm = arm
        self.q = arm.checked(q).view()
        self.q.flags.writeable = False

    @cached_property
    def segment_poses(self) -> np.ndarray:
        """Poses of the segments' ends, (..., n_segments, 4, 4) [m]."""
        return chain.segment_poses(self.arm.chain, self.q)

    @property
    def tip_pose(self) -> np.ndarray:
        """T_base_tip (..., 4, 4) [m]."""
        return self.segment_poses[..., -1, :, :]

    @cached_property
    def tip_m(self) -> np.ndarray:
        """Tip position (..., 3) [m]."""
        if self.q.ndim == 1:
            return np.array(chain.frame_of_one(self.arm.plain_chain, self.q)[9:])
        return self.tip_pose[..., :3, 3]

    @cached_property
    def arcs(self) -> np.ndarray:
        """Arcs (..., n_segments, 3) [rad, rad, m] as in `pcc`.

        A modal segment has the arc with the same end angle, hinges the arc of their summed angles.
        """
        return chain.arcs(self.arm.chain, self.q)

    @cached_property
    def _polar(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        theta, phi, ell = pcc.polar_from_arcs(self.arcs)
        for i, (segment, columns) in enumerate(
            zip(self.arm.robot.segments, self.arm.columns, strict=True)
        ):
            if segment.kind == 'bellows' or segment.kind == 'torque':
                continue
            plane = self.q[..., columns[1]] if segment.kind == 'tendon' else segment.phi_rad
            phi[..., i] = plane
            theta[..., i] = self.arcs[..., i, 0] * np.cos(plane)
            theta[..., i] += self.arcs[..., i, 1] * np.sin(plane)
        return theta, phi, ell

    @property
    def theta_rad(self) -> np.ndarray:
        """Bend of every segment (..., n_segments) [rad].

        Signed if robot file or q give the bending plane; non-negative for bellows and hinges.
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
        """Twist of the tip in the base per unit of each coordinate, (..., 6, n).

        Rows: velocity [m], then angular velocity [rad].
        """
        if self.q.ndim == 1:
            return chain.jacobian_of_one(self.arm.plain_chain, self.q)
        return chain.twist_jacobian(self.arm.chain, self.q)

    @property
    def tip_jacobian(self) -> np.ndarray:
        """Derivative of the tip position by q, (..., 3, n) [m per unit]."""
        return self.twist_jacobian[..., :3, :]

    @cached_property
    def section_poses(self) -> np.ndarray:
        """Poses of base, ends of all sections and rigid ends that have a length, (..., m, 4, 4).

        The order matches `SimulatedRobot.T_world_backbone`; z is the tangent.
        """
        robot, start = (
            self.arm.robot,
            np.broadcast_to(np.eye(4), self.segment_poses.shape[:-3] + (4, 4)),
        )
        found = [start[..., None, :, :]]
        for i, (segment, columns) in enumerate(zip(robot.segments, self.arm.columns, strict=True)):
            end = self.segment_poses[..., i, :, :]
            found.append(chain.section_poses(segment, columns, start, end, self.q))
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
                    segment, self.arm.columns[i], starts[..., i, :, :], self.q, shares
                )
        return np.concatenate([np.zeros((*lead, 1, 3)), ends.reshape(*lead, -1, 3)], axis=-2)
