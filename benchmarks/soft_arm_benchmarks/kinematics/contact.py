"""Figures of the modal model, of contact and of rigid sections, for `softarm bench kinematics`.

The photographs of the paper are not available. Shapes of their size (400 px of 0.2959 mm, 0 to
21 psi, ten points per image) are computed from a non-polynomial bellows, stiff at its base and
wider in its middle, and annotated with an error of one pixel.
"""

import numpy as np

from soft_arm_description.robot import load_robot
from soft_arm_description.segments import ModalSegment
from soft_arm_kinematics.arm import make_arm
from soft_arm_kinematics.calibration.modal_fit import PAPER_PIXEL_M, PSI_PA, ModalFit, fit_modal
from soft_arm_kinematics.contact.estimation import (
    alarm_limit,
    centrode_deviations,
    locate_contact,
    site_sigma,
    smallest_detectable_site,
    tip_in_contact,
    tracker_covariance,
)
from soft_arm_kinematics.ik.refine import refine
from soft_arm_kinematics.segments import pcc
from soft_arm_kinematics.segments.modal import UNIT_NODES, UNIT_WEIGHTS, ModalModel
from soft_arm_kinematics.segments.sections import arc_sections, chain_transforms

LENGTH_M = 400 * PAPER_PIXEL_M
PAPER_PRESSURES_PA = PSI_PA * np.array([0.0, 6.0, 10.0, 15.0, 21.0])
PAPER_SWEEP_PA = PSI_PA * np.arange(5.0, 20.01, 0.05)
FULL_SWEEP_PA = PSI_PA * np.arange(0.0, 20.01, 0.05)
NOISE = tracker_covariance(0.5e-3, np.deg2rad(0.3))
RATE_HZ, WINDOW, STATED_ALARMS_PER_MIN = 30.0, 30, 0.1
MINUTES = 60
PRESSURE_SIGMA_PA = 50.0


def figures(seed: int = 0) -> dict[str, float | None]:
    """Return all figures by name, in a few seconds; None if there was no alarm."""
    rng = np.random.default_rng(seed)
    return modal_figures(rng) | contact_figures(rng) | section_figures(rng)


def modal_figures(rng: np.random.Generator) -> dict[str, float]:
    """Measure calibration at the paper's size, and find pressures of random points of the curve."""
    fit, fitted = _fitted(rng), np.linspace(0.0, LENGTH_M, 60)
    worst = [
        np.linalg.norm(
            fit.model.shape(p, np.minimum(fitted, fit.model.length_m))[0] - _true_shape(p, fitted),
            axis=1,
        ).max()
        for p in PAPER_PRESSURES_PA
    ]
    model = _bellows()
    arm = make_arm(load_robot('modal_bellows'))
    wanted_pa, starts_pa = rng.uniform(*model.pressure_limits_pa, (20, 2)).T
    tips_m = model.fk_pressures(wanted_pa)[:, :3, 3]
    found_pa, residuals_m, _ = refine(arm, starts_pa[:, None], tips_m)
    return {
        'modal_fit_worst_m': float(max(worst)),
        'modal_fit_rms_m': fit.rms_m,
        'modal_held_out_rms_m': fit.held_out_rms_m,
        'modal_orders_v': fit.orders[0],
        'modal_orders_w': fit.orders[1],
        'modal_condition': fit.condition,
        'modal_condition_si': fit.condition_si,
        'modal_resolved_rate_error_m': float(residuals_m.max()),
        'modal_resolved_rate_error_pa': float(np.abs(found_pa[:, 0] - wanted_pa).max()),
    }


def contact_figures(rng: np.random.Generator) -> dict[str, float | None]:
    """Measure errors of the contact's site, and false alarms in free motion."""
    model, half = _bellows(), 0.5 * LENGTH_M
    clean = []
    for site in PAPER_PIXEL_M * np.array([50.0, 100.0, 200.0, 300.0]):
        poses, _ = tip_in_contact(model, PAPER_SWEEP_PA, site, PAPER_SWEEP_PA[0])
        found = locate_contact(model, PAPER_SWEEP_PA, poses, NOISE)
        clean.append(abs(found.site_m - site) if found.site_m is not None else np.inf)
    onset = 6.0 * PSI_PA
    truth, _ = tip_in_contact(model, FULL_SWEEP_PA, half, onset)
    noisy = []
    for _ in range(20):
        poses = truth + rng.standard_normal(truth.shape) * np.sqrt(np.diag(NOISE))
        found = locate_contact(model, FULL_SWEEP_PA, poses, NOISE)
        noisy.append(found.site_m - half if found.site_m is not None else np.inf)
    statistic, _ = centrode_deviations(model, FULL_SWEEP_PA, poses, NOISE, WINDOW)
    alarm = np.flatnonzero(statistic > alarm_limit(STATED_ALARMS_PER_MIN, RATE_HZ))
    bound_m = site_sigma(model, FULL_SWEEP_PA, NOISE, half, onset)
    return {
        'contact_error_clean_m': float(max(clean)),
        'contact_error_noisy_fraction': float(np.abs(noisy).max() / LENGTH_M),
        'contact_cramer_rao_sigma_m': bound_m,
        'contact_error_over_cramer_rao': float(np.sqrt(np.mean(np.square(noisy))) / bound_m),
        'contact_error_other_bellows_fraction': _error_with_a_fitted_model(rng) / LENGTH_M,
        'contact_alarm_after_onset_pa': float(FULL_SWEEP_PA[alarm[0] + WINDOW - 1] - onset)
        if alarm.size
        else None,
        'contact_smallest_detectable_site_m': smallest_detectable_site(
            model, FULL_SWEEP_PA, NOISE, onset_pa=onset
        ),
        'contact_false_alarms_per_min': _false_alarms_per_min(model, rng),
    }


