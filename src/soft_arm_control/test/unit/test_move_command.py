"""`softarm move` and `softarm vent`: what they refuse before anything starts."""

import pytest

from soft_arm_control.cli import move, vent
from soft_arm_control.errors import PathFileError
from soft_arm_control.tip.path_file import read_path

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
        ('t,x,y,z\n0,0,0,0.2\n', "column 'time_s' is missing"),
        (HEAD, '0 waypoints'),
        (HEAD + ''.join(f'{k / 1000},0,0,0.2\n' for k in range(10_001)), '10001 waypoints'),
        (f'{HEAD}0,0,0\n', 'line 2 has 3 values'),
        (f'{HEAD}0,0,0,0.2\n1,0,0,high\n', "line 3: z_m 'high' must be a finite number"),
        (f'{HEAD}-1,0,0,0.2\n', "line 2: time_s '-1' must be at least 0"),
        (f'{HEAD}1,0,0,0.2\n\n1,0,0,0.21\n', "line 4: time_s '1' must be more than 1"),
        (f'{HEAD}0,0,0,250\n', 'in metres'),
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
        (['0.02', '-nan', '0.2'], 'finite'),
        (['20', '-10', '250'], 'at most'),
        (['0', '0', '0.2', '--axis', '0', '-0', '0'], 'no direction'),
        (['0', '0', '0.2', '--namespace', 'a b'], 'not a namespace'),
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
    assert 'not a namespace' in capsys.readouterr().err
