"""The gripper's state machine and its contact detection against the finger's plant."""

import math

import numpy as np
import pytest

from soft_arm_control.errors import DriverLostError, GoalError, IdentificationError
from soft_arm_control.grasping.gripper import EndState, Evidence
from soft_arm_control.grasping.no_load_fit import identify
from soft_arm_control.grasping.no_load_reference import from_robot, load, values_of
from soft_arm_control.outcome import Outcome
from soft_arm_description.calibration import CalibrationError, Measurement, save_calibration
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot

SEEDS = (2, 5)
LATE_PA = 20e3  # of pressure beyond the first touch by which a contact is seen: 0.4 s of closing


def touched_at_pa(loop, free_loop):
    """Run both to the end of the grasp.

    Return the chamber pressure at which the finger first bends less than the one without an object.
    """
    while True:
        statuses = loop.tick(), free_loop.tick()
        if free_loop.plant.piece_angles_rad.sum() - loop.plant.piece_angles_rad.sum() > 0.003:
            return loop.plant.pressure_pa
        assert statuses[0].outcome is None, statuses[0]


@pytest.mark.parametrize('plant_seed', SEEDS)
def test_an_empty_grasp_says_so_and_vents(make_finger_loop, plant_seed):
    loop = make_finger_loop(plant_seed)
    loop.grasp()
    status = loop.until_end()
    assert (status.outcome, status.end_state, status.seen_by) == (
        Outcome.NO_CONTACT,
        EndState.VENTED,
        Evidence.NONE,
    )
    assert status.contact_pa is None and 'kPa without a contact' in status.message
    assert max(p for _, p, _ in loop.samples) == pytest.approx(100e3, abs=5e3)
    assert loop.command_pa == 0.0
    loop.run(1.0)
    assert loop.command_pa is None, 'another commander would be disturbed'
    assert abs(loop.plant.pressure_pa) < 1e3


@pytest.mark.parametrize('plant_seed', SEEDS)
@pytest.mark.parametrize('gap_m', [0.005, 0.016])
def test_an_object_is_found_soon_after_it_is_touched_and_held(make_finger_loop, plant_seed, gap_m):
    loop, free_loop = make_finger_loop(plant_seed, gap_m), make_finger_loop(plant_seed)
    for each in (loop, free_loop):
        each.grasp(squeeze_pa=10e3, grip_pa=115e3)
    touch_pa = touched_at_pa(loop, free_loop)
    status = loop.until_end()
    assert (status.outcome, status.end_state) == (Outcome.REACHED, EndState.HOLDING), status
    assert Evidence.PRESSURE in status.seen_by
    assert 0 < status.contact_pa - touch_pa < LATE_PA
    held_pa = loop.command_pa
    assert held_pa == pytest.approx(status.contact_pa + 10e3)
    assert loop.run(3.0).phase == 'hold' and loop.command_pa == held_pa


@pytest.mark.parametrize('evidence', [Evidence.PRESSURE, Evidence.SHAPE, Evidence.BOTH])
def test_the_required_evidence_decides(make_finger_loop, evidence):
    loop = make_finger_loop(2, 0.010)
    loop.grasp(evidence=evidence, grip_pa=110e3)
    loop.camera = evidence is not Evidence.PRESSURE
    status = loop.until_end()
    assert status.outcome is Outcome.REACHED
    assert evidence in status.seen_by
    empty = make_finger_loop(2)
    empty.grasp(evidence=evidence)
    assert empty.until_end().outcome is Outcome.NO_CONTACT


def test_without_a_calibration_the_shape_alone_decides(make_finger_loop, finger):
    for gap_m, outcome in ((0.008, Outcome.REACHED), (None, Outcome.NO_CONTACT)):
        loop = make_finger_loop(5, gap_m, from_robot(finger))
        loop.grasp()
        status = loop.until_end()
        assert status.outcome is outcome
        assert status.seen_by == (Evidence.SHAPE if gap_m else Evidence.NONE)


def test_a_shape_that_was_asked_for_and_is_lost_vents(make_finger_loop):
    loop = make_finger_loop(11, 0.010)
    loop.grasp(evidence=Evidence.SHAPE)
    loop.until(lambda status: status.phase == 'close')
    loop.camera, lost_s = False, loop.now_s
    status = loop.until_end()
    assert (status.outcome, status.end_state) == (Outcome.SHAPE_LOST, EndState.VENTED)
    assert loop.now_s - lost_s < 0.8 and loop.command_pa == 0.0


def test_cancelling_vents_before_contact_and_holds_after(make_finger_loop):
    loop = make_finger_loop(2, 0.010)
    loop.grasp()
    loop.until(lambda status: status.phase == 'close')
    status = loop.gripper.cancel(loop.now_s)
    assert (status.outcome, status.end_state) == (
        Outcome.CANCELLED,
        EndState.VENTED,
    )
    assert 'vented' in status.message
    loop.run(0.1)
    loop.grasp()
    loop.until(lambda status: status.phase == 'squeeze')
    status = loop.gripper.cancel(loop.now_s)
    assert (status.outcome, status.end_state) == (
        Outcome.CANCELLED,
        EndState.HOLDING,
    )
    assert 'holding' in status.message
    assert loop.run(1.0).phase == 'hold' and loop.command_pa > 20e3


