"""No node or command of a real rig loads a calibration that was measured on virtual devices."""

import pytest

from soft_arm_calibration.cli import calibrate_dynamics
from soft_arm_control.ros.gripper_controller_node import GripperControllerNode
from soft_arm_control.ros.tip_controller_node import TipControllerNode
from soft_arm_description.calibration import COMMANDS, CalibrationError
from soft_arm_description.rig import load_rig
from soft_arm_experiments.cli import experiment
from soft_arm_kinematics.cli import kinematics
from soft_arm_kinematics.ros.forward_kinematics_node import ForwardKinematicsNode
from soft_arm_kinematics.ros.inverse_kinematics_node import InverseKinematicsNode
from soft_arm_vision.ros.tip_tracker_node import TipTrackerNode
from system_testing.probe import Probe

ARM, FINGER = 'two_module_arm', 'four_piece_finger'
NODES = {
    'pressure_length': [
        (ForwardKinematicsNode, ARM),
        (InverseKinematicsNode, ARM),
        (TipControllerNode, ARM),
    ],
    'pressure_bend': [(ForwardKinematicsNode, FINGER), (GripperControllerNode, FINGER)],
    'extrinsics': [(TipTrackerNode, ARM)],
    'dynamics': [(TipControllerNode, ARM)],
    'no_load_reference': [(GripperControllerNode, FINGER)],
    'ring_noise': [],  # of virtual rigs only
    'depth_sensor': [(TipTrackerNode, ARM)],
    'camera_correction': [],  # not shipped: none is needed
    'motion_capture': [],  # loaded for tip_source pose only
}
LOADING = {
    'pressure_length': [
        (kinematics.main, ['fk', '--pressures-pa', *6 * ['0']]),
        (calibrate_dynamics.main, []),
        (experiment.bend, []),
    ],
    'pressure_bend': [(kinematics.main, ['fk', '--robot', FINGER, '--pressures-pa', '0'])],
    'extrinsics': [],
    'dynamics': [(experiment.bend, [])],
    'no_load_reference': [],
    'ring_noise': [(experiment.bend, ['--in-process', '--pose-noise'])],
    'depth_sensor': [],
    'camera_correction': [],
    'motion_capture': [],
}


def test_every_kind_is_tried():
    assert set(NODES) == set(LOADING) == set(COMMANDS)


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Makes a real rig whose calibrations were all measured on real devices, but for one kind."""
    monkeypatch.setenv('SOFT_ARM_RIGS', str(tmp_path))

    def make(virtual_kind):
        (tmp_path / 'bench' / 'calibration').mkdir(parents=True)
        (tmp_path / 'bench' / 'rig.yaml').write_text(f'devices: real\nrobot: {ARM}\n')
        rig = load_rig('bench')
        for kind in COMMANDS:
            if {kind, virtual_kind} == {'pressure_bend', 'no_load_reference'}:
                continue  # without a reference the gripper controller asks for the bends
            shipped = load_rig('virtual').calibration_file(kind)
            if not shipped.exists():
                continue
            text = shipped.read_text()
            if kind != virtual_kind:
                text = text.replace('devices: virtual', 'devices: real')
            rig.calibration_file(kind).write_text(text)
        return rig

    return make


def pairs(table):
    return [(kind, *each) for kind, users in table.items() for each in users]


@pytest.mark.parametrize(('kind', 'node', 'robot'), pairs(NODES))
def test_a_node_refuses_it(bench, kind, node, robot):
    rig = bench(kind)
    with pytest.raises(CalibrationError, match=f'{kind}.yaml: measured on virtual devices'):
        Probe(nodes=[node], rig=rig.folder, robot=robot)


@pytest.mark.parametrize(('kind', 'command', 'arguments'), pairs(LOADING))
def test_a_command_refuses_it(bench, capsys, kind, command, arguments):
    rig = bench(kind)
    assert command([*arguments, '--rig', str(rig.folder)]) == 2
    error = capsys.readouterr().err
    file = f'{kind}.yaml'[-9:]  # of a long path a message shows the end
    assert f'{file}: measured on virtual devices' in error and error.count('\n') == 1


@pytest.mark.parametrize('given', ['bench', 'path'])
def test_measured_on_real_devices_it_is_loaded(bench, capsys, given):
    rig = bench(None)
    rig_argument = str(rig.folder) if given == 'path' else rig.name
    assert kinematics.main(['fk', '--pressures-pa', *6 * ['0'], '--rig', rig_argument]) == 0
    capsys.readouterr()
