"""`softarm bench vision`: its input."""

from soft_arm_benchmarks import bench_vision


def test_a_robot_without_a_ring_is_refused(capsys):
    assert bench_vision.main(['--frames', '1', '--robot', 'squid_grasper']) == 2
    error = capsys.readouterr().err
    assert 'ring' in error and error.count('\n') == 1


def test_a_network_is_taken(tmp_path, capsys):
    (tmp_path / 'mine.onnx').touch()
    network = str(tmp_path / 'mine.onnx')
    assert bench_vision.main(['--frames', '1', '--network', network]) == 2
    assert 'mine.onnx with its metadata mine.json cannot be read' in capsys.readouterr().err
