"""`softarm calibrate dynamics` and `grasp` beside a simulated rig with real or emulated devices."""

import contextlib
import datetime

import numpy as np
import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseWithCovarianceStamped
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from soft_arm_calibration.cli import calibrate_dynamics, calibrate_grasp
from soft_arm_calibration.ros import (
    closing_measurement,
    dynamics_measurement,
    rig_process,
    rig_session,
)
from soft_arm_control.errors import ControlError
from soft_arm_control.grasping.no_load_reference import from_robot
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_kinematics.arm import load_arm
from soft_arm_msgs.msg import ChamberPressures, GripperState
from soft_arm_msgs.srv import PlaceObject, PlaceRing
from soft_arm_node_kit import qos
from system_testing.probe import Probe

TRUTH = Dynamics(
    valve_time_constant_s=0.2,
    valve_rate_limit_pa_s=150e3,
    valve_delay_s=0.02,
    mechanical_lag_s=0.036,
    creep_share=0.022,
    creep_time_constant_s=0.9,
    camera_delay_s=0.06,
)
COMMANDS = {'dynamics': calibrate_dynamics, 'grasp': calibrate_grasp}
FILES = {'dynamics': 'dynamics.yaml', 'grasp': 'no_load_reference.yaml'}


class Rig(Probe):
    """Drivers and detectors of an arm and of a gripper."""

    def __init__(self):
        super().__init__('rig')
        self.arm = load_arm().robot
        self.finger = load_robot('four_piece_finger')
        self.link = ''
        self._emulation = []
        self._arm = self.create_publisher(ChamberPressures, '/soft_arm/pressures', qos.STATE)
        self._command = None
        self._ring = self.create_publisher(
            PoseWithCovarianceStamped, '/soft_arm/tip_pose', qos.STATE
        )
        self._state = self.create_publisher(GripperState, '/gripper/state', qos.STATE)
        self._shape = self.create_publisher(JointState, '/gripper/piece_angles', qos.STATE)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', qos.STATE)
        self._vents = [
            self.create_service(Trigger, f'/{ns}/vent', lambda _, answer: answer)
            for ns in ('soft_arm', 'gripper')
        ]
        self.create_timer(0.02, self._tick)
        self.spin()

    def emulate(self, wanted):
        def do():
            for service in self._emulation:
                self.destroy_service(service)
            kinds = ((PlaceRing, 'place_ring'), (PlaceObject, 'place_object')) if wanted else ()
            self._emulation = [
                self.create_service(kind, name, lambda _, answer: answer) for kind, name in kinds
            ]

        self.called(do)

    def command(self, wanted):
        self._command = (
            self.create_publisher(ChamberPressures, '/soft_arm/pressure_command', qos.COMMAND)
            if wanted
            else None
        )

    def _tick(self):
        stamp = self.get_clock().now().to_msg()
        pressures = ChamberPressures(names=list(self.arm.chambers), pressures_pa=[0.0] * 6)
        shape = JointState(name=list(self.finger.segment_names), position=[0.0] * 4)
        ring, state = PoseWithCovarianceStamped(), GripperState()
        ring.header.frame_id = self.arm.base.frame
        ring.pose.pose.position.z = 0.2
        ring.pose.pose.orientation.w = 1.0
        status = [
            DiagnosticStatus(name=f'{ns}/a_driver', hardware_id=self.link)
            for ns in ('soft_arm', 'gripper')
        ]
        for message in (pressures, ring, state, shape):
            message.header.stamp = stamp
        self._arm.publish(pressures)
        self._ring.publish(ring)
        self._state.publish(state)
        self._shape.publish(shape)
        if self.link:
            self._diagnostics.publish(DiagnosticArray(status=status))
        if self._command is not None:
            self._command.publish(pressures)


@pytest.fixture(scope='module')
def rig(ros_domain):
    with Rig() as rig:
        yield rig


