"""Scene of the view: bodies and robots of the model, and markers of the selected robot.

Frames, in this order: the world; bodies and objects; the robots; the nearest reachable point; the
trace of the tip; the solutions of the inverse kinematics.
"""

import numpy as np

from soft_arm_description.assembly import Assembly
from soft_arm_description.rigid_bodies import RigidBody
from soft_arm_description.world import World
from soft_arm_twin.parts import marks
from soft_arm_twin.parts.bodies import body_part, ground_part
from soft_arm_twin.parts.robot import ghost_parts, robot_frame_count, robot_parts
from soft_arm_twin.scene import Camera, LegendEntry, Part, Scene
from soft_arm_twin.view.aim import MAX_DRAWN_SOLUTIONS
from soft_arm_twin.view.engine import Moment
from soft_arm_twin.view.robots import ViewedRobot

TRACE_POINTS = 64
GROUND_WIDTHS = 4.0  # relative to the size of the objects on the ground
NEAREST_EDGE = 0.015  # edge of the cube at the nearest reachable point, relative to the robots
VIRIDIS = (  # dark to light
    (0.267, 0.005, 0.329),
    (0.254, 0.265, 0.530),
    (0.164, 0.471, 0.558),
    (0.135, 0.659, 0.518),
    (0.478, 0.821, 0.318),
    (0.993, 0.906, 0.144),
)
WORLD = np.eye(4, dtype=np.float32)[None, :3]


class Picture:
    """The scene of one assembly in one world, for one aimed robot.

    Args:
        assembly: Robots and bodies.
        world: Surroundings.
        robots: The robots by name.
        moment: Initial state, for the camera and the sizes.
        aimed: Name of the robot whose solutions are drawn.
        cloud: Points of its workspace (n, 3) [m] in its base, and their total bends (n,).
    """

    def __init__(
        self,
        assembly: Assembly,
        world: World,
        robots: dict[str, ViewedRobot],
        moment: Moment,
        aimed: str,
        cloud: tuple[np.ndarray, np.ndarray] | None,
    ):
        bodies = (*assembly.bodies, *world.objects)
        parts = [body_part(b, 1 + i, _mesh(b)) for i, b in enumerate(bodies)]
        at = 1 + len(bodies)
        self._firsts: dict[str, int] = {}
        for name, viewed in robots.items():
            self._firsts[name] = at
            parts += robot_parts(viewed.robot, name, at)
            at += robot_frame_count(viewed.robot)
        self._ghost_size = robot_frame_count(robots[aimed].robot)
        low, high = _extent(parts, np.concatenate([WORLD, moment.frames]))
        size_m = max(float(np.linalg.norm(high - low)), 0.05)
        if world.ground is not None:
            parts.append(ground_part(world.ground.height_m, GROUND_WIDTHS * size_m, 0))
        edge_m = NEAREST_EDGE * size_m
        parts.append(marks.cube_part('nearest reachable point', at, marks.NEAREST_COLOUR, edge_m))
        parts.append(marks.trace_part('trace', at + 1, TRACE_POINTS, marks.MODEL_COLOUR))
        at += 1 + TRACE_POINTS
        parts += _ghosts(robots[aimed], at, self._ghost_size)
        parts += _cloud(cloud, self._firsts[aimed])
        self.scene = Scene(
            tuple(parts),
            at + MAX_DRAWN_SOLUTIONS * self._ghost_size,
            _legend(cloud is not None),
            Camera(*_view((low + high) / 2.0, size_m)),
        )

    def frames(
        self,
        moment: Moment,
        nearest_m: np.ndarray | None,
        trace_m: np.ndarray,
        ghosts: np.ndarray,
    ) -> np.ndarray:
        """Return all frames (n, 3, 4).

        Args:
            moment: State of the model.
            nearest_m: (3,) in the world [m], None: hidden.
            trace_m: (k, 3) in the world [m], the oldest first; empty: hidden.
            ghosts: Frames of solutions in the world, (k, n, 3, 4).
        """
        hidden = marks.HIDDEN_POSE[None]
        nearest = hidden if nearest_m is None else marks.point_frames(nearest_m[None])
        trace = np.repeat(hidden, TRACE_POINTS, axis=0)
        if len(trace_m):
            rows = np.minimum(np.arange(TRACE_POINTS), len(trace_m) - 1)
            trace = marks.point_frames(trace_m[rows])
        pool = np.zeros((MAX_DRAWN_SOLUTIONS, self._ghost_size, 3, 4), np.float32)
        pool[: len(ghosts)] = ghosts
        return np.concatenate([WORLD, moment.frames, nearest, trace, pool.reshape(-1, 3, 4)])


def _mesh(body: RigidBody) -> tuple[np.ndarray, np.ndarray] | None:
    if body.mesh is None:
        return None
    from soft_arm_physics.model.mesh import read_mesh  # loads MuJoCo

    return read_mesh(body.mesh)


def _ghosts(aimed: ViewedRobot, first: int, size: int) -> list[Part]:
    parts = []
    for k in range(MAX_DRAWN_SOLUTIONS):
        name, colour, opacity = f'rival {k}', marks.RIVAL_COLOUR, 0.4
        if k == 0:
            name, colour, opacity = 'best solution', marks.BEST_COLOUR, 0.6
        parts += ghost_parts(aimed.robot, name, first + k * size, 'solutions', colour, opacity)
    return parts


def _cloud(cloud: tuple[np.ndarray, np.ndarray] | None, frame: int) -> list[Part]:
    """Return the points of the workspace in bands of total bend with equal counts."""
    if cloud is None:
        return []
    points_m, bends_rad = cloud
    bands = np.array_split(np.argsort(bends_rad), len(VIRIDIS))
    return [
        marks.points_part(f'workspace {k + 1}', 'workspace', frame, colour, points_m[rows], 0.6)
        for k, (rows, colour) in enumerate(zip(bands, VIRIDIS, strict=True))
    ]


def _legend(with_cloud: bool) -> tuple[LegendEntry, ...]:
    entries = [
        LegendEntry('best solution', marks.BEST_COLOUR, 'none'),
        LegendEntry('other solutions', marks.RIVAL_COLOUR, 'none'),
        LegendEntry('nearest reachable point', marks.NEAREST_COLOUR, 'cube'),
        LegendEntry('trace of the tip', marks.MODEL_COLOUR, 'none'),
    ]
    if with_cloud:
        entries.append(LegendEntry('workspace, little bent', VIRIDIS[0], 'none'))
        entries.append(LegendEntry('workspace, much bent', VIRIDIS[-1], 'none'))
    return tuple(entries)


def _extent(parts: list[Part], frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a box about all parts, (3,) each [m]."""
    points_m = np.concatenate(
        [np.einsum('nij,nj->ni', frames[p.frame_a, :, :3], p.local_a_m) for p in parts]
    ) + np.concatenate([frames[p.frame_a, :, 3] for p in parts])
    return points_m.min(axis=0), points_m.max(axis=0)


def _view(middle_m: np.ndarray, size_m: float) -> tuple[tuple[float, float, float], ...]:
    eye_m = middle_m + size_m * np.array([1.0, -1.15, 0.45])
    x, y, z = map(float, eye_m)
    a, b, c = map(float, middle_m)
    return (x, y, z), (a, b, c)
