"""MuJoCo chain of a robot file.

Slides and alternating hinge pairs at cell centres, in the arm's base frame.
"""

import logging

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_description.robot import BellowsSegment, Ring, Robot
from soft_arm_physics.errors import PhysicsError

# Without a handler, MuJoCo writes its warnings to a file in the working directory.
mujoco.set_mju_user_warning(logging.getLogger(__name__).warning)


def chain_rest_length_m(segment: BellowsSegment) -> float:
    """Return a segment's length with all slides at zero [m]: its length at ambient pressure."""
    curve = segment.actuators.curve
    return float(np.interp(0.0, curve.pressure_pa, curve.length_m))


def bellows_of(robot: Robot) -> tuple[BellowsSegment, ...]:
    """Return the robot's segments.

    Raises:
        PhysicsError: If one of them is not a bellows segment.
    """
    segments = tuple(s for s in robot.segments if isinstance(s, BellowsSegment))
    for segment in robot.segments:
        if segment not in segments:
            raise PhysicsError(
                f'robot {robot.name} cannot be simulated: segment {segment.name} is of kind '
                f'{segment.kind}, but the plant simulates bellows only; '
                'use two_module_arm or another robot of bellows'
            )
    return segments


def ring_of(robot: Robot) -> Ring:
    """Return the positioning ring at the robot's tip.

    Raises:
        PhysicsError: If the robot file has none.
    """
    if robot.ring is None:
        raise PhysicsError(
            f'robot {robot.name} cannot be simulated: it has no ring at its tip; add the key ring '
            'to its file'
        )
    return robot.ring


def build_arm(robot: Robot, gravity_m_s2: float, tip_payload_kg: float) -> mujoco.MjSpec:
    """Model the arm as a chain of pseudo-rigid bodies with masses, without visible shapes.

    A segment of N cells has N + 1 slides (the first and last span half a cell) and N hinge pairs.
    Midpoint joints make the chain second order in 1/N; alternating the order of the pair cancels
    the twist that a chain of universal joints builds up. Bodies are `<segment>_<i>`, i = 0..N;
    joints `<segment>_slide_<i>`, `<segment>_x_<i>`, `<segment>_y_<i>`; the site `tip` is the end of
    the last segment. Positive x (y) hinges bend towards +x (+y).

    Raises:
        PhysicsError: If the robot has other segments than bellows or no ring, or if a segment
            has `closing_twist: false`.
    """
    segments, ring = bellows_of(robot), ring_of(robot)
    spec = mujoco.MjSpec()
    R_parent_base = Rotation.from_euler('xyz', robot.base.rpy_deg, degrees=True)
    spec.option.gravity = R_parent_base.inv().apply([0.0, 0.0, -gravity_m_s2])
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    off = mujoco.mjtDisableBit
    spec.option.disableflags |= (
        int(off.mjDSBL_CONTACT) | int(off.mjDSBL_CONSTRAINT) | int(off.mjDSBL_AUTORESET)
    )
    parent, offset = spec.worldbody, 0.0
    for segment in segments:
        if not segment.closing_twist:
            raise PhysicsError(
                f'segment {segment.name}: closing_twist is false, but bellows do not twist the '
                'arm; set it to true'
            )
        parent = _add_segment(parent, offset, segment)
        offset = segment.rigid_length_m
    tip = [0.0, 0.0, offset]
    parent.add_site(name='tip', pos=tip, group=5)
    for mass_kg in (ring.mass_kg, tip_payload_kg):
        _add_mass(parent, mass_kg, ring.radius_m, ring.height_m, offset)
    return spec


def _add_segment(parent: mujoco.MjsBody, offset: float, segment: BellowsSegment) -> mujoco.MjsBody:
    """Append a segment's cells to `parent`; return its last body."""
    n = segment.sections
    cell = chain_rest_length_m(segment) / n
    for i in range(n + 1):
        body = parent.add_body(
            name=f'{segment.name}_{i}', pos=[0.0, 0.0, offset + (cell / 2 if i in (0, n) else cell)]
        )
        body.add_joint(
            name=f'{segment.name}_slide_{i}', type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 0, 1]
        )
        if i < n:
            hinges = [(f'{segment.name}_x_{i}', [0, 1, 0]), (f'{segment.name}_y_{i}', [-1, 0, 0])]
            for name, axis in hinges if i % 2 == 0 else hinges[::-1]:
                body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=axis)
            _add_mass(body, segment.mass_kg / n, segment.actuators.centre_radius_m, cell, 0.0)
        parent, offset = body, 0.0
    disc = segment.disc
    _add_mass(parent, disc.mass_kg, disc.radius_m, disc.thickness_m, -disc.thickness_m / 2)
    return parent


def _add_mass(
    body: mujoco.MjsBody, mass_kg: float, radius_m: float, height_m: float, z_m: float
) -> None:
    if mass_kg > 0:
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CYLINDER,
            size=[radius_m, height_m / 2, 0],
            pos=[0, 0, z_m],
            mass=mass_kg,
            group=5,
        )
