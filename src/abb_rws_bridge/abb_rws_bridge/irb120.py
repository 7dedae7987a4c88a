"""ABB IRB 120-3/0.58: geometry, limits, speeds, forward kinematics, URDF.

Sources: ABB, data sheet ROB0149EN_D, 2012; "Product specification IRB 120", 3HAC035960. Base frame:
z up, x forwards; `tool0` is the flange frame, z outwards.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from abb_rws_bridge.errors import ConfigurationError

JOINT_NAMES = tuple(f'joint_{i}' for i in range(1, 7))
AXES = np.array([[0, 0, 1], [0, 1, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0]], dtype=float)
ORIGINS_M = np.array(
    [[0, 0, 0], [0, 0, 0.290], [0, 0, 0.270], [0, 0, 0.070], [0.302, 0, 0], [0.072, 0, 0]]
)
LIMITS_RAD = np.deg2rad(
    [
        [-165.0, 165.0],
        [-110.0, 110.0],
        [-110.0, 70.0],
        [-160.0, 160.0],
        [-120.0, 120.0],
        [-400.0, 400.0],
    ]
)
MAX_SPEED_RAD_S = np.deg2rad([250.0, 250.0, 250.0, 320.0, 320.0, 420.0])
MASSES_KG = (6.215, 3.067, 3.909, 2.944, 1.328, 0.546, 0.137)
"""Masses of the base and links 1 to 6 [kg]."""
# RViz renders links without material in red
_MATERIAL = '<material name="abb_white"><color rgba="0.93 0.93 0.91 1"/></material>'
_FLANGE_TO_TOOL0_XYZW = np.array([0.0, math.sqrt(0.5), 0.0, math.sqrt(0.5)])  # Ry(90 deg)


def link_transforms(joints_rad: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the transforms from each frame to the next: base, links 1 to 6, `tool0`.

    Args:
        joints_rad: Joint angles [rad], shape (6,); limits are not checked.

    Returns:
        Translation [m], shape (3,), and quaternion x y z w with w >= 0, of each transform.
    """
    half_rad = np.asarray(joints_rad, dtype=float)[:, None] / 2
    q_xyzw = np.hstack([np.sin(half_rad) * AXES, np.cos(half_rad)])
    q_xyzw[q_xyzw[:, 3] < 0] *= -1
    return [*zip(ORIGINS_M, q_xyzw, strict=True), (np.zeros(3), _FLANGE_TO_TOOL0_XYZW)]


def check_joints(joints_rad: ArrayLike) -> np.ndarray:
    """Return joint angles [rad], shape (6,), after a check of the limits.

    Raises:
        ConfigurationError: If there are not six, or one is not finite or outside its limit.
    """
    joints = np.asarray(joints_rad, dtype=float)
    if joints.shape != (6,):
        raise ConfigurationError(f'{joints.size} joint angles: the IRB 120 has 6')
    for name, value, (low, high) in zip(JOINT_NAMES, joints, LIMITS_RAD, strict=True):
        if not low <= value <= high:  # false for NaN too
            low_deg, high_deg = math.degrees(low), math.degrees(high)
            raise ConfigurationError(
                f'{name} = {math.degrees(value):.2f} deg is outside [{low_deg:.0f}, '
                f'{high_deg:.0f}] deg: nothing was sent'
            )
    return joints


def urdf(prefix: str = 'abb_') -> str:
    """Return the URDF of the robot, with cylindrical links.

    Links: `<prefix>base_link`, `<prefix>link_1..6`, `<prefix>tool0`.
    """
    links = [f'{prefix}base_link', *(f'{prefix}link_{i}' for i in range(1, 7))]
    ends_m = [*ORIGINS_M[1:], np.zeros(3)]
    parts = [
        '<?xml version="1.0"?>',
        '<robot name="irb120_3_58">',
        _link(links[0], MASSES_KG[0], np.array([0.0, 0.0, 0.1])),
    ]
    for i, name in enumerate(JOINT_NAMES):
        low, high = LIMITS_RAD[i]
        parts.append(_link(links[i + 1], MASSES_KG[i + 1], ends_m[i]))
        parts.append(
            f'  <joint name="{prefix}{name}" type="revolute">\n'
            f'    <parent link="{links[i]}"/><child link="{links[i + 1]}"/>\n'
            f'    <origin xyz="{_numbers(ORIGINS_M[i])}" rpy="0 0 0"/><axis '
            f'xyz="{_numbers(AXES[i])}"/>\n'
            f'    <limit lower="{low:.6f}" upper="{high:.6f}" '
            f'velocity="{MAX_SPEED_RAD_S[i]:.6f}" effort="0"/>\n'
            '  </joint>'
        )
    parts += [
        f'  <link name="{prefix}tool0"/>',
        f'  <joint name="{prefix}flange_to_tool0" type="fixed">\n    <parent '
        f'link="{links[-1]}"/><child link="{prefix}tool0"/>\n'
        f'    <origin xyz="0 0 0" rpy="0 {math.pi / 2:.9f} 0"/>\n  </joint>',
        '</robot>',
    ]
    return '\n'.join(parts) + '\n'


def _link(name: str, mass_kg: float, end_m: np.ndarray) -> str:
    length_m = max(float(np.linalg.norm(end_m)), 0.02)
    pitch = math.pi / 2 if end_m[0] else 0.0
    radius_m = 0.06 if length_m > 0.05 else 0.03
    across = mass_kg * (3 * radius_m**2 + length_m**2) / 12
    origin = f'<origin xyz="{_numbers(end_m / 2)}" rpy="0 {pitch:.9f} 0"/>'
    shape = f'<geometry><cylinder radius="{radius_m}" length="{length_m:.4f}"/></geometry>'
    return (
        f'  <link name="{name}">\n    <visual>{origin}{shape}{_MATERIAL}</visual>\n    '
        f'<collision>{origin}{shape}</collision>\n'
        f'    <inertial>{origin}<mass value="{mass_kg}"/><inertia ixx="{across:.6f}" '
        f'iyy="{across:.6f}" '
        f'izz="{mass_kg * radius_m**2 / 2:.6f}" ixy="0" ixz="0" iyz="0"/></inertial>\n  </link>'
    )


def _numbers(vector: np.ndarray) -> str:
    return ' '.join(f'{v:g}' for v in vector)
