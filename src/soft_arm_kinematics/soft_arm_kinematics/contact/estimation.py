r"""Contact of a planar bellows with something at one place, from the pose of its tip.

Model (modal paper, equations 33-39). From the onset pressure p_c on, the part below the site a
keeps its shape and the part above goes on bending as a bellows of length L - a would. With
increments written out, tangent and tip are continuous in s at the site and in p at the onset:

    s <= a:  theta(s, p) = theta(s, p_c)
    s >  a:  theta(s, p) = theta(s, p_c) + f(s - a, p) - f(s - a, p_c)
             f(s, p) = theta(s, p) - theta(0, p)

For a bellows of uniform curvature this is the paper's (36) with the offset theta(a, p_c) that it
drops. For others (36) would make the tip jump at the onset; poses of the shipped modal bellows that
jump so (by 2.5 mm) are located within 2.1 % of its length.

Detection. The fixed centrode c = w x (v - w x r) / |w|^2 is the point that the tip's twist (v, w)
leaves at rest. The test looks at the velocity of the tip's body at the model's centrode. It is |w|
times the deviation of the measured centrode from the model's, but linear in the measured twist:
under Gaussian tracker noise its weighted square is chi-squared with 2 degrees of freedom, also
where w is small. Errors of the model and of the pressure sensor are not in that covariance: enlarge
it by theirs.

Location. The centrode is a ratio of derivatives of the tip's pose. Least squares on the poses
themselves, weighted with the tracker's covariance, uses the same locus without differentiating the
noise, and reaches the Cramer-Rao bound.

Planar poses are (x [m], z [m], theta [rad]) as in `modal`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.optimize import least_squares
from scipy.stats import chi2, ncx2

from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.segments.modal import UNIT_NODES, UNIT_WEIGHTS, ModalModel

GRID_SITES, GRID_ONSETS, GRID_SAMPLES = 20, 10, 40
POLISHED = 3  # best points of the grid from which least squares starts
INTERVAL_SIGMAS = 1.96  # 95 %
STILL_FRACTION = 1e-3  # of the pressure range: a smaller spread in a window is sensor noise
POWER = 0.95  # probability with which a detectable contact is detected
VAGUE_FRACTION = 0.1  # of the length: a site with a larger standard deviation is not reported


@dataclass(frozen=True, eq=False)
class ContactEstimate:
    """Whether and where a bellows touches something; what is unknown is None.

    Attributes:
        in_contact: The poses differ from free motion by more than the tracker's noise explains.
        site_m: Arc length of the contact from the base [m].
        site_interval_m: 95 % interval of the site [m].
        onset_pa: Pressure at which it began [Pa].
        onset_interval_pa: 95 % interval of the onset [Pa].
        excess: Drop of chi-squared from free motion to the best contact.
        excess_limit: Drop that noise alone exceeds with the chosen probability.
        message: One sentence.
    """

    in_contact: bool
    site_m: float | None
    site_interval_m: tuple[float, float] | None
    onset_pa: float | None
    onset_interval_pa: tuple[float, float] | None
    excess: float
    excess_limit: float
    message: str


def tracker_covariance(position_sigma_m: float, angle_sigma_rad: float) -> np.ndarray:
    """Return the covariance (3, 3) [m, m, rad] of planar poses, with the same noise in x and z."""
    return np.diag([position_sigma_m, position_sigma_m, angle_sigma_rad]) ** 2


def fixed_centrode(position_m: np.ndarray, velocity: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return the point of the instantaneous screw axis nearest to the origin (equation 33).

    Args:
        position_m: Position of the body's reference point, (..., 3) [m].
        velocity: Its velocity per unit of time (or of pressure), (..., 3).
        omega: Angular velocity per the same unit, (..., 3).

    Returns:
        (..., 3) [m]; nan where omega is zero.
    """
    squared = np.sum(np.square(omega), axis=-1, keepdims=True)
    return np.cross(omega, velocity - np.cross(omega, position_m)) / np.where(
        squared > 0.0, squared, np.nan
    )


def model_centrodes(model: ModalModel, pressures_pa: np.ndarray) -> np.ndarray:
    """Return fixed centrodes (..., 2) = (x, z) [m] of the free bellows at pressures (...) [Pa].

    They are equation 33 of the model's twist; nan where it does not turn.

    Raises:
        KinematicsError: If a pressure is not finite or outside the model's limits.
    """
    twist = model.twist_jacobian_pressures(pressures_pa)
    position = model.fk_pressures(pressures_pa)[..., :3, 3]
    return fixed_centrode(position, twist[..., :3], twist[..., 3:])[..., [0, 2]]


