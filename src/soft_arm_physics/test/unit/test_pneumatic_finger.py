"""The finger behind the emulated controller.

It differs from its robot file as a real one does, has weight, and stops at an object.
"""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_arm_description.robot import load_robot
from soft_arm_physics.errors import PhysicsError
from soft_arm_physics.pneumatic_finger import PneumaticFinger

ROBOT = load_robot('four_piece_finger')
SETTLE_S = 3.0


def nominal_rad(pressure_pa: float) -> np.ndarray:
    return np.array(
        [
            np.polynomial.polynomial.polyval(
                pressure_pa / s.pressure_unit_pa, s.theta_coefficients_rad
            )
            for s in ROBOT.segments
        ]
    )


def at(plant: PneumaticFinger, pressure_pa: float, duration_s: float = SETTLE_S) -> PneumaticFinger:
    plant.advance(
        duration_s, max(pressure_pa, 0.0), min(pressure_pa, 0.0), pressure_pa > 0, pressure_pa < 0
    )
    return plant


@pytest.mark.parametrize('pressure_pa', [-90e3, -40e3, 50e3, 120e3])
def test_pressure_follows_the_regulator_and_the_bends_are_near_the_cubics(pressure_pa):
    errors = []
    for seed in range(6):
        plant = at(PneumaticFinger(ROBOT, seed), pressure_pa)
        assert plant.pressure_pa == pytest.approx(pressure_pa, rel=0.02, abs=800)
        assert abs(plant.sensor_pressure_pa() - plant.pressure_pa) < 250
        errors.append(plant.piece_angles_rad / nominal_rad(pressure_pa) - 1.0)
    assert np.abs(np.mean(errors)) < 0.15
    assert np.std(errors, axis=0).min() > 0.02  # every finger differs
    assert np.abs(errors).max() < 0.5


def test_valves_shut_is_open_to_the_air():
    plant = at(PneumaticFinger(ROBOT, 1), 100e3)
    plant.advance(SETTLE_S, 100e3, -50e3, False, False)
    assert abs(plant.pressure_pa) < 1.0 and np.abs(plant.piece_angles_rad).max() < 0.03


def test_pressure_needs_time_and_has_no_step():
    plant = PneumaticFinger(ROBOT, 1)
    pressures = [plant.pressure_pa]
    for _ in range(60):
        at(plant, 100e3, 0.005)
        pressures.append(plant.pressure_pa)
    assert np.all(np.diff(pressures) > 0) and np.diff(pressures).max() < 12e3
    one_call = at(PneumaticFinger(ROBOT, 1), 100e3, 0.3)
    assert one_call.pressure_pa == pytest.approx(pressures[-1], rel=1e-6)  # however the time is cut


def test_unloading_lies_above_loading():
    plant = at(PneumaticFinger(ROBOT, 2), 50e3)
    loading_rad = plant.piece_angles_rad
    unloading_rad = at(at(plant, 110e3), 50e3).piece_angles_rad
    width_rad = (unloading_rad - loading_rad).sum()
    assert 0.003 < width_rad < 0.05


def tip_m(finger: PneumaticFinger) -> np.ndarray:
    return finger.T_base_backbone()[-1, :3, 3]


def test_object_stops_the_finger_and_stiffens_the_chamber():
    free, blocked = PneumaticFinger(ROBOT, 3), PneumaticFinger(ROBOT, 3)
    blocked.place_object(0.012)
    rise_pa = {}
    for name, plant in (('free', free), ('blocked', blocked)):
        at(plant, 60e3)
        before_pa = plant.pressure_pa
        at(plant, 110e3, 0.05)
        rise_pa[name] = plant.pressure_pa - before_pa
        at(plant, 110e3)
    assert rise_pa['blocked'] > 1.15 * rise_pa['free']
    # The first pieces give way, the last ones roll along the face.
    assert tip_m(blocked)[0] < 0.65 * tip_m(free)[0]
    assert blocked.piece_angles_rad[0] < 0.7 * free.piece_angles_rad[0]
    blocked.place_object(None)
    at(blocked, 110e3)
    np.testing.assert_allclose(blocked.piece_angles_rad, free.piece_angles_rad, atol=1e-3)


def test_object_is_not_put_where_the_finger_is():
    plant = at(PneumaticFinger(ROBOT, 3), 100e3)
    bends_rad = plant.piece_angles_rad
    with pytest.raises(PhysicsError, match='vent the finger first'):
        plant.place_object(0.005)
    np.testing.assert_allclose(at(plant, 100e3).piece_angles_rad, bends_rad, atol=1e-3)


def test_vacuum_opens_away_from_the_object():
    plant = PneumaticFinger(ROBOT, 3)
    plant.place_object(0.012)
    np.testing.assert_array_equal(
        at(plant, -80e3).piece_angles_rad, at(PneumaticFinger(ROBOT, 3), -80e3).piece_angles_rad
    )


@pytest.mark.parametrize('down', [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.6, 0.0, 0.8)])
def test_weight_acts_down_however_the_flange_is_turned(down):
    """On a flange that points down the finger hangs straight; across, it sags as a cantilever."""
    finger = PneumaticFinger(ROBOT, 3)
    hanging_m = tip_m(finger)
    turn, _ = Rotation.align_vectors([[0.0, 0.0, -1.0]], [down])
    finger.turn_flange(turn.as_matrix())
    sagged_m = tip_m(at(finger, 0.0)) - hanging_m
    mass_kg = sum(s.mass_kg for s in ROBOT.segments)
    length_m = sum(s.length_m for s in ROBOT.segments)
    stiffness_n_m2 = float(ROBOT.segments[0].bending_stiffness_n_m2(np.array(0.5))[0])
    sag_m = mass_kg * 9.81 * length_m**3 / (8.0 * stiffness_n_m2)
    assert sagged_m[:2] == pytest.approx(sag_m * np.array(down[:2]), abs=0.05 * sag_m)
    assert np.abs(hanging_m[:2]).max() < 1e-3 < sag_m


@pytest.mark.parametrize('gap_m', [0.0, -0.01, math.nan, math.inf])
def test_impossible_gap_is_refused(gap_m):
    with pytest.raises(PhysicsError, match='greater than 0 m'):
        PneumaticFinger(ROBOT, 0).place_object(gap_m)


def test_an_arm_is_no_finger():
    with pytest.raises(PhysicsError, match="'two_module_arm' is not a finger"):
        PneumaticFinger(load_robot('two_module_arm'), 0)
