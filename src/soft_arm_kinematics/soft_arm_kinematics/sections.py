"""Rigid sections: joint values of the chain in a robot's URDF that make it follow the arcs.

An arc cut into N equal parts is N chords of length ell/N sinc(theta / 2N): the first is turned by phi and bent by theta/2N from the
start, each next one is bent by theta/N from the one before, and the end is bent by theta/2N once more (and turned back by -phi where
the convention closes the twist). With these lengths and angles the chain's tip equals the arc's exactly, in position and orientation.
"""

import numpy as np

from soft_arm_kinematics import pcc
from soft_arm_kinematics.arm import Arm


def joint_values(arm: Arm, lengths_m: np.ndarray) -> np.ndarray:
    """Joint values [rad, m] of one length vector (n,), in the order of `soft_arm_description.urdf.joint_names`."""
    theta, phi, ell = arm.polar(lengths_m)
    values = []
    for i, segment in enumerate(arm.robot.segments):
        count = segment.sections
        half = theta[i] / (2 * count)
        triples = np.zeros((count, 3))
        triples[0, 0] = phi[i]
        triples[:, 1] = 2.0 * half
        triples[0, 1] = half
        triples[:, 2] = ell[i] / count * pcc.bend_functions(half**2)[0]
        values.append(triples.ravel())
        values.append([half, -phi[i] if segment.closing_twist else 0.0])
    return np.concatenate(values)
