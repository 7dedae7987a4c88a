"""URDF of any robot or assembly file, for robot_state_publisher and rviz to show it bent.

A segment of N sections is a chain of N R-R-P triples (turn about z, bend about y, extend along z),
whose links are the chords of N equal parts of the arc, followed by a bend and a turn that align the
segment's end: see `section_joint_names`. `soft_arm_kinematics.segments.sections` computes the joint
values for which the chain's tip coincides with the arc's. A segment of hinges is the chain of its
links; a rigid hinge is a fixed joint.

Links and joints begin with the robot's `frame_prefix`, so that several robots fit in one graph.
"""

import math
from xml.etree import ElementTree as Xml

import numpy as np

from soft_arm_description.assembly import Assembly
from soft_arm_description.assembly_frames import WORLD_FRAME, body_frame, robots_with_frames
from soft_arm_description.rigid_bodies import RigidBody
from soft_arm_description.robot import Robot
from soft_arm_description.segments import Segment, TorqueSegment

_BODY_RGBA = '0.75 0.78 0.82 1'
_DISC_RGBA = '0.35 0.38 0.42 1'
_MOTIONS = ('turn', 'bend', 'extend')
_AXES = {'turn': '0 0 1', 'bend': '0 1 0', 'extend': '0 0 1'}
_LIMITS = {'turn': 2 * math.pi, 'bend': math.pi / 2, 'end_bend': math.pi}


def joint_names(robot: Robot) -> list[str]:
    """Return the names of all moving joints, base to tip.

    They have the order of `soft_arm_kinematics.segments.sections.joint_values`.
    """
    return [name for s in robot.segments for name in section_joint_names(robot, s)]


def section_joint_names(robot: Robot, segment: Segment) -> list[str]:
    """Return the names of a segment's joints, base to tip.

    They are 3 for each section, and 2 at the end; or one for each hinge that is not rigid.
    """
    if segment.kind == 'torque':
        return [
            _hinge_name(robot, segment, k)
            for k, hinge in enumerate(segment.section_hinges)
            if hinge.stiffness_n_m_rad is not None
        ]
    names = [f'{k:03d}_{motion}' for k in range(segment.sections) for motion in _MOTIONS]
    stem = f'{robot.base.frame_prefix}{segment.name}'
    return [f'{stem}_{name}' for name in (*names, 'end_bend', 'end_turn')]


def robot_urdf(robot: Robot) -> str:
    """Return the URDF text of a robot, from its base frame to its ring, if it has one."""
    root = Xml.Element('robot', name=robot.name)
    _robot(root, robot)
    return _written(root)


def assembly_urdf(assembly: Assembly) -> str:
    """Return the URDF text of an assembly: its bodies and robots in the frame `world`.

    What stands in the world, on a body or on a tip hangs on a floating joint at its place in the
    file: the node that moves the assembly publishes those frames, so that robot_state_publisher
    must not.
    """
    root = Xml.Element('robot', name=assembly.name)
    Xml.SubElement(root, 'link', name=WORLD_FRAME)
    for body in assembly.bodies:
        frame = body_frame(assembly, body.name)
        link = Xml.SubElement(root, 'link', name=frame)
        _body_visual(link, body)
        _floating(root, WORLD_FRAME, frame, body.position_m, body.rpy_deg)
    robots = robots_with_frames(assembly)
    for mounted in assembly.robots:
        robot, below = robots[mounted.name], robots.get(mounted.mount or '')
        base, parent = robot.base, robot.base.parent_frame
        if below:  # the link at its tip
            parent = f'{below.base.frame_prefix}{below.segment_names[-1]}_end'
        # The frames on tips are published by the node that moves the assembly, too.
        _robot(root, robot.model_copy(update={'tip_frames': ()}))
        _floating(root, parent, base.frame, base.position_m, base.rpy_deg)
    return _written(root)


def _written(root: Xml.Element) -> str:
    Xml.indent(root)
    return Xml.tostring(root, encoding='unicode', xml_declaration=True)