def tip_in_contact(
    model: ModalModel, pressures_pa: np.ndarray, site_m: float, onset_pa: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return planar tip poses of a bellows that touches at one site, and their derivatives.

    Args:
        model: The bellows.
        pressures_pa: (n,) [Pa]; below the onset it is free.
        site_m: Arc length of the contact, inside 0..length [m].
        onset_pa: Pressure at which it touches [Pa].

    Returns:
        Poses (n, 3), and derivatives (n, 3, 2) by the site [1/m] and by the onset [1/Pa].
    """
    p, length = np.asarray(pressures_pa, dtype=float), model.length_m
    poses, derivatives = np.empty((len(p), 3)), np.zeros((len(p), 3, 2))
    touching = p > onset_pa
    poses[~touching] = model.tip(p[~touching])
    if not touching.any():
        return poses, derivatives
    p = p[touching, None]
    below, weights_below = site_m * UNIT_NODES, site_m * UNIT_WEIGHTS
    theta, slope = model.angles(below, onset_pa), model.angle_slopes(below, onset_pa)
    root = np.array([np.sin(theta) @ weights_below, np.cos(theta) @ weights_below])
    root_slope = np.array(
        [(np.cos(theta) * slope) @ weights_below, (-np.sin(theta) * slope) @ weights_below]
    )

    # the last node is the tip, which has no weight in the integral
    above = np.append((length - site_m) * UNIT_NODES, length - site_m)
    weights = np.append((length - site_m) * UNIT_WEIGHTS, 0.0)
    base = model.angles(0.0, p) - model.angles(0.0, onset_pa)
    theta = (
        model.angles(site_m + above, onset_pa)
        + model.angles(above, p)
        - model.angles(above, onset_pa)
        - base
    )
    by_site = model.curvatures(above, onset_pa) - model.curvatures(above, p)
    by_onset = (
        model.angle_slopes(site_m + above, onset_pa)
        - model.angle_slopes(above, onset_pa)
        + model.angle_slopes(0.0, onset_pa)
        + np.zeros_like(p)
    )
    sin, cos = np.sin(theta), np.cos(theta)
    poses[touching] = np.stack(
        [root[0] + sin @ weights, root[1] + cos @ weights, theta[:, -1]], axis=-1
    )
    derivatives[touching, :, 0] = np.stack(
        [(cos * by_site) @ weights, (-sin * by_site) @ weights, by_site[:, -1]], axis=-1
    )
    derivatives[touching, :, 1] = np.stack(
        [
            root_slope[0] + (cos * by_onset) @ weights,
            root_slope[1] - (sin * by_onset) @ weights,
            by_onset[:, -1],
        ],
        axis=-1,
    )
    return poses, derivatives


def alarm_limit(false_alarms_per_min: float, rate_hz: float) -> float:
    """Return the value of the deviation statistic that free motion exceeds at most so often.

    Every pose counts as one test: the quantile of chi-squared with 2 degrees of freedom.
    """
    return float(chi2.isf(false_alarms_per_min / (60.0 * rate_hz), 2))


def centrode_deviations(
    model: ModalModel,
    pressures_pa: np.ndarray,
    poses: np.ndarray,
    covariance: np.ndarray,
    window: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Compare the measured fixed centrode with the model's, over sliding windows.

    The measured twist is the model's plus the slope of (pose - model) against pressure in a window.

    Args:
        model: The bellows.
        pressures_pa: (n,) [Pa].
        poses: (n, 3) planar poses from the tracker.
        covariance: (3, 3) of every pose, or (n, 3, 3) one for each.
        window: Number of poses in a window, >= 3.

    Returns:
        Statistic (n - window + 1,), chi-squared with 2 degrees of freedom in free motion, and the
        deviation (n - window + 1, 2) [m]; nan where the pressure stands still or the bellows does
        not turn.
    """
    p, errors = np.asarray(pressures_pa, dtype=float), poses - model.tip(pressures_pa)
    noise = np.broadcast_to(covariance, (len(p), 3, 3))
    p = sliding_window_view(p, window)
    errors = np.moveaxis(sliding_window_view(errors, window, axis=0), -1, 1)  # (n, window, 3)
    noise = np.moveaxis(sliding_window_view(noise, window, axis=0), -1, 1)  # (n, window, 3, 3)
    middle = p.mean(-1)
    offset = p - middle[:, None]
    spread = np.square(offset).sum(-1)
    still = window * (STILL_FRACTION * np.ptp(model.pressure_limits_pa)) ** 2
    weights = offset / np.where(spread > still, spread, np.nan)[:, None]  # of the slope
    slope = (weights[..., None] * errors).sum(axis=1)
    shift = errors.mean(axis=1)[:, :2]
    turning = model.tip_slopes(middle)[:, 2]
    arm = model_centrodes(model, middle) - model.tip(middle)[:, :2] - shift
    # velocity of the body at the model's centrode = sum over the window of gain @ error
    gain = np.zeros((*p.shape, 2, 3))
    gain[..., 0, 0] = gain[..., 1, 1] = weights
    gain[..., 0, 2], gain[..., 1, 2] = weights * arm[:, 1:], -weights * arm[:, :1]
    gain[..., 0, 1] -= turning[:, None] / window
    gain[..., 1, 0] += turning[:, None] / window
    velocity = (gain @ errors[..., None])[..., 0].sum(axis=1)
    velocity_covariance = (gain @ noise @ np.swapaxes(gain, -1, -2)).sum(axis=1)
    statistic, known = np.full(len(middle), np.nan), np.isfinite(velocity).all(-1)
    some = velocity[known]
    whitened = np.linalg.solve(velocity_covariance[known], some[..., None])[..., 0]
    statistic[known] = (some * whitened).sum(axis=-1)
    omega = (turning + slope[:, 2])[:, None]
    across = np.stack([velocity[:, 1], -velocity[:, 0]], axis=-1)
    return statistic, across / np.where(omega == 0.0, np.nan, omega)


def locate_contact(
    model: ModalModel,
    pressures_pa: np.ndarray,
    poses: np.ndarray,
    covariance: np.ndarray,
    false_alarm: float = 1e-4,
) -> ContactEstimate:
    """Estimate site and onset of a contact by weighted least squares over the locus of the tip.

    Args:
        model: The bellows.
        pressures_pa: (n,) [Pa], n >= 3, of free motion and contact, in any order.
        poses: (n, 3) planar poses from the tracker.
        covariance: (3, 3) of every pose, or (n, 3, 3) one for each.
        false_alarm: Probability of "contact" in free motion.

    Raises:
        KinematicsError: If the arrays do not match, are too short, or have values that are not
            finite.
    """
    p, poses = model.checked_pressures(pressures_pa), np.asarray(poses, dtype=float)
    if p.ndim != 1 or poses.shape != (len(p), 3) or len(p) < 3 or not np.isfinite(poses).all():
        raise KinematicsError(
            f'poses of shape {poses.shape} for {p.size} pressures: give (n, 3) finite values with '
            'n >= 3'
        )
    whiten = _whitening(covariance, len(p))
    scales, least = np.array([model.length_m, np.ptp(p)]), np.array([0.0, p.min()])
    free = np.square(_apply(whiten, poses - model.tip(p))).sum()
    limit = float(chi2.isf(false_alarm, 2))

    def residuals(x: np.ndarray) -> np.ndarray:
        model_poses, _ = tip_in_contact(model, p, *(least + scales * x))
        return _apply(whiten, model_poses - poses).ravel()

    def jacobian(x: np.ndarray) -> np.ndarray:
        _, derivatives = tip_in_contact(model, p, *(least + scales * x))
        return (whiten @ derivatives).reshape(-1, 2) * scales

    fits = [
        least_squares(
            residuals, x, jac=jacobian, bounds=(0.0, 1.0), xtol=1e-12, ftol=1e-12, gtol=1e-12
        )
        for x in _grid_starts(model, p, poses, whiten)
    ]
    best = min(fits, key=lambda fit: fit.cost)
    excess = float(free - 2.0 * best.cost)
    if excess <= limit:
        nearest_m = smallest_detectable_site(model, p, covariance, false_alarm)
        message = 'free motion explains the poses; ' + (
            'this motion detects no contact anywhere: move further'
            if nearest_m is None
            else f'a contact below {nearest_m * 1e3:.1f} mm from the base cannot be detected by '
            'this motion'
        )
        return ContactEstimate(False, None, None, None, None, excess, limit, message)
    information = jacobian(best.x)
    sigma = np.sqrt(np.diag(np.linalg.pinv(information.T @ information))) * scales
    if not sigma[0] < VAGUE_FRACTION * model.length_m or not np.any(information[:, 0]):
        message = 'contact, too near the base or too recent to be located'
        return ContactEstimate(True, None, None, None, None, excess, limit, message)
    site_m, onset_pa = (least + scales * best.x).tolist()
    low_m, high_m = _interval(site_m, sigma[0], (0.0, model.length_m))
    return ContactEstimate(
        in_contact=True,
        site_m=site_m,
        site_interval_m=(low_m, high_m),
        onset_pa=onset_pa,
        onset_interval_pa=_interval(onset_pa, sigma[1], model.pressure_limits_pa),
        excess=excess,
        excess_limit=limit,
        message=f'contact at {site_m * 1e3:.2f} mm ({low_m * 1e3:.2f}..{high_m * 1e3:.2f}) '
        f'since {onset_pa / 1e3:.1f} kPa',
    )


def site_sigma(
    model: ModalModel,
    pressures_pa: np.ndarray,
    covariance: np.ndarray,
    site_m: float,
    onset_pa: float,
) -> float:
    """Return the Cramer-Rao bound of the site's standard deviation [m], with an unknown onset.

    It comes from the inverse of the Fisher information of a motion (n,) [Pa] whose poses have a
    covariance (3, 3) or (n, 3, 3); inf where the motion says nothing about the site.
    """
    derivatives = tip_in_contact(model, pressures_pa, site_m, onset_pa)[1]
    scaled = (_whitening(covariance, len(derivatives)) @ derivatives).reshape(-1, 2) * [
        model.length_m,
        np.ptp(pressures_pa),
    ]
    information = scaled.T @ scaled
    determinant = np.linalg.det(information)
    return (
        float(model.length_m * np.sqrt(information[1, 1] / determinant))
        if determinant > 0.0
        else float('inf')
    )


def smallest_detectable_site(
    model: ModalModel,
    pressures_pa: np.ndarray,
    covariance: np.ndarray,
    false_alarm: float = 1e-4,
    onset_pa: float | None = None,
) -> float | None:
    """Return the arc length [m] from which on a motion detects a contact; None if nowhere.

    Args:
        model: The bellows.
        pressures_pa: Motion (n,) [Pa].
        covariance: (3, 3) of every pose, or (n, 3, 3) one for each.
        false_alarm: Probability of "contact" in free motion.
        onset_pa: Pressure [Pa] at which it would touch; the lowest of the motion when left out,
            which is the most favourable.
    """
    whiten, limit = _whitening(covariance, len(pressures_pa)), chi2.isf(false_alarm, 2)
    onset_pa, free = np.min(pressures_pa) if onset_pa is None else onset_pa, model.tip(pressures_pa)
    sites = model.length_m * np.linspace(0.0, 1.0, 201)[1:]
    excess = np.array(
        [
            np.square(
                _apply(whiten, tip_in_contact(model, pressures_pa, site, onset_pa)[0] - free)
            ).sum()
            for site in sites
        ]
    )
    missed = np.flatnonzero(ncx2.cdf(limit, 2, excess) > 1.0 - POWER)
    first = missed[-1] + 1 if missed.size else 0
    return float(sites[first]) if first < len(sites) else None


def _interval(value: float, sigma: float, limits: tuple[float, float]) -> tuple[float, float]:
    """Return the 95 % interval inside the limits."""
    half = INTERVAL_SIGMAS * sigma
    return max(limits[0], float(value - half)), min(limits[1], float(value + half))


def _whitening(covariance: np.ndarray, count: int) -> np.ndarray:
    """Return matrices (count, 3, 3) that turn errors of poses into numbers of variance 1."""
    return np.broadcast_to(np.linalg.inv(np.linalg.cholesky(covariance)), (count, 3, 3))


def _apply(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return (matrices @ vectors[..., None])[..., 0]


def _grid_starts(
    model: ModalModel, p: np.ndarray, poses: np.ndarray, whiten: np.ndarray
) -> list[tuple[float, float]]:
    """Return the best points of a coarse grid, in fractions of length and of pressure range."""
    some = np.unique(np.linspace(0, len(p) - 1, min(len(p), GRID_SAMPLES)).astype(int))
    cost = {}
    for x in (np.arange(GRID_SITES) + 0.5) / GRID_SITES:
        for y in np.arange(GRID_ONSETS) / GRID_ONSETS:
            onset_pa = p.min() + y * np.ptp(p)
            model_poses, _ = tip_in_contact(model, p[some], x * model.length_m, onset_pa)
            cost[x, y] = np.square(_apply(whiten[some], model_poses - poses[some])).sum()
    return sorted(cost, key=lambda start: cost[start])[:POLISHED]
