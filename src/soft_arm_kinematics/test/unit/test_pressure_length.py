import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soft_arm_description.calibration import CalibrationError, save_calibration
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_kinematics.calibration.curve_families import Exponential
from soft_arm_kinematics.calibration.pressure_length import (
    PressureLength,
    curve_of_robot_file,
    fit_curve,
    load_curve,
    measurement_of,
)
from soft_arm_kinematics.cli.calibrate_curve import main
from soft_arm_kinematics.errors import CurveError

ROBOT = load_robot('two_module_arm')
RIG = load_rig('virtual')
CURVE = curve_of_robot_file(ROBOT)
inside_pa = st.lists(st.floats(-96e3, 96e3), min_size=6, max_size=6).map(np.array)


def test_three_points_give_the_papers_exponential():
    assert CURVE.lengths([[-96e3] * 6, [0.0] * 6, [96e3] * 6])[:, 0] == pytest.approx(
        [0.070, 0.103, 0.195], abs=1e-12
    )
    growth_per_pa = CURVE.curves[0].growth_per_pa
    assert 1.0 / growth_per_pa == pytest.approx(93.63e3, rel=1e-4)
    assert CURVE.slopes(np.zeros(6))[0] / growth_per_pa == pytest.approx(51.46e-3, rel=1e-3)


@given(inside_pa.map(lambda p: 0.99 * p))
def test_slope_is_the_derivative(pressures_pa):
    numeric = (CURVE.lengths(pressures_pa + 1.0) - CURVE.lengths(pressures_pa - 1.0)) / 2.0
    assert CURVE.slopes(pressures_pa) == pytest.approx(numeric, rel=1e-7)


@given(st.floats(0.08, 0.2), st.floats(1e-8, 1e-6), st.floats(-2e-5, 2e-5))
def test_fit_recovers_dense_data(length_0, slope, growth):
    p = np.linspace(-96e3, 96e3, 15)
    data = length_0 + slope * (np.expm1(growth * p) / growth if abs(growth) > 1e-12 else p)
    again = Exponential.fit(p, data).values(p)
    assert again == pytest.approx(data, abs=1e-6 * np.ptp(data))


def test_residual_is_that_of_the_data():
    rng = np.random.default_rng(3)
    p = np.linspace(-96e3, 96e3, 200)
    data = {
        name: (
            p,
            CURVE.lengths(np.repeat(p[:, None], 6, axis=1))[:, 0] + 1e-3 * rng.standard_normal(200),
        )
        for name in ROBOT.chambers
    }
    for fit in fit_curve(ROBOT, data).fits.values():
        assert fit.residual_rms == pytest.approx(1e-3, rel=0.2) and fit.residual_max > 2e-3


@pytest.mark.parametrize(
    'value_pa, words',
    [(97e3, ['m1_b3', '97000', '96000', 'Pa']), (np.nan, ['m1_b3', 'nan']), (-np.inf, ['inf'])],
)
def test_extrapolation_is_refused(value_pa, words):
    pressures_pa = np.zeros(6)
    pressures_pa[2] = value_pa
    with pytest.raises(CurveError) as caught:
        CURVE.lengths(pressures_pa)
    assert all(word in str(caught.value) for word in words)
    with pytest.raises(CurveError):
        CURVE.pressures(np.full(6, 0.196))


def test_saved_curve_comes_back(tmp_path):
    measurement = measurement_of(CURVE.fits, 'm', 'virtual', 'test', '2026-01-02')
    path = save_calibration(
        RIG, PressureLength(chambers=CURVE.fits), ROBOT, measurement, tmp_path / 'c.yaml'
    )
    again = load_curve(RIG, ROBOT, path)
    pressures_pa = np.linspace(-96e3, 96e3, 6)
    assert np.array_equal(again.lengths(pressures_pa), CURVE.lengths(pressures_pa))
    assert again.date == '2026-01-02'
    text = path.read_text()
    path.write_text(text.replace('m1_b2:', 'm1_b9:'))
    with pytest.raises(CalibrationError, match='m1_b9.*softarm calibrate curve'):
        load_curve(RIG, ROBOT, path)
    path.write_text(text.replace('value_0: 0.1', 'value_0: .inf'))
    with pytest.raises(CalibrationError, match='values.chambers.m1_b1.*value_0'):
        load_curve(RIG, ROBOT, path)


def test_shipped_virtual_curve_is_table_3():
    shipped = load_curve(RIG, ROBOT)
    pressures_pa = np.linspace(-96e3, 96e3, 6)
    assert shipped.lengths(pressures_pa) == pytest.approx(CURVE.lengths(pressures_pa), abs=1e-12)


def test_calibrate_command(tmp_path, capsys):
    data = tmp_path / 'points.csv'
    rows = [
        f'{name},{p},{length}'
        for name in ROBOT.chambers
        for p, length in ((-96e3, 0.07), (0, 0.103), (96e3, 0.195))
    ]
    data.write_text('\n'.join(['chamber,pressure_pa,length_m', *rows]))
    assert main(['--data', str(data), '--output', str(tmp_path / 'out.yaml'), '--json']) == 0
    assert max(json.loads(capsys.readouterr().out)['residual_max_m'].values()) < 1e-12
    assert load_curve(RIG, ROBOT, tmp_path / 'out.yaml').lengths(np.zeros(6)) == pytest.approx(
        np.full(6, 0.103)
    )
    data.write_text('\n'.join(['chamber,pressure_pa,length_m', *rows[:-3]]))
    assert main(['--data', str(data), '--output', str(tmp_path / 'bad.yaml')]) == 2
    message = capsys.readouterr().err
    assert 'm2_b3' in message and message.count('\n') == 1 and not (tmp_path / 'bad.yaml').exists()
