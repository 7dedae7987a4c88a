"""The schema of calibration files: what its loader and its writer refuse."""

from typing import ClassVar

import pytest
import yaml

from soft_arm_description.calibration import (
    COMMANDS,
    CalibrationError,
    Measurement,
    OtherRobotError,
    Values,
    load_calibration,
    load_header,
    save_calibration,
    saved,
)
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_io.fields import Number

ARM, FINGER = load_robot('two_module_arm'), load_robot('four_piece_finger')
LAG = {'residuals': {'rms_m': 1e-4}, 'limits': {'pressure_pa': (-1e4, 1e4)}}


class Lag(Values):
    """Numbers of a calibration for these tests."""

    kind: ClassVar[str] = 'dynamics'
    lag_s: Number


def measured(devices):
    return Measurement(devices=devices, method='test', **LAG)


@pytest.fixture
def make_rig(tmp_path, monkeypatch):
    """Makes a rig with `virtual` or `real` devices."""
    monkeypatch.setenv('SOFT_ARM_RIGS', str(tmp_path))

    def make(devices):
        (tmp_path / devices).mkdir(exist_ok=True)
        (tmp_path / devices / 'rig.yaml').write_text(f'devices: {devices}\nrobot: two_module_arm\n')
        return load_rig(tmp_path / devices)

    return make


@pytest.fixture
def bench(make_rig):
    """A real rig that has a calibration."""
    rig = make_rig('real')
    save_calibration(rig, Lag(lag_s=0.1), ARM, measured('real'))
    return rig


def test_what_is_saved_is_loaded_with_its_header(bench):
    found = load_calibration(bench, Lag, ARM)
    assert found.values == Lag(lag_s=0.1) and found.header.measurement == measured('real')
    header = load_header(bench, 'dynamics')
    assert (header.kind, header.version, header.rig) == ('dynamics', 1, 'real')
    assert (header.robot, header.robot_fingerprint) == (ARM.name, ARM.kinematic_fingerprint)


@pytest.mark.parametrize('kind', COMMANDS)
@pytest.mark.parametrize(
    ('measured_on', 'rig_devices', 'allowed'),
    [
        ('virtual', 'real', False),
        ('virtual', 'virtual', True),
        ('real', 'real', True),
        ('real', 'virtual', True),
    ],
)
def test_virtual_measurements_are_neither_saved_for_nor_loaded_by_a_real_rig(
    make_rig, tmp_path, kind, measured_on, rig_devices, allowed
):
    values = type('Other', (Lag,), {'kind': kind})
    rig, other = make_rig(rig_devices), make_rig(measured_on)
    path = tmp_path / 'elsewhere.yaml'
    save_calibration(other, values(lag_s=0.1), ARM, measured(measured_on), path)
    actions = (
        lambda: load_calibration(rig, values, ARM, path),
        lambda: save_calibration(rig, values(lag_s=0.1), ARM, measured(measured_on)),
    )
    for act in actions:
        if allowed:
            act()
        else:
            with pytest.raises(CalibrationError, match='measured on virtual devices') as caught:
                act()
            assert COMMANDS[kind] in str(caught.value) and '\n' not in str(caught.value)
            assert not rig.calibration_file(kind).exists()


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (lambda c: c.pop('kind'), 'kind: key is missing'),
        (lambda c: c.update(kind='extrinsics'), 'kind is extrinsics, not dynamics'),
        (lambda c: c.update(version=2), 'version 2 of dynamics, known is 1'),
        (lambda c: c.update(colour='red'), 'colour: unknown key'),
        (lambda c: c['measurement'].pop('devices'), 'measurement.devices: key is missing'),
        (lambda c: c['measurement'].update(devices='fake'), 'measurement.devices'),
        (lambda c: c['measurement'].update(date='soon'), 'measurement.date'),
        (lambda c: c['measurement'].update(residuals={}), 'measurement.residuals'),
        (lambda c: c['measurement'].update(residuals={'rms': 1.0}), 'measurement.residuals'),
        (lambda c: c['measurement'].update(limits={'x_m': [0.0]}), 'measurement.limits'),
        (lambda c: c.pop('values'), 'values'),
        (lambda c: c['values'].pop('lag_s'), 'values.lag_s: key is missing'),
        (lambda c: c['values'].update(lag_s='0.1'), "values.lag_s.*given '0.1'"),
        (lambda c: c['values'].update(lag_s=float('nan')), 'values.lag_s.*finite'),
        (lambda c: c['values'].update(gain=1.0), 'values.gain: unknown key'),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(bench, change, words):
    path = bench.calibration_file('dynamics')
    content = yaml.safe_load(path.read_text())
    change(content)
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(CalibrationError, match=words) as caught:
        load_calibration(bench, Lag, ARM)
    text = str(caught.value)
    assert str(path) in text and '\n' not in text
    assert 'kind is' in text or '`softarm calibrate dynamics --robot FILE --rig real`' in text


@pytest.mark.parametrize('content', ['', '[', '- 1', 'lag: 1', None])
def test_a_file_that_is_none_says_which_command_makes_it(bench, content):
    bench.calibration_file('dynamics').unlink()
    if content is not None:
        bench.calibration_file('dynamics').write_text(content)
    with pytest.raises(CalibrationError, match='softarm calibrate dynamics --robot FILE'):
        load_calibration(bench, Lag, ARM)


def test_a_file_of_another_robot_is_refused_unless_its_kind_is_for_any(bench):
    with pytest.raises(OtherRobotError, match='made for another robot, two_module_arm .* rig new'):
        load_calibration(bench, Lag, FINGER)
    anyone = type('Anyone', (Lag,), {'for_any_robot': True})
    assert load_calibration(bench, anyone, FINGER).values.lag_s == 0.1


def test_nothing_is_written_into_a_template(tmp_path):
    rig = load_rig('virtual')
    before = rig.calibration_file('dynamics').read_text()
    assert save_calibration(rig, Lag(lag_s=0.1), ARM, measured('virtual')) is None
    assert rig.calibration_file('dynamics').read_text() == before
    assert 'softarm rig new NAME --from virtual' in saved(None, rig)
    path = tmp_path / 'mine.yaml'
    assert save_calibration(rig, Lag(lag_s=0.1), ARM, measured('virtual'), path) == path


def test_every_shipped_calibration_has_a_header_for_a_shipped_robot():
    rig = load_rig('virtual')
    shipped = [kind for kind in COMMANDS if rig.calibration_file(kind).exists()]
    assert len(shipped) >= 7
    for kind in shipped:
        header = load_header(rig, kind)
        assert header.robot_fingerprint == load_robot(header.robot).kinematic_fingerprint
        assert (header.rig, header.measurement.devices) == ('virtual', 'virtual')
