"""Experiment `simulate` of a study: a robot or assembly in a world, actuated for some time."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import mujoco
import numpy as np
from pydantic import TypeAdapter
from scipy.spatial.transform import Rotation

from soft_arm_description.assembly import Assembly
from soft_arm_description.robot import Robot
from soft_arm_description.segments import Coordinate
from soft_arm_description.world import World
from soft_arm_io.yaml_file import shown
from soft_arm_physics import PhysicsError, Pneumatics, SimulatedRobot, Simulation
from soft_arm_physics.actuation.drive import coordinates_of
from soft_arm_physics.actuation.formula import CONSTANTS, FUNCTIONS, parse_formula
from soft_arm_studies.errors import StudyError

STEP_S = 0.01
"""Simulated time between two commands of a formula, and between two samples of the contacts."""

_AXES = 'xyz'


def simulate(keys: dict[str, Any]) -> dict[str, float]:
    """Simulate once.

    Args:
        keys: `robot` or `assembly`, `world` and `pneumatics` where given, `simulation`,
            `actuation` (None: at rest), `parameters`, `results` and `seed`, as a study file holds
            them.

    Returns:
        The requested results, at the end; see `RESULTS`.

    Raises:
        StudyError: If an actuation cannot be used.
        PhysicsError: If the model cannot be built, diverges or does not come to rest.
    """
    made: dict[str, Any] = {
        root: TypeAdapter(kind).validate_python(keys[root])
        for root, kind in _KINDS.items()
        if root in keys
    }
    settings = keys['simulation']
    sim = Simulation(
        made['robot'] if 'robot' in made else made['assembly'],
        made.get('world'),
        made.get('pneumatics'),
        keys['seed'],
        settings.get('time_step_s', 0.002),
    )
    courses = [(sim.robots[name], course) for name, course in actuation_courses(keys, made).items()]
    wanted, duration_s = keys['results'], settings['duration_s']
    peak_n = 0.0
    _actuate(courses, 0)
    if settings.get('until_rest'):
        sim.settle(duration_s, critical=bool(sim.model.jnt_stiffness.any()))
    elif 'peak_contact_force' in wanted or any(len(course) > 1 for _, course in courses):
        for i in range(_steps(duration_s)):
            _actuate(courses, i)
            sim.step(min(STEP_S, duration_s - i * STEP_S))
            peak_n = max(peak_n, _contact_force_n(sim) if 'peak_contact_force' in wanted else 0.0)
    else:
        sim.step(duration_s)
    results = {'peak_contact_force_n': peak_n} if 'peak_contact_force' in wanted else {}
    for name in wanted:
        if name in OF_ROBOTS:
            for robot in sim.robots.values():
                prefix = '' if 'robot' in keys else f'{robot.name}_'
                results |= {f'{prefix}{k}': v for k, v in OF_ROBOTS[name](robot).items()}
        elif name in OF_WORLD:
            results |= OF_WORLD[name](sim)
    return results


_KINDS = {'robot': Robot, 'assembly': Assembly, 'world': World, 'pneumatics': Pneumatics}


def _steps(duration_s: float) -> int:
    return math.ceil(duration_s / STEP_S - 1e-6)


def _actuate(courses: list[tuple[SimulatedRobot, np.ndarray]], i: int) -> None:
    for robot, course in courses:
        now = course[min(i, len(course) - 1)]
        robot.actuate(np.where(np.isnan(now), robot.rest_u, now))


def _tip_position(robot: SimulatedRobot) -> dict[str, float]:
    return _xyz('tip_{}_m', robot.T_world_tip()[:3, 3])


def _tip_rotation(robot: SimulatedRobot) -> dict[str, float]:
    turns = Rotation.from_matrix(robot.T_world_tip()[:3, :3]).as_euler('xyz', degrees=True)
    return dict(zip(('tip_roll_deg', 'tip_pitch_deg', 'tip_yaw_deg'), turns, strict=True))


def _tip_bend(robot: SimulatedRobot) -> dict[str, float]:
    cosine = robot.T_base_tip()[2, 2]
    return {'tip_bend_deg': float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))}


def _base_wrench(robot: SimulatedRobot) -> dict[str, float]:
    wrench = robot.base_wrench()
    return _xyz('base_force_{}_n', wrench[:3]) | _xyz('base_torque_{}_n_m', wrench[3:])


def _contacts(sim: Simulation) -> dict[str, float]:
    return {'contact_count': len(sim.contacts()), 'contact_force_n': _contact_force_n(sim)}


def _energy(sim: Simulation) -> dict[str, float]:
    """Return kinetic energy, and potential energy of gravity, 0 at the world's origin."""
    mujoco.mj_forward(sim.model, sim.data)
    mujoco.mj_energyVel(sim.model, sim.data)
    weight_n = sim.model.body_mass[:, None] * sim.model.opt.gravity
    height_j = -float(np.sum(weight_n * sim.data.xipos))
    return {'kinetic_energy_j': float(sim.data.energy[1]), 'gravity_energy_j': height_j}


def _objects(sim: Simulation) -> dict[str, float]:
    """Return the positions of the free objects of the world."""
    places: dict[str, float] = {}
    for item in sim.world.objects:
        if not item.fixed:
            places |= _xyz(f'{item.name}_{{}}_m', sim.pose(item.name)[:3, 3])
    return places


