"""What is drawn of a graph, and where it is."""

import numpy as np

from soft_arm_twin.graph.known_graph import KnownGraph
from soft_arm_twin.graph.soft_robot import SoftRobot
from soft_arm_twin.parts import primitives
from soft_arm_twin.parts.primitives import visual_parts
from soft_arm_twin.scene import LegendEntry, Part, Scene
from soft_arm_twin.source import Snapshot

# Okabe and Ito's colours, which the colour-blind tell apart; each also has a shape of its own.
BY_MODEL, BY_VISION, TARGET, PREVIEW = (
    (0.0, 0.45, 0.70),
    (0.90, 0.62, 0.0),
    (0.0, 0.62, 0.45),
    (0.34, 0.71, 0.91),
)
LEGEND = (
    LegendEntry('tip by model', BY_MODEL, 'sphere'),
    LegendEntry('tip by vision', BY_VISION, 'ring'),
    LegendEntry('target', TARGET, 'cross'),
    LegendEntry('preview', PREVIEW, 'dashed'),
)
GHOST_OPACITY = 0.25
MARKS = 4  # frames of a robot's marks: tip by model, tip by vision, its covariance, target
TIP_M, CROSS_M = 0.006, 0.03


class Drawing:
    """Draws what a graph is known to hold.

    Args:
        known: What is known; it may grow.
    """

    def __init__(self, known: KnownGraph):
        self._known = known
        self._drawn: tuple = ()
        self._scene = Scene((), 0, LEGEND)

    def scene(self) -> Scene:
        """Return the scene: the same object until a system is found or described."""
        described = [robot.model for robot in self._known.industrial_robots]
        drawn = (self._known.version, *described)
        if drawn != self._drawn:
            self._drawn, self._scene = drawn, self._make()
        return self._scene

    def _make(self) -> Scene:
        parts: list[Part] = []
        count = 0
        for robot in self._known.soft_robots:
            links, name = len(robot.model.links), robot.name
            parts += visual_parts(robot.model, name, count, robot.shape_source)
            count += links
            preview = f'{name} preview'
            parts += visual_parts(robot.model, preview, count, '', GHOST_OPACITY)
            count += links
            parts += _marks(robot, count)
            count += MARKS
        for other in self._known.industrial_robots:
            if other.model is not None:
                parts += visual_parts(other.model, other.name, count, other.source)
                count += len(other.model.links)
        return Scene(tuple(parts), count, LEGEND)

    def snapshot(self, now_s: float) -> Snapshot:
        """Return where all frames of the scene are; the scene is asked for first."""
        known, found = self._known, [np.zeros((0, 4, 4))]
        for robot in known.soft_robots:
            base = robot.base_pose()
            for joints in (robot.joints, robot.preview):
                found.append(_hidden(len(robot.model.links)))
                if joints is not None:
                    found[-1] = base @ robot.model.poses(joints)
            found.append(_mark_frames(robot, base))
        for other in known.industrial_robots:
            if other.model is not None:
                values = other.model.values_of(other.joints_rad)
                found.append(_hidden(len(other.model.links)))
                if values is not None:
                    found[-1] = other.model.poses(values)
        return Snapshot(now_s, np.concatenate(found)[:, :3].astype(np.float32))


def _marks(robot: SoftRobot, first: int) -> list[Part]:
    """Return the marks of a robot's tip and target, which follow the frames of `_mark_frames`."""
    name, seen, sphere = robot.name, robot.vision_source, primitives.sphere(1.0)
    tip = primitives.sphere(TIP_M)
    ring = robot.robot.ring
    found = [
        Part.rigid(f'{name}/tip by model', name, BY_MODEL, first, *tip, source=robot.shape_source),
        Part.rigid(
            f'{name}/covariance', name, BY_VISION, first + 2, *sphere, opacity=0.4, source=seen
        ),
        Part.rigid(
            f'{name}/target', name, TARGET, first + 3, primitives.cross(CROSS_M), kind='line'
        ),
    ]
    if ring is not None:
        mesh = primitives.ring(ring.radius_m + 0.001, ring.height_m, 0.002)
        found.append(
            Part.rigid(
                f'{name}/tip by vision',
                name,
                BY_VISION,
                first + 1,
                *mesh,
                opacity=0.6,
                source=seen,
            )
        )
    return found


def _mark_frames(robot: SoftRobot, base: np.ndarray) -> np.ndarray:
    found = _hidden(MARKS)
    tip_m = robot.tip_m()
    if tip_m is not None:
        found[0] = _at(base, tip_m)
    if robot.vision is not None:
        found[1], found[2] = base @ robot.vision[0], robot.ellipsoid()
    if robot.target_m is not None:
        found[3] = _at(base, robot.target_m)
    return found


def _hidden(count: int) -> np.ndarray:
    return np.zeros((count, 4, 4))


def _at(base: np.ndarray, point_m: np.ndarray) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = base[:3, :3] @ point_m + base[:3, 3]
    return T
