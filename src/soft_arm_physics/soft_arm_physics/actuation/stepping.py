"""The stepping loop: chambers, forces of the actuation and MuJoCo's step, compiled as one.

It holds no lock of the interpreter, so that simulations in several threads run on several cores.
"""

from typing import NamedTuple

import mujoco
import numpy as np

from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_physics.actuation.bellows import BellowsChain, add_bellows_forces
from soft_arm_physics.actuation.chambers import Chambers, step_chambers
from soft_arm_physics.actuation.drag import Drag, add_drag
from soft_arm_physics.actuation.engine import mj_kinematics, mj_step1, mj_step2
from soft_arm_physics.actuation.rest_shape import Rests, add_rest_forces, measure_bends

FASTEST_SANE = 1e6  # m/s or rad/s; a faster joint is a simulation that diverges


class Views(NamedTuple):
    """Arrays of a MuJoCo model and its data, without copies.

    Attributes:
        qpos, qvel, force, damping: Positions (nq,), velocities, applied forces and damping (nv,).
        place: Address in `qpos` of each degree of freedom, (nv,).
        q: Work space: position of each degree of freedom, (nv,).
        com_m, rotation, wrench: Centres of mass (nbody, 3), orientations (nbody, 9), applied forces
            and torques (nbody, 6) of the bodies in the world.
        tree_com_m, velocity: Centres of mass of the bodies with what they carry (nbody, 3), and
            velocities (nbody, 6) as in `add_drag`.
    """

    qpos: np.ndarray
    qvel: np.ndarray
    force: np.ndarray
    damping: np.ndarray
    place: np.ndarray
    q: np.ndarray
    com_m: np.ndarray
    rotation: np.ndarray
    wrench: np.ndarray
    tree_com_m: np.ndarray
    velocity: np.ndarray


class Loads(NamedTuple):
    """Constant loads on points of bodies.

    Attributes:
        body: Bodies, (n,).
        arm_m: Points in the bodies' frames, from their centres of mass [m], (n, 3).
        wrench: Forces [N] and torques [N m] in the world, (n, 6).
    """

    body: np.ndarray
    arm_m: np.ndarray
    wrench: np.ndarray


def places(model: mujoco.MjModel) -> np.ndarray:
    """Return the address in `qpos` of each degree of freedom, (nv,)."""
    place = np.zeros(model.nv, dtype=np.int64)
    for joint in range(model.njnt):
        count = {int(mujoco.mjtJoint.mjJNT_FREE): 6}.get(int(model.jnt_type[joint]), 1)
        first, at = model.jnt_dofadr[joint], model.jnt_qposadr[joint]
        place[first : first + count] = at + np.arange(count)
    return place


def make_views(model: mujoco.MjModel, data: mujoco.MjData, place: np.ndarray) -> Views:
    """Return the arrays that the loop reads and writes; `place` as `places` returns it."""
    return Views(
        data.qpos,
        data.qvel,
        data.qfrc_applied,
        model.dof_damping,
        place,
        np.zeros(model.nv),
        data.xipos,
        data.xmat,
        data.xfrc_applied,
        data.subtree_com,
        data.cvel,
    )


def make_loads(rows: np.ndarray) -> Loads:
    """Return loads from rows of body, point from its centre of mass, force, torque; (n, 10)."""
    rows = rows.reshape(-1, 10)
    return Loads(rows[:, 0].astype(np.int64), rows[:, 1:4].copy(), rows[:, 4:].copy())