def section_figures(rng: np.random.Generator) -> dict[str, float]:
    """Return the largest distance between the ends of rigid chains and of random arcs."""
    error_m = turn = 0.0
    for theta, phi, ell in rng.uniform(
        [-np.pi, -2 * np.pi, 0.29], [np.pi, 2 * np.pi, 0.6], (100, 3)
    ):
        arc = pcc.arc_transforms(pcc.arcs_from_polar(theta, phi, ell))
        end = chain_transforms(arc_sections(theta, phi, ell, 10))[-1]
        error_m = max(error_m, float(np.linalg.norm(end[:3, 3] - arc[:3, 3])))
        turn = max(turn, float(np.abs(end[:3, :3] - arc[:3, :3]).max()))
    return {'sections_error_max_m': error_m, 'sections_orientation_error_max': turn}


def _bellows() -> ModalModel:
    segment = load_robot('modal_bellows').segments[0]
    assert isinstance(segment, ModalSegment)
    return ModalModel.of_segment(segment)


def _true_angles(s_m: np.ndarray, pressure_pa: float) -> np.ndarray:
    """Return the tangent angle [rad] of the non-polynomial bellows."""
    x, r = s_m / LENGTH_M, pressure_pa / (21.0 * PSI_PA)
    return (
        2.7
        * (0.6 * r + 0.4 * r**1.6)
        * (x - 0.08 * (1.0 - np.exp(-x / 0.08)) + 0.05 * np.sin(2.0 * np.pi * x) * r)
    )


def _true_shape(pressure_pa: float, s_m: np.ndarray) -> np.ndarray:
    theta = _true_angles(s_m[:, None] * UNIT_NODES, pressure_pa)
    weights = s_m[:, None] * UNIT_WEIGHTS
    return np.stack([(np.sin(theta) * weights).sum(-1), (np.cos(theta) * weights).sum(-1)], axis=-1)


def _fitted(rng: np.random.Generator) -> ModalFit:
    s = np.linspace(0.0, LENGTH_M, 10)
    annotation_m = np.full((10, 1), PAPER_PIXEL_M)
    annotation_m[0] = 0.0  # the base is the origin of the picture's axes
    return fit_modal(
        {
            p: _true_shape(p, s) + annotation_m * rng.standard_normal((10, 2))
            for p in PAPER_PRESSURES_PA
        }
    )


def _error_with_a_fitted_model(rng: np.random.Generator) -> float:
    """Return the error of the site [m] with a model that is fitted to pictures of the bellows."""
    model, half, onset = _fitted(rng).model, 0.5 * LENGTH_M, 6.0 * PSI_PA
    s, weights = LENGTH_M * UNIT_NODES, LENGTH_M * UNIT_WEIGHTS
    poses = []
    for p in FULL_SWEEP_PA:
        at = np.append(s, LENGTH_M)
        rise = np.maximum(at - half, 0.0)
        theta = (
            _true_angles(at, min(p, onset))
            + _true_angles(rise, max(p, onset))
            - _true_angles(rise, onset)
        )
        poses.append([np.sin(theta[:-1]) @ weights, np.cos(theta[:-1]) @ weights, theta[-1]])
    noise = rng.standard_normal((len(poses), 3)) * np.sqrt(np.diag(NOISE))
    found = locate_contact(model, FULL_SWEEP_PA, np.array(poses) + noise, NOISE)
    return abs(found.site_m - half) if found.site_m is not None else np.inf


def _false_alarms_per_min(model: ModalModel, rng: np.random.Generator) -> float:
    """Count the alarms per minute that begin in an hour of free motion with rests, at 30 Hz."""
    t = np.arange(int(MINUTES * 60 * RATE_HZ)) / RATE_HZ
    p = PSI_PA * (10.5 + 10.0 * np.clip(1.5 * np.sin(2.0 * np.pi * t / 17.0), -1.0, 1.0))
    poses = model.tip(p) + rng.standard_normal((len(p), 3)) * np.sqrt(np.diag(NOISE))
    measured_pa = np.clip(
        p + PRESSURE_SIGMA_PA * rng.standard_normal(len(p)), *model.pressure_limits_pa
    )
    statistic, _ = centrode_deviations(model, measured_pa, poses, NOISE, WINDOW)
    alarm = statistic > alarm_limit(STATED_ALARMS_PER_MIN, RATE_HZ)
    return float(np.count_nonzero(alarm[1:] & ~alarm[:-1]) + alarm[0]) / MINUTES
