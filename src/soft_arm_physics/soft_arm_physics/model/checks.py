"""Checks of a built model: is it stable with its time step, and does anything overlap?"""

import mujoco
import numpy as np
import scipy.linalg

from soft_arm_physics.errors import PhysicsError

OVERLAP_M = 1e-3  # a start pose may overlap by less: contacts are soft


def check_stability(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Refuse a time step with which a mode of the springs would diverge.

    MuJoCo takes damping implicitly and springs explicitly. With inertia M, damping D, stiffness K:

        (M + dt D) (v' - v) = -dt (K q + D v),  q' = q + dt v'

    A motion q_k = z^k x has z^2 (m + dt d) - z (2 m + dt d - dt^2 k) + m = 0, where m is x^H M x,
    and so on. Its roots stay within 1 where dt^2 k <= 4 m + 2 dt d. If some x violates this, then
    4 M + 2 dt D - dt^2 K is not positive semidefinite, and there is a motion with a real z < -1.

    Raises:
        PhysicsError: If a mode is not stable, or a contact is too fast for the time step; names
            joint, stiffness, mass and time step.
    """
    dt_s, stiffness, damping = model.opt.timestep, _stiffness(model), model.dof_damping
    fastest = int(np.argmin(model.geom_solref[:, 0])) if model.ngeom else 0
    if model.ngeom and model.geom_solref[fastest, 0] < 2.0 * dt_s:
        raise PhysicsError(
            f'{body_name(model, fastest)}: contact_time_s {model.geom_solref[fastest, 0]:.3g} s is '
            f'less than two time steps, {2.0 * dt_s:.3g} s; increase it or decrease time_step_s'
        )
    if not stiffness.any():
        return
    mass = _mass(model, data)
    ratio, shape = _last_mode(stiffness, 4.0 * mass + 2.0 * dt_s * np.diag(damping))
    if dt_s**2 * ratio > 1.0:
        damping_time_s = damping @ shape**2 / (stiffness @ shape**2)
        raise PhysicsError(
            f'{_cause(model, "least stable", shape, stiffness, mass)}: its damping time '
            f'{damping_time_s:.3g} s is less than half the time step, {dt_s / 2:.3g} s; increase '
            'damping_time_s or decrease time_step_s'
        )


def divergence(model: mujoco.MjModel) -> str:
    """Return what probably made a simulation diverge: stiffness, mass and time step."""
    stiffness, step = _stiffness(model), f'time_step_s {model.opt.timestep:.3g} s'
    if not stiffness.any():
        return f'no joint has a spring; decrease {step}'
    mass = _mass(model, mujoco.MjData(model))
    _, shape = _last_mode(stiffness, mass)
    cause = _cause(model, 'fastest', shape, stiffness, mass)
    return f'{cause}; decrease {step} or increase damping_time_s'


def slowest_mode_rad_s(model: mujoco.MjModel, bellows: np.ndarray | float = 0.0) -> float:
    """Lowest angular frequency of the springs [rad/s] in the straight pose, without gravity.

    Args:
        model: The model.
        bellows: Stiffness of bellows (nv, nv), added to the joints' springs: `bellows_stiffness`.

    Raises:
        PhysicsError: If no joint has a spring.
    """
    data, stiffness = mujoco.MjData(model), np.diag(_stiffness(model)) + bellows
    sprung = np.flatnonzero(stiffness.diagonal())
    if not len(sprung):
        raise PhysicsError('no joint has a spring: settle without critical damping')
    mass = _mass(model, data)
    held = np.ix_(sprung, sprung)
    squares = scipy.linalg.eigvalsh(stiffness[held], mass[held], subset_by_index=[0, 0])
    return float(np.sqrt(squares[0]))


def _stiffness(model: mujoco.MjModel) -> np.ndarray:
    """Stiffness at each degree of freedom [N m/rad] or [N/m], (nv,)."""
    found = np.zeros(model.nv)
    one = model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)
    found[model.jnt_dofadr[one]] = model.jnt_stiffness[one]
    return found


def _mass(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Mass matrix (nv, nv)."""
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    return mass


def _last_mode(stiffness: np.ndarray, against: np.ndarray) -> tuple[float, np.ndarray]:
    """Largest ratio of x' K x to that of another matrix (nv, nv), and its x (nv,)."""
    last = [len(stiffness) - 1] * 2
    ratios, shapes = scipy.linalg.eigh(np.diag(stiffness), against, subset_by_index=last)
    return float(ratios[0]), shapes[:, 0]


def _cause(
    model: mujoco.MjModel, which: str, shape: np.ndarray, stiffness: np.ndarray, mass: np.ndarray
) -> str:
    """Describe a mode by the joint with the largest share of its energy."""
    energies = stiffness * shape**2
    dof, frequency = int(np.argmax(energies)), np.sqrt(energies.sum() / (shape @ mass @ shape))
    joint = model.dof_jntid[dof]
    body = model.jnt_bodyid[joint]
    slides = model.jnt_type[joint] == int(mujoco.mjtJoint.mjJNT_SLIDE)
    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, joint)
    return (
        f'the {which} mode, {frequency / (2 * np.pi):.4g} Hz, is at joint {name}: stiffness '
        f'{stiffness[dof]:.4g} {"N/m" if slides else "N m/rad"}, mass of its link '
        f'{model.body_mass[body]:.3g} kg, time step {model.opt.timestep:.3g} s'
    )


def check_overlaps(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Refuse a start pose in which bodies overlap.

    Raises:
        PhysicsError: With the names of the two that overlap most, and by how much.
    """
    mujoco.mj_forward(model, data)
    if data.ncon == 0:
        return
    worst = int(np.argmin(data.contact.dist[: data.ncon]))
    depth_m = -float(data.contact.dist[worst])
    if depth_m > OVERLAP_M:
        a, b = (body_name(model, geom) for geom in data.contact.geom[worst])
        raise PhysicsError(
            f'{a} and {b} overlap by {depth_m * 1e3:.3g} mm in the start pose: move one of them '
            'in the world or assembly file'
        )


def body_name(model: mujoco.MjModel, geom: int) -> str:
    """Name of the body that has a shape; the ground's is `ground`."""
    body = model.geom_bodyid[geom]
    if body == 0:
        return mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, geom) or 'world'
    return mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, body)
