"""Robots and what surrounds them as one MuJoCo model."""

import logging

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_description.robot import Robot
from soft_arm_physics.model.robot import RobotBodies, add_robot

# Without a handler, MuJoCo writes its warnings to a file in the working directory.
mujoco.set_mju_user_warning(logging.getLogger(__name__).warning)

MEMORY_BYTES = 64 << 20  # of MuJoCo's arena: its error for one that is full would end the process


def new_spec(time_step_s: float, gravity_m_s2: tuple[float, float, float]) -> mujoco.MjSpec:
    """Return an empty model with the options that every simulation has."""
    spec = mujoco.MjSpec()
    spec.memory = MEMORY_BYTES
    spec.option.timestep, spec.option.gravity = time_step_s, gravity_m_s2
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    return spec


def pose(position_m: tuple[float, ...], rpy_deg: tuple[float, ...]) -> np.ndarray:
    """T (4, 4) of a position [m] and roll, pitch and yaw about fixed axes [deg]."""
    T = np.eye(4)
    T[:3, :3] = Rotation.from_euler('xyz', rpy_deg, degrees=True).as_matrix()
    T[:3, 3] = position_m
    return T


def build_robot(robot: Robot, time_step_s: float) -> tuple[mujoco.MjSpec, list[RobotBodies]]:
    """Build a world of one robot and gravity."""
    spec = new_spec(time_step_s, (0.0, 0.0, -9.81))
    base = robot.base
    bodies = add_robot(
        spec,
        spec.worldbody,
        robot,
        robot.name,
        T_parent_base=pose(base.position_m, base.rpy_deg),
    )
    return spec, [bodies]
