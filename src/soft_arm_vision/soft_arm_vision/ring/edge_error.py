"""Pose information in a mask's contour whose errors are correlated along it.

The error of a contour point is modelled as a Gaussian process along the contour. Its fast part is
the rounding to pixels. Its slow part (shading, blur, a background of the ring's colour, the coarse
grid of a network) correlates over tens of pixels of one side, and to a smaller degree all round,
where a mask is too large or too small (mask bias). The size of the slow part differs from frame to
frame: each size is weighted by its marginal likelihood, with the pose integrated out (Rasmussen &
Williams, Gaussian Processes for Machine Learning, 2006, section 5.4.1), so that its uncertainty
enters the covariance. Arm-adjacent edges err by pixels, together, since neither depth nor contrast
separates ring and arm there.
"""

# mypy: disable-error-code="no-untyped-def,assignment"
# Numba infers the types of the compiled functions.

from dataclasses import dataclass

import numpy as np

from soft_arm_kinematics.backends.machine_code import njit

CELL_PX = (
    8.0  # edge points this close, on one side, make one datum; further apart where there are many
)
MANY_POINTS = 300
ROUNDING_PX2 = 1.0 / 12.0  # variance of one pixel's rounding
# What follows describes residuals at the true pose, of network masks on scenes of the training
# domain.
STRETCH_PX = 50.0  # over which a mask goes wrong alike
ALL_ROUND_SHARE = 0.2  # of the slow part's variance that is alike all round
SIZES_PX = 0.05 * 2.0 ** np.arange(7)  # of the slow part that are thought possible: 0.05 .. 3.2
# The distribution is log-normal: two masks in three are within a factor of two.
USUAL_SIZE_PX = 0.6
SIZE_SPREAD = np.log(2.0)
# Error of arm-adjacent edges; one such part is common to all of them, another to a stretch of them.
ARM_ADJACENT_PX = 2.0
TAIL_CUT = 4.7  # Tukey's, in standard deviations; a narrower one would hold a pose where it is
CUT_LIMITS_PX = (3.0, 6.0)
REJECTED = 3.5  # standard deviations that an edge point of something else counts for


@dataclass(frozen=True)
class EdgePosterior:
    """Step and covariance of the unknowns, averaged over the sizes of the slow error.

    Attributes:
        step: Step of the unknowns, shape (5,).
        covariance: Covariance of the unknowns, shape (5, 5).
        size_px: Mean size of the slow error.
        log_evidence: Logarithm of the evidence of all data, up to a constant.
    """

    step: np.ndarray
    covariance: np.ndarray
    size_px: float
    log_evidence: float


def edge_posterior(
    hessian: np.ndarray,
    gradient: np.ndarray,
    pixels: np.ndarray,
    normals: np.ndarray,
    arm_adjacent: np.ndarray,
    residual_px: np.ndarray,
    jacobian: np.ndarray,
    weight: np.ndarray,
) -> EdgePosterior:
    """Estimate the unknowns from the wall's normal equations and from the outline's residuals.

    Args:
        hessian, gradient: Normal equations of the wall, (5, 5) and (5,); they hold no information
            on the third unknown.
        pixels: Edge points, shape (n, 2).
        normals: Outward normals of the outline in the image, shape (n, 2).
        arm_adjacent: Where the arm is beside the edge, shape (n,), bool.
        residual_px: Distances from the outline, positive outside, shape (n,).
        jacobian: Derivative of the model's edge by the unknowns [px], shape (n, 5).
        weight: Weights of the points, 0..1, shape (n,).
    """
    posterior = _posterior(
        hessian,
        gradient,
        pixels,
        normals,
        arm_adjacent,
        residual_px,
        np.ascontiguousarray(jacobian),
        weight,
    )
    return EdgePosterior(*posterior)


