"""What a mask's outline says of a pose when its errors are related: pixels are rounded one by one, a segmenter goes wrong in stretches.

The error of an edge point is taken as a Gaussian process along the outline. Its fast part is the rounding to pixels. Its slow part
(shading, blur, a background of the ring's colour, a network's coarse grid) is alike over tens of pixels of one side, and to a smaller
part all round, where a mask is too fat or too thin. How large the slow part is differs from frame to frame; each size is weighed by its
marginal likelihood, with the pose integrated out (Rasmussen & Williams, Gaussian Processes for Machine Learning, 2006, section 5.4.1), so
that what cannot be known of it goes into the covariance. Where the arm is seen beside the edge, neither depth nor contrast parts the two
well: such edges err by pixels, together.
"""

from dataclasses import dataclass

import numpy as np

CELL_PX = 8.0  # edge points this close, on one side, make one datum
ROUNDING_PX2 = 1.0 / 12.0  # variance of one pixel's rounding
# What follows describes residuals at the true pose, of network masks on scenes of the training domain.
STRETCH_PX = 50.0  # over which a mask goes wrong alike
ALL_ROUND_SHARE = 0.2  # of the slow part's variance that is alike all round
SIZES_PX = 0.05 * 2.0 ** np.arange(7)  # of the slow part that are thought possible: 0.05 .. 3.2
USUAL_SIZE_PX, SIZE_SPREAD = 0.6, np.log(2.0)  # log-normal: two masks in three are within a factor of two
BACKED_PX = 2.0  # error beside the arm: one such part is common to all of those edges, another to a stretch of them
TAIL_CUT = 4.7  # Tukey's, in standard deviations; a narrower one would hold a pose where it is
CUT_LIMITS_PX = (3.0, 6.0)
REJECTED = 3.5  # standard deviations that an edge point of something else counts for


@dataclass(frozen=True)
class EdgePosterior:
    """Step and covariance of the unknowns, averaged over the sizes of the slow error.

    Attributes:
        step: Shape (5,).
        covariance: Shape (5, 5).
        size_px: Mean size of the slow error.
        log_evidence: Of everything that is known, up to a constant.
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
    backed: np.ndarray,
    residual_px: np.ndarray,
    jacobian: np.ndarray,
    weight: np.ndarray,
) -> EdgePosterior:
    """Unknowns from what is known without the outline and from the outline's residuals.

    Args:
        hessian, gradient: Normal equations of the rest, (5, 5) and (5,); of the third unknown they know nothing.
        pixels: Edge points, shape (n, 2).
        normals: Of the outline in the picture, outwards, shape (n, 2).
        backed: Where the arm is beside the edge, shape (n,), bool.
        residual_px: Outside positive, shape (n,).
        jacobian: Derivative of the model's edge by the unknowns [px], shape (n, 5).
        weight: 0..1, shape (n,).
    """
    used = weight > 0.05
    lost = len(weight) / max(used.sum(), 1) - 1
    columns = (pixels, normals, backed, residual_px, jacobian, weight)
    place, side, beside_arm, rows, residual, total, scatter = _cells(*(column[used] for column in columns))
    apart = np.linalg.norm(place[:, None] - place[None], axis=2)
    near = np.exp(-np.maximum(apart, CELL_PX / 3) / STRETCH_PX)  # points of a cell are a third of its length apart: its mean varies less
    slow = ALL_ROUND_SHARE + (1 - ALL_ROUND_SHARE) * near * np.square(0.5 + 0.5 * side @ side.T)
    stretch = BACKED_PX**2 * (1 + np.exp(-apart / STRETCH_PX))
    fast = np.diag(max(scatter, ROUNDING_PX2) / np.maximum(total, 1.0)) + np.outer(beside_arm, beside_arm) * stretch
    white = np.linalg.inv(np.linalg.cholesky(fast))
    values, vectors = np.linalg.eigh(white @ slow @ white.T)
    data = vectors.T @ (white @ np.column_stack([rows, residual]))  # independent of each other, with these variances:
    variance = 1 + np.square(SIZES_PX)[:, None] * np.maximum(values, 0.0)  # (sizes, cells)
    both = np.matmul((data[None] / variance[..., None]).transpose(0, 2, 1), data)
    hessians, gradients = hessian + both[:, :5, :5], gradient + both[:, :5, 5]
    inverses = np.linalg.inv(hessians)
    steps = np.einsum('sij,sj->si', inverses, gradients)
    known = [0, 1, 3, 4]
    squares = both[:, 5, 5] + gradient[known] @ np.linalg.solve(hessian[np.ix_(known, known)], gradient[known])
    # a rejected point costs as much as a bad one that is kept; residuals that scatter more are less likely each
    outside = (REJECTED**2 * lost + np.log(max(scatter, ROUNDING_PX2) / ROUNDING_PX2)) * len(residual)
    cost = squares - np.einsum('si,si->s', gradients, steps) + outside
    unusual = np.square(np.log(SIZES_PX / USUAL_SIZE_PX) / SIZE_SPREAD)
    log_likelihood = -0.5 * (np.log(variance).sum(axis=1) - np.linalg.slogdet(inverses)[1] + cost + unusual)
    top = log_likelihood.max()
    share = np.exp(log_likelihood - top)
    log_evidence = top + float(np.log(share.sum()))
    share /= share.sum()
    step = share @ steps
    off = steps - step
    covariance = np.einsum('s,sij->ij', share, inverses + off[:, :, None] * off[:, None])
    return EdgePosterior(step, covariance, float(share @ SIZES_PX), log_evidence)


def _cells(pixels, normals, backed, residual_px, jacobian, weight):
    """Cells of one side, of edges all beside the arm or none.

    Returns:
        Means of place, normal, whether beside the arm, Jacobian and residual; the weight in each; and the residuals' variance within them.
    """
    quadrant = (np.arctan2(normals[:, 1], normals[:, 0]) * (2 / np.pi) + 0.5).astype(int) % 4
    cell = np.floor((pixels - pixels.min(axis=0)) / CELL_PX).astype(int)
    _, owner = np.unique(((cell[:, 0] * 10_000 + cell[:, 1]) * 4 + quadrant) * 2 + backed, return_inverse=True)
    total = np.bincount(owner, weight)
    columns = np.column_stack([pixels, normals, backed, jacobian, residual_px])
    means = np.stack([np.bincount(owner, weight * column) for column in columns.T], axis=1) / total[:, None]
    side = means[:, 2:4] / np.maximum(np.linalg.norm(means[:, 2:4], axis=1, keepdims=True), 1e-9)
    scatter = float((weight * np.square(residual_px - means[owner, -1])).sum() / max(total.sum() - len(total), 1.0))
    return means[:, :2], side, means[:, 4], means[:, 5:-1], means[:, -1], total, scatter
