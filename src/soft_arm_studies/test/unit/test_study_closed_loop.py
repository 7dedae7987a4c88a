"""Experiment `closed_loop`: what virtual rigs that the controller does not know come to."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from soft_arm_studies.errors import StudyError
from soft_arm_studies.plan import make_plan
from soft_arm_studies.runs import run_batch
from soft_arm_studies.study_file import Study

WORLDS = Path(__file__).resolve().parents[4] / 'examples' / 'studies' / 'worlds'
BASE = {
    'schema_version': 1,
    'name': 'study',
    'experiment': 'closed_loop',
    'robot': 'two_module_arm',
    'world': str(WORLDS / 'payload_at_tip.yaml'),
    'pneumatics': 'two_module_arm',
    'parameters': {'targets': 1},
    'seed': 71,
}
LAG, WEIGHT = 'pneumatics.valve.lag_s', 'world.loads.0.force_n.2'


def rows(**changes):
    study = Study.model_validate(BASE | changes)
    plan = make_plan(study, Path())
    return run_batch(study.experiment, plan.contents, plan.places, list(enumerate(plan.values)))


def test_a_rig_is_the_same_every_time_and_slower_valves_settle_later():
    done = rows(vary={'grid': {LAG: [0.1, 0.35, 0.1]}})
    assert [row.error for row in done] == [None] * 3
    fast, slow, again = (row.results for row in done)
    assert fast == again
    assert fast['settle_mean_s'] < slow['settle_mean_s']
    assert fast['reached'] == fast['settled'] == 1
    assert 0.0 < fast['error_mean_mm'] == fast['error_p95_mm'] == fast['error_max_mm'] < 2.0


def test_payload_and_seed_are_those_of_the_keys():
    done = rows(vary={'grid': {WEIGHT: [-1.5, 0.0], 'seed': [71, 72]}})
    assert [row.error for row in done] == [None] * 4
    assert len({row.results['error_mean_mm'] for row in done}) == 4


def test_a_rig_that_has_no_calibration_of_a_varied_robot_is_a_failed_row():
    done = rows(vary={'grid': {'robot.segments.0.rigid_length_m': [0.01]}})
    assert 'made for another robot' in done[0].error


@pytest.mark.parametrize(
    'changes, message',
    [
        ({'robot': None}, 'needs a robot'),
        ({'actuation': {'m1_b1': 0.0}}, 'takes no actuation'),
        ({'simulation': {'duration_s': 1.0}}, 'takes no simulation'),
        ({'results': ['tip_position']}, 'takes no results'),
        ({'controller': {'tolerance': 1e-3}}, 'tolerance'),
        ({'controller': {'rig': 'no_such_rig'}}, 'no_such_rig'),
        ({'parameters': {'targets': 0}}, 'targets'),
        ({'robot': 'four_piece_finger', 'world': None}, 'four_piece_finger'),
        ({'vary': {'grid': {'controller.gain': [1.0]}}}, "no 'gain'"),
        ({'vary': {'grid': {'controller.timeout_s': [0.0]}}}, '600 s'),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_runs(changes, message):
    with pytest.raises((StudyError, ValidationError), match=message):
        rows(**{'vary': {'grid': {'seed': [1]}}} | changes)