@njit(cache=True, nogil=True)
def _posterior(hessian, gradient, pixels, normals, arm_adjacent, residual_px, jacobian, weight):
    """Return the values of `EdgePosterior`."""
    cell_px = CELL_PX * max(1.0, len(pixels) / MANY_POINTS)
    place, side, beside_arm, rows, residual, total, scatter, lost = _cells(
        cell_px, pixels, normals, arm_adjacent, residual_px, jacobian, weight
    )
    count = len(total)
    slow, fast = np.empty((count, count)), np.empty((count, count))
    for i in range(count):
        for j in range(count):
            apart = np.sqrt((place[i, 0] - place[j, 0]) ** 2 + (place[i, 1] - place[j, 1]) ** 2)
            # points of a cell are a third of its length apart: its mean varies less
            near = np.exp(-max(apart, cell_px / 3) / STRETCH_PX)
            alike = 0.5 + 0.5 * (side[i, 0] * side[j, 0] + side[i, 1] * side[j, 1])
            slow[i, j] = ALL_ROUND_SHARE + (1 - ALL_ROUND_SHARE) * near * alike * alike
            fast[i, j] = (
                beside_arm[i]
                * beside_arm[j]
                * ARM_ADJACENT_PX**2
                * (1 + np.exp(-apart / STRETCH_PX))
            )
        fast[i, i] += max(scatter, ROUNDING_PX2) / max(total[i], 1.0)
    white = np.linalg.inv(np.linalg.cholesky(fast))
    values, vectors = np.linalg.eigh(white @ slow @ white.T)
    # In this basis the errors are independent of each other, and their variances are known.
    data = vectors.T @ (white @ np.column_stack((rows, residual)))
    # a rejected point costs as much as a bad one that is kept; residuals that scatter more are less
    # likely each
    outside = (REJECTED**2 * lost + np.log(max(scatter, ROUNDING_PX2) / ROUNDING_PX2)) * count
    known = np.array([0, 1, 3, 4])
    inner, pull = np.empty((4, 4)), gradient[known]
    for i in range(4):
        inner[i] = hessian[known[i]][known]
    of_wall = pull @ np.linalg.solve(inner, pull)
    sizes = len(SIZES_PX)
    steps, inverses, log_likelihood = np.empty((sizes, 5)), np.empty((sizes, 5, 5)), np.empty(sizes)
    for k in range(sizes):
        variance = 1 + SIZES_PX[k] ** 2 * np.maximum(values, 0.0)
        both = data.T @ (data / variance.reshape(-1, 1))
        all_known, slope = hessian + both[:5, :5], gradient + both[:5, 5]
        inverses[k] = np.linalg.inv(all_known)
        steps[k] = inverses[k] @ slope
        cost = (
            both[5, 5]
            + of_wall
            - slope @ steps[k]
            + outside
            + (np.log(SIZES_PX[k] / USUAL_SIZE_PX) / SIZE_SPREAD) ** 2
        )
        log_likelihood[k] = -0.5 * (np.log(variance).sum() + np.linalg.slogdet(all_known)[1] + cost)
    top = log_likelihood.max()
    share = np.exp(log_likelihood - top)
    log_evidence = top + np.log(share.sum())
    share /= share.sum()
    step, covariance = share @ steps, np.zeros((5, 5))
    for k in range(sizes):
        off = steps[k] - step
        covariance += share[k] * (inverses[k] + np.outer(off, off))
    return step, covariance, share @ SIZES_PX, log_evidence


@njit(cache=True, nogil=True)
def _cells(cell_px, pixels, normals, arm_adjacent, residual_px, jacobian, weight):
    """Average the edge points over cells, each of one side and beside the arm or not.

    Returns:
        Means of place, side (a unit vector), whether beside the arm, Jacobian and residual; the
        weight in each; the residuals' variance within them; and points left out for each that is
        used.
    """
    used = np.flatnonzero(weight > 0.05)
    least = np.array([pixels[used, 0].min(), pixels[used, 1].min()])
    key = np.empty(len(used), np.int64)
    for k, i in enumerate(used):
        quadrant = int(np.arctan2(normals[i, 1], normals[i, 0]) * (2 / np.pi) + 0.5) % 4
        cell_u = int((pixels[i, 0] - least[0]) / cell_px)
        cell_v = int((pixels[i, 1] - least[1]) / cell_px)
        key[k] = ((cell_u * 10_000 + cell_v) * 4 + quadrant) * 2 + arm_adjacent[i]
    order = np.argsort(key)
    owner, count = np.empty(len(used), np.int64), 0
    for k in range(len(used)):
        if k and key[order[k]] != key[order[k - 1]]:
            count += 1
        owner[order[k]] = count
    count += 1
    # Columns: place, side, whether beside the arm, Jacobian, residual.
    total = np.zeros(count)
    means = np.zeros((count, 11))
    for k, i in enumerate(used):
        cell, w = owner[k], weight[i]
        total[cell] += w
        means[cell, :2] += w * pixels[i]
        means[cell, 2:4] += w * normals[i]
        means[cell, 4] += w * arm_adjacent[i]
        means[cell, 5:10] += w * jacobian[i]
        means[cell, 10] += w * residual_px[i]
    means /= total.reshape(-1, 1)
    within = 0.0
    for k, i in enumerate(used):
        within += weight[i] * (residual_px[i] - means[owner[k], 10]) ** 2
    scatter = within / max(total.sum() - count, 1.0)
    side = np.empty((count, 2))
    for i in range(count):
        side[i] = means[i, 2:4] / max(np.sqrt(means[i, 2] ** 2 + means[i, 3] ** 2), 1e-9)
    lost = len(weight) / max(len(used), 1) - 1
    return means[:, :2], side, means[:, 4], means[:, 5:10], means[:, 10], total, scatter, lost
