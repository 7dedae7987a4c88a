"""The kit against real rclpy: parameters refuse, runner ends cleanly."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
import rclpy
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.clock import ClockType
from rclpy.parameter import Parameter
from std_msgs.msg import Empty

from soft_arm_node_kit import qos
from soft_arm_node_kit.node import LifecycleNode, Node
from soft_arm_node_kit.node_names import domain_of, hold
from soft_arm_node_kit.parameters import ParameterError, declare, parameter


@dataclass(frozen=True)
class Example:
    port: int = parameter(description='TCP port', minimum=1, maximum=65535)
    rate_hz: float = parameter(50.0, 'rate [Hz]', minimum=1.0)
    names: list[str] = parameter(('a', 'b'), 'names')


@pytest.fixture
def ros():
    rclpy.init()
    yield
    rclpy.try_shutdown()


@pytest.fixture
def make(ros):
    """Return a node with parameters, which ends with the test."""
    nodes = []

    def node(parameters, kind=Node):
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        nodes.append(kind('example', parameter_overrides=overrides))
        return nodes[-1]

    yield node
    for each in nodes:
        each.destroy_node()


@pytest.fixture
def declared(make):
    return lambda **parameters: declare(make(parameters), Example)


def test_defaults_and_overrides(declared):
    assert declared(port=502, rate_hz=20.0) == Example(port=502, rate_hz=20.0, names=['a', 'b'])


def test_integer_for_a_float_is_taken(declared):
    assert declared(port=502, rate_hz=20).rate_hz == 20.0


@pytest.mark.parametrize(
    ('simulated', 'kind'), [(False, ClockType.STEADY_TIME), (True, ClockType.ROS_TIME)]
)
def test_timers_do_not_depend_on_a_clock_that_can_be_set(make, simulated, kind):
    node = make({'use_sim_time': simulated})
    timer = node.create_timer(1.0, lambda: None)
    assert timer.clock.clock_type == kind
    assert node.create_timer(1.0, lambda: None, clock=node.get_clock()).clock is node.get_clock()


@pytest.mark.parametrize(
    'overrides, words',
    [
        ({}, ['port', 'missing']),
        ({'port': 0}, ['port', '0', '65535']),
        ({'port': 502, 'rate_hz': float('nan')}, ['rate_hz', 'finite']),
        ({'port': 502, 'rate_hz': 0.5}, ['rate_hz', '0.5', '1.0']),
        ({'port': 'x'}, ['port', 'int']),
        ({'port': 502, 'speed': 1.0}, ['unknown', 'speed']),
    ],
)
def test_bad_parameters_are_named(declared, overrides, words):
    with pytest.raises(ParameterError) as caught:
        declared(**overrides)
    assert all(word in str(caught.value) for word in words)
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize('kind', [Node, LifecycleNode])
def test_the_policies_of_a_named_profile_are_overridden_for_one_topic_only(make, kind):
    given = {'subscription.depth': 7, 'publisher.reliability': 'best_effort'}
    node = make({f'qos_overrides./a.{key}': value for key, value in given.items()}, kind)
    heard = [node.create_subscription(Empty, t, lambda _: None, qos.SENSOR) for t in ('a', 'b')]
    sent = [node.create_publisher(Empty, topic, qos.COMMAND) for topic in ('a', 'b')]
    profiles = [end.qos_profile for end in (*heard, *sent)]
    assert [profile.depth for profile in profiles] == [7, 5, 1, 1]
    reliabilities = [profile.reliability.name for profile in profiles]
    assert reliabilities == ['BEST_EFFORT', 'BEST_EFFORT', 'BEST_EFFORT', 'RELIABLE']
    assert profiles[3].lifespan.nanoseconds == 500_000_000
    assert qos.SENSOR.depth == 5 and qos.COMMAND.reliability.name == 'RELIABLE'


@pytest.mark.parametrize('kind', [Node, LifecycleNode])
@pytest.mark.parametrize('simulated', [False, True])
def test_parameters_that_a_node_reads_at_its_start_cannot_be_changed(make, kind, simulated):
    given = {'use_sim_time': simulated, 'qos_overrides./a.subscription.depth': 7}
    node = make(given, kind)
    for name in given:
        value = node.get_parameter(name).value
        assert node.set_parameters([Parameter(name, value=value)])[0].successful
        for other in (not value, 1.5, 'x', [True], None):
            changed = [Parameter(name, value=other)]
            assert not node.set_parameters(changed)[0].successful
            assert not node.set_parameters_atomically(changed).successful
        assert node.get_parameter(name).value == value
    refused = node.set_parameters([Parameter('use_sim_time', value=not simulated)])[0]
    assert refused.reason == (
        'use_sim_time is read when the node starts: restart it with -p use_sim_time:=..'
    )
    assert node.get_clock().ros_time_is_active == simulated


NODE = """
import sys
from rclpy.node import Node
from soft_arm_node_kit.runner import run
class Example(Node):
    def __init__(self):
        super().__init__('example')
        if 'camera' in sys.argv: self.companions = (Node('camera', use_global_arguments=False),)
        if 'bad' in sys.argv: raise ValueError('port 0 is outside [1, 65535]')
        print('up', flush=True)
    def destroy_node(self):
        print('closed', flush=True)
        super().destroy_node()
