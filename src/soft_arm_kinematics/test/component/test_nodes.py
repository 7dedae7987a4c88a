"""Both nodes in this process, heard over DDS by a probe node."""

import time

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker

from soft_arm_kinematics.arm import load_arm
from soft_arm_kinematics.ros.forward_kinematics_node import ForwardKinematicsNode
from soft_arm_kinematics.ros.inverse_kinematics_node import InverseKinematicsNode
from soft_arm_msgs.msg import ArmConfiguration, ChamberPressures
from soft_arm_msgs.srv import SolveIK
from soft_arm_node_kit import qos
from system_testing.probe import Probe


class Graph(Probe):
    """Listener and client of both nodes."""

    def __init__(self):
        nodes = ForwardKinematicsNode, InverseKinematicsNode
        super().__init__('probe', '/soft_arm', nodes, robot='two_module_arm', rig='virtual')
        self.listen(ArmConfiguration, 'configuration', qos.STATE)
        self.listen(Marker, 'body', qos.STATE)
        self.listen(TFMessage, '/tf', qos.STATE)
        self.listen(JointState, 'joint_states', qos.STATE)
        self.listen(TFMessage, '/tf_static', qos.LATCHED)
        self.pressures = self.create_publisher(ChamberPressures, 'pressures', qos.STATE)

    def send(self, pressures_pa, names=None):
        arm = self.nodes[0]._arm
        message = ChamberPressures(
            names=list(names or arm.robot.chambers), pressures_pa=[float(p) for p in pressures_pa]
        )
        message.header.stamp = self.get_clock().now().to_msg()
        self.pressures.publish(message)
        return message.header.stamp

    def ask(self, x, y, z, **request):
        message = SolveIK.Request(**request)
        message.target.x, message.target.y, message.target.z = float(x), float(y), float(z)
        return self.call(SolveIK, 'solve_ik', message)


@pytest.fixture(scope='module')
def graph(ros_domain):
    with Graph() as running:
        running.wait(lambda: running.pressures.get_subscription_count() == 2)
        yield running


def test_shape_follows_pressures(graph):
    pressures_pa = [10e3, 0.0, -20e3, 50e3, 30e3, -60e3]
    stamp = graph.send(pressures_pa)
    graph.wait(lambda: all(graph.heard.values()))
    arm = load_arm('two_module_arm', 'virtual')
    shape = arm.at(arm.lengths(pressures_pa))
    heard = graph.heard['configuration'][-1]
    assert heard.header.stamp == stamp and list(heard.segments) == ['module_1', 'module_2']
    assert np.array([heard.theta_rad, heard.phi_rad, heard.ell_m]) == pytest.approx(
        np.array([shape.theta_rad, shape.phi_rad, shape.ell_m])
    )
    frames = {t.child_frame_id: t for t in graph.heard['/tf'][-1].transforms}
    assert set(frames) == {
        'soft_arm_module_1_tip',
        'soft_arm_module_2_tip',
        'soft_arm_tip_by_model',
    }
    tip = frames['soft_arm_tip_by_model']
    assert tip.header.frame_id == 'soft_arm_base_link' and tip.header.stamp == stamp
    tip_m = shape.tip_m
    assert [getattr(tip.transform.translation, k) for k in 'xyz'] == pytest.approx(tip_m)
    last = graph.heard['body'][-1].points[-1]
    assert [last.x, last.y, last.z] == pytest.approx(tip_m)
    assert graph.heard['/tf_static'][-1].transforms[0].child_frame_id == 'soft_arm_base_link'


def test_pressures_without_a_chamber_are_not_guessed(graph):
    before = len(graph.heard['configuration'])
    graph.send([0.0] * 5, names=['m1_b1', 'm1_b2', 'm1_b3', 'm2_b1', 'm2_b2'])
    graph.wait(lambda: graph.nodes[0]._status()[0] == b'\x02')
    assert 'm2_b3' in graph.nodes[0]._status()[1]
    assert len(graph.heard['configuration']) == before


