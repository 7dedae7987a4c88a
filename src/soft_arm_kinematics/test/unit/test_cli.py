import functools
import io
import json

import numpy as np
import pytest

from soft_arm_description.robot import load_robot, shipped_robots
from soft_arm_kinematics.arm import BellowsArm, load_arm, make_arm
from soft_arm_kinematics.cli import kinematics
from soft_arm_kinematics.cli.kinematics import main
from soft_arm_kinematics.workspace import reachable
from soft_arm_kinematics.workspace.table import build_table

FK = ['fk', '--pressures-pa']


def test_fk_json(capsys):
    assert main([*FK, '-96e3', '-96e3', '-96e3', '0', '0', '0', '--json']) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer['tip_m'] == pytest.approx([0.0, 0.0, 0.173], abs=1e-12)
    assert answer['tip_q_xyzw'] == pytest.approx([0.0, 0.0, 0.0, 1.0], abs=1e-12)
    assert answer['lengths_m'] == pytest.approx([0.07] * 3 + [0.103] * 3)
    assert [s['name'] for s in answer['segments']] == ['module_1', 'module_2']
    assert answer['segments'][0]['tip_m'] == pytest.approx([0.0, 0.0, 0.07], abs=1e-12)


def test_fk_takes_values_outside_the_limits_only_when_asked(capsys, monkeypatch):
    assert main(['fk', '--lengths-m', *['0.1'] * 6, '--json']) == 0
    assert json.loads(capsys.readouterr().out)['within_limits'] is True
    outside = ['--lengths-m', '0.1', '0.5', *['0.1'] * 4]
    assert main(['fk', *outside]) == 2
    output = capsys.readouterr().err
    assert (
        all(words in output for words in ('m1_b2 is 0.5 m', '0.07..0.195 m', '--beyond-limits'))
        and output.count('\n') == 1
    )
    assert main(['fk', *outside, '--beyond-limits', '--json']) == 0
    assert json.loads(capsys.readouterr().out)['within_limits'] is False
    rows = json.dumps([[0.1] * 6, [0.1, 0.5, 0.1, 0.1, 0.1, 0.1]])
    monkeypatch.setattr('sys.stdin', io.StringIO(rows))
    assert main(['fk', '--lengths-m', '-']) == 0  # a batch is answered whole
    captured = capsys.readouterr()
    assert (
        json.loads(captured.out)['within_limits'] == [True, False]
        and '1 of 2 vectors' in captured.err
    )
    monkeypatch.setattr('sys.stdin', io.StringIO('[[1e300, 0.1, 0.1, 0.1, 0.1, 0.1]]'))
    assert main(['fk', '--lengths-m', '-']) == 2
    assert 'vector 0: m1_b1 is 1e+300 m' in capsys.readouterr().err
    for flags in ([], ['--beyond-limits']):
        assert main(['fk', '--lengths-m', '1e300', *['0.1'] * 5, *flags]) == 2
        assert capsys.readouterr().err.count('\n') == 1


@pytest.mark.parametrize('robot', sorted(shipped_robots()))
@pytest.mark.parametrize('command', ['lengths', 'pressures', 'actuation', 'ik', 'workspace'])
def test_every_command_answers_or_names_the_kind(capsys, monkeypatch, robot, command):
    """For every kind of robot a command works, or says in one line which kind it cannot serve."""
    arm = load_arm(robot)
    middle = arm.q_limits.mean(axis=0)
    target = [repr(x) for x in arm.at(middle).tip_m.tolist()]
    values = [repr(x) for x in middle.tolist()]
    chambers = ['0'] * max(len(arm.robot.chambers), 1)
    argv = {
        'lengths': ['fk', '--lengths-m', *values],
        'pressures': ['fk', '--pressures-pa', *chambers],
        'actuation': ['fk', '--actuation', *values],
        'ik': ['ik', '--target-m', *target],
        'workspace': ['workspace'],
    }[command]
    if command == 'workspace':
        small = functools.partial(build_table, points=50_000)
        monkeypatch.setattr(reachable, 'build_table', small)
        if arm.n_actuators > 3:
            return  # the same code as for three coordinates, and slow
    code = main([*argv, '--robot', robot])
    output = capsys.readouterr().err
    works = {
        'lengths': isinstance(arm, BellowsArm),
        'pressures': arm.is_pressure_driven,
        'workspace': arm.n_actuators > 2,
    }.get(command, True)
    assert code == (0 if works else 2), output
    if not works:
        kind = arm.robot.segments[0].kind
        assert robot in output and kind in output and output.count('\n') == 1 and len(output) <= 301


def test_ik_json_is_the_inverse_of_fk(capsys):
    assert (
        main(['ik', '--target-m', '0.06', '-0.03', '0.22', '--max-solutions', '4', '--json']) == 0
    )
    answer = json.loads(capsys.readouterr().out)
    assert answer['reachable'] and len(answer['solutions']) == 4
    for solution in answer['solutions']:
        assert main([*FK, *(repr(p) for p in solution['pressures_pa']), '--json']) == 0
        assert json.loads(capsys.readouterr().out)['tip_m'] == pytest.approx(
            [0.06, -0.03, 0.22], abs=1e-6
        )


