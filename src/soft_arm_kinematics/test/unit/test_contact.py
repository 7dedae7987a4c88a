import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soft_arm_description.robot import load_robot
from soft_arm_kinematics.calibration.modal_fit import PAPER_PIXEL_M, PSI_PA
from soft_arm_kinematics.contact.estimation import (
    alarm_limit,
    centrode_deviations,
    fixed_centrode,
    locate_contact,
    model_centrodes,
    site_sigma,
    smallest_detectable_site,
    tip_in_contact,
    tracker_covariance,
)
from soft_arm_kinematics.contact.stream import ContactStream
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.segments.modal import ModalModel

BELLOWS = ModalModel.of_segment(load_robot('modal_bellows').segments[0])
UNIFORM = ModalModel(
    np.array([[0.0, 0.0], [0.0, 2.5]]), 0.12, 0.12, 21 * PSI_PA, (0.0, 21 * PSI_PA)
)
LENGTH = BELLOWS.length_m
SWEEP = PSI_PA * np.arange(5.0, 20.01, 0.05)  # the paper's
LONG_SWEEP = PSI_PA * np.arange(0.0, 20.01, 0.05)
NOISE = tracker_covariance(0.5e-3, np.deg2rad(0.3))
sites = st.floats(0.05 * LENGTH, 0.95 * LENGTH)


def noisy(poses, seed):
    return poses + np.random.default_rng(seed).standard_normal(poses.shape) * np.sqrt(
        np.diag(NOISE)
    )


@given(st.tuples(*[st.floats(-1, 1)] * 9))
def test_fixed_centrode_is_at_rest(numbers):
    position, velocity, omega = np.array(numbers).reshape(3, 3)
    omega = omega + np.array([0.0, 2.0, 0.0])
    velocity = velocity - (velocity @ omega) / (omega @ omega) * omega  # no motion along the axis
    centrode = fixed_centrode(position, velocity, omega)
    assert velocity + np.cross(omega, centrode - position) == pytest.approx(np.zeros(3), abs=1e-12)
    assert centrode @ omega == pytest.approx(0.0, abs=1e-12)


def test_centrode_of_an_arc():
    """For an arc p = L (B theta, A), and dp/dtheta turned by -90 deg points to the centrode."""
    q = 10.0 * PSI_PA
    x, z, theta = UNIFORM.tip(q)
    dx = 0.12 * (theta * np.sin(theta) - 1.0 + np.cos(theta)) / theta**2
    dz = 0.12 * (theta * np.cos(theta) - np.sin(theta)) / theta**2
    assert model_centrodes(UNIFORM, q) == pytest.approx([x + dz, z - dx], abs=1e-12)
    assert np.isnan(fixed_centrode(np.zeros(3), np.ones(3), np.zeros(3))).all()


@given(sites, st.floats(5.0, 15.0))
def test_contact_is_continuous_at_its_onset_and_free_below(site_m, onset_psi):
    onset_pa = onset_psi * PSI_PA
    poses, _ = tip_in_contact(
        BELLOWS, np.array([onset_pa - 1.0, onset_pa, onset_pa + 1e-3]), site_m, onset_pa
    )
    assert poses == pytest.approx(
        BELLOWS.tip(np.array([onset_pa - 1.0, onset_pa, onset_pa])), abs=1e-7
    )


def test_contact_at_the_base_is_free_motion_and_at_the_tip_stops_it():
    assert tip_in_contact(BELLOWS, SWEEP, 0.0, SWEEP[0])[0] == pytest.approx(
        BELLOWS.tip(SWEEP), abs=1e-12
    )
    assert tip_in_contact(BELLOWS, SWEEP, LENGTH, SWEEP[0])[0] == pytest.approx(
        np.tile(BELLOWS.tip(SWEEP[0]), (len(SWEEP), 1)), abs=1e-12
    )


