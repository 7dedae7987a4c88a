import numpy as np

from soft_arm_vision.ring.edge_error import (
    ALL_ROUND_SHARE,
    SIZE_SPREAD,
    STRETCH_PX,
    USUAL_SIZE_PX,
    edge_posterior,
)

ANGLE = np.linspace(0, 2 * np.pi, 360, endpoint=False)
NORMALS = np.column_stack([np.cos(ANGLE), np.sin(ANGLE)])
PIXELS = 200 + 60 * NORMALS
# two translations, growth, and two ways of flattening: a circle's edge by five unknowns
JACOBIAN = np.column_stack([NORMALS, np.ones(360), np.cos(2 * ANGLE), np.sin(2 * ANGLE)])
KNOWN = np.diag([1.0, 1.0, 0.0, 1.0, 1.0])
FREE = np.zeros(360, bool)


def posterior(residual_px, arm_adjacent=FREE, weight=None):
    weight = np.ones(360) if weight is None else weight
    return edge_posterior(
        KNOWN, np.zeros(5), PIXELS, NORMALS, arm_adjacent, residual_px, JACOBIAN, weight
    )


def stretches(rng, size_px):
    """Errors alike along the edge, drawn anew from what the module says of them, and rounding."""
    apart = np.linalg.norm(PIXELS[:, None] - PIXELS[None], axis=2)
    related = ALL_ROUND_SHARE + (1 - ALL_ROUND_SHARE) * np.exp(-apart / STRETCH_PX) * np.square(
        0.5 + 0.5 * NORMALS @ NORMALS.T
    )
    return size_px * np.linalg.cholesky(related + 1e-6 * np.eye(360)) @ rng.normal(
        size=360
    ) + rng.uniform(-0.5, 0.5, 360)


def test_covariance_is_what_the_errors_are():
    rng, squares = np.random.default_rng(3), []
    for _ in range(150):
        # As `KNOWN` says.
        truth = np.array([rng.normal(), rng.normal(), 0.0, rng.normal(), rng.normal()])
        size_px = USUAL_SIZE_PX * np.exp(SIZE_SPREAD * rng.normal())
        found = posterior(stretches(rng, size_px) + JACOBIAN @ truth)
        squares.append((found.step - truth) @ np.linalg.solve(found.covariance, found.step - truth))
    assert 4.0 < np.mean(squares) < 6.0


def test_worse_masks_are_noticed():
    rng = np.random.default_rng(4)
    good, bad = (posterior(stretches(rng, size_px)) for size_px in (0.1, 1.5))
    assert good.size_px < 0.3 and bad.size_px > 0.7
    assert np.trace(bad.covariance) > 4 * np.trace(good.covariance)
    assert good.log_evidence > bad.log_evidence


def test_edges_beside_the_arm_move_the_pose_little():
    residual_px, right = stretches(np.random.default_rng(5), 0.2), np.abs(ANGLE - np.pi) > 2.2
    still = posterior(residual_px, right).step
    pulled = posterior(residual_px + 2.0 * right, right).step
    taken = posterior(residual_px + 2.0 * right).step
    assert np.linalg.norm(pulled - still) < 0.3 * np.linalg.norm(taken - still)


def test_edges_of_something_else_make_a_pose_less_likely():
    residual_px, weight = stretches(np.random.default_rng(6), 0.2), np.ones(360)
    whole = posterior(residual_px)
    weight[:120] = 0.0
    part = posterior(residual_px, weight=weight)
    assert part.log_evidence < whole.log_evidence - 50
    assert np.trace(part.covariance) > 1.3 * np.trace(whole.covariance)
