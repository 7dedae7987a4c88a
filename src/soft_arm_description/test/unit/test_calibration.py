import pytest

from soft_arm_description import calibration
from soft_arm_description.calibration import (
    CalibrationError,
    calibration_path,
    check_devices,
    devices_of,
    loadable,
    rigs,
)


def test_rigs_of_the_product():
    assert set(rigs()) >= {'virtual', 'lab'}
    assert devices_of('virtual') == 'virtual' and devices_of('lab') == 'real'


def test_path_of_a_shipped_calibration():
    assert calibration_path('virtual', 'pressure_length').is_file()
    assert calibration_path('lab', 'extrinsics').parts[-2:] == ('lab', 'extrinsics.yaml')


@pytest.mark.parametrize(
    'rig, name, word',
    [('moon', 'pressure_length', 'moon'), ('virtual', '../secret', 'secret'), ('..', 'x', "'..'")],
)
def test_unknown_is_refused(rig, name, word):
    with pytest.raises(CalibrationError, match=word.replace('.', r'\.')):
        calibration_path(rig, name)


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Folder of a rig called mine."""
    monkeypatch.setattr(calibration, 'calibration_root', lambda: tmp_path)
    (tmp_path / 'mine').mkdir()
    return tmp_path / 'mine'


def test_every_shipped_file_says_on_which_devices_it_was_measured():
    for path in calibration.calibration_root().glob('*/*.yaml'):
        assert f'\ndevices: {devices_of(path.parent.name)}\n' in path.read_text(), path


def test_a_real_rig_loads_nothing_that_was_measured_on_a_virtual_one(mine):
    path = mine / 'dynamics.yaml'
    assert loadable('mine', 'dynamics') == path  # its loader says that it is missing
    path.write_text('devices: real')
    assert loadable('mine', 'dynamics') == path
    bad = {
        'devices: virtual': 'measured on virtual devices',
        'date: today': 'does not say',
        '- 1': 'keys',
        '[': 'line',
    }
    for content, words in bad.items():
        path.write_text(content)
        with pytest.raises(CalibrationError, match=words) as caught:
            loadable('mine', 'dynamics')
        assert str(path) in str(caught.value) and '\n' not in str(caught.value)


def test_a_virtual_rig_is_one_by_its_file_and_loads_all(mine):
    (mine / 'rig.yaml').write_text('devices: virtual')
    (mine / 'dynamics.yaml').write_text('devices: real')
    assert (
        devices_of('mine') == 'virtual'
        and check_devices(mine / 'dynamics.yaml', 'mine') == mine / 'dynamics.yaml'
    )


@pytest.mark.parametrize('content', ['devices: emulated', 'devices: [real]', 'device: virtual', ''])
def test_a_rig_file_that_does_not_say_it_is_refused(mine, content):
    (mine / 'rig.yaml').write_text(content)
    with pytest.raises(CalibrationError, match='virtual|keys'):
        devices_of('mine')


def test_rigs_of_ones_own_lie_outside_the_package(tmp_path, monkeypatch):
    monkeypatch.setenv('SOFT_ARM_RIGS', str(tmp_path))
    with pytest.raises(CalibrationError, match='softarm rig new NAME'):
        calibration_path('bench', 'dynamics')
    for name in ('bench', 'virtual'):
        (tmp_path / name).mkdir()
    assert (
        'bench' in rigs()
        and calibration_path('bench', 'dynamics') == tmp_path / 'bench' / 'dynamics.yaml'
    )
    assert devices_of('bench') == 'real'
    assert tmp_path not in calibration_path('virtual', 'dynamics').parents, (
        "the product's rigs stay what they are"
    )
