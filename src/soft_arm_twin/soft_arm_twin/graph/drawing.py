"""Scene and poses of a graph."""

import numpy as np

from soft_arm_description.assembly_frames import body_frame
from soft_arm_twin.graph.known_graph import KnownGraph
from soft_arm_twin.graph.soft_robot import SoftRobot
from soft_arm_twin.parts.bodies import body_part, ground_part, pose
from soft_arm_twin.parts.marks import (
    BEST_COLOUR,
    HIDDEN_POSE,
    MODEL_COLOUR,
    TARGET_COLOUR,
    VISION_COLOUR,
    cube_part,
    ellipsoid_frame,
    ellipsoid_part,
    handle_part,
    point_frames,
)
from soft_arm_twin.parts.robot import ghost_parts, robot_frame_count, robot_frames, robot_parts
from soft_arm_twin.parts.shapes import tube
from soft_arm_twin.parts.urdf_model import urdf_parts
from soft_arm_twin.scene import Camera, LegendEntry, Part, Scene
from soft_arm_twin.source import Snapshot

LEGEND = (
    LegendEntry('tip by model', MODEL_COLOUR, 'sphere'),
    LegendEntry('ring by vision', VISION_COLOUR, 'ring'),
    LegendEntry('target', TARGET_COLOUR, 'cube'),
    LegendEntry('preview', BEST_COLOUR, 'none'),
)
GHOST_OPACITY = 0.25
MARKS = 4  # per robot: tip by model, ring by vision, its covariance, target
TIP_RADIUS_M, TARGET_EDGE_M, STANDS_OUT_M = 0.006, 0.010, 0.001
GROUND_WIDTH_M = 2.0
CAMERA_DISTANCE = 1.8  # relative to the size of the scene
EYE_DIRECTION = np.array([0.65, -0.65, 0.4])
IDENTITY = np.eye(4, dtype=np.float32)[None, :3]


