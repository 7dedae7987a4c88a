"""The comparison with the true values; `test_identify.py` tests the identification itself."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from soft_arm_benchmarks import bench_identify
from soft_arm_benchmarks.identification import intervals
from soft_arm_description.robot import load_robot
from soft_arm_identification.identify.bellows_model import BellowsModel
from soft_arm_identification.identify.estimate import Estimate
from soft_arm_physics.actuation.pneumatics import load_pneumatics


def test_true_values_are_those_of_the_recorded_arm():
    """A model with the true values predicts the recorded tip, and one of another arm does not."""
    robot, errors_m = load_robot('two_module_arm'), []
    random = np.random.default_rng(5)
    true = intervals._drawn(robot, random)
    recording = intervals._recorded(true, 5, 20.0, 0.0, random)
    model = BellowsModel(robot, [recording], poses=60)
    for seed in (5, 6):
        values = intervals._truth(true, seed, load_pneumatics(intervals.SHIPPED))
        x = np.array([values.get(unknown.name, unknown.guess) for unknown in model.unknowns])
        errors_m.append(np.linalg.norm(model.predict(x) - model.values, axis=1).mean())
    assert errors_m[0] < 1e-3
    assert errors_m[1] > 3.0 * errors_m[0]


@pytest.mark.parametrize(('shift_sd', 'coverage'), [(1.9, 1.0), (2.0, 0.0)])
def test_values_outside_their_intervals_are_counted(monkeypatch, capsys, shift_sd, coverage):
    def identified(robot, recordings):
        unknowns = BellowsModel(robot, recordings, poses=20).unknowns
        names = [unknown.name for unknown in unknowns]
        deviations = np.array([0.1 * unknown.spread for unknown in unknowns])
        x = [truth.get(n, 0.0) + shift_sd * d for n, d in zip(names, deviations, strict=True)]
        tip = Estimate(unknowns, np.array(x), np.diag(deviations**2), np.zeros((20, 3)))
        return SimpleNamespace(tip=tip, before_mean_m=5e-3, held_out_mean_m=4e-4)

    robot = load_robot('two_module_arm')
    true = intervals._drawn(robot, np.random.default_rng([1, 77]))
    truth = intervals._truth(true, 1, load_pneumatics(intervals.SHIPPED))
    monkeypatch.setattr(intervals, 'identify', identified)
    status = bench_identify.main(['--arms', '1', '--seconds', '20', '--json'])
    figures = json.loads(capsys.readouterr().out)
    assert status == (coverage < 0.92)
    assert set(bench_identify.LIMITS) <= set(figures)
    assert figures['interval_coverage'] == coverage
    assert figures['arm_1']['determined'] == len(truth)
