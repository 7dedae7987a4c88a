import json
import subprocess
import sys

import pytest

from soft_arm_kinematics.cli.kinematics import main

FK = ['fk', '--pressures-pa']


def test_fk_json(capsys):
    assert main([*FK, '-96e3', '-96e3', '-96e3', '0', '0', '0', '--json']) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer['tip_m'] == pytest.approx([0.0, 0.0, 0.173], abs=1e-12)
    assert answer['tip_q_xyzw'] == pytest.approx([0.0, 0.0, 0.0, 1.0], abs=1e-12)
    assert answer['lengths_m'] == pytest.approx([0.07] * 3 + [0.103] * 3)
    assert [s['name'] for s in answer['segments']] == ['module_1', 'module_2']
    assert answer['segments'][0]['tip_m'] == pytest.approx([0.0, 0.0, 0.07], abs=1e-12)


def test_ik_json_is_the_inverse_of_fk(capsys):
    assert main(['ik', '--target-m', '0.06', '-0.03', '0.22', '--max-solutions', '4', '--json']) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer['reachable'] and len(answer['solutions']) == 4
    for solution in answer['solutions']:
        assert main([*FK, *(repr(p) for p in solution['pressures_pa']), '--json']) == 0
        assert json.loads(capsys.readouterr().out)['tip_m'] == pytest.approx([0.06, -0.03, 0.22], abs=1e-6)


def test_tables_for_people(capsys):
    assert main([*FK, *['0'] * 6]) == 0
    assert '206.00' in capsys.readouterr().out
    assert main(['ik', '--target-m', '0.06', '-0.03', '0.22']) == 0
    assert 'best: Bends' in capsys.readouterr().out


@pytest.mark.parametrize(
    'argv, words',
    [
        ([*FK, '0', '0', 'nan', '0', '0', '0'], ['m1_b3', 'nan']),
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


def test_core_never_imports_ros():
    code = (
        'import sys, soft_arm_kinematics.cli.kinematics, soft_arm_kinematics.cli.calibrate_curve, soft_arm_kinematics.inverse; '
        'sys.exit(any(m.split(".")[0] in ("rclpy", "soft_arm_msgs", "geometry_msgs") for m in sys.modules))'
    )
    assert subprocess.run([sys.executable, '-c', code], timeout=60).returncode == 0
