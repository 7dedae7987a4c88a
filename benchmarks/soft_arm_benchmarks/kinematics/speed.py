"""Speed of forward kinematics and of the workspace table; error of the Jacobians."""

import importlib.util
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from soft_arm_benchmarks.kinematics.complex_model import complex_step_twist_jacobian
from soft_arm_description.robot import load_robot, shipped_robots
from soft_arm_kinematics.arm import Arm, BellowsArm, make_arm
from soft_arm_kinematics.backends.fast_fk import fk_batch
from soft_arm_kinematics.ik.refine import twist_jacobian_batch
from soft_arm_kinematics.workspace.table import build_table

POSES = 1_000_000
NUMPY_POSES = 100_000
TABLE_POINTS = 1_000_000


def random_q(arm: Arm, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw uniform q within the limits, shape (count, n)."""
    low, high = arm.q_limits
    return rng.uniform(low, high, (count, arm.n_actuators))


def best_s(action: Callable[[], object], repeats: int) -> float:
    """Return the shortest time of an action [s]; other load only adds time."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def numpy_products(arm: BellowsArm, lengths_m: np.ndarray) -> np.ndarray:
    """Return poses (m, 4, 4) of lengths (m, n) by the five 4x4 factors per module of the paper."""
    shape = arm.at(lengths_m)
    theta, phi, ell = shape.theta_rad, shape.phi_rad, shape.ell_m
    pose = np.broadcast_to(np.eye(4), (len(lengths_m), 4, 4))
    for i in range(arm.n_segments):
        half = theta[:, i] / 2.0
        chord = np.zeros((len(lengths_m), 4, 4)) + np.eye(4)
        chord[:, 2, 3] = ell[:, i] * np.sinc(half / np.pi)
        for factor in (
            _turn(phi[:, i], 0, 1),
            _turn(half, 2, 0),
            chord,
            _turn(half, 2, 0),
            _turn(-phi[:, i], 0, 1),
        ):
            pose = pose @ factor
    return pose


def _turn(angle: np.ndarray, first: int, second: int) -> np.ndarray:
    transforms = np.zeros((len(angle), 4, 4)) + np.eye(4)
    cos, sin = np.cos(angle), np.sin(angle)
    transforms[:, first, first], transforms[:, first, second] = cos, -sin
    transforms[:, second, first], transforms[:, second, second] = sin, cos
    return transforms


def fk_figures(arm: BellowsArm) -> dict[str, float]:
    """Return the speed of compiled forward kinematics and of NumPy products, and their difference.

    `fk_ratio_memory` is the rate of compiled poses over the rate at which all cores write the same
    bytes to memory, 128 per pose.
    """
    lengths_m = random_q(arm, POSES, np.random.default_rng(0))
    out = np.zeros((POSES, 4, 4))
    fk_batch(arm, lengths_m, out)
    few = lengths_m[:NUMPY_POSES]
    plain_s, fast_s, written_s = [], [], []
    for _ in range(4):  # alternating, under the same load of the machine
        plain_s.append(best_s(lambda: numpy_products(arm, few), 1) / NUMPY_POSES)
        fast_s.append(best_s(lambda: fk_batch(arm, lengths_m, out), 5) / POSES)
        written_s.append(best_s(lambda: _write(out), 5) / POSES)
    fk_batch(arm, lengths_m, out)
    error_m = float(np.abs(out[:NUMPY_POSES] - numpy_products(arm, few)).max())
    return {
        'fk_poses_per_s': 1.0 / min(fast_s),
        'fk_ratio_numpy': min(plain_s) / min(fast_s),
        'fk_ratio_memory': min(written_s) / min(fast_s),
        'fk_numpy_poses_per_s': 1.0 / min(plain_s),
        'fk_difference_max': error_m,
    }


def _write(poses: np.ndarray) -> None:
    """Fill an array on all cores."""
    cores = os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(lambda part: part.fill(1.0), np.array_split(poses, cores)))


def torch_figures(arm: BellowsArm) -> dict[str, float | None]:
    """Return poses per second on the GPU, and their difference from the compiled ones.

    The figures are None without a GPU.
    """
    figures: dict[str, float | None] = {
        'torch_fk_poses_per_s': None,
        'torch_fk_difference_max': None,
    }
    if importlib.util.find_spec('torch') is None:
        return figures
    import torch

    if not torch.cuda.is_available():
        return figures
    from soft_arm_kinematics.backends import torch_batch

    lengths_m = random_q(arm, POSES, np.random.default_rng(0))
    lengths = torch_batch.tensor(lengths_m, 'cuda')

    def fk() -> torch.Tensor:
        poses = torch_batch.fk(arm.chain, lengths)
        torch.cuda.synchronize()
        return poses

    fk()
    return {
        'torch_fk_poses_per_s': POSES / best_s(fk, 5),
        'torch_fk_difference_max': float(
            np.abs(fk_batch(arm, lengths_m) - fk().cpu().numpy()).max()
        ),
    }