def test_uniform_bellows_agree_with_the_papers_equation_with_its_offset():
    """Below the site lies the arc of the onset, above it one of length L - a along its tangent."""
    q, site, onset = 18.0 * PSI_PA, 0.05, 6.0 * PSI_PA
    (root, bent) = UNIFORM.shape(onset, np.array([site]))
    (short, further) = UNIFORM.shape(q, np.array([0.12 - site]))
    cos, sin = np.cos(bent[0]), np.sin(bent[0])
    expected = [*(root[0] + np.array([[cos, sin], [-sin, cos]]) @ short[0]), bent[0] + further[0]]
    assert tip_in_contact(UNIFORM, np.array([q]), site, onset)[0][0] == pytest.approx(
        expected, abs=1e-12
    )


def test_contact_at_a_base_that_turns_with_pressure_holds_the_base():
    turning = ModalModel(
        BELLOWS.coefficients_rad + np.array([[0.0, 0.3, 0.1], [0.0] * 3, [0.0] * 3]),
        LENGTH,
        LENGTH,
        1.5e5,
        (0.0, 1.5e5),
    )
    q, onset_pa = np.array([12e4]), 4e4
    held = turning.angles(0.0, onset_pa) - turning.angles(0.0, q[0])
    x, z, theta = turning.tip(q[0])
    expected = [
        np.cos(held) * x + np.sin(held) * z,
        np.cos(held) * z - np.sin(held) * x,
        theta + held,
    ]
    assert abs(held) > 0.1
    assert tip_in_contact(turning, q, 0.0, onset_pa)[0][0] == pytest.approx(expected, abs=1e-12)


@settings(max_examples=20)
@given(sites, st.floats(5.5, 12.0))
def test_derivatives(site_m, onset_psi):
    onset_pa = onset_psi * PSI_PA
    q = SWEEP[np.abs(SWEEP - onset_pa) > 10.0]
    _, derivatives = tip_in_contact(BELLOWS, q, site_m, onset_pa)
    for k, (da, dq) in enumerate([(1e-6, 0.0), (0.0, 1.0)]):
        change = (
            tip_in_contact(BELLOWS, q, site_m + da, onset_pa + dq)[0]
            - tip_in_contact(BELLOWS, q, site_m - da, onset_pa - dq)[0]
        )
        assert derivatives[..., k] == pytest.approx(
            change / (2.0 * (da + dq)), rel=1e-5, abs=1e-7 if k == 0 else 1e-12
        )


@pytest.mark.parametrize('site_px', [50.0, 100.0, 350.0])
def test_without_noise_the_site_is_found(site_px):
    site_m = site_px * PAPER_PIXEL_M
    poses, _ = tip_in_contact(BELLOWS, SWEEP, site_m, SWEEP[0])
    found = locate_contact(BELLOWS, SWEEP, poses, NOISE)
    assert found.in_contact
    assert found.site_m == pytest.approx(site_m, abs=1e-7)
    assert found.onset_pa == pytest.approx(SWEEP[0], abs=20.0)
    assert found.site_interval_m[0] < site_m < found.site_interval_m[1]


def test_noisy_sites_reach_the_cramer_rao_bound_and_their_intervals_hold():
    site_m, onset_pa, q = 0.5 * LENGTH, 7.0 * PSI_PA, LONG_SWEEP[::8]
    found = [
        locate_contact(
            BELLOWS, q, noisy(tip_in_contact(BELLOWS, q, site_m, onset_pa)[0], seed), NOISE
        )
        for seed in range(16)
    ]
    errors = np.array([f.site_m - site_m for f in found])
    bound = site_sigma(BELLOWS, q, NOISE, site_m, onset_pa)
    assert np.abs(errors).max() < 0.03 * LENGTH
    assert 0.5 * bound < np.sqrt(np.mean(errors**2)) < 1.5 * bound
    assert sum(f.site_interval_m[0] < site_m < f.site_interval_m[1] for f in found) >= 12
    assert sum(f.onset_interval_pa[0] < onset_pa < f.onset_interval_pa[1] for f in found) >= 12


def test_free_motion_has_no_site_and_says_what_could_be_seen():
    found = locate_contact(BELLOWS, LONG_SWEEP, noisy(BELLOWS.tip(LONG_SWEEP), 1), NOISE)
    assert not found.in_contact and found.site_m is None and 'cannot be detected' in found.message