class Drawing:
    """Scene of a graph.

    Args:
        known: State of the graph, which may grow.
    """

    def __init__(self, known: KnownGraph):
        self._known = known
        self._drawn: tuple = ()
        self._scene = Scene((), 0, LEGEND)

    def scene(self) -> Scene:
        """Return the scene: the same object until a system is added or described."""
        described = [robot.model for robot in self._known.industrial_robots]
        drawn = (self._known.version, *described)
        if drawn != self._drawn:
            self._drawn, self._scene = drawn, self._make()
        return self._scene

    def _make(self) -> Scene:
        """Return the parts, in the order in which `snapshot` gives their frames."""
        parts: list[Part] = []
        count = 0
        for robot in self._known.soft_robots:
            frames = robot_frame_count(robot.robot)
            parts += robot_parts(robot.robot, robot.name, count, source=robot.shape_source)
            parts += ghost_parts(
                robot.robot,
                f'{robot.name} preview',
                count + frames,
                'preview',
                BEST_COLOUR,
                GHOST_OPACITY,
            )
            parts += _marks(robot, count + 2 * frames)
            count += 2 * frames + MARKS
        for other in self._known.industrial_robots:
            if other.model is not None:
                parts += urdf_parts(other.model, count, other.name, other.source)
                count += len(other.model.links)
        for assembly, world in self._known.assemblies:
            for body in (*assembly.bodies, *world.objects):
                if body.shape != 'mesh':
                    parts.append(body_part(body, count))
                    count += 1
            if world.ground is not None:
                parts.append(ground_part(world.ground.height_m, GROUND_WIDTH_M, count))
                count += 1
        return Scene(tuple(parts), count, LEGEND, self._camera())

    def _camera(self) -> Camera:
        """Return a view of all robots in their straight configurations."""
        places = []
        for robot in self._known.soft_robots:
            base = robot.base_pose()
            length_m = sum(s.arc_length_limits_m[1] for s in robot.robot.segments)
            places += [base[:3, 3], base[:3, 3] + length_m * base[:3, 2]]
        for other in self._known.industrial_robots:
            if other.model is not None:
                straight = other.model.poses(np.zeros(len(other.model.joint_names)))
                places += list(straight[:, :3, 3])
        bodies = (body for assembly, _ in self._known.assemblies for body in assembly.bodies)
        places += [np.array(body.position_m) for body in bodies]
        if not places:
            return Camera()
        low_m, high_m = np.min(places, axis=0), np.max(places, axis=0)
        middle_m = (low_m + high_m) / 2.0
        away_m = CAMERA_DISTANCE * max(float(np.linalg.norm(high_m - low_m)), 0.1)
        return Camera(_three(middle_m + away_m * EYE_DIRECTION), _three(middle_m))

    def snapshot(self, now_s: float) -> Snapshot:
        """Return the poses of all frames of the scene, which is requested first."""
        known = self._known
        found = [np.zeros((0, 3, 4), np.float32)]
        for robot in known.soft_robots:
            base = robot.base_pose()
            for joints in (robot.joints, robot.preview):
                if joints is None:
                    found.append(_hidden(robot_frame_count(robot.robot)))
                else:
                    found.append(
                        robot_frames(robot.robot, base @ robot.shape.section_poses(joints))
                    )
            found.append(_mark_frames(robot, base))
        for other in known.industrial_robots:
            if other.model is not None:
                values = other.model.values_of(other.joints_rad)
                links = len(other.model.links)
                found.append(_hidden(links) if values is None else other.model.poses(values)[:, :3])
        for assembly, world in known.assemblies:
            for body in (*assembly.bodies, *world.objects):
                if body.shape != 'mesh':
                    received = known.frames.pose(body_frame(assembly, body.name))
                    T = pose(body.position_m, body.rpy_deg) if received is None else received
                    found.append(T[None, :3])
            if world.ground is not None:
                found.append(IDENTITY)
        ages_s = [age.age_s for age in known.ages(now_s) if age.age_s is not None]
        received_s = now_s - min(ages_s, default=0.0)
        return Snapshot(received_s, np.concatenate(found).astype(np.float32))


def _three(point_m: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in point_m)
    return x, y, z


def _marks(robot: SoftRobot, first: int) -> list[Part]:
    """Return the markers of a robot's tip and target, which follow `_mark_frames`."""
    name, seen = robot.name, robot.vision_source
    found = [
        handle_part(f'{name} tip by model', first, MODEL_COLOUR, TIP_RADIUS_M),
        ellipsoid_part(f'{name} covariance', first + 2, VISION_COLOUR, seen),
        cube_part(f'{name} target', first + 3, TARGET_COLOUR, TARGET_EDGE_M),
    ]
    ring = robot.robot.ring
    if ring is not None:
        surface = tube(ring.radius_m + STANDS_OUT_M, 2 * STANDS_OUT_M, ring.height_m / 2)
        label = f'{name} ring by vision'
        found.append(Part.rigid(label, 'marks', VISION_COLOUR, first + 1, *surface, source=seen))
    return found


def _mark_frames(robot: SoftRobot, base: np.ndarray) -> np.ndarray:
    found, tip_m = _hidden(MARKS), robot.tip_m()
    if tip_m is not None:
        found[0] = point_frames(base[:3, :3] @ tip_m + base[:3, 3])
    if robot.vision is not None:
        T, covariance_m2 = robot.vision
        seen, R = base @ T, base[:3, :3]
        found[1] = seen[:3]
        found[2] = ellipsoid_frame(seen[:3, 3], R @ covariance_m2 @ R.T)
    if robot.target_m is not None:
        found[3] = point_frames(base[:3, :3] @ robot.target_m + base[:3, 3])
    return found


def _hidden(count: int) -> np.ndarray:
    return np.tile(HIDDEN_POSE, (count, 1, 1))
