import pytest

from soft_arm_experiments.cli import (
    calibrate_ring_noise,
    experiment,
    experiment_reach,
    experiment_ring,
)
from soft_arm_training.cli import vision_label


@pytest.mark.parametrize(
    ('command', 'arguments'),
    [
        (vision_label, ['BAG']),
        (experiment_ring, ['--places', '1']),
    ],
)
def test_commands_refuse_a_robot_without_a_ring(command, arguments, tmp_path, capsys):
    arguments = [str(tmp_path) if argument == 'BAG' else argument for argument in arguments]
    assert command.main([*arguments, '--robot', 'squid_grasper']) == 2
    error = capsys.readouterr().err
    assert 'ring' in error and error.count('\n') == 1


@pytest.mark.parametrize(
    ('command', 'arguments'),
    [
        (experiment.bend, ['--in-process']),
        (experiment_reach.main, ['--targets', '1']),
        (experiment_ring.main, ['--places', '1']),
        (calibrate_ring_noise.main, []),
    ],
)
def test_commands_that_see_the_ring_take_a_network(command, arguments, tmp_path, capsys):
    (tmp_path / 'mine.onnx').touch()
    assert command([*arguments, '--network', str(tmp_path / 'mine.onnx')]) == 2
    assert 'mine.onnx with its metadata mine.json cannot be read' in capsys.readouterr().err