def _time(sim: Simulation) -> dict[str, float]:
    return {'time_s': sim.time_s}


def _contact_force_n(sim: Simulation) -> float:
    """Return the sum of the magnitudes of all contact forces [N]."""
    return float(sum(np.linalg.norm(contact.force_n) for contact in sim.contacts()))


def _xyz(name: str, values: np.ndarray) -> dict[str, float]:
    return {name.format(axis): float(value) for axis, value in zip(_AXES, values, strict=True)}


OF_ROBOTS: dict[str, Callable[[SimulatedRobot], dict[str, float]]] = {
    'tip_position': _tip_position,
    'tip_rotation': _tip_rotation,
    'tip_bend': _tip_bend,
    'base_wrench': _base_wrench,
}
OF_WORLD: dict[str, Callable[[Simulation], dict[str, float]]] = {
    'contacts': _contacts,
    'energy': _energy,
    'objects': _objects,
    'time': _time,
}
RESULTS = (*OF_ROBOTS, *OF_WORLD, 'peak_contact_force')
"""Available results. In an assembly, columns of a robot begin with its name."""


def check_results(wanted: Iterable[str]) -> None:
    """Raise StudyError for an unknown result."""
    for name in wanted:
        if name not in RESULTS:
            raise StudyError(f'results: no {name!r}; available: {", ".join(RESULTS)}')


def complete(actuation: dict[str, Any], models: dict[str, Any]) -> dict[str, Any]:
    """Return the actuation of every coordinate of the robot or the assembly; None: at rest.

    Raises:
        StudyError: If it names an unknown robot or coordinate.
    """
    whole: dict[str, Any] = {}
    for path, coordinate in _coordinates(models):
        node = whole
        for part in path:
            node = node.setdefault(part, {})
        node[coordinate.name] = None
    _fill(whole, actuation, 'actuation')
    return whole


def actuation_courses(keys: dict[str, Any], models: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return actuations `STEP_S` apart, (m, n), by robot; m is 1 if nothing is a formula.

    NaN: at rest.

    Raises:
        StudyError: If a value is neither a number nor a formula of t and the parameters, or leaves
            the limits of its coordinate.
    """
    _check_parameters(keys['parameters'])
    given = [
        (path, coordinate, _at(keys['actuation'], (*path, coordinate.name)))
        for path, coordinate in _coordinates(models)
    ]
    settings = keys['simulation']
    changes = any(isinstance(value, str) for _, _, value in given)
    if changes and settings.get('until_rest'):
        raise StudyError('simulation.until_rest: a formula of t does not rest: remove one of them')
    time_s = np.arange(_steps(settings['duration_s']) if changes else 1) * STEP_S
    courses: dict[str, list[np.ndarray]] = {}
    for path, coordinate, value in given:
        try:
            course = _course(value, coordinate, keys['parameters'], time_s)
        except (PhysicsError, StudyError) as error:
            name = '.'.join(('actuation', *path, coordinate.name))
            raise StudyError(f'{name}: {error}') from error
        courses.setdefault(path[0] if path else models['robot'].name, []).append(course)
    return {name: np.column_stack(columns) for name, columns in courses.items()}


def _check_parameters(parameters: dict[str, Any]) -> None:
    for name, value in parameters.items():
        if name == 't' or name in CONSTANTS or name in FUNCTIONS:
            raise StudyError(f'parameters.{name}: {name} is a name of formulas: rename it')
        if not _is_number(value):
            raise StudyError(f'parameters.{name}: {shown(value)} is not a number')


def _course(
    value: object, coordinate: Coordinate, parameters: dict[str, float], time_s: np.ndarray
) -> np.ndarray:
    if value is None:
        return np.full(len(time_s), np.nan)
    if isinstance(value, str):
        course = parse_formula(value, parameters)(time_s)
    elif _is_number(value):
        course = np.full(len(time_s), value, float)
    else:
        raise StudyError(f'{shown(value)} is neither a number nor a formula of t')
    outside = (course < coordinate.low) | (course > coordinate.high)
    if outside.any():
        i = int(np.argmax(outside))
        at = f' at t = {time_s[i]:g} s' if isinstance(value, str) else ''
        raise StudyError(
            f'{course[i]:.7g}{at} is outside {coordinate.low:g}..{coordinate.high:g} '
            f'{coordinate.unit}, the limits of the robot file'
        )
    return course


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _at(content: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        content = content[part]
    return content


def _coordinates(models: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], Coordinate]]:
    if 'robot' in models:
        for coordinate in coordinates_of(models['robot']):
            yield (), coordinate
    else:
        for mounted in models['assembly'].robots:
            for coordinate in coordinates_of(mounted.robot):
                yield (mounted.name,), coordinate


def _fill(whole: dict[str, Any], given: dict[str, Any], here: str) -> None:
    for key, value in given.items():
        if key not in whole:
            raise StudyError(f'{here}: no {key!r}; available: {", ".join(whole)}')
        if isinstance(whole[key], dict):
            if not isinstance(value, dict):
                raise StudyError(f'{here}.{key}: must hold keys with values')
            _fill(whole[key], value, f'{here}.{key}')
        else:
            whole[key] = value
