import pytest

from soft_arm_description.calibration import CalibrationError, calibration_path, rigs


def test_rigs_of_the_product():
    assert set(rigs()) >= {'virtual', 'lab'}


def test_path_of_a_shipped_calibration():
    assert calibration_path('virtual', 'pressure_length').is_file()
    assert calibration_path('lab', 'extrinsics').parts[-2:] == ('lab', 'extrinsics.yaml')


@pytest.mark.parametrize('rig, name, word', [('moon', 'pressure_length', 'moon'), ('virtual', '../secret', 'secret'), ('..', 'x', "'..'")])
def test_unknown_is_refused(rig, name, word):
    with pytest.raises(CalibrationError, match=word.replace('.', r'\.')):
        calibration_path(rig, name)
