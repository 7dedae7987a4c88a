"""Which time steps are refused."""

import mujoco
import numpy as np
import pytest

from physics_testing import hinged
from soft_arm_physics import PhysicsError, Simulation
from soft_arm_physics.model.checks import check_stability


def chain(stiffness, damping, dt_s):
    """A straight chain of hinges about y, without gravity."""
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.gravity = dt_s, [0, 0, 0]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    body = spec.worldbody
    for i, (k, d) in enumerate(zip(stiffness, damping, strict=True)):
        body = body.add_body(name=f'link_{i}', pos=[0, 0, 0.1 if i else 0])
        joint = body.add_joint(name=f'joint_{i}', axis=[0, 1, 0])
        joint.stiffness, joint.damping = [k, 0, 0], [d, 0, 0]
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=[0.01, 0.04, 0], pos=[0, 0, 0.05], contype=0
        )
    return spec.compile()


def growth(model):
    """Largest factor by which a motion grows in a time step of MuJoCo."""
    data, n = mujoco.MjData(model), 2 * model.nv
    transition = np.zeros((n, n))
    mujoco.mjd_transitionFD(model, data, 1e-6, True, transition, None, None, None)
    return np.abs(np.linalg.eigvals(transition)).max()


def test_what_mujoco_cannot_integrate_is_refused_and_nothing_else():
    rng, grown = np.random.default_rng(3), []
    for _ in range(60):
        stiffness = 10.0 ** rng.uniform(-1.0, 3.0, 4)
        model = chain(stiffness, stiffness * 10.0 ** rng.uniform(-6.0, -2.0, 4), 2e-3)
        grown.append(growth(model))
        if grown[-1] > 1.001:
            with pytest.raises(PhysicsError, match='is less than half the time step'):
                check_stability(model, mujoco.MjData(model))
        elif grown[-1] < 1.0:
            check_stability(model, mujoco.MjData(model))
    assert 10 < np.sum(np.array(grown) > 1.001) < 50


def test_a_joint_without_damping_beside_a_stiff_one_with_damping_runs():
    hinge = {'torque_limits_n_m': [-0.1, 0.1]}
    hinges = [
        {'name': 'x', 'axis': [1, 0, 0], 'stiffness_n_m_rad': 0.05, 'damping_n_m_s_rad': 0.0},
        {'name': 'y', 'axis': [0, 1, 0], 'stiffness_n_m_rad': 50.0, 'damping_n_m_s_rad': 1.0},
    ]
    sim = Simulation(hinged(hinges=[hinge | each for each in hinges]))
    sim.apply_load('hinged', 'tip', (0.05, 0.05, 0.0))
    sim.step(2.0)
    assert np.abs(sim.robot.joint_positions()).max() < 1.0
