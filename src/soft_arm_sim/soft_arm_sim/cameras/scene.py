"""Scene of the arm's virtual camera in its base frame: arm, calibration jig, laboratory."""

import mujoco
import numpy as np

from soft_arm_description.robot import BellowsSegment, Ring, Robot
from soft_arm_physics.model.robot import add_robot
from soft_arm_sim.cameras.markers import add_markers
from soft_arm_sim.cameras.parameters import CameraParameters
from soft_arm_sim.cameras.placement import scale_for
from soft_arm_sim.cameras.stereo import add_cameras
from soft_arm_sim.errors import SimulationError

RING_FACETS = 128  # facets deviate by 0.014 mm on a ring of 45 mm
TABLE_Z_M = 0.47  # these three for an arm of the shipped reach
WALL_DISTANCE_M = 0.55
TILE_M = 0.3
BELLOWS_COLOURS = ([0.16, 0.16, 0.19, 1.0], [0.10, 0.10, 0.12, 1.0])
ARM_GROUP, RING_GROUP, JIG_GROUP = 1, 2, 0

_GEOM = mujoco.mjtGeom


def bellows_of(robot: Robot) -> tuple[BellowsSegment, ...]:
    """Return the robot's segments.

    Raises:
        SimulationError: If one of them is not a bellows segment.
    """
    segments = tuple(s for s in robot.segments if isinstance(s, BellowsSegment))
    for segment in robot.segments:
        if segment not in segments:
            raise SimulationError(
                f'robot {robot.name} cannot be simulated with a camera: segment {segment.name} is '
                f'of kind {segment.kind}, but the scene draws bellows only; use two_module_arm or '
                'another robot of bellows'
            )
    return segments


def ring_of(robot: Robot) -> Ring:
    """Return the positioning ring at the robot's tip.

    Raises:
        SimulationError: If the robot file has none.
    """
    if robot.ring is None:
        raise SimulationError(
            f'robot {robot.name} has no ring that a camera could be shown: add the key ring to its '
            'file'
        )
    return robot.ring


def build_scene(robot: Robot, parameters: CameraParameters) -> mujoco.MjModel:
    """Compile `scene_spec`."""
    return scene_spec(robot, parameters).compile()


def scene_spec(robot: Robot, parameters: CameraParameters) -> mujoco.MjSpec:
    """Build the chain of `model.robot.add_robot` with shapes, room, lights and the camera `colour`.

    Bellows of cell i are the geoms `<chamber>_<i>`; the ring, of a robot that has one, is
    `ring_on_arm` and, on the mocap body `jig`, `ring_on_peg`.
    """
    spec = mujoco.MjSpec()
    add_robot(spec, spec.worldbody, robot, robot.name, T_parent_base=np.eye(4), shapes=False)
    segments = bellows_of(robot)
    quality = spec.visual.quality
    quality.numslices, quality.numstacks, quality.numquads = 14, 2, 1
    for segment in segments:
        _add_segment(spec, f'{robot.name}/{segment.name}', segment, robot.ring)
    last = segments[-1]
    tip_body = spec.body(f'{robot.name}/{last.name}_{last.sections}')
    if robot.fiducial is not None:
        add_markers(tip_body, robot.fiducial, last.rigid_length_m, ARM_GROUP)
    jig = spec.worldbody.add_body(name='jig', mocap=True)
    if robot.ring is not None:
        _add_ring_mesh(spec, robot.ring)
        for name, body, z_m in (
            ('ring_on_arm', tip_body, last.rigid_length_m),
            ('ring_on_peg', jig, 0.0),
        ):
            body.add_geom(
                name=name,
                type=_GEOM.mjGEOM_MESH,
                meshname='ring',
                pos=[0, 0, z_m],
                rgba=[*robot.ring.colour_rgb, 1.0],
                mass=0,
                group=RING_GROUP,
            )
    jig.add_geom(
        name='peg',
        type=_GEOM.mjGEOM_CYLINDER,
        size=[0.005, 0.15, 0],
        pos=[0, 0, 0.15],
        rgba=[0.5, 0.5, 0.52, 1],
        group=JIG_GROUP,
    )
    _add_room(spec, robot, np.array(parameters.mounting.position_m))
    add_cameras(spec, parameters.mounting.T_base_optical, parameters)
    return spec


def _add_segment(
    spec: mujoco.MjSpec, chain: str, segment: BellowsSegment, ring: Ring | None
) -> None:
    bellows = segment.actuators
    for i in range(segment.sections):
        body = spec.body(f'{chain}_{i}')
        for name, angle in zip(bellows.names, bellows.angles_rad, strict=True):
            centre = bellows.centre_radius_m * np.array([np.cos(angle), np.sin(angle)])
            # alternating radii look like convolutions
            radius = bellows.radius_m * (1.0 if i % 2 == 0 else 0.88)
            body.add_geom(
                name=f'{name}_{i}',
                type=_GEOM.mjGEOM_CYLINDER,
                size=[radius, 0.005, 0],
                pos=[*centre, 0.0],
                mass=0,
                rgba=BELLOWS_COLOURS[i % 2],
                group=ARM_GROUP,
            )
    disc = segment.disc
    inside_m = disc.radius_m if ring is None else ring.radius_m - ring.thickness_m
    spec.body(f'{chain}_{segment.sections}').add_geom(
        type=_GEOM.mjGEOM_CYLINDER,
        size=[min(disc.radius_m, inside_m), disc.thickness_m / 2, 0],
        pos=[0, 0, -disc.thickness_m / 2],
        rgba=[0.88, 0.88, 0.86, 1],
        mass=0,
        group=ARM_GROUP,
    )


