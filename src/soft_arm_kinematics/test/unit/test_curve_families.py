import json

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from soft_arm_description.calibration import save_calibration
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_kinematics.calibration.curve_families import FAMILIES, Cubic, MonotoneSpline
from soft_arm_kinematics.calibration.curve_fit import _held_out_rms, branches, fit_best
from soft_arm_kinematics.calibration.pressure_bend import fit_bends
from soft_arm_kinematics.calibration.pressure_length import (
    PressureLength,
    fit_curve,
    load_curve,
    measurement_of,
)
from soft_arm_kinematics.cli.calibrate_curve import main
from soft_arm_kinematics.errors import CurveError

ROBOT = load_robot('two_module_arm')
P = np.linspace(-90e3, 120e3, 15)
TRUTHS = {
    'exponential': 0.05 + 0.05 * np.exp(P / 93e3),
    'cubic': 0.1 + 0.03 * (P / 1e5) + 0.02 * (P / 1e5) ** 2 + 0.03 * (P / 1e5) ** 3,
    'monotone_spline': 0.1 + 0.03 * np.tanh(P / 2e4) + 1e-7 * P,
}
NOISE = np.random.default_rng(0).standard_normal(15) * 2e-5


@pytest.mark.parametrize('family', TRUTHS)
def test_the_right_family_predicts_best(family):
    fit = fit_best(P, TRUTHS[family] + NOISE)
    assert fit.family == family
    assert fit.held_out_rms[family] == min(
        error for error in fit.held_out_rms.values() if error is not None
    )


@pytest.mark.parametrize('family', FAMILIES)
@settings(max_examples=20)
@given(st.floats(P[0], P[-1]))
def test_slopes_and_inverses(family, pressure_pa):
    curve = FAMILIES[family].fit(P, TRUTHS['cubic'])
    assert curve.pressures(curve.values(pressure_pa), (P[0], P[-1])) == pytest.approx(
        pressure_pa, abs=1e-3
    )
    inside = np.clip(pressure_pa, P[0] + 1.0, P[-1] - 1.0)
    assert curve.slopes(inside) == pytest.approx(
        (curve.values(inside + 0.5) - curve.values(inside - 0.5)), rel=1e-4
    )


@given(st.lists(st.floats(-1.0, 1.0), min_size=15, max_size=15))
def test_spline_rises_whatever_the_data(noise):
    data = np.linspace(0.1, 0.2, 15) + 0.02 * np.array(noise)
    try:
        curve = MonotoneSpline.fit(P, data)
    except CurveError:
        return
    assert (np.diff(curve.values(np.linspace(P[0], P[-1], 300))) > 0).all()


def test_spline_pools_what_falls():
    curve = MonotoneSpline.fit(
        np.array([0.0, 1e4, 1e4, 2e4, 3e4, 4e4]), np.array([1.0, 3.0, 5.0, 1.0, 6.0, 7.0])
    )
    assert curve.knot_pressures_pa == (0.0, 1e4, 3e4, 4e4)
    assert curve.knot_values == pytest.approx((1.0, 3.0, 6.0, 7.0))


def test_a_cubic_that_falls_is_refused():
    with pytest.raises(CurveError, match='does not rise'):
        Cubic.fit(P, TRUTHS['cubic'] - 6e-7 * P)


def test_confidence_covers_the_truth_and_shrinks_with_data():
    def coverage(points, seeds):
        p = np.linspace(-90e3, 90e3, points)
        truth = lambda q: 0.05 + 0.05 * np.exp(q / 93e3)  # noqa: E731
        hits, widths = [], []
        for seed in range(seeds):
            fit = fit_best(
                p, truth(p) + 1e-3 * np.random.default_rng(seed).standard_normal(points), 'cubic'
            )
            hits.append(
                np.abs(
                    fit.curve.values(np.array(fit.confidence_pressures_pa))
                    - truth(np.array(fit.confidence_pressures_pa))
                )
                < fit.confidence_95
            )
            widths.append(np.mean(fit.confidence_95))
        return np.mean(hits), np.mean(widths)

    few, many = coverage(12, 12), coverage(100, 6)
    assert few[0] > 0.85 and many[0] > 0.75 and many[1] < 0.6 * few[1]


def test_branches_and_hysteresis():
    p = np.concatenate([P, P[::-1]])
    assert branches(p).tolist() == [True] * 15 + [True] + [False] * 14
    assert branches(np.array([0.0, 0.0, -1.0, -1.0, 2.0])).tolist() == [
        False,
        False,
        False,
        False,
        True,
    ]
    loop = 2e-3 * np.sin(np.pi * (P - P[0]) / np.ptp(P))
    y = np.concatenate([TRUTHS['exponential'] - loop, (TRUTHS['exponential'] + loop)[::-1]])
    fit = fit_best(p, y, 'monotone_spline', rising=np.repeat([True, False], 15))
    assert fit.hysteresis_max == pytest.approx(4e-3, rel=0.02)
    assert fit.curve.values(0.0) == pytest.approx(0.10, abs=3e-4)
    assert fit_best(P, TRUTHS['cubic']).hysteresis_max is None


def test_three_points_have_an_exponential_and_nothing_is_claimed_of_it():
    fit = fit_best(np.array([-96e3, 0.0, 96e3]), np.array([0.07, 0.103, 0.195]))
    assert fit.family == 'exponential' and fit.held_out_rms == {} and fit.confidence_95 == ()


