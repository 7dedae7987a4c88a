"""Speed beside SoMo's, which runs in a Python of its own from a checkout: `somo_run.py`."""

import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from soft_arm_description.robot import Robot
from soft_arm_description.somo.conversion import Scale, robot_content
from soft_arm_description.somo.definition import Manipulator, read_definition
from soft_arm_description.world import World
from soft_arm_description.yaml_file import write_yaml
from soft_arm_experiments.physics.elastica import elastica_points_m
from soft_arm_physics import PhysicsError, Simulation

LENGTH_M, BENDING_N_M2, MASS_KG, LINKS = 0.3, 0.1, 0.3, 10
LINK_M = LENGTH_M / LINKS
FRICTION = 0.0046  # torque of a hinge over its stiffness, as in SoMo's finger
SOMO_STEPS_S = (5e-4, 1e-3, 2e-3)
STEPS_S = (0.001, 0.002, 0.005, 0.01)
DAMPING_S = 0.1  # ours, over stiffness: somewhat below critical
BALL_DAMPING_S = 0.02  # as the import
REST_S, REST_RAD_S = 3.0, 0.02
SOMO_BALL_STEP_S, CONVERGED_S = 0.001, 0.00025  # steps: of SoMo's own example, and for the error
BALL_STEPS_S = (1 / 300, 0.0025, 0.002, 1 / 600, 0.00125, 0.001, 0.0005)
BALL_TORQUE_N_M, BALL_S = 60.0, 1.0  # lays the arm down, as the example does
SCRIPT = Path(__file__).with_name('somo_run.py')


def somo_figures(checkout: Path, python: Path) -> dict[str, Any]:
    """Ratios of real-time factors: a heavy rod of ten links, and SoMo's arm of fifty with a ball.

    Of SoMo's runs of the rod, the fastest that comes to rest counts; of ours, the fastest whose tip
    is not farther from the elastica's than SoMo's.

    The arm of fifty links is laid down by a torque, from upright. The error is the distance of its
    last hinge after `BALL_S` from where a run with the step `CONVERGED_S` of the same simulator has
    it. SoMo's run has the step of its own example; of ours, the fastest counts whose error is not
    larger. In both comparisons ours has damping in place of dry friction; `_dry` keeps both.
    """
    truth_m = elastica_points_m(
        LENGTH_M,
        BENDING_N_M2,
        weight_n_m=(9.81 * MASS_KG / LENGTH_M, 0.0),
        tip_force_n=(9.81 * MASS_KG / LINKS / 2, 0.0),  # SoMo's half links have the mass of whole
    )[-1]
    with tempfile.TemporaryDirectory() as folder:
        rod = Path(folder) / 'rod.yaml'
        write_yaml(rod, _rod(), 'A rod as a definition of SoMo.')
        somo = [_run(checkout, python, rod, dt, REST_S) for dt in SOMO_STEPS_S]
        ours = [_rod_run(rod, dt) for dt in STEPS_S]
    for run in somo:
        run['error_m'] = np.linalg.norm(_tip_m(run['angles_rad']) - truth_m)
    best = max((r for r in somo if r['fastest_rad_s'] < REST_RAD_S), key=lambda r: r['rtf'])
    good = [r for r in ours if np.linalg.norm(r['tip_m'] - truth_m) <= best['error_m']]
    own = max(good, key=lambda r: r['rtf'], default=None)
    return {
        'somo_ratio': own['rtf'] / best['rtf'] if own else 0.0,
        'rtf_rod': own['rtf'] if own else None,
        'rod_error_m': float(np.linalg.norm(own['tip_m'] - truth_m)) if own else None,
        'rod_step_s': own['step_s'] if own else None,
        'somo_rtf_rod': best['rtf'],
        'somo_rod_error_m': float(best['error_m']),
        'somo_rod_step_s': best['step_s'],
        **_ball_figures(checkout, python),
    }


def _ball_figures(checkout: Path, python: Path) -> dict[str, Any]:
    arm = checkout / 'examples/iros2021/playing_ball/definitions/bb_arm.yaml'
    somo, truth = (
        _run(checkout, python, arm, dt, BALL_S, BALL_TORQUE_N_M)
        for dt in (SOMO_BALL_STEP_S, CONVERGED_S)
    )
    error_m = float(np.linalg.norm(np.subtract(somo['last_hinge_m'], truth['last_hinge_m'])))
    found: dict[str, Any] = {'somo_rtf_ball': somo['rtf'], 'somo_ball_error_m': error_m}
    for end, damping_time_s in (('', BALL_DAMPING_S), ('_dry', None)):
        truth_m = _ball_run(arm, CONVERGED_S, damping_time_s)['last_hinge_m']
        runs = [_ball_run(arm, dt, damping_time_s) for dt in BALL_STEPS_S]
        errors_m = [float(np.linalg.norm(run['last_hinge_m'] - truth_m)) for run in runs]
        good = [(run, e) for run, e in zip(runs, errors_m, strict=True) if e <= error_m]
        best, best_error_m = max(good, key=lambda run: run[0]['rtf'], default=(None, None))
        found |= {
            f'somo_ball_ratio{end}': best['rtf'] / somo['rtf'] if best else 0.0,
            f'rtf_ball{end}': best['rtf'] if best else None,
            f'ball_error_m{end}': best_error_m,
            f'ball_step_s{end}': best['step_s'] if best else None,
        }
    return found


