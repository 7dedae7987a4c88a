"""Scene of the finger's camera: bent finger with painted lines, mount and laboratory."""

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_description.robot import CutLines, Robot
from soft_arm_description.segments import SingleBendSegment
from soft_arm_sim.cameras.offscreen import add_camera
from soft_arm_sim.cameras.parameters import FingerCameraParameters
from soft_arm_sim.errors import SimulationError

OVERLAP = 1.25  # length of a slice over its share of the piece: closes the gaps outside the bend
PAINT_M = 0.0003  # thickness of the painted bands
BODY_COLOURS = ([0.80, 0.80, 0.77, 1.0], [0.70, 0.71, 0.69, 1.0])
TILE_M = 0.08

_GEOM = mujoco.mjtGeom


def finger_scene(
    robot: Robot,
    parameters: FingerCameraParameters,
    width_px: int,
    height_px: int,
    camera_matrix: np.ndarray,
) -> mujoco.MjModel:
    """Compile the scene: mocap bodies in the order of `scene_poses`, and the camera `colour`.

    Args:
        robot: A robot file of single_bend segments with `cut_lines`. The finger's sides are flat,
            square to the bending plane.
        parameters: Pose of the camera.
        width_px, height_px: Size of the pinhole picture.
        camera_matrix: Intrinsics of that picture [px], shape (3, 3).

    Raises:
        SimulationError: If the robot file has no such finger.
    """
    pieces, lines = _pieces(robot), robot.cut_lines
    if lines is None or len(pieces) != len(robot.segments):
        raise SimulationError(
            f'robot {robot.name} is not a finger of single_bend segments with cut_lines: add them '
            'to its file'
        )
    for piece in pieces:
        if piece.rigid_length_m > 0.0:
            raise SimulationError(
                f'segment {piece.name} of {robot.name}: rigid_length_m {piece.rigid_length_m} m '
                'cannot be drawn; make it 0'
            )
    spec = mujoco.MjSpec()
    _add_finger(spec, pieces, lines)
    _add_mount(spec, robot, lines)
    _add_room(spec)
    add_camera(spec, parameters.mounting.T_base_optical, width_px, height_px, camera_matrix)
    return spec.compile()


def scene_poses(robot: Robot, T_base_backbone: np.ndarray) -> np.ndarray:  # noqa: N803
    """Return T_base_slice of all slices, then T_base_band of all bands, from a finger's backbone.

    A section is drawn as two slices that touch its centre line at its ends.
    """
    slices, bands, first = [], [], 0
    for segment in _pieces(robot):
        ends = T_base_backbone[first : first + segment.sections + 1].copy()
        first += segment.sections
        ends[:-1] = ends[:-1] @ _twist(segment)
        quarter_m = segment.length_m / segment.sections / 4
        for T, side in ((ends[:-1], 1.0), (ends[1:], -1.0)):
            poses = T.copy()
            poses[:, :3, 3] += side * quarter_m * poses[:, :3, 2]
            slices.append(poses)
        bands.append(ends[-1:])
    return np.concatenate(slices + bands)


def _twist(segment: SingleBendSegment) -> np.ndarray:
    """Rotation about the centre line that a piece leaves at its end, (4, 4)."""
    T = np.eye(4)
    if not segment.closing_twist:
        T[:3, :3] = Rotation.from_euler('z', segment.phi_rad).as_matrix()
    return T


def _pieces(robot: Robot) -> list[SingleBendSegment]:
    return [s for s in robot.segments if isinstance(s, SingleBendSegment)]


def _add_finger(spec: mujoco.MjSpec, pieces: list[SingleBendSegment], lines: CutLines) -> None:
    for number, segment in enumerate(pieces):
        n = segment.sections
        half = segment.length_m / (2 * n) / 2 * OVERLAP
        for k in range(2 * n):  # first those at the sections' starts, then those at their ends
            body = spec.worldbody.add_body(name=f'{segment.name}_{k}', mocap=True)
            size = [segment.body_radius_m, segment.body_radius_m, half]
            body.add_geom(
                name=body.name,
                type=_GEOM.mjGEOM_BOX,
                size=size,
                rgba=BODY_COLOURS[(number + k % n) % 2],
            )
    for segment in pieces:
        body = spec.worldbody.add_body(name=f'{segment.name}_line', mocap=True)
        half = segment.body_radius_m + PAINT_M
        body.add_geom(
            name=body.name,
            type=_GEOM.mjGEOM_BOX,
            size=[half, half, lines.width_m / 2],
            rgba=[*lines.colour_rgb, 1],
        )


def _add_mount(spec: mujoco.MjSpec, robot: Robot, lines: CutLines) -> None:
    width, depth, height = robot.base.flange_m
    thickness = max(height, 2 * lines.reference_offset_m + lines.width_m)
    spec.worldbody.add_geom(
        name='mount',
        type=_GEOM.mjGEOM_BOX,
        size=[width / 2, depth / 2, thickness / 2],
        pos=[0, 0, -thickness / 2],
        rgba=[0.55, 0.56, 0.58, 1],
    )
    spec.worldbody.add_geom(
        name='reference_line',
        type=_GEOM.mjGEOM_BOX,
        size=[width / 2 + PAINT_M, depth / 2 + PAINT_M, lines.width_m / 2],
        pos=[0, 0, -lines.reference_offset_m],
        rgba=[*lines.reference_colour_rgb, 1],
    )


def _add_room(spec: mujoco.MjSpec) -> None:
    world = spec.worldbody
    for i in range(-8, 9):
        for k in range(-6, 7):
            colour = [0.66, 0.68, 0.70, 1] if (i + k) % 2 else [0.60, 0.61, 0.64, 1]
            world.add_geom(
                type=_GEOM.mjGEOM_BOX,
                size=[TILE_M / 2, 0.01, TILE_M / 2],
                pos=[i * TILE_M, 0.3, k * TILE_M],
                rgba=colour,
            )
    clutter = (  # type, size, place, colour; two have a colour close to the paint's
        (_GEOM.mjGEOM_BOX, [0.020, 0.01, 0.002], [0.10, 0.12, 0.03], [0.95, 0.36, 0.06, 1]),
        (_GEOM.mjGEOM_CYLINDER, [0.012, 0.03, 0], [-0.13, 0.10, 0.04], [0.20, 0.50, 0.28, 1]),
        (_GEOM.mjGEOM_BOX, [0.03, 0.02, 0.02], [0.16, 0.20, -0.06], [0.10, 0.25, 0.70, 1]),
        (_GEOM.mjGEOM_SPHERE, [0.008, 0, 0], [-0.09, 0.05, -0.03], [0.90, 0.30, 0.10, 1]),
    )
    for shape, size, place, colour in clutter:
        world.add_geom(type=shape, size=size, pos=place, rgba=colour)
    for x, z in ((-0.3, -0.25), (0.35, 0.2)):
        position = np.array([x, -0.4, z])
        world.add_light(
            pos=position, dir=-position, castshadow=False, diffuse=[0.5] * 3, specular=[0.08] * 3
        )