@pytest.mark.parametrize('robot', sorted(shipped_robots()))
def test_standard_input_answers_every_robot(capsys, monkeypatch, robot):
    arm = load_arm(robot)
    rows = np.random.default_rng(0).uniform(*arm.q_limits, (3, arm.n_actuators))
    monkeypatch.setattr('sys.stdin', io.StringIO(json.dumps(rows.tolist())))
    assert (
        main(
            [
                'fk',
                '--robot',
                robot,
                '--lengths-m' if isinstance(arm, BellowsArm) else '--actuation',
                '-',
                '--json',
            ]
        )
        == 0
    )
    answer = json.loads(capsys.readouterr().out)
    assert (
        list(answer) == ['poses', 'actuator_radius_m', 'within_limits']
        and all(answer['within_limits'])
        and answer['poses'] == arm.at(rows).tip_pose.tolist()
    )
    assert answer['actuator_radius_m'] == (0.03 if isinstance(arm, BellowsArm) else None)


def test_arcs_only_leaves_out_rigid_parts(capsys, monkeypatch, tmp_path):
    content = load_robot('two_module_arm').model_dump(mode='json', exclude_unset=True)
    for segment in content['segments']:
        segment['rigid_length_m'] = 0.015
    path = tmp_path / 'rigid.yaml'
    path.write_text(json.dumps(content))
    ends_m = []
    for flags in ([], ['--arcs-only']):
        monkeypatch.setattr('sys.stdin', io.StringIO(json.dumps([[0.1] * 6])))
        assert main(['fk', '--robot', str(path), '--lengths-m', '-', '--json', *flags]) == 0
        ends_m.append(json.loads(capsys.readouterr().out)['poses'][0][2][3])
    assert ends_m == pytest.approx([0.23, 0.2])


def test_large_batches_are_answered_compiled_with_the_same_poses(monkeypatch):
    arm = make_arm(load_robot('two_module_arm'))
    rows = np.random.default_rng(1).uniform(*arm.length_limits_m, (50, 6))
    few = kinematics._poses(arm, rows)
    monkeypatch.setattr(kinematics, 'COMPILED_FROM', 1)
    assert kinematics._poses(arm, rows) == pytest.approx(few, abs=1e-13)


def test_targets_on_standard_input(capsys, monkeypatch):
    monkeypatch.setattr('sys.stdin', io.StringIO('[[0.06, -0.03, 0.22], [0, 0, 1]]'))
    assert main(['ik', '--target-m', '-', '--max-solutions', '2', '--json']) == 0
    near, far = json.loads(capsys.readouterr().out)['results']
    assert near['reachable'] and len(near['solutions']) == 2
    assert (
        not far['reachable'] and far['solutions'] == [] and far['distance_m'] == pytest.approx(0.61)
    )


@pytest.mark.parametrize('command', [['fk', '--lengths-m'], ['ik', '--target-m']])
def test_no_vectors_give_no_answers(capsys, monkeypatch, command):
    monkeypatch.setattr('sys.stdin', io.StringIO('[]'))
    assert main([*command, '-', '--json']) == 0
    assert next(iter(json.loads(capsys.readouterr().out).values())) == []


@pytest.mark.parametrize(
    'text, words',
    [
        ('[[0.1', ['not JSON']),
        ('', ['not JSON']),
        ('{}', ['not an array']),
        ('[[]]', ['vector 0', '6 numbers']),
        ('[0.1, 0.1, 0.1, 0.1, 0.1, 0.1]', ['vector 0', '0.1']),
        ('[[0.1, 0.1, 0.1, 0.1, 0.1, 0.1], [0.1]]', ['vector 1', '[0.1]']),
        ('[[0.1, 0.1, 0.1, 0.1, 0.1, "a"]]', ['vector 0', 'a']),
        ('[[0.1, 0.1, 0.1, 0.1, 0.1, null]]', ['vector 0', 'null']),
        ('[[0.1, 0.1, 0.1, 0.1, 0.1, NaN]]', ['vector 0', 'nan', 'finite']),
        ('[[0.1, 0.1, 0.1, 0.1, 0.1, 1e999]]', ['vector 0', 'inf', 'finite']),
    ],
)
def test_bad_standard_input_is_one_line(capsys, monkeypatch, text, words):
    monkeypatch.setattr('sys.stdin', io.StringIO(text))
    assert main(['fk', '--lengths-m', '-', '--json']) == 2
    captured = capsys.readouterr()
    assert (
        captured.out == ''
        and captured.err.count('\n') == 1
        and all(word in captured.err for word in words)
    )


def test_tables_for_people(capsys):
    assert main([*FK, *['0'] * 6]) == 0
    assert '206.00' in capsys.readouterr().out
    assert main(['ik', '--target-m', '0.06', '-0.03', '0.22']) == 0
    assert 'best: Bends' in capsys.readouterr().out


@pytest.mark.parametrize(
    'argv, words',
    [
        ([*FK, '0', '0', 'nan', '0', '0', '0'], ['--pressures-pa', 'nan']),
        ([*FK, '0', '0', '0', '0', '0', '97e3'], ['m2_b3', '97000', '96000', 'Pa']),
        ([*FK, '0'], ['6']),
        ([*FK, *['0'] * 6, '--robot', 'nothing.yaml'], ['nothing.yaml']),
        ([*FK, *['0'] * 6, '--rig', 'moon'], ['moon', 'virtual']),
        ([*FK, *['0'] * 6, '--rig', 'lab'], ['softarm calibrate curve']),
        (['ik', '--target-m', '0', '0', '1'], ['610.000 mm', '390.00']),
        (['ik', '--target-m', '0', 'inf', '1'], ['inf', 'finite']),
        (['ik', '--target-m', '0', '0', '0.2', '--max-solutions', '0'], ['max-solutions']),
    ],
)
def test_bad_input_is_one_line(capsys, argv, words):
    assert main(argv) == 2
    message = capsys.readouterr().err
    assert message.count('\n') == 1 and all(word in message for word in words)
