import pytest

from soft_arm_experiments.cli import (
    bench_vision,
    experiment_ring,
    vision_draw,
    vision_evaluate,
    vision_extract,
)


@pytest.mark.parametrize(
    ('command', 'arguments'),
    [
        (bench_vision, ['--frames', '1', '--fits', '1']),
        (vision_extract, ['BAG', 'FOLDER']),
        (vision_evaluate, ['BAG']),
        (vision_draw, ['FOLDER', '--frames', '1']),
        (experiment_ring, ['--places', '1']),
    ],
)
def test_commands_refuse_a_robot_without_a_ring(command, arguments, tmp_path, capsys):
    paths = {'BAG': str(tmp_path), 'FOLDER': str(tmp_path / 'set')}
    arguments = [paths.get(argument, argument) for argument in arguments]
    assert command.main([*arguments, '--robot', 'squid_grasper']) == 2
    error = capsys.readouterr().err
    assert 'ring' in error and error.count('\n') == 1
