"""A SoMo manipulator as a robot file of kind `torque`, and what of it has no place there."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from soft_arm_description.robot import Robot
from soft_arm_description.segments import KINDS
from soft_arm_description.segments.values import MAX_BEND_RAD
from soft_arm_io.yaml_file import shown, validation_message
from soft_arm_somo.definition import (
    NO_OFFSET,
    Actuator,
    Joint,
    Link,
    Manipulator,
    Part,
    SomoError,
)

MIN_STIFFNESS_N_M_RAD = 1e-7  # of a hinge in a robot file
_SHAPES = {'stadium': 'box'}
_HELPED = ('stadium', 'capsule')  # links to which SoMo adds round shapes
_SHARE_OF_MOST_BEND = 0.999
_NO_BASE_FLANGE_M = 0.001  # thickness


@dataclass(frozen=True)
class Scale:
    """Factors by which lengths and masses of a definition exceed the real ones.

    SoMo's manual: a torque grows with the length's scale squared times the mass's.
    """

    world: float = 1.0
    mass: float = 1.0

    def length_m(self, *lengths: float) -> list[float]:
        """Lengths of the lab."""
        return [_short(length / self.world) for length in lengths]

    def mass_kg(self, mass: float) -> float:
        """Mass of the lab."""
        return _short(mass / self.mass)

    def torque_n_m(self, torque: float) -> float:
        """Torque, or stiffness [N m/rad], of the lab."""
        return _short(torque / (self.world**2 * self.mass))


def robot_content(manipulator: Manipulator, scale: Scale, source: str) -> dict:
    """Return what a robot file holds for a manipulator.

    Args:
        manipulator: The definition.
        scale: Its scale, which is undone.
        source: Where it comes from, for the file.

    Raises:
        SomoError: If a value is outside the limits of robot files.
    """
    name = safe_name(manipulator.manipulator_name)
    actuators = manipulator.actuator_definitions
    content = {
        'schema_version': 1,
        'name': name,
        'description': f'Actuators in series: {len(actuators)}. Imported from SoMo.',
        'source': source,
        'base': _base(manipulator, scale, f'{name}_base_link'),
        'segments': [_segment(f'act{i}', actuator, scale) for i, actuator in enumerate(actuators)],
    }
    if manipulator.tips:
        content['tip'] = _tip(manipulator.tips, scale)
    try:
        Robot.model_validate(content)
    except ValidationError as error:
        raise SomoError(
            f'{manipulator.manipulator_name}: in the lab, with world scale {scale.world:g} and '
            f'mass scale {scale.mass:g}, {validation_message(error, KINDS)}'
        ) from error
    return content


def not_carried_over(manipulator: Manipulator) -> list[str]:
    """Return one line for everything in a manipulator that the robot file does not hold."""
    parts = dict(_parts(manipulator))
    links = {where: part for where, part in parts.items() if isinstance(part, Link)}
    joints = {where: part for where, part in parts.items() if isinstance(part, Joint)}
    lines = unknown_keys(parts)
    if any(link.inertial_values for link in links.values()):
        lines.append('inertial_values: inertias follow from shape and mass, as in PyBullet')
    if any(link.material_color or link.material_name for link in links.values()):
        lines.append('material_color, material_name: links have no colour')
    if manipulator.urdf_filename:
        lines.append('urdf_filename: no URDF is written')
    base = manipulator.base_definition
    if base and base.shape_type != 'box':
        lines.append(f'base_definition: its shape {base.shape_type}; the flange is a box')
    if base and any(base.offset):
        lines.append('base_definition.origin_offset: SoMo leaves it out too')
    if _moves_centres_of_mass(manipulator):
        lines.append(
            'centres of mass: PyBullet moves them in links with round ends, tips or fixed joints '
            'to their hinges, where SoMo merges links; here they are where the URDF has them'
        )
    if any(joint.limits for joint in joints.values()):
        lines.append('limits: effort and velocity, which SoMo does not enforce')
    for where, link in links.items():
        if link.visual_geometry_scaling_factor != 1.0:
            lines.append(f'{where}.visual_geometry_scaling_factor: links are drawn as they are')
        if link.offset[3:] != NO_OFFSET[3:] and link is not base:
            lines.append(f'{where}.origin_offset: its roll, pitch and yaw; the shape stays upright')
        if link.shape_type in _HELPED and where.endswith('link_definition'):
            shape = _SHAPES.get(link.shape_type, link.shape_type)
            lines.append(
                f'shape_type {link.shape_type}: links are of shape {shape}, without the round '
                'shapes of a thousandth of the mass that SoMo adds at the hinges'
            )
    for where, joint in joints.items():
        if joint.joint_type == 'fixed':
            continue
        if not joint.spring_stiffness:
            lines.append(
                f'{where}.spring_stiffness {joint.spring_stiffness}: '
                f'{MIN_STIFFNESS_N_M_RAD:g} N m/rad, the least there is'
            )
        if joint.limits and not joint.limits[0] < joint.limits[1]:
            lines.append(f'{where}.limits: the lower exceeds the upper, so the hinge is unlimited')
        if any((joint.neutral_axis_offset or NO_OFFSET)[3:]):
            lines.append(f'{where}.neutral_axis_offset: its roll, pitch and yaw, as in SoMo')
    for i, actuator in enumerate(manipulator.actuator_definitions):
        brakes = {joint.joint_control_limit_force for joint in actuator.joint_definitions}
        if actuator.planar_flag == 2 and len(brakes) > 1:
            lines.append(
                f'actuator_definitions.{i}: joint_control_limit_force of all joints but the first, '
                'which SoMo applies to all'
            )
    if len(manipulator.tips) > 1:
        lines.append('tip_definitions: one body of their mass, at their common centre of mass')
    return list(dict.fromkeys(lines))


def _moves_centres_of_mass(manipulator: Manipulator) -> bool:
    actuators = manipulator.actuator_definitions
    return (
        bool(manipulator.tips)
        or len(actuators) > 1
        or any(actuator.link_definition.shape_type in _HELPED for actuator in actuators)
        or any(j.joint_type == 'fixed' for a in actuators for j in a.joint_definitions)
    )


def unknown_keys(parts: dict[str, Part]) -> list[str]:
    """Return one line for every key of parts that is not known here."""
    return [
        f'{where}.{shown(key, plain=True)}: not known here as a key of SoMo'
        for where, part in parts.items()
        for key in part.model_extra or ()
    ]


def safe_name(text: str) -> str:
    """Turn a text into a name of a robot or body: small letters, digits and `_`."""
    name = re.sub(r'[^a-z0-9]+', '_', text.lower()).strip('_')[:40]
    return name if name[:1].isalpha() else f'somo_{name}'.rstrip('_')


def body(link: Link, scale: Scale) -> dict:
    """Shape, size and mass of a link as a rigid body."""
    shape = _SHAPES.get(link.shape_type, link.shape_type)
    size = list(link.dimensions)
    if shape in ('cylinder', 'capsule'):  # a capsule's length includes its ends here
        size = [size[1], size[0] + (2.0 * size[1] if shape == 'capsule' else 0.0)]
    return {'mass_kg': scale.mass_kg(link.mass), 'shape': shape, 'size_m': scale.length_m(*size)}


def _parts(manipulator: Manipulator) -> Iterator[tuple[str, Part]]:
    yield 'manipulator', manipulator
    if manipulator.base_definition:
        yield 'base_definition', manipulator.base_definition
    for i, actuator in enumerate(manipulator.actuator_definitions):
        where = f'actuator_definitions.{i}'
        yield where, actuator
        yield f'{where}.link_definition', actuator.link_definition
        for j, joint in enumerate(actuator.joint_definitions):
            yield f'{where}.joint_definitions.{j}', joint
    for i, tip in enumerate(manipulator.tips):
        yield f'tip_definitions.{i}', tip


def _base(manipulator: Manipulator, scale: Scale, frame: str) -> dict:
    base = manipulator.base_definition
    link = base or manipulator.actuator_definitions[0].link_definition
    flange_m = [*_widths_m(link, scale), _NO_BASE_FLANGE_M]
    if base:
        flange_m[2] = scale.length_m(base.height)[0]
    content = {
        'frame': frame,
        'parent_frame': 'world',
        'position_m': [0.0, 0.0, *scale.length_m(manipulator.base_height)],
        'rpy_deg': [0.0, 0.0, 0.0],
        'flange_m': flange_m,
    }
    return content | ({'mass_kg': scale.mass_kg(base.mass)} if base and base.mass else {})


def _widths_m(link: Link, scale: Scale) -> list[float]:
    sizes = link.dimensions
    return scale.length_m(*(sizes[:2] if len(sizes) == 3 else [2.0 * sizes[-1]] * 2))


def _segment(name: str, actuator: Actuator, scale: Scale) -> dict:
    """All links weigh the same: the halves at both ends as much as the whole ones (SoMo)."""
    link, sections = actuator.link_definition, actuator.n_segments
    content = {
        'name': name,
        'kind': 'torque',
        'length_m': scale.length_m(sections * link.height)[0],
        'sections': sections,
        'section_shape': _SHAPES.get(link.shape_type, link.shape_type),
        'section_size_m': scale.length_m(
            *(link.dimensions[:2] if len(link.dimensions) == 3 else link.dimensions[-1:])
        ),
        'body_mass_kg': _short((sections + 1) * scale.mass_kg(link.mass)),
        'end_link_mass_kg': scale.mass_kg(link.mass),
    }
    if any(link.offset[:3]):
        content['link_offset_m'] = scale.length_m(*link.offset[:3])
    joints = actuator.joint_definitions[:sections]
    names = ['ax0' if actuator.planar_flag == 2 else f'ax{i}' for i in range(len(joints))]
    brakes = [joints[0]] * len(joints) if actuator.planar_flag == 2 else joints
    hinges = [
        _hinge(name, joint, _brake(brake), sections, scale)
        for name, joint, brake in zip(names, joints, brakes, strict=True)
    ]
    if actuator.planar_flag == 2:
        _share_torque(hinges)
    return content | {'hinges': hinges}


def _brake(joint: Joint) -> float:
    return joint.joint_control_limit_force or 0.0


def _hinge(name: str, joint: Joint, brake: float, sections: int, scale: Scale) -> dict:
    """A hinge; its torque limits bend it to its limits, but the segment by less than ten turns."""
    place = {'axis': [float(component) for component in joint.direction]}
    if any((joint.neutral_axis_offset or NO_OFFSET)[:3]):
        place['offset_m'] = scale.length_m(*(joint.neutral_axis_offset or NO_OFFSET)[:3])
    if joint.joint_type == 'fixed':
        return {'name': 'rigid', **place, 'actuated': False}
    stiffness = max(scale.torque_n_m(joint.spring_stiffness or 0.0), MIN_STIFFNESS_N_M_RAD)
    neutral = joint.joint_neutral_position or 0.0
    content = {'name': name, **place, 'stiffness_n_m_rad': stiffness}
    if neutral:
        content['neutral_rad'] = neutral
    limits = (-math.pi, math.pi)
    if joint.joint_type == 'revolute' and joint.limits and joint.limits[0] < joint.limits[1]:
        limits = joint.limits[:2]
        content['limits_rad'] = list(limits)
    if brake:
        content['friction_torque_n_m'] = scale.torque_n_m(brake)
    most = _SHARE_OF_MOST_BEND * MAX_BEND_RAD / sections
    low, high = (min(max(limit, -most), most) - neutral for limit in limits)
    content['torque_limits_n_m'] = [
        _short(stiffness * min(low, 0.0)),
        _short(stiffness * max(high, 0.0)),
    ]
    return content


def _share_torque(hinges: list[dict]) -> None:
    """Give hinges of one name the limits that bend the softest of them to its own."""
    limits = [hinge['torque_limits_n_m'] for hinge in hinges if hinge['name'] != 'rigid']
    common = [max(low for low, _ in limits), min(high for _, high in limits)] if limits else []
    for hinge in hinges:
        if hinge['name'] != 'rigid':
            hinge['torque_limits_n_m'] = list(common)


def _tip(tips: tuple[Link, ...], scale: Scale) -> dict:
    """All tips stand on the end of the last actuator; they become one body."""
    mass = sum(tip.mass for tip in tips)
    shares = [tip.mass / mass if mass else 1.0 / len(tips) for tip in tips]
    centres = [(tip.offset[0], tip.offset[1], tip.offset[2] + tip.height / 2.0) for tip in tips]
    centre = [
        sum(share * centre[axis] for share, centre in zip(shares, centres, strict=True))
        for axis in range(3)
    ]
    heaviest = max(tips, key=lambda tip: tip.mass)
    return body(heaviest, scale) | {
        'mass_kg': scale.mass_kg(mass),
        'position_m': scale.length_m(*centre),
    }


def _short(value: float) -> float:
    """Without the last digits, which are noise of the division."""
    return float(f'{value:.12g}')