def test_pictures_are_rate_limited(graph):
    before = len(graph.heard['body']), len(graph.heard['configuration'])
    start_s = time.monotonic()
    for sent in range(1, 21):
        graph.send([0.0] * 6)
        graph.wait(lambda sent=sent: len(graph.heard['configuration']) >= before[1] + sent)
    assert len(graph.heard['body']) - before[0] <= 15.0 * (time.monotonic() - start_s) + 1


def test_solutions_reach_the_target(graph):
    answer = graph.ask(0.06, -0.03, 0.22, max_solutions=5)
    assert answer.error_code == SolveIK.Response.NONE
    assert answer.error_msg == ''
    assert len(answer.solutions) == 5
    arm = load_arm('two_module_arm', 'virtual')
    for solution in answer.solutions:
        assert arm.at(arm.lengths(np.array(solution.pressures_pa))).tip_m == pytest.approx(
            [0.06, -0.03, 0.22], abs=1e-6
        )
        assert list(solution.names) == list(arm.robot.chambers)
    scores = [s.score for s in answer.solutions]
    assert scores == sorted(scores)


def test_present_lengths_default_to_the_measured_pressures(graph):
    arm = load_arm('two_module_arm', 'virtual')
    pressures_pa = [40e3, -20e3, 10e3, 0.0, 30e3, -30e3]
    graph.send(pressures_pa)
    lengths_m = arm.lengths(pressures_pa)
    graph.wait(lambda: graph.nodes[1]._q is not None and np.allclose(graph.nodes[1]._q, lengths_m))
    answer = graph.ask(*arm.at(lengths_m).tip_m)
    assert min(s.score_angle_change for s in answer.solutions) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    'target, code, word',
    [
        ((0.0, 0.0, 1.0), SolveIK.Response.OUTSIDE_WORKSPACE, '610.000 mm'),
        ((float('nan'), 0.0, 0.2), SolveIK.Response.INVALID_TARGET, 'finite'),
        ((float('inf'), 0.0, 0.2), SolveIK.Response.INVALID_TARGET, 'finite'),
    ],
)
@pytest.mark.filterwarnings('error::RuntimeWarning')
def test_refusals_have_a_code_and_one_line(graph, target, code, word):
    answer = graph.ask(*target)
    assert answer.error_code == code and word in answer.error_msg and not answer.solutions


def test_axis_that_cannot_be_had_has_its_own_code(graph):
    request = SolveIK.Request()
    request.axis.x = 1.0
    answer = graph.ask(0.0, 0.0, 0.385, axis=request.axis)
    assert answer.error_code == SolveIK.Response.NO_SOLUTION and 'axis' in answer.error_msg


def test_garbage_is_named_and_ignored(graph):
    arm, forward, inverse = load_arm('two_module_arm', 'virtual'), *graph.nodes[:2]
    names = list(arm.robot.chambers)
    for pressures_pa, given, word in (
        ([float('nan')] * 6, names, 'm1_b1 at nan kPa'),
        ([float('inf')] + [0.0] * 5, names, 'm1_b1'),
        ([0.0] * 5, names, '5 pressures'),
        ([0.0] * 6, [5000 * letter for letter in 'uvwxyz'], 'lack chamber m1_b1'),
        ([0.0] * 6, ['x' * 5000] * 6, 'given twice'),
        ([], names, '0 pressures'),
    ):
        graph.send(pressures_pa, given)
        graph.wait(lambda word=word: word in forward._fault and word in inverse._fault)
        assert len(forward._fault) <= 300
    graph.heard['configuration'].clear()
    graph.send([0.0] * 6)
    graph.wait(lambda: graph.heard['configuration'] and not forward._fault and not inverse._fault)
    for huge in (1e300, float('inf'), float('nan'), -200.0):
        answer = graph.ask(0.0, huge, 0.2)
        assert answer.error_code == SolveIK.Response.INVALID_TARGET
        assert len(answer.error_msg) <= 300
        assert not answer.solutions
    answer = graph.ask(0.0, 0.0, 0.2, present_lengths_m=[0.1, float('nan'), 0.1, 0.1, 0.1, 0.1])
    assert answer.error_code == SolveIK.Response.INVALID_TARGET and 'finite' in answer.error_msg
    assert graph.ask(0.0, 0.0, 0.2, max_solutions=1).error_code == SolveIK.Response.NONE
