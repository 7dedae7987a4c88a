"""URDF of any robot file: every segment as a chain of rigid sections, so that robot_state_publisher and rviz can show the arm.

A segment of N sections has N R-R-P triples (turn about z, bend about y, extend along z), whose
links are the chords of N equal parts of the arc, and a closing bend and turn at its end: see
`section_joint_names`. `soft_arm_kinematics.segments.sections` gives the joint values that make the
chain's tip equal to the arc's.
"""

import math
from xml.etree import ElementTree as Xml

from soft_arm_description.robot import Robot
from soft_arm_description.segments import Segment

_BODY_RGBA = '0.75 0.78 0.82 1'
_DISC_RGBA = '0.35 0.38 0.42 1'
_JOINT_LIMITS = {'turn': 2 * math.pi, 'bend': math.pi / 2}


def section_joint_names(segment: Segment) -> list[str]:
    """Names of a segment's joints from base to tip, 3 for each section and 2 at the end."""
    names = [
        f'{segment.name}_{k:03d}_{motion}'
        for k in range(segment.sections)
        for motion in ('turn', 'bend', 'extend')
    ]
    return [*names, f'{segment.name}_end_bend', f'{segment.name}_end_turn']


def joint_names(robot: Robot) -> list[str]:
    """Names of all joints of the URDF from base to tip, in the order of `soft_arm_kinematics.segments.sections.joint_values`."""
    return [name for segment in robot.segments for name in section_joint_names(segment)]


def robot_urdf(robot: Robot) -> str:
    """URDF text of a robot; its root link is the robot's base frame, its last link `soft_arm_ring`, where it has a ring."""
    root = Xml.Element('robot', name=robot.name)
    x_m, y_m, z_m = robot.base.flange_m
    base = Xml.SubElement(root, 'link', name=robot.base.frame)
    _visual(base, 'box', {'size': f'{x_m} {y_m} {z_m}'}, -z_m / 2, _DISC_RGBA)
    link = robot.base.frame
    for segment in robot.segments:
        link = _segment(root, segment, link)
    if robot.ring:
        ring = Xml.SubElement(root, 'link', name='soft_arm_ring')
        rgba = ' '.join(str(c) for c in robot.ring.colour_rgb) + ' 1'
        _visual(
            ring,
            'cylinder',
            {'radius': f'{robot.ring.radius_m}', 'length': f'{robot.ring.height_m}'},
            0.0,
            rgba,
        )
        _joint(root, 'ring_mount', 'fixed', link, 'soft_arm_ring')
    for frame in robot.tip_frames:
        Xml.SubElement(root, 'link', name=frame)
        _joint(root, f'{frame}_mount', 'fixed', link, frame)
    Xml.indent(root)
    return Xml.tostring(root, encoding='unicode', xml_declaration=True)


def _segment(root, segment: Segment, parent: str) -> str:
    """Add one segment's links and joints; return the name of its end link."""
    longest_m = segment.arc_length_limits_m[1] / segment.sections
    typical_m = sum(segment.arc_length_limits_m) / 2 / segment.sections
    *names, end_bend, end_turn = section_joint_names(segment)
    for name in names:
        child = f'soft_arm_{name}'
        link = Xml.SubElement(root, 'link', name=child)
        if name.endswith('extend'):
            size = {'radius': f'{segment.body_radius_m:.6g}', 'length': f'{typical_m:.6g}'}
            _visual(link, 'cylinder', size, -typical_m / 2, _BODY_RGBA)
            _joint(root, name, 'prismatic', parent, child, axis='0 0 1', limits=(0.0, longest_m))
        else:
            limit = _JOINT_LIMITS[name.rsplit('_', 1)[1]]
            _joint(
                root,
                name,
                'revolute',
                parent,
                child,
                axis='0 0 1' if name.endswith('turn') else '0 1 0',
                limits=(-limit, limit),
            )
        parent = child
    Xml.SubElement(root, 'link', name=f'soft_arm_{end_bend}')
    _joint(
        root,
        end_bend,
        'revolute',
        parent,
        f'soft_arm_{end_bend}',
        axis='0 1 0',
        limits=(-math.pi, math.pi),
    )
    Xml.SubElement(root, 'link', name=f'soft_arm_{end_turn}')
    _joint(
        root,
        end_turn,
        'revolute',
        f'soft_arm_{end_bend}',
        f'soft_arm_{end_turn}',
        axis='0 0 1',
        limits=(-2 * math.pi, 2 * math.pi),
    )
    end = f'soft_arm_{segment.name}_end'
    disc = Xml.SubElement(root, 'link', name=end)
    if segment.disc:
        size = {'radius': f'{segment.disc.radius_m}', 'length': f'{segment.disc.thickness_m}'}
        _visual(disc, 'cylinder', size, -segment.disc.thickness_m / 2, _DISC_RGBA)
    _joint(
        root,
        f'{segment.name}_rigid',
        'fixed',
        f'soft_arm_{end_turn}',
        end,
        offset_m=segment.rigid_length_m,
    )
    return end


def _visual(link, shape, size, z_m, rgba):
    visual = Xml.SubElement(link, 'visual')
    Xml.SubElement(visual, 'origin', xyz=f'0 0 {z_m:.6g}', rpy='0 0 0')
    Xml.SubElement(Xml.SubElement(visual, 'geometry'), shape, size)
    Xml.SubElement(Xml.SubElement(visual, 'material', name=f'rgba {rgba}'), 'color', rgba=rgba)


def _joint(root, name, kind, parent, child, axis=None, limits=None, offset_m=0.0):
    joint = Xml.SubElement(root, 'joint', name=name, type=kind)
    Xml.SubElement(joint, 'parent', link=parent)
    Xml.SubElement(joint, 'child', link=child)
    Xml.SubElement(joint, 'origin', xyz=f'0 0 {offset_m}', rpy='0 0 0')
    if axis:
        Xml.SubElement(joint, 'axis', xyz=axis)
        Xml.SubElement(
            joint,
            'limit',
            lower=f'{limits[0]:.6g}',
            upper=f'{limits[1]:.6g}',
            effort='0',
            velocity='0',
        )
