"""What a mask's outline says of a pose when its errors are related: pixels are rounded one by one, a segmenter goes wrong in stretches.

The error of an edge point is taken as a Gaussian process along the outline. Its fast part is the rounding to pixels. Its slow part
(shading, blur, a background of the ring's colour, a network's coarse grid) is alike over tens of pixels of one side, and to a smaller
part all round, where a mask is too fat or too thin. How large the slow part is differs from frame to frame; each size is weighed by its
marginal likelihood, with the pose integrated out (Rasmussen & Williams, Gaussian Processes for Machine Learning, 2006, section 5.4.1), so
that what cannot be known of it goes into the covariance.
"""

from dataclasses import dataclass

import numpy as np

CELL_PX = 4.0  # edge points this close, on one side, make one datum
ROUNDING_PX2 = 1.0 / 12.0  # variance of one pixel's rounding
# What follows was measured on exact masks and on network masks of drawn scenes that no report uses.
ROUNDING_SHARE = 0.3  # of that variance which reaches the pose: along a slanted edge roundings cancel
STRETCH_PX = 40.0  # over which a mask goes wrong alike
ALL_ROUND_SHARE = 0.2  # of the slow part's variance that is alike all round
SIZES_PX = 0.025 * 2.0 ** np.arange(9)  # of the slow part that are thought possible: 0.025 .. 6.4
SIZE_POWER = 2.0  # a size is thought as likely as its inverse to this power: most masks are good
TRUST = 0.8  # the pose takes the slow part for this much smaller than its likelihood says,
HIDDEN = 1.25  # the covariance for this much larger: what looks like a motion of the ring does not show in the residuals
TAIL_CUT = 3.5  # standard deviations beyond which an edge point is something else's edge
CUT_LIMITS_PX = (1.5, 6.0)


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
    residual_px: np.ndarray,
    jacobian: np.ndarray,
    weight: np.ndarray,
) -> EdgePosterior:
    """Unknowns from what is known without the outline and from the outline's residuals.

    Args:
        hessian, gradient: Normal equations of the rest, (5, 5) and (5,); of the third unknown they know nothing.
        pixels: Edge points, shape (n, 2).
        normals: Of the outline in the picture, outwards, shape (n, 2).
        residual_px: Outside positive, shape (n,).
        jacobian: Derivative of the model's edge by the unknowns [px], shape (n, 5).
        weight: 0..1, shape (n,).
    """
    used = weight > 0.05
    lost = len(weight) / max(used.sum(), 1) - 1
    place, side, rows, residual, total, scatter = _cells(*(a[used] for a in (pixels, normals, residual_px, jacobian, weight)))
    fast = max(scatter, ROUNDING_PX2) / np.maximum(total, 1.0)
    near = np.exp(-np.linalg.norm(place[:, None] - place[None], axis=2) / STRETCH_PX)
    slow = ALL_ROUND_SHARE + (1 - ALL_ROUND_SHARE) * near * np.square(0.5 + 0.5 * side @ side.T)
    white = 1 / np.sqrt(fast)
    values, vectors = np.linalg.eigh(white[:, None] * slow * white)
    data = vectors.T @ (white[:, None] * np.column_stack([rows, residual]))  # independent of each other, with these variances:
    values = np.square(SIZES_PX)[:, None] * np.maximum(values, 0.0)  # (sizes, cells), on top of 1

    def solved(variance):
        both = np.matmul((data[None] / variance[..., None]).transpose(0, 2, 1), data)
        hessians, gradients = hessian + both[:, :5, :5], gradient + both[:, :5, 5]
        inverses = np.linalg.inv(hessians)
        return inverses, np.einsum('sij,sj->si', inverses, gradients), gradients, both[:, 5, 5]

    inverses, steps, gradients, squares = solved(1 + values)
    known = [0, 1, 3, 4]
    squares = squares + gradient[known] @ np.linalg.solve(hessian[np.ix_(known, known)], gradient[known])
    # a rejected point costs as much as the worst that is kept; residuals that scatter more are less likely each
    outside = (TAIL_CUT**2 * lost + np.log(max(scatter, ROUNDING_PX2) / ROUNDING_PX2)) * len(residual)
    cost = squares - np.einsum('si,si->s', gradients, steps) + outside
    log_likelihood = -0.5 * (np.log1p(values).sum(axis=1) - np.linalg.slogdet(inverses)[1] + cost) - SIZE_POWER * np.log(SIZES_PX)
    top = log_likelihood.max()
    share = np.exp(log_likelihood - top)
    log_evidence = top + float(np.log(share.sum()))
    share /= share.sum()
    trusted = 1 + TRUST**2 * values
    inverses, steps, _, _ = solved(trusted)
    spread = hessian + np.matmul(
        (data[None, :, :5] * ((ROUNDING_SHARE + HIDDEN**2 * values) / trusted**2)[..., None]).transpose(0, 2, 1), data[:, :5]
    )
    step = share @ steps
    apart = steps - step
    covariance = np.einsum('s,sij->ij', share, inverses @ spread @ inverses + apart[:, :, None] * apart[:, None])
    return EdgePosterior(step, covariance, float(share @ SIZES_PX), log_evidence)


def _cells(pixels, normals, residual_px, jacobian, weight):
    """Means of place, normal, Jacobian and residual over cells of one side, the weight in each, and the residuals' variance within them."""
    quadrant = (np.arctan2(normals[:, 1], normals[:, 0]) * (2 / np.pi) + 0.5).astype(int) % 4
    cell = np.floor((pixels - pixels.min(axis=0)) / CELL_PX).astype(int)
    _, owner = np.unique((cell[:, 0] * 10_000 + cell[:, 1]) * 4 + quadrant, return_inverse=True)
    total = np.bincount(owner, weight)
    columns = np.column_stack([pixels, normals, jacobian, residual_px])
    means = np.stack([np.bincount(owner, weight * column) for column in columns.T], axis=1) / total[:, None]
    side = means[:, 2:4] / np.maximum(np.linalg.norm(means[:, 2:4], axis=1, keepdims=True), 1e-9)
    scatter = float((weight * np.square(residual_px - means[owner, -1])).sum() / max(total.sum() - len(total), 1.0))
    return means[:, :2], side, means[:, 4:-1], means[:, -1], total, scatter
