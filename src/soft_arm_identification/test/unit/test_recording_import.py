"""Import of recorded files: values in SI units, lost samples named, contradictions refused."""

import json
import pickle

import numpy as np
import pytest
import yaml

from soft_arm_identification.cli.recording_import import main as run_import
from soft_arm_identification.cli.recording_plot import main as run_plot
from soft_arm_identification.recording import Recording

COUNT = 200
NAMES = ['t', 'c1', 'c2', 'm1', 'm2', 'bx', 'by', 'bz', *'xyz', 'qx', 'qy', 'qz', 'qw']
MAPPING = {
    'length_m': 0.3,
    'table': {'delimiter': ';'},
    'time': {'column': 't', 'unit': 'ms'},
    'inputs': [
        {'name': 'a', 'unit': 'kPa', 'column': 'c1', 'limits': [0, 60]},
        {'name': 'b', 'unit': 'kPa', 'column': 'c2', 'limits': [0, 60]},
    ],
    'measured': [
        {'name': 'a', 'unit': 'kPa', 'column': 'm1'},
        {'name': 'b', 'unit': 'kPa', 'column': 'm2'},
    ],
    'points': [
        {'name': 'base', 'unit': 'mm', 'columns': ['bx', 'by', 'bz']},
        {
            'name': 'tip',
            'unit': 'mm',
            'columns': ['x', 'y', 'z'],
            'quaternion': ['qx', 'qy', 'qz', 'qw'],
        },
    ],
    'relative_to': 'base',
    'lost': {'jump_m': 0.05, 'repeated': 5},
}


def table():
    """Rows of an arm of 0.3 m at (1, 2, 3) m that two pressures bend; 20 ms, kPa, mm."""
    t = np.arange(COUNT) * 0.02
    pressures = np.column_stack([25 + 20 * np.sin(3 * t), 25 + 20 * np.sin(5 * t)])
    base = np.broadcast_to([1000.0, 2000.0, 3000.0], (COUNT, 3))
    tip = base + np.column_stack([2 * pressures - 50, np.full(COUNT, -300.0)])
    turn = np.broadcast_to([0.0, 0.0, 0.6, 0.8], (COUNT, 4))
    noise = np.random.default_rng(3).normal(0, 0.5, (COUNT, 2))
    return np.column_stack([1000 * t + 5e6, pressures, pressures + noise, base, tip, turn])


def write(path, rows, names=NAMES, delimiter=';'):
    lines = [delimiter.join(names)] if names else []
    lines += [
        delimiter.join(text if isinstance(text, str) else f'{text:.6f}' for text in row)
        for row in rows
    ]
    path.write_text('\n'.join(lines) + '\n')
    return path


def mapped(path, **changes):
    path.write_text(yaml.safe_dump(MAPPING | changes))
    return path


@pytest.fixture
def imported(tmp_path, capsys):
    """Import rows; return exit code, recording and what was said."""

    def run(rows, names=NAMES, **changes):
        file = write(tmp_path / 'run.csv', rows, names)
        mapping = mapped(tmp_path / 'mapping.yaml', **changes)
        out = tmp_path / 'out'
        code = run_import([str(file), '--mapping', str(mapping), '-o', str(out), '--json'])
        captured = capsys.readouterr()
        return code, None if code else Recording.load(out / 'run.npz'), captured

    return run


def test_values_are_in_si_units_from_the_base(imported):
    rows = table()
    code, found, _ = imported(rows)
    assert code == 0 and found.dropped == ()
    np.testing.assert_allclose(found.time_s, np.arange(COUNT) * 0.02, atol=1e-9)
    np.testing.assert_allclose(found.inputs.values, 1e3 * rows[:, 1:3], atol=1e-2)
    np.testing.assert_allclose(found.tip_m, 1e-3 * (rows[:, 8:11] - rows[:, 5:8]), atol=1e-8)
    assert (found.inputs.names, found.inputs.units) == (('a', 'b'), ('Pa', 'Pa'))
    assert found.points == ('base', 'tip') and found.rate_hz == pytest.approx(50)
    np.testing.assert_allclose(found.quaternions[:, 1], [[0, 0, 0.6, 0.8]] * COUNT)
    assert np.isnan(found.quaternions[:, 0]).all()


