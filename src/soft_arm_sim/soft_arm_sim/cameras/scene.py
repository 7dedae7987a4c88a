"""What the virtual camera sees.

The arm's visible shapes, the calibration jig and a laboratory, in the arm's base frame.
"""

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_description.robot import BellowsSegment, Ring, Robot
from soft_arm_physics.arm_model import build_arm
from soft_arm_sim.cameras.parameters import CameraParameters

RING_FACETS = 128  # 0.014 mm of faceting on a 45 mm ring
NEAR_M, FAR_M = 0.05, 3.0
TABLE_Z_M = 0.47
WALL_DISTANCE_M = 0.55
TILE_M = 0.3
BELLOWS_COLOURS = ([0.16, 0.16, 0.19, 1.0], [0.10, 0.10, 0.12, 1.0])
ARM_GROUP, RING_GROUP, JIG_GROUP = 1, 2, 0

_GEOM = mujoco.mjtGeom


def build_scene(robot: Robot, parameters: CameraParameters) -> mujoco.MjModel:
    """What `scene_spec` describes, compiled."""
    return scene_spec(robot, parameters).compile()


def scene_spec(robot: Robot, parameters: CameraParameters) -> mujoco.MjSpec:
    """Build the chain of `arm_model.build_arm` with shapes, room, lights and the camera `colour`.

    Bellows of cell i are the geoms `<chamber>_<i>`; the ring is `ring_on_arm` and, on the mocap
    body `jig`, `ring_on_peg`.
    """
    spec = build_arm(robot, 0.0, 0.0)
    image = parameters.image
    visual = spec.visual
    visual.global_.offwidth, visual.global_.offheight = image.width_px, image.height_px
    visual.quality.offsamples, visual.quality.shadowsize = (
        0,
        0,
    )  # each costs more than all the rest of the frame
    visual.quality.numslices, visual.quality.numstacks, visual.quality.numquads = 14, 2, 1
    visual.map.znear, visual.map.zfar = NEAR_M, FAR_M
    visual.headlight.ambient, visual.headlight.diffuse, visual.headlight.specular = (
        [0.45] * 3,
        [0.0] * 3,
        [0.0] * 3,
    )
    spec.stat.extent = 1.0
    _add_ring_mesh(spec, robot.ring)
    for segment in robot.segments:
        _add_segment(spec, segment, robot.ring)
    last = robot.segments[-1]
    tip_body = spec.body(f'{last.name}_{last.sections}')
    colour = [*robot.ring.colour_rgb, 1.0]
    tip_body.add_geom(
        name='ring_on_arm',
        type=_GEOM.mjGEOM_MESH,
        meshname='ring',
        pos=[0, 0, last.rigid_length_m],
        rgba=colour,
        mass=0,
        group=RING_GROUP,
    )
    jig = spec.worldbody.add_body(name='jig', mocap=True)
    jig.add_geom(
        name='ring_on_peg',
        type=_GEOM.mjGEOM_MESH,
        meshname='ring',
        rgba=colour,
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
    _add_camera(spec, parameters)
    return spec


def _add_segment(spec, segment: BellowsSegment, ring: Ring):
    bellows = segment.actuators
    for i in range(segment.sections):
        body = spec.body(f'{segment.name}_{i}')
        for name, angle in zip(bellows.names, bellows.angles_rad, strict=True):
            centre = bellows.centre_radius_m * np.array([np.cos(angle), np.sin(angle)])
            radius = bellows.radius_m * (
                1.0 if i % 2 == 0 else 0.88
            )  # alternate rings look like convolutions
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
    spec.body(f'{segment.name}_{segment.sections}').add_geom(
        type=_GEOM.mjGEOM_CYLINDER,
        size=[min(disc.radius_m, ring.radius_m - ring.thickness_m), disc.thickness_m / 2, 0],
        pos=[0, 0, -disc.thickness_m / 2],
        rgba=[0.88, 0.88, 0.86, 1],
        mass=0,
        group=ARM_GROUP,
    )


def _add_ring_mesh(spec, ring: Ring):
    """Hollow cylinder whose facets lie as much inside as outside the true radius."""
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
    spec, centre, across, along, tile_m: float, count: tuple[int, int], quat, size, colours
):
    """Flat checkerboard of boxes.

    Sampling a texture would cost more than all the rest of the background.
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


def _add_room(spec, robot: Robot, camera_position_m):
    world = spec.worldbody
    away = -camera_position_m * [1, 1, 0]
    away = away / np.linalg.norm(away)
    across = np.array([-away[1], away[0], 0.0])
    turn = [
        np.cos(np.arctan2(away[1], away[0]) / 2),
        0,
        0,
        np.sin(np.arctan2(away[1], away[0]) / 2),
    ]
    half = TILE_M / 2
    _add_tiles(
        spec,
        away * WALL_DISTANCE_M,
        across,
        np.array([0.0, 0.0, 1.0]),
        TILE_M,
        (8, 6),
        turn,
        [0.02, half, half],
        ([0.74, 0.76, 0.78], [0.70, 0.72, 0.75]),
    )
    _add_tiles(
        spec,
        np.array([0, 0, TABLE_Z_M + 0.02]),
        across,
        away,
        TILE_M,
        (8, 8),
        turn,
        [half, half, 0.02],
        ([0.56, 0.47, 0.38], [0.52, 0.43, 0.35]),
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
            size=size,
            pos=[*(away * depth + across * side)[:2], TABLE_Z_M - height],
            quat=turn,
            rgba=colour,
        )
    for side in (-0.6, 0.7):
        position = -away * 0.5 + across * side + np.array([0, 0, -0.4])
        world.add_light(
            pos=position,
            dir=np.array([0, 0, 0.25]) - position,
            castshadow=False,
            diffuse=[0.55] * 3,
            specular=[0.1] * 3,
        )


def _add_camera(spec, parameters: CameraParameters):
    image, T = parameters.image, parameters.mounting.T_base_optical
    pixel_m = 1e-6
    x, y, z, w = Rotation.from_matrix(
        T[:3, :3] * [1, -1, -1]
    ).as_quat()  # OpenGL looks along -z, y up
    camera = spec.worldbody.add_camera(name='colour', pos=T[:3, 3], quat=[w, x, y, z])
    camera.resolution = [image.width_px, image.height_px]
    camera.sensor_size = [image.width_px * pixel_m, image.height_px * pixel_m]
    camera.focal_pixel = [image.fx_px, image.fy_px]
    # MuJoCo counts from the middle of the sensor, a camera matrix from the centre of the first
    # pixel
    camera.principal_pixel = [
        image.width_px / 2 - 0.5 - image.cx_px,
        image.height_px / 2 - 0.5 - image.cy_px,
    ]
