import pytest

from soft_arm_description.calibration import CalibrationError, check_devices, devices_of, loadable


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Folder of the calibrations of a real rig called mine."""
    monkeypatch.setenv('SOFT_ARM_RIGS', str(tmp_path))
    (tmp_path / 'mine' / 'calibration').mkdir(parents=True)
    (tmp_path / 'mine' / 'rig.yaml').write_text('devices: real\nrobot: two_module_arm\n')
    return tmp_path / 'mine' / 'calibration'


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
    (mine.parent / 'rig.yaml').write_text('devices: virtual\nrobot: two_module_arm\n')
    (mine / 'dynamics.yaml').write_text('devices: real')
    assert (
        devices_of('mine') == 'virtual'
        and check_devices(mine / 'dynamics.yaml', 'mine') == mine / 'dynamics.yaml'
    )
