"""`softarm move` and `softarm vent`: what they refuse before anything starts."""

import pytest

from soft_arm_control.cli import move, vent
from soft_arm_control.errors import PathFileError
from soft_arm_control.tip.path_file import MOST_BYTES, read_path

HEAD = 'time_s,x_m,y_m,z_m\n'


def test_a_path_is_read(tmp_path):
    path = tmp_path / 'path.csv'
    path.write_text(
        '\ufeffx_m, time_s ,y_m,z_m\r\n0.02,0.5,-1e-2,0.25\r\n\r\n 0.01,2,0,.24\r\n',
        encoding='utf-8',
    )
    assert read_path(path) == ([0.5, 2.0], [[0.02, -0.01, 0.25], [0.01, 0.0, 0.24]])


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        ('', ':1: the columns are missing'),
        ('t,x,y,z\n0,0,0,0.2\n', ':1: the columns are t,x,y,z'),
        (HEAD, 'no waypoints'),
        (f'{HEAD}0,0,0\n', ':2: 3 values: give 4'),
        (f'{HEAD}0,0,0,0.2\n1,0,0,high\n', ":3: z_m = 'high'"),
        (f'{HEAD}0,0,nan,0.2\n', ':2: y_m'),
        (f'{HEAD}inf,0,0,0.2\n', ':2: time_s'),
        (f'{HEAD}-1,0,0,0.2\n', ':2: time_s = -1 s'),
        (f'{HEAD}1,0,0,0.2\n\n1,0,0,0.21\n', ':4: time_s = 1 s: must be more than 1'),
        (f'{HEAD}0,0,0,250\n', 'in metres'),
        (f'{HEAD}0,"0,0,0.2\n', 'not a CSV file'),
        (HEAD + ''.join(f'{k / 1000},0,0,0.2\n' for k in range(10_001)), '10001 waypoints'),
        ('x' * (MOST_BYTES + 1), 'at most'),
        (b'\xff\xfe\x00\x01', 'UTF-8'),
    ],
)
def test_a_broken_path_is_refused_with_its_line(tmp_path, capsys, content, words):
    path = tmp_path / 'path.csv'
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(PathFileError) as caught:
        read_path(path)
    assert words in str(caught.value) and '\n' not in str(caught.value)
    assert move.main(['--path', str(path)]) == 2
    error = capsys.readouterr().err
    assert error.count('\n') == 1 and len(error) <= 301


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ([], '0 numbers'),
        (['0.02', '-0.01'], '2 numbers'),
        (['0.02', '-0.01', '0.2', '0.1'], '4 numbers'),
        (['0.02', '-nan', '0.2'], 'finite'),
        (['0.02', '-1e300', '0.2'], 'at least'),
        (['20', '-10', '250'], 'at most'),
        (['0', '0', '0.2', '--axis', '0', '-0', '0'], 'no direction'),
        (['0', '0', '0.2', '--tolerance-m', '-0.001'], 'tolerance'),
        (['0', '0', '0.2', '--timeout-s', 'inf'], 'finite'),
        (['0', '0', '0.2', '--namespace', 'a b'], 'no namespace'),
        (['--path', '/nowhere.csv'], 'No such file'),
        (['0', '0', '0.2', '--path', __file__], 'leave X Y Z'),
    ],
)
def test_arguments_are_checked_before_anything_starts(capsys, arguments, words):
    assert move.main(arguments) == 2
    error = capsys.readouterr().err
    assert words in error and error.count('\n') == 1 and len(error) <= 301


def test_a_namespace_that_is_none_is_vented_nowhere(capsys):
    assert vent.main(['--namespace', '../x']) == 2
    assert 'no namespace' in capsys.readouterr().err
