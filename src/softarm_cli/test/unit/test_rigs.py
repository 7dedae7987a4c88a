"""`softarm rig`: rigs of one's own, in folders of this test."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from soft_arm_description.rig import Rig, load_rig
from softarm_cli import rig_command
from softarm_cli.launching.description import describe

LAUNCH = Path(__file__).parents[4] / 'launch'
ROBOTS = LAUNCH.parent / 'src' / 'soft_arm_description' / 'soft_arm_description' / 'robots'


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """Folder of the user's rigs."""
    monkeypatch.setenv('SOFT_ARM_RIGS', str(tmp_path / 'rigs'))
    return tmp_path / 'rigs'


def test_a_new_rig_is_one_folder_with_the_template_s_parameters_and_a_guide(own, capsys):
    assert rig_command.main(['new', 'bench_2']) == 0
    parameters = load_rig('lab').folder / 'parameters'
    for file in parameters.iterdir():
        assert (own / 'bench_2' / 'parameters' / file.name).read_text() == file.read_text()
    assert load_rig('bench_2') == Rig(
        'bench_2', own / 'bench_2', 'real', 'two_module_arm', is_template=False
    )
    guide, out = (own / 'bench_2' / 'README.md').read_text(), capsys.readouterr().out
    commands = ['calibrate curve --data lengths.csv', 'calibrate extrinsics', 'calibrate dynamics']
    for text in (guide, out):
        places = [text.index(f'softarm {command} --rig bench_2') for command in commands]
        assert (
            places == sorted(places) and 'softarm launch launch/rig.launch.xml rig:=bench_2' in text
        )


def test_a_new_rig_has_the_cameras_of_its_template(own):
    assert rig_command.main(['new', 'fine']) == 0
    file = own / 'fine' / 'rig.yaml'
    content = yaml.safe_load(file.read_text())
    content['camera'], content['finger_camera']['depth_unit_m'] = {'align_depth': True}, 1e-4
    file.write_text(yaml.safe_dump(content))
    assert rig_command.main(['new', 'other', '--from', 'fine']) == 0
    fine, other = load_rig('fine'), load_rig('other')
    assert fine.camera.align_depth and fine.finger_camera.depth_unit_m == 1e-4
    assert (other.camera, other.finger_camera) == (fine.camera, fine.finger_camera)


@pytest.mark.parametrize('by_path', [False, True])
def test_a_new_rig_is_launched_with_its_own_parameters(own, tmp_path, by_path):
    assert rig_command.main(['new', 'twin', '--from', 'virtual']) == 0
    file = own / 'twin' / 'parameters' / 'pneumatic_driver.yaml'
    file.write_text('/**:\n  ros__parameters: {host: 10.9.8.7}\n')
    given = {'rig': str(own / 'twin') if by_path else 'twin'}
    processes = describe(LAUNCH / 'sim.launch.xml', given, tmp_path).processes
    [driver] = [process for process in processes if process.name.startswith('pneumatic_driver')]
    assert str(file) in driver.command
    assert load_rig('twin').devices == 'virtual'


def test_a_robot_s_path_arrives_as_written(tmp_path):
    robot = tmp_path / 'arm #2' / 'on.yaml'
    robot.parent.mkdir()
    shutil.copy(ROBOTS / 'two_module_arm.yaml', robot)
    scratch = tmp_path / 'scratch'
    scratch.mkdir()
    processes = describe(LAUNCH / 'sim.launch.xml', {'robot': str(robot)}, scratch).processes
    given = [p.parameters['robot'] for p in processes if 'robot' in p.parameters]
    assert set(given) == {str(robot)} and len(given) >= 5


@pytest.mark.parametrize('name', ['on', 'off', 'yes', 'y', 'n', 'true', 'null', 'nan', 'inf'])
def test_a_name_that_is_no_text_in_yaml_is_refused(own, capsys, name):
    assert rig_command.main(['new', name]) == 2
    assert f'{name!r} is not a valid rig name' in capsys.readouterr().err and not own.exists()


def test_a_rig_with_an_own_robot_keeps_its_file(own, capsys):
    assert rig_command.main(['new', 'hand', '--robot', str(ROBOTS / 'four_piece_finger.yaml')]) == 0
    own = own / 'hand' / 'robot.yaml'
    assert own.read_text() == (ROBOTS / 'four_piece_finger.yaml').read_text()
    out = capsys.readouterr().out
    assert f'softarm calibrate finger --use-running --rig hand --robot {own}' in out
    assert (
        'launch/cell.launch.xml rig:=hand emulated:=false rws_port:=80 modbus_port:=502 '
        f'robot:={own}' in out
    )


def test_the_list_says_what_is_there_and_what_is_not(own, capsys):
    assert rig_command.main(['new', 'bench_2']) == 0
    measured = load_rig('virtual').calibration_file('extrinsics')
    shutil.copy(measured, own / 'bench_2' / 'calibration')
    capsys.readouterr()
    assert rig_command.main(['list', '--json']) == 0
    listed = {rig['name']: rig for rig in json.loads(capsys.readouterr().out)}
    assert set(listed) == {'bench_2', 'lab', 'virtual'}
    assert listed['virtual']['missing'] == {} and listed['virtual']['devices'] == 'virtual'
    assert listed['bench_2']['missing']['dynamics'] == 'softarm calibrate dynamics --rig bench_2'
    assert (
        'measured on virtual devices' in listed['bench_2']['refused']['extrinsics']
        and 'extrinsics' in listed['bench_2']['missing']
    )


@pytest.mark.parametrize(
    'arguments, message',
    [
        (['lab'], "there is a rig 'lab' already"),
        (['../lab'], "'../lab' is not a valid rig name"),
        (['Bench 2'], 'is not a valid rig name'),
        (['x' * 41], 'is not a valid rig name'),
        (
            ['b', '--from', 'nowhere'],
            "rig 'nowhere' is not known: give lab, virtual",
        ),
        (['b', '--robot', 'no_such_robot'], 'no_such_robot'),
    ],
)
def test_what_cannot_be_made_is_refused_in_one_line_and_nothing_is_made(
    own, arguments, message, capsys
):
    assert rig_command.main(['new', *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count('\n') == 1
    assert not list(own.rglob('*'))