def zeros(rows):
    rows[20:25, 8:15] = 0


def frozen(rows):
    rows[20:25, 8:11] = rows[20, 8:11]


def jumps(rows):
    rows[20:25, 8] += 200


def text(rows):
    rows[20:25, 9] = 'none'


def no_quaternion(rows):
    rows[20:25, 11:15] = 0.3


@pytest.mark.parametrize(
    ('spoil', 'reason'),
    [
        (zeros, 'exactly zero'),
        (frozen, '5 or more equal'),
        (jumps, 'between jumps of more than 0.05 m'),
        (text, 'no number'),
        (no_quaternion, 'no unit quaternion'),
    ],
)
def test_lost_points_are_named_and_their_inputs_stay(imported, spoil, reason):
    rows = table().astype(object)
    spoil(rows)
    code, found, captured = imported(rows)
    [dropped] = json.loads(captured.out)['recordings'][0]['dropped']
    assert code == 0 and reason in dropped['reason'] and dropped['reason'].startswith('tip lost')
    lost = np.isnan(found.tip_m[:, 0])
    assert dropped['samples'] == lost.sum() and len(found.time_s) == COUNT
    [[first_s, last_s]] = dropped['spans_s']
    np.testing.assert_allclose([first_s, last_s], found.time_s[lost][[0, -1]], atol=1e-4)


def test_rows_that_cannot_be_used_are_left_out(imported):
    rows = [list(row) for row in table()]
    rows[5] = rows[5][:7]
    rows[50][0] = rows[49][0]
    rows[60][1] = 80.0
    code, found, captured = imported(rows)
    reasons = {
        part['reason']: part['samples']
        for part in json.loads(captured.out)['recordings'][0]['dropped']
    }
    assert code == 0 and len(found.time_s) == COUNT - 3 and set(reasons.values()) == {1}
    for expected in ('too few', 'does not rise', 'input a outside 0 to 60 kPa (5.0'):
        assert any(expected in reason for reason in reasons), reasons


def test_inputs_and_measured_inputs_of_one_name_are_both_checked(imported):
    rows = table().astype(object)
    rows[5, 1], rows[9, 3] = 'none', 'none'
    code, found, captured = imported(rows)
    reasons = [p['reason'] for p in json.loads(captured.out)['recordings'][0]['dropped']]
    assert code == 0 and np.isfinite(found.inputs.values).all()
    assert reasons == ['no number for input a', 'no number for measured a']


def test_quoted_values_are_read_and_ambiguous_names_refused(imported):
    rows = [[f'"{value:.6f}"' for value in row] for row in table()]
    code, found, _ = imported(rows, [f'"{name}"' for name in NAMES])
    assert code == 0 and len(found.time_s) == COUNT
    code, _, captured = imported(table(), [*NAMES[:2], 'c1', *NAMES[3:]])
    assert code == 2 and "2 columns are named 'c1'" in captured.err


def swapped(*pairs):
    def swap(rows):
        for one, other in pairs:
            rows[:, [one, other]] = rows[:, [other, one]]

    return swap


def scaled(columns, factor):
    def scale(rows):
        rows[:, columns] *= factor

    return scale


def lost(rows):
    rows[:, 8:11] = 0


@pytest.mark.parametrize(
    ('spoil', 'words'),
    [
        (scaled(slice(5, 11), 1e-3), 'is their unit m?'),
        (scaled(slice(1, 5), 100), 'outside 0 to 60 kPa (5'),
        (scaled([0], 1e6), 'is the unit of time'),
        (swapped((3, 4)), 'measured b follows the command a'),
        (swapped((8, 11), (9, 12)), 'are columns swapped?'),
        (swapped((0, 1)), 'time that does not rise'),
        (lost, 'tip is lost in 100% of the samples: exactly zero'),
    ],
    ids=['metres', 'mbar', 'ns', 'measured', 'quaternion', 'time', 'lost'],
)
def test_what_contradicts_the_mapping_is_named(imported, spoil, words):
    rows = table()
    spoil(rows)
    code, _, captured = imported(rows)
    assert code == 2 and words in captured.err and captured.err.count('\n') == 1
    assert 'run.csv' in captured.err