sys.exit(run(Example))
"""


@contextmanager
def running(*arguments):
    command = [sys.executable, '-c', NODE, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == 'up\n'
            yield process
        finally:
            process.kill()


def ended(code, *arguments):
    command = [sys.executable, '-c', code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=20)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_closes_the_node(number):
    with running() as process:
        process.send_signal(number)
        assert process.communicate(timeout=20)[0] == 'closed\n'
    assert process.returncode == 0


def test_a_second_process_of_a_node_ends_before_it_makes_the_node():
    named = '--ros-args', '-r', '__node:=only'
    with running(*named) as first:
        second = ended(NODE, *named)
        assert (second.returncode, second.stdout) == (1, '')
        assert second.stderr.startswith('/only already runs in ROS domain ')
        assert f'(pid {first.pid})' in second.stderr
        assert first.poll() is None


def test_a_process_ends_whose_companion_runs_in_another_one():
    with hold('/camera', domain_of(os.environ)):
        second = ended(NODE, 'camera')
    assert (second.returncode, second.stdout) == (1, 'up\nclosed\n')
    assert second.stderr.startswith('/camera already runs in ROS domain ')


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_repeated_signals_do_not_make_a_clean_end_a_death(number):
    with running() as process:
        while process.poll() is None:
            process.send_signal(number)
    assert process.returncode == 0


@pytest.mark.parametrize('kind', [SetParameters, SetParametersAtomically])
def test_a_parameter_of_a_type_that_does_not_exist_does_not_end_the_node(ros, kind):
    service = 'example/set_parameters' + ('_atomically' * (kind is SetParametersAtomically))
    wrong = kind.Request(parameters=[ParameterMessage(value=ParameterValue(type=255))])
    client_node = rclpy.create_node('client')
    client = client_node.create_client(kind, service)
    with subprocess.Popen([sys.executable, '-c', NODE], stdout=subprocess.DEVNULL) as process:
        try:
            assert client.wait_for_service(60.0)
            for _ in range(2):
                future = client.call_async(wrong)
                rclpy.spin_until_future_complete(client_node, future, timeout_sec=60.0)
                assert future.done() and process.poll() is None
        finally:
            process.kill()
            client_node.destroy_node()


FAILING_NODE = """
import sys
from rclpy.node import Node
from soft_arm_node_kit.runner import run
class Example(Node):
    def __init__(self):
        super().__init__('example')
        if 'guarded' in sys.argv:
            guard = self.create_guard_condition(self.fail)
            self.create_timer(0.01, guard.trigger)
        else:
            self.create_timer(0.01, self.fail)
    def fail(self):
        raise RuntimeError('the valve is stuck')
    def destroy_node(self):
        print('closed', flush=True)
        super().destroy_node()
sys.exit(run(Example))
"""


@pytest.mark.parametrize('arguments', [[], ['guarded']])
def test_an_error_in_a_callback_closes_and_ends_the_node(arguments):
    done = ended(FAILING_NODE, *arguments)
    assert (done.returncode, done.stdout) == (1, 'closed\n')
    assert 'RuntimeError: the valve is stuck' in done.stderr


def test_bad_input_is_one_line_and_exit_2():
    done = ended(NODE, 'bad')
    assert (done.returncode, done.stderr) == (2, 'port 0 is outside [1, 65535]\n')


@pytest.mark.parametrize(
    'arguments', [['-r', '__ns:=a b'], ['-p', 'x:=[1,'], ['--params-file', '/nosuch.yaml']]
)
def test_ros_arguments_that_cannot_be_read_are_no_traceback_and_exit_2(arguments):
    done = ended(NODE, '--ros-args', *arguments)
    assert done.returncode == 2
    assert 'Traceback' not in done.stderr  # rcl itself writes lines before ours
    assert arguments[-1] in done.stderr.splitlines()[-1]
