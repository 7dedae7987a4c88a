"""Mapping files that ship, on the recordings of other laboratories."""

import numpy as np
import pytest

from soft_arm_identification.convert import convert
from soft_arm_identification.mapping import SHIPPED, load_mapping
from soft_arm_identification.models.model import make_model
from soft_arm_identification.set_file import SHIPPED as SETS_FILE
from soft_arm_identification.set_file import load_runs, load_sets, split_runs

# Files of each set, their runs, and the median distance from the first point to the tip [m].
SETS = {
    'asu_two_segment_pneumatic': ('jan10-3/data_collect_*.txt', 3, 0.30),
    'crl_nine_tendons': ('*.csv', 2, None),
    'eth_one_segment_pneumatic': ('blackframe*.npy', 15, 0.11),
    'soromox_two_tendon_tentacle': ('m2_u005.csv', 1, 0.36),
    'stanford_trunk': ('observations*.csv', 2, 0.22),
}


def test_each_shipped_mapping_is_listed():
    assert {path.stem for path in SHIPPED.glob('*.yaml')} == {*SETS, 'printed_chambers'}


@pytest.mark.parametrize('name', SETS)
def test_a_shipped_mapping_fits_its_set(name, recordings_of_others):
    pattern, runs, distance_m = SETS[name]
    files = sorted((recordings_of_others / 'real_arms' / name).glob(pattern))
    found = [run for file in files for run in convert(file, load_mapping(name))]
    assert len(found) == runs
    for recording in found:
        assert np.isfinite(recording.inputs.values).all()
        assert np.isfinite(recording.tip_m).mean() > 0.95
        if distance_m is not None:
            apart_m = np.linalg.norm(recording.tip_m - recording.points_m[:, 0], axis=1)
            assert np.nanmedian(apart_m) == pytest.approx(distance_m, rel=0.4)


# Every regression has 40 to 60 mm where chambers are combined that were inflated one by one before.
@pytest.mark.parametrize(
    ('name', 'split', 'model', 'limit_m'),
    [
        ('asu_two_segment_pneumatic', 'other_inputs', 'constant_curvature_memory', 0.025),
        ('crl_nine_tendons', 'other_inputs', 'constant_curvature', 0.0119),
        ('asu_two_segment_pneumatic', 'repeat_right', 'polynomial_lags', 0.0044),
    ],
)
def test_a_model_predicts_runs_that_it_was_not_fitted_to(
    name, split, model, limit_m, recordings_of_others
):
    arm_set = load_sets(SETS_FILE)[name]
    runs = load_runs(recordings_of_others / 'real_arms' / name, arm_set, SETS_FILE.parent)
    fit, test = split_runs(runs, arm_set.splits[split])
    made = make_model(model, arm_set.sections())
    made.fit(list(fit.values()))
    for recording in test.values():
        error_m = np.linalg.norm(made.predict(recording) - recording.tip_m, axis=1)
        assert np.nanmean(error_m) < limit_m