def _rod() -> dict[str, Any]:
    stiffness = BENDING_N_M2 / LINK_M
    link = {
        'shape_type': 'box',
        'dimensions': [0.02, 0.02, LINK_M],
        'mass': MASS_KG / LINKS,
        'inertial_values': [1e-5, 0, 0, 1e-5, 0, 1e-5],
        'material_color': [0.0, 0.0, 1.0, 1.0],
        'material_name': 'blue',
    }
    joint = {
        'joint_type': 'revolute',
        'axis': [0, 1, 0],
        'limits': [-3.14, 3.14, 100, 300],
        'spring_stiffness': stiffness,
        'joint_neutral_position': 0,
        'joint_control_limit_force': FRICTION * stiffness,
    }
    actuator = {
        'actuator_length': LINK_M * LINKS,
        'n_segments': LINKS,
        'planar_flag': 1,
        'link_definition': link,
        'joint_definitions': [joint],
    }
    return {
        'manipulator_name': 'rod',
        'urdf_filename': 'rod.urdf',
        'n_act': 1,
        'base_definition': None,
        'tip_definition': None,
        'actuator_definitions': [actuator],
    }


def _run(
    checkout: Path,
    python: Path,
    definition: Path,
    step_s: float,
    duration_s: float,
    ball_torque_n_m: float = 0.0,
) -> dict[str, Any]:
    arguments = [checkout.resolve(), definition.resolve(), step_s, duration_s, ball_torque_n_m]
    done = subprocess.run(
        [str(python), str(SCRIPT), *map(str, arguments)], capture_output=True, text=True
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ['no message'])[-1]
        raise PhysicsError(
            f'SoMo in {checkout} does not run with {python}: {last}; give --somo-python a Python '
            'that has PyBullet, PyYAML and NumPy < 1.24'
        )
    return json.loads(done.stdout.strip().splitlines()[-1]) | {'step_s': step_s}


def _tip_m(angles_rad: list[float]) -> np.ndarray:
    turned = np.concatenate([[0.0], np.cumsum(angles_rad)])
    links_m = np.full(len(turned), LINK_M)
    links_m[[0, -1]] /= 2
    return np.array([links_m @ np.sin(turned), links_m @ np.cos(turned)])


def _world(gravity_m_s2: list[float], **content: Any) -> World:
    head = {'schema_version': 1, 'name': 'somo', 'description': ''}
    return World.model_validate({**head, 'gravity_m_s2': gravity_m_s2, **content})


def _imported(definition: Path, damping_time_s: float | None) -> Robot:
    manipulator = read_definition(definition)
    if not isinstance(manipulator, Manipulator):
        raise PhysicsError(f'{definition} is an assembly: give the definition of a manipulator')
    content = robot_content(manipulator, Scale(1.0, 1.0), 'SoMo.')
    if damping_time_s is not None:
        for hinge in (h for segment in content['segments'] for h in segment['hinges']):
            hinge.pop('friction_torque_n_m', None)
            hinge['damping_n_m_s_rad'] = damping_time_s * hinge['stiffness_n_m_rad']
    return Robot.model_validate(content)


def _rod_run(definition: Path, step_s: float) -> dict[str, Any]:
    """Run the imported rod with damping in place of friction, which SoMo has for want of it."""
    sim = Simulation(_imported(definition, DAMPING_S), _world([9.81, 0.0, 0.0]), time_step_s=step_s)
    sim.step(0.1)  # compiles
    start = time.process_time()
    sim.step(REST_S)
    rtf = REST_S / (time.process_time() - start)
    return {'rtf': rtf, 'tip_m': _tip_m(list(sim.robot.joint_positions())), 'step_s': step_s}


def _ball_run(definition: Path, step_s: float, damping_time_s: float | None) -> dict[str, Any]:
    """Run the imported arm; without a damping time it keeps the dry friction."""
    ball = {
        'name': 'ball',
        'shape': 'sphere',
        'size_m': [0.4],
        'mass_kg': 0.3,
        'position_m': [3.5, 0.75, 0.5],
    }
    world = _world([0.0, 0.0, -10.0], ground={}, objects=[ball])
    sim = Simulation(_imported(definition, damping_time_s), world, time_step_s=step_s)
    driven = [c.name in ('act0_ax1', 'act1_ax1') for c in sim.robot.actuation]
    sim.robot.actuate(BALL_TORQUE_N_M * np.array(driven))
    sim.copy().step(0.05)  # compiles
    start = time.process_time()
    sim.step(BALL_S)
    rtf = BALL_S / (time.process_time() - start)
    mujoco.mj_kinematics(sim.model, sim.data)
    last_hinge_m = sim.data.xanchor[sim.model.dof_jntid[sim.robot.dofs[-1]]].copy()
    return {'rtf': rtf, 'last_hinge_m': last_hinge_m, 'step_s': step_s}