def _robot(root: Xml.Element, robot: Robot) -> None:
    """Add the links and joints of a robot, from its base frame on."""
    prefix, (x_m, y_m, z_m) = robot.base.frame_prefix, robot.base.flange_m
    base = Xml.SubElement(root, 'link', name=robot.base.frame)
    _visual(base, 'box', {'size': f'{x_m} {y_m} {z_m}'}, -z_m / 2, _DISC_RGBA)
    link = robot.base.frame
    for segment in robot.segments:
        if segment.kind == 'torque':
            link = _hinges(root, robot, segment, link)
        else:
            link = _segment(root, robot, segment, link)
    if robot.ring:
        ring = _fixed(root, link, f'{prefix}ring')
        size = {'radius': f'{robot.ring.radius_m}', 'length': f'{robot.ring.height_m}'}
        rgba = ' '.join(str(c) for c in robot.ring.colour_rgb) + ' 1'
        _visual(ring, 'cylinder', size, 0.0, rgba)
    for frame in robot.tip_frames:
        _fixed(root, link, frame)


def _body_visual(link: Xml.Element, body: RigidBody) -> None:
    rgba = _BODY_RGBA if body.colour_rgb is None else _text(np.array([*body.colour_rgb, 1.0]))
    if body.mesh is not None:
        _visual(link, 'mesh', {'filename': f'file://{body.mesh}'}, 0.0, rgba)
        return
    assert body.size_m is not None  # as its file is checked
    names = {'box': ('size',), 'sphere': ('radius',)}.get(body.shape, ('radius', 'length'))
    values = (_text(np.array(body.size_m)),) if body.shape == 'box' else map(str, body.size_m)
    shape = 'cylinder' if body.shape == 'capsule' else body.shape
    _visual(link, shape, dict(zip(names, values, strict=True)), 0.0, rgba)


def _floating(
    root: Xml.Element,
    parent: str,
    child: str,
    position_m: tuple[float, float, float],
    rpy_deg: tuple[float, float, float],
) -> None:
    rpy = _text(np.radians(rpy_deg))
    _joint(root, f'{child}_mount', 'floating', parent, child, _text(np.array(position_m)), rpy)