@pytest.mark.parametrize(
    ('lose', 'word'),
    [
        (lambda loop: setattr(loop, 'driver', False), 'no measured pressures'),
        (lambda loop: loop.gripper.liveness.add_driver_state(loop.now_s, active=False), 'inactive'),
    ],
)
def test_without_pressures_or_an_active_driver_nothing_is_commanded(make_finger_loop, lose, word):
    loop = make_finger_loop(5, 0.010)
    loop.grasp()
    loop.until(lambda status: status.phase == 'close')
    lose(loop)
    lost_s = loop.now_s
    status = loop.until_end()
    assert (status.outcome, status.end_state) == (Outcome.DRIVER_LOST, EndState.NOTHING_COMMANDED)
    assert loop.now_s - lost_s == pytest.approx(0.3, abs=0.05) and word in status.message
    assert loop.command_pa is None
    if not loop.driver:
        with pytest.raises(DriverLostError):
            loop.grasp()


@pytest.mark.parametrize('inactive', [True, False])
def test_what_is_held_is_not_commanded_again_when_the_driver_comes_back(make_finger_loop, inactive):
    loop = make_finger_loop(5, 0.010)
    loop.grasp()
    loop.until_end()
    if inactive:
        loop.gripper.liveness.add_driver_state(loop.now_s, active=False)
    loop.driver = inactive
    loop.run(0.9)
    assert loop.command_pa > 0, 'a driver that recovers by itself finds the set point again'
    loop.run(0.3)
    assert loop.command_pa is None
    loop.driver = True
    loop.gripper.liveness.add_driver_state(loop.now_s, active=True)
    assert loop.run(1.0).phase == 'idle' and loop.command_pa is None and not loop.gripper.holding


def test_a_pressure_that_does_not_follow_times_out_and_vents(make_finger_loop):
    loop = make_finger_loop(11)
    loop.supply = False
    loop.grasp(timeout_s=2.0)
    status = loop.until_end()
    assert (status.outcome, status.end_state) == (Outcome.TIMEOUT, EndState.VENTED)
    assert status.elapsed_s == pytest.approx(2.0, abs=0.05) and 'kPa' in status.message
    loop.grasp(timeout_s=1e-6)
    assert loop.tick().outcome is Outcome.TIMEOUT


@pytest.mark.parametrize('stay_open', [True, False])
def test_a_release_opens_by_vacuum(make_finger_loop, stay_open):
    loop = make_finger_loop(2, 0.010)
    loop.grasp()
    loop.until_end()
    with pytest.raises(GoalError, match='release'):
        loop.grasp()
    loop.release(stay_open=stay_open)
    status = loop.until_end()
    assert status.outcome is Outcome.REACHED and status.open_by_shape
    assert status.pressure_pa == pytest.approx(-60e3, abs=5e3)
    assert status.end_state is (EndState.OPEN if stay_open else EndState.VENTED)
    loop.run(1.0)
    assert loop.command_pa == (-60e3 if stay_open else None)
    loop.grasp()


def test_a_release_that_replaces_a_grasp_lets_go(make_finger_loop):
    loop = make_finger_loop(2, 0.010)
    loop.grasp()
    loop.until(lambda status: status.phase == 'squeeze')
    loop.release()
    assert loop.until_end().end_state is EndState.VENTED and not loop.gripper.holding


@pytest.mark.parametrize(
    ('changes', 'named'),
    [
        ({'grip_pa': 130e3}, '120'),
        ({'grip_pa': math.nan}, 'grip_pa'),
        ({'squeeze_pa': math.nan}, 'squeeze_pa'),
        ({'timeout_s': 0.0}, 'timeout_s'),
        ({'evidence': Evidence.SHAPE}, 'finger detector'),
        ({'open_pa': 0.0}, 'open_pa'),
        ({'open_pa': -95e3}, 'open_pa'),
    ],
)
def test_goals_that_are_refused_change_nothing(make_finger_loop, changes, named):
    loop = make_finger_loop(5)
    loop.camera = False
    loop.run(1.0)
    with pytest.raises(GoalError, match=named):
        (loop.release if 'open_pa' in changes else loop.grasp)(**changes)
    assert loop.run(0.1).phase == 'idle' and loop.command_pa is None


def test_the_file_keeps_what_was_identified(tmp_path, monkeypatch, free_of, finger):
    monkeypatch.setenv('SOFT_ARM_RIGS', str(tmp_path))
    (tmp_path / 'bench').mkdir()
    (tmp_path / 'bench' / 'rig.yaml').write_text('devices: real\nrobot: four_piece_finger\n')
    rig, free = load_rig('bench'), free_of(2)
    measurement = Measurement(
        devices='real',
        method='test',
        residuals={'largest_deficit_rad': 0.1},
        limits={'pressure_pa': (-1e4, 1e5)},
    )
    path = save_calibration(rig, values_of(free), finger, measurement)
    read, text = load(rig, finger), path.read_text()
    assert read.time_constant_s(40e3) == pytest.approx(free.time_constant_s(40e3), abs=1e-5)
    assert read.bend_rad(40e3) == pytest.approx(free.bend_rad(40e3), abs=1e-4)
    assert (read.excess_limit, read.deficit_limit_rad) == pytest.approx(
        (free.excess_limit, free.deficit_limit_rad), abs=1e-5
    )
    path.write_text(text.replace('pressures_pa: [', 'pressures_pa: [1.0e+6, '))
    with pytest.raises(CalibrationError, match='softarm calibrate grasp'):
        load(rig, finger)


def test_identified_time_constants_are_those_of_the_plant(free_of):
    """Volume and growth of the chamber behind the valve's resistance, at rest and bent."""
    free = free_of(2)
    assert np.all(np.diff(free.time_constants_s) > -0.004), 'the chamber grows with the bend'
    assert free.time_constant_s(-50e3) == pytest.approx(1.6e9 * 3.0e-6 / 101_325, rel=0.3)


def test_what_cannot_be_identified_is_refused(free_of, finger):
    with pytest.raises(IdentificationError, match='at least 2'):
        identify([])
    with pytest.raises(IdentificationError, match='not a finger'):
        from_robot(load_robot('two_module_arm'))
