"""Checks of a built model: is it stable with its time step, and does anything overlap?"""

import mujoco
import numpy as np
import scipy.linalg

from soft_arm_physics.errors import PhysicsError

OVERLAP_M = 1e-3  # a start pose may overlap by less: contacts are soft


def check_stability(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Refuse a time step with which the fastest mode of the springs would diverge.

    MuJoCo takes damping implicitly and springs explicitly. A mode of angular frequency w whose
    damping is b times its stiffness is then stable where b >= dt / 2, or w^2 (dt^2 - 2 b dt) < 4
    (the roots of z^2 a - z (1 + a - w^2 dt^2) + 1 with a = 1 + b w^2 dt stay within 1).

    Raises:
        PhysicsError: If a mode is not, or a contact is too fast for the time step; names joint,
            stiffness, mass and time step.
    """
    dt_s, stiffness = model.opt.timestep, _stiffness(model)
    fastest = int(np.argmin(model.geom_solref[:, 0])) if model.ngeom else 0
    if model.ngeom and model.geom_solref[fastest, 0] < 2.0 * dt_s:
        raise PhysicsError(
            f'{body_name(model, fastest)}: contact_time_s {model.geom_solref[fastest, 0]:.3g} s is '
            f'less than two time steps, {2.0 * dt_s:.3g} s; increase it or decrease time_step_s'
        )
    stiff = stiffness > 0.0
    if not stiff.any():
        return
    damping_time_s = float((model.dof_damping[stiff] / stiffness[stiff]).min())
    if damping_time_s >= dt_s / 2:
        return
    mode = _fastest_mode(model, data, stiffness)
    if mode is None:
        return
    dof, frequency = mode
    if frequency**2 * (dt_s**2 - 2.0 * damping_time_s * dt_s) >= 4.0:
        raise PhysicsError(
            f'{_cause(model, dof, frequency, stiffness)}: its damping time {damping_time_s:.3g} s '
            f'is less than half the time step, {dt_s / 2:.3g} s; increase damping_time_s or '
            'decrease time_step_s'
        )


def divergence(model: mujoco.MjModel) -> str:
    """Return what probably made a simulation diverge: stiffness, mass and time step."""
    data = mujoco.MjData(model)
    stiffness = _stiffness(model)
    mode = _fastest_mode(model, data, stiffness)
    step = f'time_step_s {model.opt.timestep:.3g} s'
    if mode is None:
        return f'no joint has a spring; decrease {step}'
    return f'{_cause(model, *mode, stiffness)}; decrease {step} or increase damping_time_s'


def slowest_mode_rad_s(model: mujoco.MjModel, bellows: np.ndarray | float = 0.0) -> float:
    """Lowest angular frequency of the springs [rad/s] in the straight pose, without gravity.

    Args:
        model: The model.
        bellows: Stiffness of bellows (nv, nv) besides the joints' springs: `bellows_stiffness`.

    Raises:
        PhysicsError: If no joint has a spring.
    """
    data, stiffness = mujoco.MjData(model), np.diag(_stiffness(model)) + bellows
    sprung = np.flatnonzero(stiffness.diagonal())
    if not len(sprung):
        raise PhysicsError('no joint has a spring: settle without critical damping')
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    held = np.ix_(sprung, sprung)
    squares = scipy.linalg.eigvalsh(stiffness[held], mass[held], subset_by_index=[0, 0])
    return float(np.sqrt(squares[0]))


def _stiffness(model: mujoco.MjModel) -> np.ndarray:
    """Stiffness at each degree of freedom [N m/rad] or [N/m], (nv,)."""
    found = np.zeros(model.nv)
    one = model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)
    found[model.jnt_dofadr[one]] = model.jnt_stiffness[one]
    return found


def _fastest_mode(
    model: mujoco.MjModel, data: mujoco.MjData, stiffness: np.ndarray
) -> tuple[int, float] | None:
    """Joint that moves most in the fastest mode, and its angular frequency [rad/s]."""
    if not stiffness.any():
        return None
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    last = [model.nv - 1, model.nv - 1]
    squares, shapes = scipy.linalg.eigh(np.diag(stiffness), mass, subset_by_index=last)
    energy = stiffness * shapes[:, 0] ** 2
    return int(np.argmax(energy)), float(np.sqrt(max(squares[0], 0.0)))


def _cause(model: mujoco.MjModel, dof: int, frequency: float, stiffness: np.ndarray) -> str:
    joint = model.dof_jntid[dof]
    body = model.jnt_bodyid[joint]
    slides = model.jnt_type[joint] == int(mujoco.mjtJoint.mjJNT_SLIDE)
    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, joint)
    return (
        f'the fastest mode, {frequency / (2 * np.pi):.4g} Hz, is at joint {name}: stiffness '
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