@pytest.mark.parametrize('family', FAMILIES)
def test_curves_of_every_family_are_saved_and_serve_the_arm(tmp_path, family):
    data = {name: (P, TRUTHS['cubic'] + 1e-4 * i) for i, name in enumerate(ROBOT.chambers)}
    curve = fit_curve(ROBOT, data, family)
    rig, measurement = load_rig('virtual'), measurement_of(curve.fits, 'm', 'virtual', 'test')
    values, path = PressureLength(chambers=curve.fits), tmp_path / 'c.yaml'
    save_calibration(rig, values, ROBOT, measurement, path)
    again = load_curve(rig, ROBOT, path)
    assert again.fits == curve.fits
    some_pa = np.linspace(-80e3, 110e3, 6) * np.ones((4, 1))
    assert np.array_equal(again.lengths(some_pa), curve.lengths(some_pa))
    assert again.pressures(again.lengths(some_pa)) == pytest.approx(some_pa, abs=1e-3)
    assert again.slopes(some_pa).shape == (4, 6) and (again.slopes(some_pa) > 0).all()
    with pytest.raises(CurveError):
        again.lengths(np.full(6, 130e3))


def test_command_writes_errors_branches_and_a_plot(tmp_path, capsys):
    rows = [
        f'{name},{p},{y},{way}'
        for name in ROBOT.chambers
        for way, order, shift in (('up', 1, -1e-3), ('down', -1, 1e-3))
        for p, y in zip(P[::order], (TRUTHS['cubic'] + shift)[::order], strict=True)
    ]
    (tmp_path / 'points.csv').write_text('\n'.join(['chamber,pressure_pa,length_m,branch', *rows]))
    arguments = [
        '--data',
        str(tmp_path / 'points.csv'),
        '--output',
        str(tmp_path / 'c.yaml'),
        '--plot',
        str(tmp_path / 'c.png'),
        '--json',
    ]
    assert main(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert set(answer['family'].values()) == {'cubic'}
    assert answer['hysteresis_max_m']['m1_b1'] == pytest.approx(2e-3)
    saved = yaml.safe_load((tmp_path / 'c.yaml').read_text())['values']['chambers']['m2_b3']
    assert set(saved['held_out_rms']) == set(FAMILIES) and saved['up']['family'] == 'cubic'
    assert len(saved['confidence_95']) == len(saved['confidence_pressures_pa']) == 9
    assert (tmp_path / 'c.png').read_bytes().startswith(b'\x89PNG')
    (tmp_path / 'points.csv').write_text('chamber,pressure_pa,length_m,branch\nm1_b1,0,0.1,left')
    assert main(arguments) == 2 and 'left' in capsys.readouterr().err


def test_bends_of_a_finger_are_cubics_for_its_robot_file(tmp_path, capsys):
    finger = load_robot('four_piece_finger')
    truth = {segment.name: np.array(segment.theta_coefficients_rad) for segment in finger.segments}
    unit_pa = finger.segments[0].pressure_unit_pa
    rows = [
        f'{name},{p},{np.polynomial.polynomial.polyval(p / unit_pa, c)}'
        for name, c in truth.items()
        for p in P
    ]
    (tmp_path / 'bends.csv').write_text('\n'.join(['segment,pressure_pa,theta_rad', *rows]))
    arguments = [
        '--data',
        str(tmp_path / 'bends.csv'),
        '--quantity',
        'bend',
        '--robot',
        'four_piece_finger',
        '--family',
        'cubic',
    ]
    assert main([*arguments, '--output', str(tmp_path / 'b.yaml')]) == 0
    assert 'bend [deg]' in capsys.readouterr().out
    saved = yaml.safe_load((tmp_path / 'b.yaml').read_text())['values']['segments']
    for name, segment in saved.items():
        curve = segment['curve']
        scale = (unit_pa / curve['pressure_unit_pa']) ** np.arange(4)
        assert np.array(curve['coefficients']) * scale == pytest.approx(truth[name], abs=1e-9)
    with pytest.raises(CurveError, match='single_bend'):
        fit_bends(ROBOT, {})


def test_an_end_of_the_range_is_never_held_out():
    seen = []

    class Recorder:
        @staticmethod
        def fit(pressures_pa, _values):
            seen.append((pressures_pa.min(), pressures_pa.max()))
            return Cubic(coefficients=(0.0, 0.0, 0.0, 0.0), pressure_unit_pa=1.0)

    _held_out_rms(Recorder, P, P)
    assert len(seen) > 5 and set(seen) == {(P[0], P[-1])}


THREE_PA = np.array([0.0, 1e4, 2e4])


@pytest.mark.parametrize(
    'arguments',
    [
        (P[:2], P[:2]),
        (P, np.full(15, np.nan)),
        (P, TRUTHS['cubic'], 'parabola'),
        (P, -P),
        (np.array([0.0, 0.0, 1e4]), np.array([0.1, 0.1, 0.11]), 'exponential'),
        (THREE_PA, np.array([0.1, 0.09, 0.08]), 'exponential'),
        (THREE_PA, np.array([0.1, 0.2, 0.1]), 'exponential'),
    ],
)
def test_bad_data_are_one_clear_line(arguments):
    with pytest.raises(CurveError) as caught:
        fit_best(*arguments)
    assert '\n' not in str(caught.value)
