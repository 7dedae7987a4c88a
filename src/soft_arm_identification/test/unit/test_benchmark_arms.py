"""`softarm benchmark arms` and set files, on a small generated data set."""

import json
from importlib.metadata import EntryPoint

import dask
import numpy as np
import pytest
from arm_plant import record, waves

from soft_arm_identification import benchmark
from soft_arm_identification.benchmark import floor_m
from soft_arm_identification.cli import benchmark_arms
from soft_arm_identification.errors import RecordingError
from soft_arm_identification.models import model
from soft_arm_identification.set_file import SHIPPED, Split, load_runs, load_sets, part, split_runs

MAPPING = """
length_m: 0.3
time: {column: t, unit: s}
inputs:
  - {name: left, unit: Pa, column: left}
  - {name: right, unit: Pa, column: right}
points:
  - {name: tip, unit: m, columns: [x, y, z]}
"""
SETS = """
bench:
  mapping: bench.yaml
  files: ['*.csv']
  arm: {sections: [{end: tip}], axis: [0, 0, 1]}
  repeats: [[run_1, run_2]]
  splits:
    other_run: {fit: ['run_[12]'], test: [run_3]}
    later: {fit: [run_3], until_s: 4, test: [run_3], from_s: 4}
"""


@pytest.fixture
def data(tmp_path):
    """Folder of a set of three runs, the second a repeat of the first; mapping and sets beside."""
    folder = tmp_path / 'data' / 'bench'
    folder.mkdir(parents=True)
    for number, seed in ((1, 1), (2, 1), (3, 2)):
        run = record('run', waves(seed))
        shift_m = 0.003 * (number == 2)
        rows = np.column_stack([run.time_s, run.inputs.values, run.tip_m + [0, shift_m, 0]])
        header = 't,left,right,x,y,z'
        path = folder / f'run_{number}.csv'
        np.savetxt(path, rows, '%.8g', delimiter=',', header=header, comments='')
    (tmp_path / 'bench.yaml').write_text(MAPPING)
    (tmp_path / 'sets.yaml').write_text(SETS)
    return tmp_path


def call(data, *more):
    return benchmark_arms.main(
        ['--data', str(data / 'data'), '--sets', str(data / 'sets.yaml'), '--output',
         str(data / 'out'), '--workers', '1', '--model', 'constant_curvature', 'polynomial', *more]
    )  # fmt: skip


def test_every_model_is_scored_on_every_split_and_taken_up_again(data, capsys):
    assert call(data, '--json') == 0
    found = json.loads(capsys.readouterr().out)['sets']['bench']
    assert found['floor_m'] == pytest.approx(0.003)
    for split in ('other_run', 'later'):
        arc, polynomial = found[split]['constant_curvature'], found[split]['polynomial']
        assert arc['mean_m'] < polynomial['mean_m'] < 0.03
        assert arc['share_of_length'] == pytest.approx(arc['mean_m'] / 0.3)
        assert arc['lateral_rmse_m'] ** 2 + arc['axial_rmse_m'] ** 2 >= arc['mean_m'] ** 2
    stored = {path: path.stat().st_mtime_ns for path in (data / 'out').glob('*.npz')}
    assert call(data) == 0
    assert {path: path.stat().st_mtime_ns for path in (data / 'out').glob('*.npz')} == stored
    assert '| bench, later | **' in capsys.readouterr().out
    assert (data / 'out' / 'bench.other_run.png').stat().st_size > 10_000


def test_a_changed_model_is_run_again_and_one_without_its_library_is_left_out(
    data, capsys, monkeypatch
):
    source = data / 'my_model_of_the_test.py'
    source.write_text('from soft_arm_identification.models.regression import Polynomial as Mine\n')
    monkeypatch.syspath_prepend(str(data))
    points = [
        EntryPoint('lacking', 'a_library_that_is_not_installed:Model', model.GROUP),
        EntryPoint('mine', f'{source.stem}:Mine', model.GROUP),
    ]
    monkeypatch.setattr(model, 'entry_points', lambda group: points)
    monkeypatch.setattr(
        benchmark, 'compute', lambda *jobs, **_: dask.compute(*jobs, scheduler='sync')
    )
    given = [
        '--data',
        str(data / 'data'),
        '--sets',
        str(data / 'sets.yaml'),
        '--output',
        str(data / 'out'),
    ]
    names = []
    for change in ('', '# changed\n'):
        source.write_text(source.read_text() + change)
        assert benchmark_arms.main(given) == 0
        assert 'lacking needs a_library_that_is_not_installed' in capsys.readouterr().err
        names.append({path.name for path in (data / 'out').glob('*.npz')})
    assert len(names[0]) == 2 and not names[0] & names[1]


@pytest.mark.parametrize(
    ('more', 'said'),
    [
        (('--set', 'other'), "set 'other': there are bench"),
        (('--split', 'other'), "split 'other': there are other_run, later"),
    ],
)
def test_unknown_names_are_refused(data, capsys, more, said):
    assert call(data, *more) == 2
    assert said in capsys.readouterr().err


def test_a_run_is_not_fitted_and_tested_at_once(data):
    arm_set = load_sets(data / 'sets.yaml')['bench']
    runs = load_runs(data / 'data' / 'bench', arm_set, data)
    with pytest.raises(RecordingError, match='run_1 is both'):
        split_runs(runs, Split(fit=['run_*'], test=['run_1']))
    with pytest.raises(RecordingError, match="no run 'walk'"):
        split_runs(runs, Split(fit=['walk'], test=['run_1']))
    with pytest.raises(ValueError, match='from_s 5 lies before until_s 10'):
        Split(fit=['run_1'], test=['run_1'], until_s=10, from_s=5)
    with pytest.raises(RecordingError, match='0 samples from 100'):
        part(runs['run_1'], 100.0, None)
    assert part(runs['run_1'], 5.0, 6.0).time_s == pytest.approx(np.arange(5.0, 6.0, 0.05))


def test_recordings_of_a_rig_need_no_mapping_and_take_the_sections_of_its_robot(data):
    run = record('run', waves(1))
    run.save(data / 'data' / 'rig' / 'run.npz')
    text = """
rig:
  files: ['*.npz']
  robot: two_module_arm
  splits: {later: {fit: [run], until_s: 4, test: [run], from_s: 4}}
"""
    (data / 'rig.yaml').write_text(text)
    arm_set = load_sets(data / 'rig.yaml')['rig']
    assert load_runs(data / 'data' / 'rig', arm_set, data)['run'].tip_m == pytest.approx(run.tip_m)
    assert len(arm_set.sections().sections) == 2
    (data / 'rig.yaml').write_text(text.replace('  robot: two_module_arm\n', ''))
    with pytest.raises(RecordingError, match='either arm or robot'):
        load_sets(data / 'rig.yaml')


def test_the_shipped_sets_are_valid():
    sets = load_sets(SHIPPED)
    assert len(sets) == 5
    assert floor_m(sets['crl_nine_tendons'], {}) is None