def _add_ring_mesh(spec: mujoco.MjSpec, ring: Ring) -> None:
    """Add a hollow cylinder whose facets lie as much inside as outside the true radius."""
    angle = 2 * np.pi * np.arange(RING_FACETS) / RING_FACETS
    outer = ring.radius_m * 2 / (1 + np.cos(np.pi / RING_FACETS))
    profile = [
        (outer, -0.5),
        (outer, 0.5),
        (outer - ring.thickness_m, 0.5),
        (outer - ring.thickness_m, -0.5),
    ]
    vertices = [
        [r * np.cos(a), r * np.sin(a), z * ring.height_m] for a in angle for r, z in profile
    ]
    faces = []
    for i in range(RING_FACETS):
        here, there = 4 * i, 4 * ((i + 1) % RING_FACETS)
        for k in range(4):
            nxt = (k + 1) % 4
            faces += [[here + k, there + nxt, here + nxt], [here + k, there + k, there + nxt]]
    spec.add_mesh(
        name='ring',
        uservert=np.ravel(vertices).tolist(),
        userface=np.ravel(faces).tolist(),
        inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
    )


def _add_tiles(
    spec: mujoco.MjSpec,
    count: tuple[int, int],
    *,
    centre: np.ndarray,
    across: np.ndarray,
    along: np.ndarray,
    tile_m: float,
    quat: list[float],
    size: list[float],
    colours: tuple[list[float], list[float]],
) -> None:
    """Add a flat checkerboard of boxes.

    Sampling a texture would take longer than rendering all the rest of the background.
    """
    for i in range(count[0]):
        for k in range(count[1]):
            place = (
                centre
                + (i - (count[0] - 1) / 2) * tile_m * across
                + (k - (count[1] - 1) / 2) * tile_m * along
            )
            spec.worldbody.add_geom(
                type=_GEOM.mjGEOM_BOX,
                size=size,
                pos=place,
                quat=quat,
                rgba=[*colours[(i + k) % 2], 1],
            )


def _add_room(spec: mujoco.MjSpec, robot: Robot, camera_position_m: np.ndarray) -> None:
    world = spec.worldbody
    scale = scale_for(robot)
    table_z_m, tile_m = TABLE_Z_M * scale, TILE_M * scale
    away = -camera_position_m * [1, 1, 0]
    away = away / np.linalg.norm(away)
    across = np.array([-away[1], away[0], 0.0])
    half_yaw = np.arctan2(away[1], away[0]) / 2
    turn = [np.cos(half_yaw), 0, 0, np.sin(half_yaw)]
    half = tile_m / 2
    _add_tiles(
        spec,
        (8, 6),
        centre=away * WALL_DISTANCE_M * scale,
        across=across,
        along=np.array([0.0, 0.0, 1.0]),
        tile_m=tile_m,
        quat=turn,
        size=[0.02, half, half],
        colours=([0.74, 0.76, 0.78], [0.70, 0.72, 0.75]),
    )
    _add_tiles(
        spec,
        (8, 8),
        centre=np.array([0, 0, table_z_m + 0.02]),
        across=across,
        along=away,
        tile_m=tile_m,
        quat=turn,
        size=[half, half, 0.02],
        colours=([0.56, 0.47, 0.38], [0.52, 0.43, 0.35]),
    )
    flange = np.array(robot.base.flange_m)
    world.add_geom(
        type=_GEOM.mjGEOM_BOX,
        size=flange / 2,
        pos=[0, 0, -flange[2] / 2],
        rgba=[0.62, 0.63, 0.65, 1],
    )
    clutter = (  # type, size, away, across, height above the table, colour
        (_GEOM.mjGEOM_BOX, [0.05, 0.06, 0.09], 0.25, 0.22, 0.09, [0.45, 0.46, 0.48, 1]),
        (_GEOM.mjGEOM_CYLINDER, [0.03, 0.07, 0], 0.20, -0.20, 0.07, [0.15, 0.30, 0.62, 1]),
        (_GEOM.mjGEOM_CYLINDER, [0.04, 0.03, 0], 0.10, 0.16, 0.03, [0.20, 0.50, 0.28, 1]),
        (_GEOM.mjGEOM_BOX, [0.02, 0.10, 0.16], 0.45, -0.28, 0.16, [0.80, 0.80, 0.78, 1]),
        (_GEOM.mjGEOM_CYLINDER, [0.025, 0.12, 0], 0.40, 0.02, 0.12, [0.40, 0.18, 0.36, 1]),
    )
    for shape, size, depth, side, height, colour in clutter:
        world.add_geom(
            type=shape,
            size=(scale * np.array(size)).tolist(),
            pos=[*(scale * (away * depth + across * side))[:2], table_z_m - scale * height],
            quat=turn,
            rgba=colour,
        )
    for side in (-0.6, 0.7):
        position = scale * (-away * 0.5 + across * side + np.array([0, 0, -0.4]))
        world.add_light(
            pos=position,
            dir=scale * np.array([0, 0, 0.25]) - position,
            castshadow=False,
            diffuse=[0.55] * 3,
            specular=[0.1] * 3,
        )