def table_figures(arm: BellowsArm) -> dict[str, float]:
    """Return the time to build a table of 1e6 poses."""
    build_table(arm, 1000)  # loads the compiled code
    return {'table_build_s': best_s(lambda: build_table(arm, TABLE_POINTS), 2)}


def jacobian_figures(arm: BellowsArm) -> dict[str, float]:
    """Return the largest relative errors of the Jacobians over random and straight poses.

    `jacobian_error_max` covers the Jacobians by lengths and by pressures against central
    differences of the same model and, for every shipped robot, the plain and the compiled Jacobian
    against complex steps through the second model. `jacobian_complex_error_max` is only the latter.
    """
    rng = np.random.default_rng(3)
    lengths_m = random_q(arm, 400, rng)
    lengths_m[:100] = 0.1 + 10.0 ** rng.uniform(-12, -3, (100, 1)) * rng.standard_normal(
        (100, arm.n_actuators)
    )
    lengths_m[0] = 0.1
    low_pa, high_pa = arm.pressure_limits_pa * (1.0 - 1e-3)  # leaves margin for the steps
    inside_pa = np.clip(arm.pressures(lengths_m), low_pa, high_pa)
    by_pressures = (
        arm.at(arm.lengths(inside_pa)).twist_jacobian * arm.curve.slopes(inside_pa)[:, None, :]
    )
    by_differences = max(
        _worst(lambda x: arm.at(x).tip_pose, lengths_m, twist_jacobian_batch(arm, lengths_m), 3e-5),
        _worst(lambda p: arm.at(arm.lengths(p)).tip_pose, inside_pa, by_pressures, 30.0),
    )
    by_complex_step = max(
        complex_step_error(a, 100)
        for a in [arm, *(make_arm(load_robot(name)) for name in shipped_robots())]
    )
    return {
        'jacobian_error_max': max(by_complex_step, by_differences),
        'jacobian_complex_error_max': by_complex_step,
    }


def complex_step_error(arm: Arm, poses: int) -> float:
    """Return the largest relative error of both twist Jacobians against complex steps."""
    rng = np.random.default_rng(4)
    q = random_q(arm, poses, rng)
    has_twists = all(segment.closing_twist for segment in arm.robot.segments)
    # Without the twist, rounding decides the bending direction of almost straight bellows.
    smallest = -12 if has_twists else -5
    share = 10.0 ** rng.uniform(smallest, -3, (poses // 4, 1)) * rng.standard_normal(
        (poses // 4, arm.n_actuators)
    )
    q[: poses // 4] = np.clip(arm.rest_q + share * np.diff(arm.q_limits, axis=0), *arm.q_limits)
    if has_twists:
        q[0] = arm.rest_q  # straight
    reference = np.stack([complex_step_twist_jacobian(arm, x) for x in q])
    return max(
        _relative(found, reference)
        for found in (arm.at(q).twist_jacobian, twist_jacobian_batch(arm, q))
    )


def _worst(
    pose_of: Callable[[np.ndarray], np.ndarray], x: np.ndarray, analytic: np.ndarray, step: float
) -> float:
    """Return the largest relative error of twist Jacobians (m, 6, n) against differences."""
    rotation, numeric = pose_of(x)[:, :3, :3], np.empty_like(analytic)
    for k, unit in enumerate(np.eye(x.shape[1])):
        shift = step * unit
        near = (pose_of(x + shift) - pose_of(x - shift)) / (2 * step)
        far = (pose_of(x + 2 * shift) - pose_of(x - 2 * shift)) / (4 * step)
        rate = (4.0 * near - far) / 3.0  # fourth order
        spin = rate[:, :3, :3] @ rotation.swapaxes(1, 2)
        numeric[:, :3, k] = rate[:, :3, 3]
        numeric[:, 3:, k] = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=-1)
    return _relative(analytic, numeric)


def _relative(found: np.ndarray, reference: np.ndarray) -> float:
    """Return the largest error relative to the largest linear or angular entry of its Jacobian."""
    errors = np.abs(found - reference).reshape(len(found), 2, -1).max(axis=-1)
    sizes = np.abs(reference).reshape(len(found), 2, -1).max(axis=-1)
    return float((errors / sizes).max())
