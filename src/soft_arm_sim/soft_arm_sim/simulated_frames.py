"""Frames, joint values and centre lines of simulated robots at one moment."""

from collections.abc import Sequence

import mujoco
import numpy as np

from soft_arm_description.assembly import Assembly
from soft_arm_description.assembly_frames import WORLD_FRAME, body_frame, segment_tip_frame
from soft_arm_description.robot import Robot
from soft_arm_description.segments import TorqueSegment
from soft_arm_description.urdf import joint_names
from soft_arm_kinematics.segments.section_fit import values_through
from soft_arm_physics import Simulation

Frame = tuple[str, str, np.ndarray]  # parent, child, T_parent_child (4, 4)


class SimulatedFrames:
    """Frames and joints of a view of a simulation; use it in one thread.

    Args:
        view: A copy of the simulation, see `RunningSimulation.view`.
        assembly: The simulated assembly.
        robots: Its robots with their frames.

    Attributes:
        joint_names: Joints of the URDFs of all robots, robot after robot, base to tip.
        optical_frames: Frames of the cameras by their names: z ahead, x right, y down.
    """

    def __init__(self, view: Simulation, assembly: Assembly, robots: dict[str, Robot]):
        self._view, self._robots = view, robots
        self.joint_names = [name for robot in robots.values() for name in joint_names(robot)]
        self._bodies = (*assembly.bodies, *view.world.objects)
        self._body_frames = {b.name: body_frame(assembly, b.name) for b in self._bodies}
        self._mounted = {mounted.name: mounted.mount for mounted in assembly.robots}
        self.optical_frames = {
            camera.name: f'{assembly.name}_{camera.name}_optical_frame'
            for camera in view.world.cameras
        }

    def move(self, positions: np.ndarray) -> None:
        """Put the view at positions of `RunningSimulation.positions`."""
        self._view.data.qpos[:] = positions
        mujoco.mj_kinematics(self._view.model, self._view.data)
        mujoco.mj_camlight(self._view.model, self._view.data)

    def joint_values(self) -> np.ndarray:
        """Return the values of `joint_names` [rad, m]."""
        return np.concatenate([self._joint_values(n, r) for n, r in self._robots.items()])

    def still_frames(self) -> list[Frame]:
        """Return the frames that never move: bases, fixed bodies and objects, and cameras."""
        found = self._bodies_that(fixed=True) + self._cameras_that(ride=False)
        for name, robot in self._robots.items():
            mount = self._mounted[name]
            below = np.eye(4)
            if mount in self._robots:
                below = self._tips(mount)[-1]
            elif mount is not None:
                below = self.pose(mount)
            T = np.linalg.inv(below) @ self.pose(f'{name}/base')
            found.append((robot.base.parent_frame, robot.base.frame, T))
        return found

    def moving_frames(self) -> list[Frame]:
        """Return the other frames: free bodies and objects, ends of segments, frames on tips."""
        return self._bodies_that(fixed=False) + self._tip_frames() + self._cameras_that(ride=True)

    def _tip_frames(self) -> list[Frame]:
        """Return the ends of all segments and the frames on the tips, in the robots' bases."""
        found = []
        for name, robot in self._robots.items():
            inverse = np.linalg.inv(self.pose(f'{name}/base'))
            tips = [inverse @ T for T in self._tips(name)]
            frames = [segment_tip_frame(robot, segment) for segment in robot.segment_names]
            found += [(robot.base.frame, f, T) for f, T in zip(frames, tips, strict=True)]
            found += [(robot.base.frame, frame, tips[-1]) for frame in robot.tip_frames]
        return found

    def centre_line_m(self, robot: str) -> np.ndarray:
        """Return points of a robot's centre line in its base frame [m], (n, 3)."""
        T = np.linalg.inv(self.pose(f'{robot}/base'))
        return self._view.robots[robot].backbone_m() @ T[:3, :3].T + T[:3, 3]

    def pose(self, name: str) -> np.ndarray:
        """Return the pose of a body of the model in the world, (4, 4)."""
        data = self._view.data.body(name)
        return _transform(data.xpos, data.xmat)

    def _bodies_that(self, *, fixed: bool) -> list[Frame]:
        return [
            (WORLD_FRAME, self._body_frames[body.name], self.pose(body.name))
            for body in self._bodies
            if body.fixed == fixed
        ]

    def _cameras_that(self, *, ride: bool) -> list[Frame]:
        return [
            (WORLD_FRAME, self.optical_frames[camera.name], self._camera_pose(camera.name))
            for camera in self._view.world.cameras
            if (camera.attach is not None) == ride
        ]

    def _joint_values(self, name: str, robot: Robot) -> np.ndarray:
        points = iter(self.centre_line_m(name)[1:])
        base = np.linalg.inv(self.pose(f'{name}/base'))
        T, values = np.eye(4), []
        for segment, T_tip in zip(robot.segments, self._tips(name), strict=True):
            ends = np.array([next(points) for _ in range(segment.sections)])
            if segment.rigid_length_m > 0.0:
                next(points)
            if isinstance(segment, TorqueSegment):
                values.append(self._hinge_angles(name, segment))
                T = base @ T_tip
                continue
            own, T = values_through(T, ends, base @ T_tip)
            T[:3, 3] += segment.rigid_length_m * T[:3, 2]
            values.append(own)
        return np.concatenate(values)

    def _hinge_angles(self, robot: str, segment: TorqueSegment) -> np.ndarray:
        model, data = self._view.model, self._view.data
        names = [
            f'{robot}/{segment.name}_{hinge.name}_{k}'
            for k, hinge in enumerate(segment.section_hinges)
            if hinge.stiffness_n_m_rad is not None
        ]
        return data.qpos[[model.joint(name).qposadr[0] for name in names]]

    def _tips(self, name: str) -> list[np.ndarray]:
        """Return the poses of the ends of a robot's segments in the world."""
        found = []
        for segment in self._robots[name].segments:
            T = self.pose(f'{name}/{segment.name}_{segment.sections}')
            T[:3, 3] += segment.rigid_length_m * T[:3, 2]
            found.append(T)
        return found

    def _camera_pose(self, camera: str) -> np.ndarray:
        data = self._view.data.camera(camera)
        return _transform(data.xpos, data.xmat.reshape(3, 3) * [1.0, -1.0, -1.0])


def _transform(position_m: np.ndarray, rotation: Sequence | np.ndarray) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.reshape(rotation, (3, 3)), position_m
    return T
