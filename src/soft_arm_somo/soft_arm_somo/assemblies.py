"""A SoMo assembly as an assembly file, with one robot file for each of its manipulators."""

import math
from itertools import chain, count

import numpy as np
from pydantic import ValidationError

from soft_arm_description.assembly import AssemblyFile
from soft_arm_io.yaml_file import validation_message
from soft_arm_somo.conversion import (
    Scale,
    body,
    not_carried_over,
    robot_content,
    safe_name,
    unknown_keys,
)
from soft_arm_somo.definition import (
    NO_OFFSET,
    Assembly,
    Link,
    Manipulator,
    Sextuple,
    SomoError,
)


def assembly_contents(
    assembly: Assembly, scale: Scale, source: str
) -> tuple[dict, dict[str, dict]]:
    """Return what an assembly file holds, and what its robot files hold, by their names.

    Raises:
        SomoError: If a value is outside the limits of such files.
    """
    files, robots = dict[str, dict](), []
    bodies = [_body(f'base{i}', link, scale) for i, link in enumerate(assembly.base_links or ())]
    on = assembly.base_links[0].offset if assembly.base_links else NO_OFFSET
    for i, (manipulator, offset) in enumerate(assembly.manipulator_definition_pairs):
        robot = robot_content(_without_base(manipulator), scale, source)
        name = _file_name(robot, files)
        files[name] = robot
        entry = {'name': f'man{i}', 'robot': name, **_place(manipulator, offset, on, scale)}
        robots.append(entry | ({'mount': bodies[0]['name']} if bodies else {}))
    content = {
        'schema_version': 1,
        'name': safe_name(assembly.assembly_name),
        'description': f'Manipulators: {len(robots)}. {source}',
        'bodies': bodies,
        'robots': robots,
        'self_contact': False,  # as PyBullet loads it
    }
    try:
        AssemblyFile.model_validate(content)
    except ValidationError as error:
        raise SomoError(f'{assembly.assembly_name}: {validation_message(error)}') from error
    return content, files


def not_carried_over_of_assembly(assembly: Assembly) -> list[str]:
    """Return one line for everything that neither the assembly file nor its robot files hold."""
    links = assembly.base_links or ()
    parts = {'assembly': assembly, **{f'base_links.{i}': link for i, link in enumerate(links)}}
    lines = unknown_keys(parts)
    if links:
        lines.append(
            'base_links: SoMo says at loading whether they move; the bodies are `fixed: true`, and '
            'all robots stand on the first'
        )
    lines.append(
        'centres of mass: in the hinges in the URDF of a SoMo assembly, here in the middles of '
        'the links'
    )
    for manipulator, _ in assembly.manipulator_definition_pairs:
        if manipulator.base_definition:
            lines.append('base_definition: SoMo leaves it out of assemblies too')
        name, actuators = manipulator.manipulator_name, manipulator.actuator_definitions
        if any(len(actuator.joint_definitions) > 2 for actuator in actuators):
            lines.append(
                f'{name}: SoMo gives an assembly the first joint of planar_flag 2, and the first '
                'two of planar_flag 0; here it has all'
            )
        if len(actuators) > 1:
            lines.append(
                f'{name}: SoMo shifts and turns each actuator of an assembly again by the place of '
                'the manipulator; here they are in series'
            )
        lines += not_carried_over(_without_base(manipulator))
    return list(dict.fromkeys(lines))


def _without_base(manipulator: Manipulator) -> Manipulator:
    return manipulator.model_copy(update={'base_definition': None})


def _body(name: str, link: Link, scale: Scale) -> dict:
    return {
        'name': name,
        **body(link, scale),
        'fixed': True,
        'position_m': scale.length_m(*link.offset[:3]),
        'rpy_deg': _degrees(link.offset[3:]),
    }


def _file_name(content: dict, files: dict[str, dict]) -> str:
    """Name of the file of an equal robot, or a new one."""
    ends = chain([''], (f'_{i}' for i in count(2)))
    names = (f'{content["name"]}{end}.yaml' for end in ends)
    return next(name for name in names if files.get(name, content) == content)


def _place(manipulator: Manipulator, offset: Sextuple, on: Sextuple, scale: Scale) -> dict:
    """Place of the robot's base frame on a body; its first hinge is where SoMo's URDF has it.

    That is one and a half links above the offset along the world's z axis, whatever way the
    manipulator points.
    """
    actuator = manipulator.actuator_definitions[0]
    height = actuator.link_definition.height
    shift = (actuator.joint_definitions[0].neutral_axis_offset or NO_OFFSET)[:3]
    hinge_in_robot = np.array([0.0, 0.0, height / 2.0]) + shift
    hinge = np.array(offset[:3]) + [0.0, 0.0, 1.5 * height]
    position, turn = hinge - _rotation(*offset[3:]) @ hinge_in_robot - on[:3], offset[3:]
    if any(on[3:]):
        R_body_world = _rotation(*on[3:]).T
        position = R_body_world @ position
        turn = _roll_pitch_yaw(R_body_world @ _rotation(*turn))
    return {'position_m': scale.length_m(*position), 'rpy_deg': _degrees(turn)}


def _rotation(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Rotation about the fixed axes x, y, z by angles [rad], shape (3, 3)."""
    turns = []
    for axis, angle in enumerate((roll, pitch, yaw)):
        turn = np.eye(3)
        i, j = [(1, 2), (2, 0), (0, 1)][axis]
        turn[i, i] = turn[j, j] = math.cos(angle)
        turn[j, i], turn[i, j] = math.sin(angle), -math.sin(angle)
        turns.append(turn)
    return turns[2] @ turns[1] @ turns[0]


def _roll_pitch_yaw(R: np.ndarray) -> tuple[float, float, float]:  # noqa: N803  # a rotation
    """Angles [rad] of a rotation; where roll and yaw are about one axis, the yaw is 0."""
    across = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], across)
    if across < 1e-9:
        return math.atan2(-R[1, 2], R[1, 1]), pitch, 0.0
    return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])


def _degrees(angles: tuple[float, ...]) -> list[float]:
    """Angles [deg] within half a turn, without the noise of the conversion."""
    return [round(math.remainder(math.degrees(angle), 360.0), 9) for angle in angles]
