"""The arm paper's three principles for choosing among solutions, as penalties: lower is better."""

from collections.abc import Sequence

import numpy as np

from soft_arm_kinematics.arm import Arm, BellowsArm
from soft_arm_kinematics.segments import formulas, pcc

DISTINCT_SHARE = 0.1  # of a coordinate's range: nearer solutions look the same


def pressure_shares(arm: Arm, q: np.ndarray) -> np.ndarray:
    """Return each coordinate's share of its pressure range, (..., n); NaN where it is none."""
    q = np.asarray(q, dtype=float)
    if isinstance(arm, BellowsArm):
        low, high = arm.pressure_limits_pa
        return (arm.pressures(q) - low) / (high - low)
    low, high = arm.q_limits
    shares = (q - low) / (high - low)
    for segment, columns in zip(arm.robot.segments, arm.columns, strict=True):
        if segment.kind == 'bellows':
            curve, limits_pa = segment.actuators.curve, segment.actuators.pressure_limits_pa
            pressures_pa = np.interp(q[..., columns], curve.length_m, curve.pressure_pa)
            shares[..., columns] = (pressures_pa - limits_pa[0]) / np.diff(limits_pa)
        elif not segment.chambers:
            shares[..., columns] = np.nan
    return shares


def unused_vacuum(arm: Arm, q: np.ndarray) -> np.ndarray:
    """Return the mean of `pressure_shares` over the coordinates that have one, (...); else 0."""
    shares = pressure_shares(arm, q)
    pressed = ~np.isnan(shares)
    return np.where(pressed, shares, 0.0).sum(axis=-1) / np.maximum(pressed.sum(axis=-1), 1)


def principle_scores(arm: Arm, q: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Unweighted scores of the three principles.

    Args:
        arm: The arm.
        q: (k, n) solutions; lengths [m] for bellows.
        present: (n,) where the arm is now.

    Returns:
        (k, 3):
        0. angle change [rad]: change of each segment's bending vector; the last of s segments
           counts 1/s, the first counts 1, so that joints near the tip move first.
        1. bend growth [rad]: sum over the segments of the growth of theta; negative where the arm
           straightens.
        2. stiffness [1]: how far neighbouring bending planes differ (0 where equal or one segment
           is straight, 2 where opposite and equally bent), plus the share of the pressure range
           that lies between the chambers and full vacuum.
    """
    present = arm.at(present).arcs[:, :2]
    change, growth, planes = formulas.ik_penalties(arm.chain, np.transpose(q), present)
    return np.stack([change, growth, planes + unused_vacuum(arm, q)], axis=-1)


def distinct(arm: Arm, q: np.ndarray, count: int) -> list[int]:
    """Choose at most `count` rows of q (k, n): the first, then those that differ enough."""
    shares = q / np.diff(arm.q_limits, axis=0)[0]
    rows: list[int] = []
    for row, share in enumerate(shares):
        if len(rows) < count and all(
            np.abs(share - shares[other]).max() >= DISTINCT_SHARE for other in rows
        ):
            rows.append(row)
    return rows


def explanations(arm: Arm, q: np.ndarray, present: np.ndarray) -> list[str]:
    """One sentence for each solution (k, n) that says in the principles' terms what it does."""
    arcs, present = arm.at(q).arcs, arm.at(present).arcs
    theta, phi, _ = pcc.polar_from_arcs(arcs)
    changes_deg = np.rad2deg(np.linalg.norm((arcs - present)[..., :2], axis=-1))
    growths_deg = np.rad2deg(np.sum(theta - pcc.polar_from_arcs(present)[0], axis=-1))
    planes_deg = np.rad2deg(np.abs(pcc.wrap(np.diff(phi, axis=-1)))).max(axis=-1, initial=0.0)
    used = 1.0 - unused_vacuum(arm, q)
    vacuums = [
        f'; {100 * share:.0f} % of the vacuum is used' if arm.robot.chambers else ''
        for share in used
    ]
    return [
        f'Bends {_each(arm.robot.segment_names, change_deg)}; '
        f'total bend {"grows" if growth_deg > 0 else "shrinks"} by {abs(growth_deg):.1f} deg; '
        f'planes differ by at most {plane_deg:.0f} deg{vacuum}.'
        for change_deg, growth_deg, plane_deg, vacuum in zip(
            changes_deg, growths_deg, planes_deg, vacuums, strict=True
        )
    ]


def _each(names: Sequence[str], angles_deg: np.ndarray) -> str:
    return ', '.join(f'{n} by {deg:.1f} deg' for n, deg in zip(names, angles_deg, strict=True))