@pytest.fixture
def rigs(tmp_path, monkeypatch):
    """Folders of the rigs `bench` (real) and `twin` (virtual).

    Nothing may be started, and what is measured is known.
    """
    monkeypatch.setenv('SOFT_ARM_RIGS', str(tmp_path))
    curve = load_rig('virtual').calibration_file('pressure_length').read_text()
    for name, devices in (('bench', 'real'), ('twin', 'virtual')):
        (tmp_path / name / 'calibration').mkdir(parents=True)
        (tmp_path / name / 'rig.yaml').write_text(f'devices: {devices}\nrobot: two_module_arm\n')
        (tmp_path / name / 'calibration' / 'pressure_length.yaml').write_text(
            curve.replace('devices: virtual', f'devices: {devices}')
        )
    monkeypatch.setattr(rig_process, 'virtual_launch', lambda *_, **__: pytest.fail('started'))
    monkeypatch.setattr(calibrate_dynamics, 'identify', lambda *_: (TRUTH, {'valve_rms_pa': 80.0}))
    monkeypatch.setattr(dynamics_measurement, 'REST_S', 0.2)
    short = np.array([0.0, 0.05]), np.zeros(2)
    monkeypatch.setattr(dynamics_measurement, 'loop_corners', lambda *_: short)
    monkeypatch.setattr(closing_measurement.ClosingMeasurement, 'close_once', lambda *_: None)
    monkeypatch.setattr(calibrate_grasp, 'identify', lambda _: measured_no_load_reference())
    return tmp_path


def measured_no_load_reference():
    free = from_robot(load_robot('four_piece_finger'))
    time_constants_s = 0.1 + 0.0 * free.pressures_pa
    reference = type(free)(free.pressures_pa, time_constants_s, free.bends_rad, 0.1, 0.1)
    return reference, {'largest_deficit_rad': 0.05}


@pytest.mark.parametrize('name', COMMANDS)
def test_a_real_rig_that_does_not_run_is_not_replaced_by_a_virtual_one(
    ros_domain, rigs, capsys, monkeypatch, name
):
    monkeypatch.setattr(rig_process.driver_is_running, '__defaults__', (0.3,))
    assert COMMANDS[name].main(['--rig', 'bench']) == 2
    error = capsys.readouterr().err
    assert (
        "rig 'bench' is not running" in error
        and 'softarm launch' in error
        and error.count('\n') == 1
    )
    assert not (rigs / 'bench' / 'calibration' / FILES[name]).exists()


@pytest.mark.parametrize('name', COMMANDS)
def test_what_was_measured_says_on_which_devices(rig, rigs, name):
    for rig_name, emulated in (('bench', False), ('twin', True)):
        rig.emulate(emulated)
        rig.link = 'tcp 192.168.1.20:502 unit 1'
        assert COMMANDS[name].main(['--rig', rig_name, '--use-running', '--json']) == 0
        content = yaml.safe_load((rigs / rig_name / 'calibration' / FILES[name]).read_text())
        assert content['measurement']['devices'] == {False: 'real', True: 'virtual'}[emulated]
        assert content['measurement']['date'] == datetime.date.today().isoformat()


@pytest.mark.parametrize('name', COMMANDS)
@pytest.mark.parametrize(
    ('rig_name', 'emulated', 'link', 'words'),
    [
        ('bench', True, '', '/rig emulates its devices'),
        ('bench', False, 'tcp 127.0.0.1:5020 unit 1', 'on this machine'),
        ('twin', False, '', 'are not emulated'),
    ],
)
def test_devices_of_another_kind_are_not_saved(
    rig, rigs, capsys, name, rig_name, emulated, link, words
):
    rig.emulate(emulated)
    rig.link = link
    assert COMMANDS[name].main(['--rig', rig_name, '--use-running']) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert words in error and 'nothing was saved' in error and len(error) <= 300
    assert not (rigs / rig_name / 'calibration' / FILES[name]).exists()


def test_an_arm_that_another_node_commands_is_not_stepped(rig, rigs, capsys):
    rig.emulate(False)
    rig.link = ''
    rig.called(lambda: rig.command(True))
    assert calibrate_dynamics.main(['--rig', 'bench']) == 2
    assert 'another node is sending pressure_command' in capsys.readouterr().err
    rig.called(lambda: rig.command(False))


def test_seed_0_is_a_seed(monkeypatch):
    given = {}

    def session(*_, **options):
        given.update(options)
        raise ControlError('no rig')

    started = contextlib.nullcontext(lambda: None)
    monkeypatch.setattr(rig_process, 'rig_to_measure', lambda *_, **__: started)
    monkeypatch.setattr(rig_session, 'RigSession', session)
    assert calibrate_dynamics.main(['--plant-seed', '0']) == 2
    assert given['plant_seed'] == 0
