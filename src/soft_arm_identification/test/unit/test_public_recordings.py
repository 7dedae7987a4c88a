"""Mapping files that ship, on the recordings of other laboratories."""

import os
from pathlib import Path

import numpy as np
import pytest

from soft_arm_identification.convert import convert
from soft_arm_identification.mapping import SHIPPED, load_mapping

DATA = Path(
    os.environ.get('SOFT_ARM_RECORDINGS', Path(__file__).parents[5] / 'shared/data/real_arms')
)
# Files of each set, their runs, and the median distance from base to tip, or from the first to the
# last point [m].
SETS = {
    'asu_two_segment_pneumatic': ('jan10-3/data_collect_*.txt', 3, 0.30),
    'crl_nine_tendons': ('*.csv', 2, None),
    'eth_one_segment_pneumatic': ('blackframe*.npy', 15, 0.11),
    'soromox_two_tendon_tentacle': ('m2_u005.csv', 1, 0.36),
    'stanford_trunk': ('observations*.csv', 2, 0.22),
}


def test_each_shipped_mapping_is_listed():
    assert {path.stem for path in SHIPPED.glob('*.yaml')} == set(SETS)


@pytest.mark.skipif(not DATA.exists(), reason=f'no recordings in {DATA}: SOFT_ARM_RECORDINGS')
@pytest.mark.parametrize('name', SETS)
def test_a_shipped_mapping_fits_its_set(name):
    pattern, runs, distance_m = SETS[name]
    mapping = load_mapping(name)
    found = [run for file in sorted((DATA / name).glob(pattern)) for run in convert(file, mapping)]
    assert len(found) == runs
    for recording in found:
        assert np.isfinite(recording.inputs.values).all()
        assert np.isfinite(recording.tip_m).mean() > 0.95
        if distance_m is not None:
            apart_m = np.linalg.norm(recording.tip_m - recording.points_m[:, 0], axis=1)
            assert np.nanmedian(apart_m) == pytest.approx(distance_m, rel=0.4)