@njit(cache=True, nogil=True)
def advance(
    steps: int,
    model: int,
    data: int,
    dt_s: float,
    views: Views,
    chambers: Chambers,
    bellows: BellowsChain,
    rests: Rests,
    loads: Loads,
    drag: Drag,
    sources: np.ndarray,
) -> int:
    """Advance by `steps` steps of `dt_s` [s]; return how many were made before it diverged.

    Args:
        steps: As above.
        model, data: Addresses of MuJoCo's model and data.
        dt_s: The model's time step [s].
        views: Arrays of model and data.
        chambers, bellows, rests, loads: The actuation, in place.
        drag: Drag of the medium.
        sources: Effective pressures [Pa] of all chambers, which are set, and values of the other
            coordinates, (n,).
    """
    n_chambers, n_dof = len(chambers.pressure_pa), len(views.q)
    for step in range(steps):
        for i in range(n_dof):
            views.q[i] = views.qpos[views.place[i]]
            views.force[i] = 0.0
        if n_chambers:
            measure_bends(rests, views.q, views.qvel, chambers.bend_rad, chambers.bend_rate_rad_s)
            step_chambers(dt_s, chambers)
            for i in range(n_chambers):
                sources[i] = chambers.effective_pa[i]
        add_bellows_forces(views.q, sources, bellows, views.force, views.damping)
        add_rest_forces(rests, sources, views.force)
        mj_step1(model, data)
        _add_loads(views, loads, drag)  # it needs poses and velocities of step 1
        mj_step2(model, data)
        for i in range(n_dof):
            if not abs(views.qvel[i]) < FASTEST_SANE:
                return step
    return steps


@njit(cache=True, nogil=True)
def record(
    every: int,
    model: int,
    data: int,
    dt_s: float,
    views: Views,
    chambers: Chambers,
    bellows: BellowsChain,
    rests: Rests,
    loads: Loads,
    drag: Drag,
    sources: np.ndarray,
    valves: np.ndarray,
    values: np.ndarray,
    sites: np.ndarray,
    site_m: np.ndarray,
    site_rotation: np.ndarray,
    qpos: np.ndarray,
    tips: np.ndarray,
) -> int:
    """Run a schedule of actuations; return how many of its steps were made before it diverged.

    Args:
        every: Time steps for each step of the schedule.
        model, data, dt_s, views, chambers, bellows, rests, loads, drag, sources: As in `advance`.
        valves: Targets [Pa] and flow resistances [Pa s/m^3] of the valves, (steps, 2, chambers).
        values: Sources, (steps, n); sources that are chambers are ignored.
        sites: Sites to record, (m,).
        site_m, site_rotation: Positions and orientations of all sites in MuJoCo's data.
        qpos: Result: positions of all joints, (steps, nq).
        tips: Result: position [m] and rotation of the sites, (steps, m, 12).
    """
    n_chambers = len(chambers.target_pa)
    for step in range(len(qpos)):
        chambers.target_pa[:], chambers.resistance_pa_s_m3[:] = valves[step, 0], valves[step, 1]
        sources[n_chambers:] = values[step, n_chambers:]
        done = advance(
            every, model, data, dt_s, views, chambers, bellows, rests, loads, drag, sources
        )
        if done < every:
            return step
        mj_kinematics(model, data)
        qpos[step] = views.qpos
        for k in range(len(sites)):
            tips[step, k, :3] = site_m[sites[k]]
            tips[step, k, 3:] = site_rotation[sites[k]]
    return len(qpos)


@njit(cache=True, nogil=True)
def _add_loads(views: Views, loads: Loads, drag: Drag) -> None:
    for body in loads.body:
        views.wrench[body, :] = 0.0
    for body in drag.body:
        views.wrench[body, :] = 0.0
    add_drag(drag, views.com_m, views.rotation, views.tree_com_m, views.velocity, views.wrench)
    for i in range(len(loads.body)):
        body = loads.body[i]
        R, f, arm = views.rotation[body], loads.wrench[i], loads.arm_m[i]
        x = R[0] * arm[0] + R[1] * arm[1] + R[2] * arm[2]
        y = R[3] * arm[0] + R[4] * arm[1] + R[5] * arm[2]
        z = R[6] * arm[0] + R[7] * arm[1] + R[8] * arm[2]
        for k in range(6):
            views.wrench[body, k] += f[k]
        views.wrench[body, 3] += y * f[2] - z * f[1]
        views.wrench[body, 4] += z * f[0] - x * f[2]
        views.wrench[body, 5] += x * f[1] - y * f[0]
