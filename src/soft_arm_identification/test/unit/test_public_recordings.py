"""Mapping files that ship, on the recordings of other laboratories."""

import numpy as np
import pytest

from soft_arm_identification.convert import convert
from soft_arm_identification.mapping import SHIPPED, load_mapping

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
