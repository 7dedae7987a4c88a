"""Section poses of a soft robot from the joints of its URDF, as a graph publishes them."""

import numpy as np

from soft_arm_description.robot import Robot
from soft_arm_description.segments import TorqueSegment
from soft_arm_description.urdf import robot_urdf, section_joint_names
from soft_arm_twin.parts.urdf_model import UrdfModel


class JointShape:
    """Convert joint values to the poses for `parts.robot.robot_frames`.

    Between the ends of a segment the joints give the directions of chords; they are drawn as those
    of the section ends, half a section's bend off. Positions are exact.

    Args:
        robot: The robot file.

    Attributes:
        model: Its URDF.
    """

    def __init__(self, robot: Robot):
        self._robot = robot
        self.model = UrdfModel(robot_urdf(robot))
        # Links of base, section ends and rigid ends, and the transforms from link to section end.
        links, offsets_m = [self.model.links[0]], [np.zeros(3)]
        for segment in robot.segments:
            end = f'{robot.base.frame_prefix}{segment.name}_end'
            if isinstance(segment, TorqueSegment):
                step_m = np.array([0.0, 0.0, segment.length_m / segment.sections / 2])
                stem = f'{robot.base.frame_prefix}{segment.name}'
                for k, hinge in enumerate(segment.section_hinges):
                    links.append(f'{stem}_{k:03d}_{hinge.name}')
                    offsets_m.append(step_m - np.array(hinge.offset_m))
            else:
                names = section_joint_names(robot, segment)
                links += names[2:-2:3]  # the extensions
                links[-1] = names[-1]  # the closing rotation follows the last extension
                offsets_m += [np.zeros(3)] * segment.sections
            if segment.rigid_length_m > 0.0:
                links.append(end)
                offsets_m.append(np.zeros(3))
        self._links = np.array([self.model.index(name) for name in links])
        self._offsets_m = np.array(offsets_m)
        self._tip = self.model.index(end)

    def section_poses(self, joints: np.ndarray) -> np.ndarray:
        """Return the poses of base, section ends and rigid ends in the base frame, (m, 4, 4)."""
        poses = self.model.poses(joints)[self._links]
        poses[:, :3, 3] += (poses[:, :3, :3] @ self._offsets_m[..., None])[..., 0]
        return poses

    def tip_pose(self, joints: np.ndarray) -> np.ndarray:
        """Return the pose of the tip in the base frame, (4, 4)."""
        return self.model.poses(joints)[self._tip]
