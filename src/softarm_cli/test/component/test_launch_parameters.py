"""Parameters of launch files as a node receives them."""

from functools import partial

from rclpy.node import Node

from softarm_cli.launching.description import describe
from system_testing.probe import Probe

TEXTS = ['018322071443', 'on', '/data/arm #2/x', 'run: 3', '', '1e3', '1_000', '2024-01-01', '~']


def test_text_arrives_as_written(ros_domain, tmp_path, monkeypatch):
    monkeypatch.setattr(
        'softarm_cli.launching.description.find_executable', lambda package, executable: 'talker'
    )
    parameters = ''.join(
        f'<param name="p{i}" type="str" value="{text}"/>' for i, text in enumerate(TEXTS)
    )
    file = tmp_path / 'test.launch.xml'
    file.write_text(
        f'<launch><node pkg="demo" exec="talker" name="talker">{parameters}</node></launch>'
    )
    scratch = tmp_path / 'scratch'
    scratch.mkdir()
    [process] = describe(file, {}, scratch).processes
    talker = partial(Node, 'talker', automatically_declare_parameters_from_overrides=True)
    with Probe(nodes=[talker], arguments=process.command[1:]) as probe:
        received = [probe.nodes[0].get_parameter(f'p{i}').value for i in range(len(TEXTS))]
    assert received == TEXTS
