"""`softarm topic`, `softarm node` and `softarm doctor` in a small graph."""

import json
import threading

import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.lifecycle import LifecycleNode

from soft_arm_msgs.msg import ChamberPressures
from softarm_cli import node_command, topic_command
from softarm_cli.ros.examination import examine
from system_testing.probe import Probe

PRESSURES = '/left/pressures'


@pytest.fixture(scope='module')
def small_graph(ros_domain):
    """Three of an arm's nodes, one of them twice and one that does not answer."""

    def driver():
        node = LifecycleNode('pneumatic_driver')
        pressures = node.create_publisher(ChamberPressures, 'pressures', 10)
        status = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        message = ChamberPressures(names=['m1_b1', 'm1_b2'], pressures_pa=[1.5e3, float('nan')])
        fault = DiagnosticStatus(
            level=DiagnosticStatus.ERROR,
            name='left/pneumatic_driver',
            message='link lost: ' + '0f ' * 900,
        )
        node.create_timer(0.02, lambda: pressures.publish(message))
        node.create_timer(0.5, lambda: status.publish(DiagnosticArray(status=[fault])))

        return node

    let_go = threading.Event()
    with (
        Probe('tip_controller', 'left', [driver]).spin(),
        Probe('tip_controller', 'left').spin(),
        Probe('tip_tracker', 'left') as tracker,
    ):
        tracker.create_timer(0.01, let_go.wait)
        tracker.spin()
        yield
        let_go.set()


def test_echo_prints_yaml_and_json(small_graph, capsys):
    assert topic_command.main(['echo', 'left/pressures', '--once']) == 0
    message = yaml.safe_load(capsys.readouterr().out.removesuffix('---\n'))
    assert message['names'] == ['m1_b1', 'm1_b2'] and message['pressures_pa'][0] == 1500.0
    assert (
        topic_command.main(['echo', PRESSURES, '-n', '2', '--field', 'pressures_pa', '--json']) == 0
    )
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == 2 * [
        [1500.0, None]
    ]


@pytest.mark.parametrize(
    'arguments, message',
    [
        (
            ['echo', PRESSURES, '--field', 'pressures_kpa'],
            "unknown field 'pressures_kpa'",
        ),
        (['echo', PRESSURES, '--field', 'pressures_pa[2]'], 'only 2 entries'),
        (['hz', '/left/presures'], f'unknown topic /left/presures; did you mean {PRESSURES}'),
    ],
)
def test_what_is_not_there_is_named_with_what_is(small_graph, arguments, message, capsys):
    assert topic_command.main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error and error.count('\n') == 1


def test_hz_and_silence(small_graph, capsys):
    assert topic_command.main(['hz', PRESSURES, '-n', '2', '--json']) == 0
    rates = [json.loads(line)['rate_hz'] for line in capsys.readouterr().out.splitlines()]
    assert len(rates) == 2 and all(25.0 < rate < 60.0 for rate in rates)
    assert (
        topic_command.main(['echo', '/left/pneumatic_driver/transition_event', '--timeout', '1'])
        == 1
    )
    assert 'no message on' in capsys.readouterr().err


def test_topics_and_nodes_are_listed(small_graph, capsys):
    assert topic_command.main(['list', '--json']) == 0
    listed = json.loads(capsys.readouterr().out)[PRESSURES]
    assert listed == {
        'type': 'soft_arm_msgs/msg/ChamberPressures',
        'publishers': ['/left/pneumatic_driver'],
        'subscribers': [],
    }
    assert node_command.main(['list', '--json']) == 0
    nodes = json.loads(capsys.readouterr().out)
    assert [node['name'] for node in nodes].count('/left/tip_controller') == 2
    assert [n['state'] for n in nodes if n['name'] == '/left/pneumatic_driver'] == ['unconfigured']


def test_the_doctor_names_what_is_wrong(small_graph):
    report = examine()
    lines = [str(finding) for finding in report.findings()]
    # Nobody publishes `configuration` or `tip_pose`: no rate is expected of them.
    assert [(topic.name, topic.is_wrong) for topic in report.topics] == [('/left/pressures', False)]

    def one(*words):
        found = [line for line in lines if all(word in line for word in words)]
        assert len(found) == 1, (words, lines)
        return found[0]

    for name in ('forward_kinematics', 'inverse_kinematics'):
        assert 'softarm launch' in one(f'node /left/{name} is missing')
    one('/left/tip_controller runs 2 times')
    one('node /left/tip_tracker', 'does not answer')
    assert len(one('/left/pneumatic_driver reports (error): link lost')) < 400
    assert not any('load' in line for line in lines)


def test_a_driver_is_activated_and_deactivated(small_graph, capsys):
    assert node_command.main(['activate', 'pneumatic_driver']) == 0
    assert capsys.readouterr().out == '/left/pneumatic_driver: active\n'
    assert node_command.main(['deactivate', '/left/pneumatic_driver']) == 0
    assert node_command.main(['activate', 'tip_tracker']) == 2
    assert 'unknown lifecycle node tip_tracker' in capsys.readouterr().err
