import pytest

from soft_arm_calibration.cli import calibrate_grasp


@pytest.mark.parametrize(
    'arguments', [['--closings', '1'], ['--robot', 'no_such'], ['--rig', 'no_such']]
)
def test_bad_input_of_the_command_is_one_line_and_exit_code_2(capsys, arguments):
    assert calibrate_grasp.main(arguments) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
