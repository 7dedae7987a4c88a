"""A robot file as parts that bend, and the frames that they follow.

The frames come from poses along the centre line, however these were found: by kinematics
(`soft_arm_kinematics.Configuration.section_poses`, moved to the world) or by a simulation
(`SimulatedRobot.T_world_backbone`). Both have the same places.
"""

from itertools import accumulate

import numpy as np

from soft_arm_description.robot import Robot
from soft_arm_description.segments import Segment
from soft_arm_description.skins import BODY_COLOUR_RGB, Skin, plain_skin, segment_skins
from soft_arm_twin.parts.shapes import Surface, shape_surface, tube
from soft_arm_twin.scene import Part

Colour = tuple[float, float, float]
FLANGE_COLOUR: Colour = (0.62, 0.63, 0.65)
DISC_COLOUR: Colour = (0.82, 0.80, 0.74)
GHOST_THICKNESS = 0.4  # relative to the robot, so that ghosts hide nothing
RIM_M = 1e-3  # difference of the radii of ring and last disc
PAINT_M = 2e-4  # thickness of painted bands


def robot_frame_count(robot: Robot) -> int:
    """Return the number of frames of a robot: base, section ends, distinct segment ends."""
    return 1 + sum(map(_frames_of, robot.segments))


def robot_frames(robot: Robot, T_world_sections: np.ndarray) -> np.ndarray:  # noqa: N803
    """Return the frames of a robot's parts, (..., robot_frame_count, 3, 4).

    A skin follows frames that do not turn about the centre line; the next segment stands on the
    pose of the end. Where these differ (no closing twist), a segment's end has two frames.

    Args:
        robot: The robot file.
        T_world_sections: Poses of base, section ends and rigid ends that have a length, in the
            world, (..., m, 4, 4).
    """
    found, at = [T_world_sections[..., :1, :, :]], 1
    for segment in robot.segments:
        sections = T_world_sections[..., at : at + segment.sections, :, :]
        at += segment.sections
        end = sections[..., -1:, :, :]
        if not segment.closing_twist:
            sections = sections.copy()
            sections[..., -1, :, :] = sections[..., -1, :, :] @ _turn_back(segment)
        found.append(sections)
        if segment.rigid_length_m > 0.0:
            end = T_world_sections[..., at : at + 1, :, :]
            at += 1
        if _has_end(segment):
            found.append(end)
    return np.concatenate(found, axis=-3)[..., :3, :]


def robot_parts(
    robot: Robot, name: str, first_frame: int, group: str = 'robots', source: str = ''
) -> list[Part]:
    """Return a robot's parts: flange, skins, discs, painted bands, ring and tip.

    Args:
        robot: The robot file.
        name: Prefix of the names of its parts.
        first_frame: Index of the first of its `robot_frame_count` frames.
        group: Group of the parts.
        source: Name of the age of the data that moves it.
    """
    starts = _starts(robot, first_frame)

    def rigid(what: str, colour_rgb: Colour, frame: int, surface: Surface, z_m: float) -> Part:
        vertices_m, triangles = surface
        at_m = vertices_m + [0.0, 0.0, z_m]
        label = f'{name} {what}'
        return Part.rigid(
            label, group, colour_rgb, frame, at_m, triangles, selectable=True, source=source
        )

    flange_m = robot.base.flange_m
    flange = shape_surface('box', flange_m)
    parts = [rigid('flange', FLANGE_COLOUR, first_frame, flange, -flange_m[2] / 2)]
    for i, segment in enumerate(robot.segments):
        skins, end = segment_skins(robot, i), starts[i] + segment.sections
        for k, skin in enumerate(skins):
            label = f'{name} {segment.name}' + (f' bellows {k + 1}' if len(skins) > 1 else '')
            parts.append(_skin_part(skin, segment, label, group, starts[i], source=source))
        if segment.disc is not None:
            d = segment.disc
            inside_m = RIM_M if robot.ring is not None and i == len(robot.segments) - 1 else 0.0
            disc = shape_surface('cylinder', (d.radius_m - inside_m, d.thickness_m))
            parts.append(rigid(f'{segment.name} disc', DISC_COLOUR, end, disc, -d.thickness_m / 2))
        if robot.cut_lines is not None and i < len(robot.segments) - 1:  # the end is round
            radius_m = float(segment.radius_m(np.array(1.0))) + PAINT_M
            line = tube(radius_m, 2 * PAINT_M, robot.cut_lines.width_m)
            colour = robot.cut_lines.colour_rgb
            parts.append(rigid(f'{segment.name} line', colour, end, line, 0.0))
    if robot.ring is not None:
        ring = tube(robot.ring.radius_m, robot.ring.thickness_m, robot.ring.height_m)
        parts.append(rigid('ring', robot.ring.colour_rgb, starts[-1], ring, 0.0))
    if robot.tip is not None:
        vertices_m, triangles = shape_surface(robot.tip.shape, robot.tip.size_m)
        tip = vertices_m + robot.tip.position_m, triangles
        parts.append(rigid('tip', BODY_COLOUR_RGB, starts[-1], tip, 0.0))
    return parts


def ghost_parts(
    robot: Robot, name: str, first_frame: int, group: str, colour_rgb: Colour, opacity: float
) -> list[Part]:
    """Return a thin transparent copy of a robot's segments; frames as in `robot_parts`."""
    starts = _starts(robot, first_frame)
    parts = []
    for i, segment in enumerate(robot.segments):
        skin, label = plain_skin(robot, i, GHOST_THICKNESS), f'{name} {segment.name}'
        parts.append(_skin_part(skin, segment, label, group, starts[i], colour_rgb, opacity))
    return parts


def _has_end(segment: Segment) -> bool:
    """Return whether the frames of the ends of a segment and its last section differ."""
    return segment.rigid_length_m > 0.0 or not segment.closing_twist


def _frames_of(segment: Segment) -> int:
    return segment.sections + _has_end(segment)


def _starts(robot: Robot, first: int) -> list[int]:
    """Return the indices of the base frames of the segments, then of the tip frame.

    The frames of a segment's section ends follow on its start.
    """
    return list(accumulate(map(_frames_of, robot.segments), initial=first))


def _turn_back(segment: Segment) -> np.ndarray:
    T, angle_rad = np.eye(4), -float(getattr(segment, 'phi_rad', 0.0))
    c, s = np.cos(angle_rad), np.sin(angle_rad)
    T[:2, :2] = [[c, -s], [s, c]]
    return T


def _skin_part(
    skin: Skin,
    segment: Segment,
    name: str,
    group: str,
    start: int,
    colour_rgb: Colour | None = None,
    opacity: float = 1.0,
    source: str = '',
) -> Part:
    """Return a skin as a part; a vertex lies below or above the section ends that it follows."""
    step_m = segment.natural_length_m / segment.sections
    up = np.array([0.0, 0.0, 1.0])
    return Part(
        name=name,
        group=group,
        colour_rgb=colour_rgb or skin.colour_rgb,
        frame_a=start + skin.below,
        frame_b=start + skin.below + 1,
        share_b=skin.above_share,
        local_a_m=skin.vertices_m - (skin.below * step_m)[:, None] * up,
        local_b_m=skin.vertices_m - ((skin.below + 1) * step_m)[:, None] * up,
        triangles=skin.triangles,
        opacity=opacity,
        selectable=opacity == 1.0,
        source=source,
    )