def _segment(root: Xml.Element, robot: Robot, segment: Segment, parent: str) -> str:
    """Add one segment's links and joints, named after each other; return its end link's name."""
    longest_m = segment.arc_length_limits_m[1] / segment.sections
    typical_m = sum(segment.arc_length_limits_m) / 2 / segment.sections
    stem = f'{robot.base.frame_prefix}{segment.name}'
    for i, name in enumerate(section_joint_names(robot, segment)):
        link = Xml.SubElement(root, 'link', name=name)
        motion = name.rsplit('_', 1)[1]
        if motion == 'extend':
            radius_m = float(segment.radius_m((i // len(_MOTIONS) + 0.5) / segment.sections))
            size = {'radius': f'{radius_m:.6g}', 'length': f'{typical_m:.6g}'}
            _visual(link, 'cylinder', size, -typical_m / 2, _BODY_RGBA)
            low, high = 0.0, longest_m
        else:
            high = _LIMITS.get(name.removeprefix(f'{stem}_'), _LIMITS[motion])
            low = -high
        kind = 'prismatic' if motion == 'extend' else 'revolute'
        joint = _joint(root, name, kind, parent, name)
        Xml.SubElement(joint, 'axis', xyz=_AXES[motion])
        limits = {'lower': f'{low:.6g}', 'upper': f'{high:.6g}', 'effort': '0', 'velocity': '0'}
        Xml.SubElement(joint, 'limit', limits)
        parent = name
    return _end(root, segment, parent, stem, f'0 0 {segment.rigid_length_m}')


def _hinge_name(robot: Robot, segment: TorqueSegment, k: int) -> str:
    return f'{robot.base.frame_prefix}{segment.name}_{k:03d}_{segment.section_hinges[k].name}'


def _hinges(root: Xml.Element, robot: Robot, segment: TorqueSegment, parent: str) -> str:
    """Add the links between a segment's hinges, whose frames stand at the hinges; as `_segment`."""
    stem, step_m = f'{robot.base.frame_prefix}{segment.name}', segment.length_m / segment.sections
    middle_m = np.array([0.0, 0.0, step_m / 2])  # of a section, from where the last link was named
    start = _fixed(root, parent, f'{stem}_start')
    _link_visual(start, segment, step_m / 2, np.zeros(3))
    parent, place_m = f'{stem}_start', np.zeros(3)  # of the parent's frame in its section's middle
    for k, hinge in enumerate(segment.section_hinges):
        name, moves = _hinge_name(robot, segment, k), hinge.stiffness_n_m_rad is not None
        link, offset_m = Xml.SubElement(root, 'link', name=name), np.array(hinge.offset_m)
        origin_m = middle_m + offset_m - place_m
        kind = 'revolute' if moves else 'fixed'
        joint = _joint(root, name, kind, parent, name, _text(origin_m))
        if moves:
            Xml.SubElement(joint, 'axis', xyz=_text(hinge.unit_axis))
            low, high = hinge.limits_rad or (-_LIMITS['turn'], _LIMITS['turn'])
            limits = {'lower': f'{low:.6g}', 'upper': f'{high:.6g}', 'effort': '0', 'velocity': '0'}
            Xml.SubElement(joint, 'limit', limits)
        length_m = step_m / 2 if k == segment.sections - 1 else step_m
        _link_visual(link, segment, length_m, -offset_m)
        parent, place_m, middle_m = name, offset_m, np.array([0.0, 0.0, step_m])
    end_m = np.array([0.0, 0.0, step_m / 2 + segment.rigid_length_m]) - place_m
    return _end(root, segment, parent, stem, _text(end_m))


def _link_visual(
    link: Xml.Element, segment: TorqueSegment, length_m: float, start_m: np.ndarray
) -> None:
    """Draw a link that begins at a place in its frame [m]; a capsule as a cylinder."""
    size_m = segment.section_size_m
    shape, size = {
        'box': ('box', {'size': f'{size_m[0]} {size_m[-1]} {length_m:.6g}'}),
        'sphere': ('sphere', {'radius': f'{size_m[0]}'}),
    }.get(
        segment.section_shape,
        ('cylinder', {'radius': f'{size_m[0]}', 'length': f'{length_m:.6g}'}),
    )
    centre_m = start_m + np.array([0.0, 0.0, length_m / 2]) + np.array(segment.link_offset_m)
    _visual_at(link, shape, size, _text(centre_m), _BODY_RGBA)


def _end(root: Xml.Element, segment: Segment, parent: str, stem: str, place: str) -> str:
    """Add the frame at a segment's end, with its disc; return its name."""
    disc = _fixed(root, parent, f'{stem}_end', place)
    if segment.disc:
        size = {'radius': f'{segment.disc.radius_m}', 'length': f'{segment.disc.thickness_m}'}
        _visual(disc, 'cylinder', size, -segment.disc.thickness_m / 2, _DISC_RGBA)
    return f'{stem}_end'


def _visual(link: Xml.Element, shape: str, size: dict[str, str], z_m: float, rgba: str) -> None:
    _visual_at(link, shape, size, f'0 0 {z_m:.6g}', rgba)


def _visual_at(link: Xml.Element, shape: str, size: dict[str, str], place: str, rgba: str) -> None:
    visual = Xml.SubElement(link, 'visual')
    Xml.SubElement(visual, 'origin', xyz=place, rpy='0 0 0')
    Xml.SubElement(Xml.SubElement(visual, 'geometry'), shape, size)
    Xml.SubElement(Xml.SubElement(visual, 'material', name=f'rgba {rgba}'), 'color', rgba=rgba)


def _fixed(root: Xml.Element, parent: str, child: str, place: str = '0 0 0') -> Xml.Element:
    """Add a link that is fixed at a place in its parent's frame; return the link."""
    link = Xml.SubElement(root, 'link', name=child)
    _joint(root, f'{child}_mount', 'fixed', parent, child, place)
    return link


def _joint(
    root: Xml.Element,
    name: str,
    kind: str,
    parent: str,
    child: str,
    place: str = '0 0 0',
    rpy: str = '0 0 0',
) -> Xml.Element:
    joint = Xml.SubElement(root, 'joint', name=name, type=kind)
    Xml.SubElement(joint, 'parent', link=parent)
    Xml.SubElement(joint, 'child', link=child)
    Xml.SubElement(joint, 'origin', xyz=place, rpy=rpy)
    return joint


def _text(numbers: np.ndarray) -> str:
    return ' '.join(f'{number:.9g}' for number in numbers)
