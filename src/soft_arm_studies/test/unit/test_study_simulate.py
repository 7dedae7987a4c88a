"""Experiment `simulate`: what a run returns, and what is refused before anything runs."""

import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from soft_arm_studies.errors import StudyError
from soft_arm_studies.plan import make_plan
from soft_arm_studies.runs import run_batch
from soft_arm_studies.study_file import Study, load_study

EXAMPLES = sorted((Path(__file__).resolve().parents[4] / 'examples' / 'studies').glob('*.yaml'))
BASE = {
    'schema_version': 1,
    'name': 'study',
    'experiment': 'simulate',
    'robot': 'four_piece_finger',
    'simulation': {'duration_s': 20.0, 'until_rest': True},
    'results': ['tip_bend'],
}


def rows(**changes):
    study = Study.model_validate(BASE | changes)
    plan = make_plan(study, Path())
    return run_batch(study.experiment, plan.contents, plan.places, list(enumerate(plan.values)))


def test_pressure_bends_and_stiffness_holds_against_gravity():
    stiffness = 'robot.segments.*.stiffness.bending_n_m2'
    grid = {'actuation.finger': [0.0, 60e3], stiffness: [2e-4, 2e-2], 'seed': [0, 1]}
    done = rows(vary={'grid': grid}, robot='four_piece_finger')
    assert [row.error for row in done] == [None] * 8
    bends = [row.results['tip_bend_deg'] for row in done]
    assert bends[0::2] == bends[1::2], 'without spread of the pneumatics a seed draws nothing'
    assert max(bends[:4]) < 0.1 and min(bends[4:]) > 20.0 and abs(bends[4] - bends[6]) > 0.5


def test_a_formula_of_time_with_a_varied_parameter_moves_the_robot():
    done = rows(
        simulation={'duration_s': 0.3},
        results=['tip_bend', 'time'],
        actuation={'finger': 'peak_pa * (t < share * 0.3)'},
        parameters={'peak_pa': 80e3, 'share': 1.0},
        vary={'grid': {'parameters.share': [0.0, 0.5, 1.0], 'parameters.peak_pa': [40e3, 80e3]}},
    )
    assert [row.error for row in done] == [None] * 6
    bends = [row.results['tip_bend_deg'] for row in done]
    assert bends[0] == bends[1] and bends[5] > bends[4] > bends[0]
    assert abs(bends[3] - bends[1]) > 1e-3 and abs(bends[3] - bends[5]) > 1e-3
    assert done[0].results['time_s'] == pytest.approx(0.3)
    constant = rows(simulation={'duration_s': 0.3}, vary={'grid': {'actuation.finger': [80e3]}})[0]
    assert constant.results['tip_bend_deg'] == pytest.approx(bends[5], rel=1e-9)


def test_a_model_that_cannot_be_built_is_a_failed_row_with_its_reason():
    done = rows(
        simulation={'duration_s': 0.02},
        vary={'grid': {'robot.segments.*.contact_time_s': [0.02, 0.003]}},
    )
    assert done[0].error is None and 'time step' in done[1].error


def test_results_of_an_assembly_are_named_by_robot_and_a_failure_says_why():
    done = rows(
        robot=None,
        assembly='squid',
        world='sea',
        simulation={'duration_s': 0.1},
        results=['tip_position', 'time', 'energy', 'contacts', 'base_wrench', 'tip_rotation'],
        vary={'grid': {'actuation.grasper.grasper_1_theta': [0.0, 0.5]}},
    )
    assert [row.error for row in done] == [None, None]
    straight, bent = (row.results for row in done)
    assert straight['time_s'] == pytest.approx(0.1)
    assert straight['grasper_tip_x_m'] != bent['grasper_tip_x_m']
    assert straight['light_tip_x_m'] == pytest.approx(bent['light_tip_x_m'], abs=1e-3)
    restless = rows(
        simulation={'duration_s': 0.05, 'until_rest': True},
        vary={'grid': {'actuation.finger': [90e3]}},
    )
    assert 'still moves' in restless[0].error and restless[0].results == {}


@pytest.mark.parametrize(
    'changes, words',
    [
        ({'results': ['tip']}, ["no 'tip'", 'tip_position']),
        ({'actuation': {'fingr': 0.0}}, ["no 'fingr'", 'finger']),
        ({'actuation': {'finger': 2e6}}, ['actuation.finger', '2000000', '120000 Pa']),
        ({'vary': {'grid': {'actuation.finger': [2e6, 1e6]}}}, ['run 0', '2000000', '120000 Pa']),
        ({'actuation': {'finger': '1e3*t'}}, ['until_rest', 'formula']),
        (
            {'actuation': {'finger': '9e5*t'}, 'simulation': {'duration_s': 1.0}},
            ['actuation.finger', 'at t = 0.14 s', '120000 Pa'],
        ),
        (
            {'actuation': {'finger': 'peak*t'}, 'simulation': {'duration_s': 1.0}},
            ["'peak'", 'allowed are'],
        ),
        ({'parameters': {'t': 1.0}}, ['parameters.t', 'rename']),
        ({'parameters': {'a': 'b'}}, ['parameters.a', 'not a number']),
        ({'controller': {'gain': 1.0}}, ['takes no controller']),
        ({'vary': {'grid': {'actuation.thumb': [0.0]}}}, ["no 'thumb'", 'finger']),
        ({'vary': {'grid': {'simulation.time_step_s': [1.0]}}}, ['time_step_s', '0.01 s']),
        ({'world': 'no_such_world'}, ['no_such_world']),
    ],
)
def test_what_cannot_be_simulated_is_refused_before_anything_runs(changes, words):
    with pytest.raises((StudyError, ValidationError)) as error:
        rows(**{'vary': {'grid': {'seed': [0]}}} | changes)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize('file', EXAMPLES, ids=lambda file: file.stem)
def test_examples_run(file, monkeypatch):
    monkeypatch.setattr(sys, 'path', [str(file.parent), *sys.path])
    study = load_study(file)
    plan = make_plan(study, file.parent)
    last = len(plan.values) - 1
    done = run_batch(study.experiment, plan.contents, plan.places, [(last, plan.values[last])])
    assert done[0].error is None and done[0].results
