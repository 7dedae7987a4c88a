"""Experiment `simulate` of a study: a robot or assembly in a world, actuated for some time."""

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
from soft_arm_description.yaml_file import shown
from soft_arm_experiments.studies.errors import StudyError
from soft_arm_physics import Pneumatics, SimulatedRobot, Simulation
from soft_arm_physics.actuation.drive import coordinates_of

CONTACT_STEP_S = 0.01
"""Simulated time between looks at the contacts, for the largest force."""

_AXES = 'xyz'


def simulate(keys: dict[str, Any]) -> dict[str, float]:
    """Simulate once.

    Args:
        keys: `robot` or `assembly`, `world` and `pneumatics` where given, `simulation`,
            `actuation` (None: at rest), `results` and `seed`, as a study file holds them.

    Returns:
        The results that are asked for, at the end; see `RESULTS`.

    Raises:
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
    for name, robot in sim.robots.items():
        values = keys['actuation'] if 'robot' in keys else keys['actuation'][name]
        rest = zip(robot.actuation, robot.rest_actuation, strict=True)
        robot.actuate([r if values[c.name] is None else values[c.name] for c, r in rest])
    wanted, duration_s = keys['results'], settings['duration_s']
    peak_n = 0.0
    if settings.get('until_rest'):
        sim.settle(duration_s, critical=bool(sim.model.jnt_stiffness.any()))
    elif 'peak_contact_force' in wanted:
        while sim.time_s < duration_s - 1e-9:
            sim.step(min(CONTACT_STEP_S, duration_s - sim.time_s))
            peak_n = max(peak_n, _contact_force_n(sim))
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
    """Kinetic energy, and potential energy in the field of gravity, 0 at the world's origin."""
    mujoco.mj_forward(sim.model, sim.data)
    mujoco.mj_energyVel(sim.model, sim.data)
    weight_n = sim.model.body_mass[:, None] * sim.model.opt.gravity
    height_j = -float(np.sum(weight_n * sim.data.xipos))
    return {'kinetic_energy_j': float(sim.data.energy[1]), 'gravity_energy_j': height_j}


def _objects(sim: Simulation) -> dict[str, float]:
    """Places of the free objects of the world."""
    places: dict[str, float] = {}
    for item in sim.world.objects:
        if not item.fixed:
            places |= _xyz(f'{item.name}_{{}}_m', sim.pose(item.name)[:3, 3])
    return places


def _time(sim: Simulation) -> dict[str, float]:
    return {'time_s': sim.time_s}


def _contact_force_n(sim: Simulation) -> float:
    """Sum of the sizes of all contact forces."""
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
"""What a study may ask for. In an assembly, columns of a robot begin with its name."""


def check_results(wanted: Iterable[str]) -> None:
    """Raise StudyError for a result that there is not."""
    for name in wanted:
        if name not in RESULTS:
            raise StudyError(f'results: there is no {name!r}; there are {", ".join(RESULTS)}')


def complete(actuation: dict[str, Any], models: dict[str, Any]) -> dict[str, Any]:
    """Return an actuation with every coordinate of the robot or the assembly's; None: at rest.

    Raises:
        StudyError: If it names something that there is not.
    """
    whole: dict[str, Any] = {}
    for path, coordinate in _coordinates(models):
        node = whole
        for part in path:
            node = node.setdefault(part, {})
        node[coordinate.name] = None
    _fill(whole, actuation, 'actuation')
    return whole


def check_actuation(actuation: dict[str, Any], models: dict[str, Any]) -> None:
    """Raise StudyError if a value is no number within the limits of its coordinate."""
    for path, coordinate in _coordinates(models):
        value: Any = actuation
        for part in (*path, coordinate.name):
            value = value[part]
        if value is None:
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not coordinate.low <= value <= coordinate.high:
            name = '.'.join(('actuation', *path, coordinate.name))
            raise StudyError(
                f'{name}: {shown(value)} is no number in {coordinate.low:g}..{coordinate.high:g} '
                f'{coordinate.unit}, the limits of the robot file'
            )


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
            raise StudyError(f'{here}: there is no {key!r}; there are {", ".join(whole)}')
        if isinstance(whole[key], dict):
            if not isinstance(value, dict):
                raise StudyError(f'{here}.{key}: must hold keys with values')
            _fill(whole[key], value, f'{here}.{key}')
        else:
            whole[key] = value