def test_detectability_ends_near_the_base():
    coarse = tracker_covariance(5e-3, np.deg2rad(3.0))
    q = LONG_SWEEP[::10]
    near = smallest_detectable_site(BELLOWS, q, coarse, onset_pa=15 * PSI_PA)
    assert 0.02 * LENGTH < near < 0.9 * LENGTH
    assert smallest_detectable_site(BELLOWS, q[:3], coarse, onset_pa=0.0) is None
    seen = [
        locate_contact(BELLOWS, q, tip_in_contact(BELLOWS, q, s, 15 * PSI_PA)[0], coarse).in_contact
        for s in (0.2 * near, 1.5 * near)
    ]
    assert seen == [False, True]


def drifting_noise(count, rng):
    """A covariance for each pose, by turns good and three times worse, with correlations."""
    scale = 1.0 + 2.0 * (np.sin(np.arange(count) / 7.0) > 0.3) * rng.uniform(0.5, 1.0, count)
    root = np.linalg.cholesky(NOISE) @ np.array([[1.0, 0, 0], [0.4, 0.9, 0], [-0.3, 0.5, 0.8]])
    roots = scale[:, None, None] * root
    return roots @ roots.swapaxes(1, 2), (roots @ rng.standard_normal((count, 3, 1)))[..., 0]


def test_false_alarms_keep_their_rate_with_the_trackers_own_covariances():
    minutes = 10
    q = PSI_PA * (10.0 + 8.0 * np.sin(2.0 * np.pi * np.arange(minutes * 1800) / 360.0))
    covariances, errors = drifting_noise(len(q), np.random.default_rng(4))
    poses = BELLOWS.tip(q) + errors
    statistic, _ = centrode_deviations(BELLOWS, q, poses, covariances, 30)
    assert np.mean(statistic) == pytest.approx(2.0, abs=0.15)
    assert np.mean(statistic > -2.0 * np.log(0.05)) == pytest.approx(0.05, abs=0.015)
    assert np.count_nonzero(statistic > alarm_limit(0.1, 30.0)) / minutes < 1.0
    # With the parameters' noise instead, the rate is not kept.
    deaf, _ = centrode_deviations(BELLOWS, q, poses, NOISE, 30)
    assert np.count_nonzero(deaf > alarm_limit(0.1, 30.0)) / minutes > 10.0


def test_equal_covariances_one_by_one_are_the_common_one():
    q, poses = SWEEP, noisy(BELLOWS.tip(SWEEP), 8)
    each = np.broadcast_to(NOISE, (len(q), 3, 3))
    assert centrode_deviations(BELLOWS, q, poses, each, 30)[0] == pytest.approx(
        centrode_deviations(BELLOWS, q, poses, NOISE, 30)[0]
    )
    touched = noisy(tip_in_contact(BELLOWS, LONG_SWEEP, 0.5 * LENGTH, 7.0 * PSI_PA)[0], 9)
    each = np.broadcast_to(NOISE, (len(LONG_SWEEP), 3, 3))
    one = locate_contact(BELLOWS, LONG_SWEEP, touched, each)
    common = locate_contact(BELLOWS, LONG_SWEEP, touched, NOISE)
    assert one.site_m == pytest.approx(common.site_m, abs=1e-9)
    assert one.site_interval_m == pytest.approx(common.site_interval_m, abs=1e-9)


def test_location_weighs_each_pose_by_its_own_noise():
    q, site_m = LONG_SWEEP[::4], 0.5 * LENGTH
    truth, rng = tip_in_contact(BELLOWS, q, site_m, 6.0 * PSI_PA)[0], np.random.default_rng(3)
    errors = []
    for _ in range(6):
        covariances, noise = drifting_noise(len(q), rng)
        found = [
            locate_contact(BELLOWS, q, truth + noise, c).site_m - site_m
            for c in (covariances, NOISE)
        ]
        errors.append(np.abs(found))
    assert np.mean(errors, axis=0)[0] < np.mean(errors, axis=0)[1]