@pytest.mark.parametrize(
    ('marks', 'number'),
    [
        ({'thousands': '.'}, '5.000.000.{:03d}'),
        ({'thousands': '.', 'decimal': ','}, '5.000.000,{:03d}'),
        ({'thousands': "'"}, "5'000'000.{:03d}"),
    ],
)
def test_separators_in_numbers_are_stated_or_refused(imported, marks, number):
    rows = [
        [f'{value:.3f}'.replace('.', marks.get('decimal', '.')) for value in row] for row in table()
    ]
    for place, row in enumerate(rows[:50]):
        row[0] = number.format(20 * place)
    time = {'column': 't', 'unit': 's'}
    code, found, _ = imported(rows[:50], table={'delimiter': ';'} | marks, time=time)
    assert code == 0
    np.testing.assert_allclose(found.time_s, np.arange(50) * 0.02, atol=1e-6)
    code, _, captured = imported(rows[:50])
    assert code == 2 and 'separators between digits' in captured.err


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        (
            {'time': {'column': 'T'}},
            "column 'T' does not exist; the 15 columns, numbered from 0: t, c1",
        ),
        ({'time': {}}, 'either column or rate_hz'),
        ({'points': [{'name': 'tip', 'unit': 'kPa', 'columns': [0, 1, 2]}]}, 'one of m, cm, mm'),
        ({'inputs': [{'name': 'a', 'unit': 'torr', 'column': 1}]}, 'one of s, ms'),
        ({'table': {'delimiter': ','}}, "column 't' does not exist"),
        (
            {'inputs': [{'name': 'a', 'unit': 'kPa', 'column': 'c1', 'optional': True}]},
            'input a: optional is for measured inputs only',
        ),
        ({'inputs': [{'name': 'a', 'unit': 'Pa', 'by_file': {'other': 1}}]}, 'by_file'),
        ({'relative_to': 'middle'}, 'none of the points'),
        ({'join': {'pattern': '(', 'file': 'x', 'on': 't'}}, 'is not a regular expression'),
        ({'join': {'pattern': '.*', 'file': r'\3', 'on': 't'}}, 'of join cannot be used'),
    ],
)
def test_mappings_that_do_not_fit_are_refused(imported, changes, words):
    code, _, captured = imported(table(), **changes)
    assert code == 2 and words in captured.err and captured.err.count('\n') == 1


def test_measured_inputs_may_be_missing_only_if_they_are_optional(imported):
    measured = [{'name': 'a', 'unit': 'kPa', 'column': 'm3', 'optional': True}]
    code, found, _ = imported(table(), measured=measured)
    assert code == 0 and not found.measured.names
    code, found, _ = imported(table(), measured=[measured[0] | {'column': 'm1'}])
    assert code == 0 and found.measured.names == ('a',)
    code, _, captured = imported(table(), measured=[measured[0] | {'optional': False}])
    assert code == 2 and "column 'm3' does not exist" in captured.err


def test_two_files_are_joined_by_a_common_column(tmp_path):
    rows, ids = table(), np.arange(COUNT)[:, None]
    write(tmp_path / 'in_7.csv', np.hstack([ids, rows[:, 1:5]])[10:], ['ID', *NAMES[1:5]])
    file = write(
        tmp_path / 'out_7_heavy.csv',
        np.hstack([ids, rows[:, [0, *range(5, 15)]]]),
        ['ID', 't', *NAMES[5:]],
    )
    join = {'pattern': r'out_(\d).*\.csv', 'file': r'in_\1.csv', 'on': 'ID'}
    mapping = mapped(tmp_path / 'm.yaml', join=join)
    assert run_import([str(file), '--mapping', str(mapping), '-o', str(tmp_path / 'r')]) == 0
    found = Recording.load(tmp_path / 'r' / 'out_7_heavy.npz')
    np.testing.assert_allclose(found.inputs.values[:, 0], 1e3 * rows[10:, 1], atol=1e-2)
    assert [part.samples for part in found.dropped] == [10]


