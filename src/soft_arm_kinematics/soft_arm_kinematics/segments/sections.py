"""Rigid sections: joint values of R-R-P triples (turn, bend, extend) along a segment (squid, 7-13).

The joints lie on the arc of bend theta, direction phi and length ell. Its N sections are chords of
length ell/N sinc(theta/2N); each one's values are relative to the one before: the first bend is
theta/2N, the others theta/N. The tip's position equals the arc's to rounding (< 1e-12 m). Its
orientation lacks half a section, theta/2N, which the closing bend adds: with it the pose is equal
to rounding too. Modal segments have the chords of their curve.

The source's example has lengths ell/N instead of chords, by which its tip is off: 0.56 mm for 600
mm, N = 10 and a bend of 90 deg. It writes the angle to the chord of the whole arc, theta/2, for
theta: its (45, 30 deg) is a bend of 90 deg here.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_kinematics.configuration import Configuration
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.segments import formulas
from soft_arm_kinematics.segments.modal import ModalModel

BEND_LIMIT_RAD, TURN_LIMIT_RAD = np.pi / 2, 2 * np.pi


def joint_values(shape: Configuration) -> np.ndarray:
    """Joint values of a robot's chain, in the order of `soft_arm_description.urdf.joint_names`.

    Args:
        shape: One configuration of an arm.

    Returns:
        (number of joints,) [rad, rad, m for every section; rad, rad at a segment's end; rad for
        every hinge that is not rigid].

    Raises:
        KinematicsError: If a joint leaves its limits (bend 90 deg, turn 360 deg).
    """
    arm, values = shape.arm, []
    x = np.moveaxis(shape.q, -1, 0)
    for i, segment in enumerate(arm.robot.segments):
        if segment.kind == 'torque':
            angles = [formulas.hinge(arm.chain, i, k, x)[0] for k in range(segment.sections)]
            moving = [hinge.stiffness_n_m_rad is not None for hinge in segment.section_hinges]
            values.append(np.array(angles)[moving])
            continue
        if segment.kind == 'modal':
            values.append(
                curve_sections(
                    ModalModel.of_segment(segment),
                    float(shape.q[arm.columns[i][0]]),
                    segment.phi_rad,
                    segment.sections,
                    segment.closing_twist,
                )
            )
            continue
        values.append(
            arc_sections(
                float(shape.theta_rad[i]),
                float(shape.phi_rad[i]),
                float(shape.ell_m[i]),
                segment.sections,
                segment.closing_twist,
            )
        )
    return np.concatenate(values)


def arc_sections(
    theta_rad: float,
    phi_rad: float,
    ell_m: float,
    count: int,
    closing_twist: bool = True,
) -> np.ndarray:
    """Return the joint values (3 count + 2,) of one arc.

    They are turn [rad], bend [rad] and extension [m] of each section, then closing bend and turn.

    Raises:
        KinematicsError: If a bend exceeds 90 deg or a turn 360 deg in either direction.
    """
    half = theta_rad / (2 * count)
    bends = np.full(count, 2.0 * half)
    bends[0] = half
    lengths = np.full(count, ell_m / count * formulas.bend_functions(half**2)[0])
    return _values(phi_rad, bends, lengths, half, closing_twist)


def curve_sections(
    model: ModalModel, pressure_pa: float, phi_rad: float, count: int, closing_twist: bool = True
) -> np.ndarray:
    """Return joint values as `arc_sections` of a modal bellows at a pressure [Pa]."""
    positions, angles = model.shape(pressure_pa, model.length_m * np.arange(count + 1) / count)
    steps = np.diff(positions, axis=0)
    directions = np.unwrap(np.arctan2(steps[:, 0], steps[:, 1]))
    directions += (
        2 * np.pi * np.round((0.5 * (angles[0] + angles[1]) - directions[0]) / (2 * np.pi))
    )
    return _values(
        phi_rad,
        np.diff(directions, prepend=0.0),
        np.linalg.norm(steps, axis=1),
        angles[-1] - directions[-1],
        closing_twist,
    )


def chain_transforms(values: np.ndarray) -> np.ndarray:
    """Return poses (count + 2, 4, 4) of a segment's sections in its start frame.

    They are the start, the end of each section, and the end after the closing joints.

    Args:
        values: (3 count + 2,) as `arc_sections`.
    """
    *triples, closing_bend, closing_turn = np.asarray(values, dtype=float)
    poses, pose = [np.eye(4)], np.eye(4)
    for turn, bend, extension in np.reshape(triples, (-1, 3)):
        pose = pose.copy()
        pose[:3, :3] = pose[:3, :3] @ Rotation.from_euler('ZY', [turn, bend]).as_matrix()
        pose[:3, 3] += extension * pose[:3, 2]
        poses.append(pose)
    end = pose.copy()
    end[:3, :3] = end[:3, :3] @ Rotation.from_euler('YZ', [closing_bend, closing_turn]).as_matrix()
    return np.array([*poses, end])


def _values(
    phi_rad: float, bends: np.ndarray, lengths: np.ndarray, closing: float, closing_twist: bool
) -> np.ndarray:
    if not np.all(np.abs(bends) <= BEND_LIMIT_RAD) or not abs(phi_rad) <= TURN_LIMIT_RAD:
        raise KinematicsError(
            f'section bend {np.degrees(np.abs(bends).max()):.1f} deg, '
            f'turn {np.degrees(phi_rad):.1f} deg: the limits are 90 and 360 deg; '
            'bend less or use more sections'
        )
    triples = np.stack([np.zeros_like(bends), bends, lengths], axis=1)
    triples[0, 0] = phi_rad
    return np.concatenate([triples.ravel(), [closing, -phi_rad if closing_twist else 0.0]])
