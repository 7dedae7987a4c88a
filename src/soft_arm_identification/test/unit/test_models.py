"""Models, on a planar arm whose formulas are the tests' own."""

from dataclasses import replace
from importlib.metadata import EntryPoint

import numpy as np
import pytest
from arm_plant import LENGTH_M, RATE_HZ, record, steps, swinging, waves
from scipy.spatial.transform import Rotation

from soft_arm_identification.arm_sections import ArmSections, arm_of_robot
from soft_arm_identification.errors import RecordingError
from soft_arm_identification.models import model as model_module
from soft_arm_identification.models import recurrent
from soft_arm_identification.models.arcs import arcs_to
from soft_arm_identification.models.memory import THRESHOLDS, effect
from soft_arm_identification.models.model import installed_models, make_model, with_offset

ARM = ArmSections(sections=[{'end': 'tip'}], axis=(0, 0, 1))


def error_m(model, recording, horizon=None):
    return np.linalg.norm(model.predict(recording, horizon) - recording.tip_m, axis=1).mean()


def fitted(name, recordings, arm=ARM):
    model = make_model(name, arm)
    model.fit(recordings)
    return model


@pytest.fixture
def short_training(monkeypatch):
    monkeypatch.setattr(recurrent, 'EPOCHS', 100)


@pytest.mark.parametrize(
    ('name', 'share'),
    [
        ('constant_curvature', 0.002),
        ('constant_curvature_memory', 0.01),
        ('polynomial', 0.03),
        ('polynomial_lags', 0.03),
        ('koopman', 0.2),
        ('mujoco', 0.01),
        ('recurrent', 0.2),
    ],
)
def test_a_model_predicts_another_run_of_an_arm_without_memory(name, share, short_training):
    model = fitted(name, [record('one', waves(1)), record('two', waves(2))])
    other = record('three', waves(3))
    assert error_m(model, other) < share * LENGTH_M
    assert error_m(model, other, 1) < 0.05 * LENGTH_M
    assert all(np.isfinite(p.value) and p.unit for p in model.parameters.values())


def test_every_installed_model_is_tried_above():
    tried = test_a_model_predicts_another_run_of_an_arm_without_memory.pytestmark[0].args[1]
    assert sorted(name for name, _ in tried) == installed_models()


def test_memory_explains_hysteresis_and_the_state_before_the_first_sample():
    runs = [record(str(seed), waves(seed), width=0.2) for seed in (1, 2)]
    other = record('other', waves(3), width=0.2, start=0.2)  # it comes from above
    memory, static = (
        fitted(name, runs) for name in ('constant_curvature_memory', 'constant_curvature')
    )
    assert error_m(memory, other) < 0.3 * error_m(static, other)
    assert error_m(memory, other) < 0.04 * LENGTH_M


def late(seed, dead_time_s=0.4):
    """Recording of pressures that act after a dead time."""
    pressures_pa, samples = waves(seed), round(dead_time_s * RATE_HZ)
    run = record(str(seed), np.concatenate([pressures_pa[[0] * samples], pressures_pa[:-samples]]))
    return replace(run, inputs=replace(run.inputs, values=pressures_pa))


def test_commanded_inputs_act_after_a_dead_time_and_measured_ones_at_once():
    model = fitted('constant_curvature_memory', [late(1)])
    assert model.parameters['dead_time'].value == pytest.approx(0.4, abs=0.06)
    assert error_m(model, late(2)) < 0.01 * LENGTH_M
    run = record('one', waves(1))
    measured = replace(run, measured=run.inputs)
    assert 'dead_time' not in fitted('constant_curvature_memory', [measured]).parameters


def test_constant_curvature_extrapolates_to_inputs_that_were_never_combined():
    left, right = (waves(seed) * side for seed, side in ((1, (1, 0)), (2, (0, 1))))
    runs = [record('left', left), record('right', right)]
    both = record('both', waves(3))
    assert error_m(fitted('constant_curvature', runs), both) < 0.01 * LENGTH_M
    assert error_m(fitted('polynomial', runs), both) > 0.02 * LENGTH_M


def test_a_chain_swings_as_a_hanging_arm_with_mass_does():
    runs = [swinging(str(seed), steps(seed)) for seed in (1, 2)]
    other = swinging('other', steps(3))
    chain, static = (fitted(name, runs) for name in ('mujoco', 'constant_curvature'))
    assert error_m(chain, other) < 0.3 * error_m(static, other)
    assert error_m(chain, other) < 0.02 * LENGTH_M
    assert chain.parameters['chain.frequency'].value == pytest.approx(1.2, rel=0.2)
    assert np.array_equal(chain.predict(other), chain.predict(other))