ARRAYS = {
    'length_m': 0.3,
    'table': {'arrays': {'shape': ['run', 'time', 'column', 'column'], 'p': ['run']}},
    'time': {'rate_hz': 100},
    'inputs': [{'name': 'p', 'unit': 'mbar', 'column': 'p/0'}],
    'points': [
        {
            'name': f'm{number}',
            'unit': 'm',
            'columns': [f'shape/{3 * number + k}' for k in range(3)],
        }
        for number in range(2)
    ],
}


@pytest.mark.parametrize('ending', ['.npz', '.npy'])
def test_each_run_of_an_array_is_a_recording(tmp_path, ending):
    arrays = {'shape': np.random.default_rng(1).random((3, 20, 2, 3)) / 4, 'p': np.arange(3.0)}
    path = tmp_path / f'runs{ending}'
    np.savez(path, **arrays) if ending == '.npz' else np.save(path, arrays)
    mapping = tmp_path / 'm.yaml'
    mapping.write_text(yaml.safe_dump(ARRAYS))
    assert run_import([str(path), '--mapping', str(mapping), '-o', str(tmp_path / 'r')]) == 0
    for run in range(3):
        found = Recording.load(tmp_path / 'r' / f'runs_{run + 1}.npz')
        np.testing.assert_array_equal(found.points_m, arrays['shape'][run])
        assert found.inputs.values.tolist() == [[100.0 * run]] * 20


class Evil:
    def __reduce__(self):
        return print, ('code of a stranger',)


def test_pickled_code_is_refused_and_not_run(tmp_path, capsys):
    header = np.lib.format.header_data_from_array_1_0(np.array(None))
    with (tmp_path / 'evil.npy').open('wb') as file:
        np.lib.format.write_array_header_1_0(file, header)
        pickle.dump(Evil(), file)
    mapping = tmp_path / 'm.yaml'
    mapping.write_text(yaml.safe_dump(ARRAYS))
    arguments = [str(tmp_path / 'evil.npy'), '--mapping', str(mapping), '-o', str(tmp_path)]
    assert run_import(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == '' and 'could run code' in captured.err


def test_markers_are_sorted_as_stated_for_their_file(imported):
    rows = table()
    middle = rows[:, 5:8] + [10.0, 0.0, -150.0]
    rows = np.column_stack([rows[:, :5], rows[:, 8:11], middle, rows[:, 5:8]])
    names = [*NAMES[:5], *(f'{axis}{number}' for number in range(3) for axis in 'xyz')]
    points = [
        {'name': name, 'unit': 'mm', 'columns': [f'{axis}{number}' for axis in 'xyz']}
        for number, name in enumerate(['base', 'middle', 'tip'])
    ]
    code, found, _ = imported(rows, names, points=points, order={'r*': [2, 1, 0]}, lost={})
    assert code == 0
    np.testing.assert_allclose(np.median(found.points_m[:, :, 2], axis=0), [0, -0.15, -0.3])


def test_a_recording_is_drawn_and_other_files_are_refused(imported, tmp_path, capsys):
    rows = table()
    rows[20:25, 8:11] = 0
    imported(rows)
    file = tmp_path / 'out' / 'run.npz'
    assert run_plot([str(file)]) == 0
    assert file.with_suffix('.png').read_bytes().startswith(b'\x89PNG')
    for content in (b'no archive', file.read_bytes()[:-100]):
        file.write_bytes(content)
        assert run_plot([str(file)]) == 2
        assert 'is not a recording' in capsys.readouterr().err