def test_stream_takes_the_poses_covariances():
    q = LONG_SWEEP
    covariances, errors = drifting_noise(len(q), np.random.default_rng(6))
    stream = ContactStream(BELLOWS, NOISE)
    detections = [
        stream.update(*sample)
        for sample in zip(q, BELLOWS.tip(q) + errors, covariances, strict=True)
    ]
    assert not any(d.in_contact for d in detections)
    expected, _ = centrode_deviations(BELLOWS, q, BELLOWS.tip(q) + errors, covariances, 30)
    assert [d.statistic for d in detections[29:]] == pytest.approx(list(expected), rel=1e-9)
    with pytest.raises(KinematicsError, match='covariance'):
        stream.update(0.0, np.zeros(3), -NOISE)


def test_deviation_is_that_of_the_fixed_centrodes():
    site_m, q = 0.5 * LENGTH, SWEEP[:30]
    poses, _ = tip_in_contact(BELLOWS, q, site_m, 0.0)
    _, deviation = centrode_deviations(BELLOWS, q, poses, NOISE, 30)
    middle, step = q.mean(), 10.0
    (before, here, after) = tip_in_contact(
        BELLOWS, np.array([middle - step, middle, middle + step]), site_m, 0.0
    )[0]
    rate = (after - before) / (2.0 * step)
    measured = fixed_centrode(
        np.array([here[0], 0.0, here[1]]),
        np.array([rate[0], 0.0, rate[1]]),
        np.array([0.0, rate[2], 0.0]),
    )
    expected = measured[[0, 2]] - model_centrodes(BELLOWS, middle)
    assert np.linalg.norm(expected) > 0.01
    assert deviation[0] == pytest.approx(expected, abs=0.002 * np.linalg.norm(expected))


def test_deviation_grows_with_the_site_and_vanishes_at_the_base():
    """The paper's figure 8."""

    def deviation_at(site_px):
        poses, _ = tip_in_contact(BELLOWS, SWEEP, site_px * PAPER_PIXEL_M, SWEEP[0])
        return np.linalg.norm(centrode_deviations(BELLOWS, SWEEP, poses, NOISE, 30)[1][-1])

    deviations = [deviation_at(site_px) for site_px in range(0, 400, 50)]
    assert deviations[0] == pytest.approx(0.0, abs=1e-12) and (np.diff(deviations) > 1e-3).all()


def test_standing_still_tells_nothing():
    q = np.full(40, 8.0 * PSI_PA)
    assert np.isnan(centrode_deviations(BELLOWS, q, BELLOWS.tip(q), NOISE, 30)[0]).all()


def test_stream_raises_the_alarm_locates_and_lets_go():
    up, site_m, onset_pa = LONG_SWEEP, 0.4 * LENGTH, 6.0 * PSI_PA
    q = np.concatenate([up, up[::-1]])
    poses = noisy(tip_in_contact(BELLOWS, q, site_m, onset_pa)[0], 5)
    stream = ContactStream(BELLOWS, NOISE)
    seen = [stream.update(*sample).in_contact for sample in zip(q[: len(up)], poses, strict=False)]
    first = q[seen.index(True)]
    assert onset_pa < first < onset_pa + 3.0 * PSI_PA and all(seen[seen.index(True) :])
    assert stream.estimate().site_m == pytest.approx(site_m, abs=0.01 * LENGTH)
    for sample in zip(q[len(up) :], poses[len(up) :], strict=True):
        last = stream.update(*sample)
    assert not last.in_contact and stream.estimate() is None


@pytest.mark.parametrize(
    'call',
    [
        lambda: ContactStream(BELLOWS, np.zeros((3, 3))),
        lambda: ContactStream(BELLOWS, NOISE, window=2),
        lambda: ContactStream(BELLOWS, NOISE).update(1e6, np.zeros(3)),
        lambda: ContactStream(BELLOWS, NOISE).update(0.0, np.full(3, np.nan)),
        lambda: locate_contact(BELLOWS, SWEEP, np.zeros((4, 3)), NOISE),
        lambda: locate_contact(BELLOWS, np.array([0.0, np.nan, 1.0]), np.zeros((3, 3)), NOISE),
    ],
)
def test_bad_input_is_one_clear_line(call):
    with pytest.raises(KinematicsError) as caught:
        call()
    assert '\n' not in str(caught.value)