def test_poses_at_rest_are_equilibria_of_the_chain():
    arm = ArmSections(sections=[{'end': 'tip'}], axis=(0, 0, 1), at_rest=True)
    runs = [record(str(seed), waves(seed, 60)) for seed in (1, 2)]
    assert error_m(fitted('mujoco', runs, arm), record('other', waves(3))) < 0.002 * LENGTH_M


def test_a_free_run_uses_no_position_after_the_first_pose():
    runs = [record('one', waves(1), width=0.1)]
    for name in ('constant_curvature_memory', 'koopman', 'mujoco'):
        model, other = fitted(name, runs), record('other', waves(3), width=0.1)
        before = model.predict(other)
        other.points_m[1:] += 0.1
        assert np.array_equal(model.predict(other), before), name


@pytest.mark.parametrize(
    'name', ['constant_curvature', 'polynomial_lags', 'koopman', 'mujoco', 'recurrent']
)
def test_one_step_uses_no_position_of_the_present_or_later_samples(name, short_training):
    run = record('one', waves(1))
    run.time_s[:] *= 0.7  # between the steps of models in discrete time
    model = fitted(name, [run])
    before = model.predict(run, 1)
    for sample in range(60, 70):
        tip = run.points_m[sample:].copy()
        run.points_m[sample:] += 0.1
        assert np.array_equal(model.predict(run, 1)[: sample + 1], before[: sample + 1])
        run.points_m[sample:] = tip
    run.points_m[40:] += 0.1
    assert not np.array_equal(model.predict(run, 1), before)


def test_the_last_error_is_that_of_the_newest_known_position():
    tip = np.arange(12.0).reshape(4, 3)
    tip[1] = np.nan
    ahead = with_offset(np.zeros((4, 3)), tip, 1)
    assert np.array_equal(ahead, [[0, 0, 0], [0, 1, 2], [0, 1, 2], [6, 7, 8]])


def test_play_rises_by_the_input_less_its_half_width_and_the_lag_is_exponential():
    one = np.zeros(len(THRESHOLDS))
    one[2] = 1.0
    times = np.arange(200) * 0.1
    inputs = np.minimum(times, 1.0)[:, None]
    quick = effect(times, inputs, one, np.zeros(1), 1e-6, 1e-6, 0.0, 1.0)
    assert quick[-1, 0] == pytest.approx(1.0 - THRESHOLDS[2])
    step = np.ones((200, 1))
    step[0] = 0.0
    linear = np.zeros(len(THRESHOLDS))
    linear[0] = 1.0
    lagged = effect(times, step, linear, np.zeros(1), 2.0, 9.0, 0.0, 1.0)[:, 0]
    assert lagged == pytest.approx(1 - np.exp(-times / 2.0))
    fallen = effect(times, 1 - step, linear, np.zeros(1), 9.0, 2.0, 0.0, 1.0)[:, 0]
    assert fallen == pytest.approx(np.exp(-times / 2.0))


def test_an_arc_ends_where_it_was_observed():
    bend, length = np.deg2rad(70), 0.2
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_euler('xyz', (20, 30, 40), degrees=True).as_matrix()
    pose[:3, 3] = 0.1, 0.2, 0.3
    radius = length / bend
    local = [radius * (1 - np.cos(bend)) * np.cos(0.5), radius * (1 - np.cos(bend)) * np.sin(0.5)]
    end = pose[:3, :3] @ [*local, radius * np.sin(bend)] + pose[:3, 3]
    arc = arcs_to(pose[None], end[None])[0]
    assert arc == pytest.approx([bend * np.cos(0.5), bend * np.sin(0.5), length])


def test_inputs_of_other_names_are_refused():
    model = fitted('polynomial', [record('one', waves(1))])
    other = record('other', waves(1))
    object.__setattr__(other.inputs, 'names', ('right', 'left'))
    with pytest.raises(RecordingError, match='fitted to left, right'):
        model.predict(other)
    with pytest.raises(RecordingError, match="input 'middle'"):
        fitted(
            'constant_curvature',
            [record('one', waves(1))],
            ArmSections(sections=[{'inputs': ['middle']}]),
        )


def test_sections_follow_from_a_robot_file():
    from soft_arm_description.robot import load_robot

    arm = arm_of_robot(load_robot('two_module_arm'))
    assert len(arm.sections) == 2
    assert arm.sections[0].inputs == list(load_robot('two_module_arm').chambers[:3])


def test_an_unknown_model_and_a_missing_library_are_named(monkeypatch):
    with pytest.raises(RecordingError, match='koopman'):
        make_model('unknown', ARM)
    point = EntryPoint('lacking', 'a_library_that_is_not_installed:Model', model_module.GROUP)
    monkeypatch.setattr(model_module, 'entry_points', lambda group: [point])
    with pytest.raises(RecordingError, match='a_library_that_is_not_installed'):
        make_model('lacking', ARM)
