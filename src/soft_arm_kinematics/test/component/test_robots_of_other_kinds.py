"""Nodes of one robot of each kind, and of robots that they cannot serve."""

import threading
import time

import numpy as np
import pytest
import rclpy
import yaml
from rclpy.executors import SingleThreadedExecutor

from soft_arm_description.calibration import CalibrationError
from soft_arm_description.robot import load_robot, shipped_robots
from soft_arm_kinematics.arm import load_arm
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ik.inverse import InverseKinematics
from soft_arm_kinematics.ros.contact_estimator_node import ContactEstimatorNode
from soft_arm_kinematics.ros.forward_kinematics_node import ForwardKinematicsNode
from soft_arm_kinematics.ros.inverse_kinematics_node import InverseKinematicsNode
from soft_arm_kinematics.ros.limb_states_node import LimbStatesNode
from soft_arm_msgs.msg import ChamberPressures
from soft_arm_msgs.srv import SolveIK
from soft_arm_node_kit import diagnostics

DEADLINE_S = 300.0


@pytest.fixture
def start(ros_domain):
    """Make a node with parameters; afterwards it ends."""
    nodes = []

    def make(node_type, **values):
        arguments = [word for key, value in values.items() for word in ('-p', f'{key}:={value}')]
        rclpy.init(args=['--ros-args', '-r', '__ns:=/soft_arm', *arguments])
        nodes.append(node_type())
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()
    rclpy.try_shutdown()


def until(nodes, condition):
    executor, end_s = SingleThreadedExecutor(), time.monotonic() + DEADLINE_S
    for node in nodes:
        executor.add_node(node)
    while not condition():
        assert time.monotonic() < end_s, f'nothing within {DEADLINE_S} s'
        executor.spin_once(timeout_sec=0.1)
    executor.shutdown()


@pytest.mark.parametrize('robot', ['four_piece_finger', 'modal_bellows', 'squid_grasper'])
def test_solve_ik_answers_for_every_kind(start, robot):
    arm, node = load_arm(robot), start(InverseKinematicsNode, robot=robot, rig='virtual')
    until([node], lambda: node._solver)
    q = arm.q_limits.T @ [0.4, 0.6]
    node._on_pressures(
        ChamberPressures(
            names=list(arm.robot.chambers), pressures_pa=[1e3] * len(arm.robot.chambers)
        )
    )
    request, response = SolveIK.Request(), SolveIK.Response()
    request.target.x, request.target.y, request.target.z = arm.at(q).tip_m.tolist()
    node._on_solve(request, response)
    assert response.error_code == SolveIK.Response.NONE and len(response.solutions)
    solution = response.solutions[0]
    assert list(solution.names) == list(arm.robot.chambers) and len(solution.lengths_m) == 0
    assert (
        len(solution.pressures_pa) == len(arm.robot.chambers)
        and len(solution.configuration.theta_rad) == arm.n_segments
    )
    if arm.is_pressure_driven:
        assert arm.at(np.array(solution.pressures_pa)).tip_m == pytest.approx(
            arm.at(q).tip_m, abs=1e-6
        )


def test_the_service_is_there_when_it_can_answer(start, monkeypatch):
    """While the solver compiles, /diagnostics says so and the service is not offered."""
    compiled = threading.Event()
    monkeypatch.setattr(InverseKinematics, 'prepare', lambda _: compiled.wait(DEADLINE_S))
    monkeypatch.setattr('soft_arm_kinematics.ros.inverse_kinematics_node.LOADING_S', 0.0)
    node = start(InverseKinematicsNode, robot='two_module_arm', rig='virtual')
    probe = rclpy.create_node('probe')
    client, turns = probe.create_client(SolveIK, 'solve_ik'), iter(range(10))
    try:
        until([node, probe], lambda: next(turns) == 9)
        level, message, _ = node._status()
        assert level == diagnostics.WARN and 'compiling the solver, about 60 s' in message
        assert not client.service_is_ready()
        compiled.set()
        until([node, probe], client.service_is_ready)
        assert node._status()[:2] == (diagnostics.OK, 'ready')
        answer = client.call_async(SolveIK.Request())
        until([node, probe], answer.done)
        assert answer.result().error_code == SolveIK.Response.OUTSIDE_WORKSPACE
    finally:
        compiled.set()
        probe.destroy_node()


def test_sections_that_cannot_show_a_bend_do_not_end_forward_kinematics(start, tmp_path):
    content = yaml.safe_load(shipped_robots()['two_module_arm'].read_text())
    for segment in content['segments']:
        segment['sections'] = 1
        segment['actuators']['centre_radius_m'] = 0.016
    (tmp_path / 'arm.yaml').write_text(yaml.safe_dump(content))
    node = start(ForwardKinematicsNode, robot=tmp_path / 'arm.yaml', rig='virtual')
    names = list(load_robot('two_module_arm').chambers)
    node._on_pressures(
        ChamberPressures(names=names, pressures_pa=[96e3, -96e3, -96e3, 0.0, 0.0, 0.0])
    )
    level, message, _ = node._status()
    assert level == diagnostics.ERROR and 'use more sections' in message
    node._on_pressures(ChamberPressures(names=names, pressures_pa=[0.0] * 6))
    assert node._status()[0] == diagnostics.OK


def test_a_rig_without_calibrations_has_the_shape_of_the_robot_file(start, tmp_path):
    (tmp_path / 'rig.yaml').write_text('devices: real\nrobot: two_module_arm\n')
    node = start(ForwardKinematicsNode, robot='two_module_arm', rig=tmp_path)
    names = list(load_robot('two_module_arm').chambers)
    node._on_pressures(ChamberPressures(names=names, pressures_pa=[0.0] * 6))
    level, message, values = node._status()
    assert level == diagnostics.WARN and values.get('ready') is not False
    assert 'softarm calibrate curve' in message and 'pressure_length.yaml' in message


def test_a_damaged_curve_is_refused(start, tmp_path):
    (tmp_path / 'rig.yaml').write_text('devices: real\nrobot: two_module_arm\n')
    (tmp_path / 'calibration').mkdir()
    (tmp_path / 'calibration' / 'pressure_length.yaml').write_text('kind: extrinsics\n')
    with pytest.raises(CalibrationError, match='pressure_length.yaml'):
        start(ForwardKinematicsNode, robot='two_module_arm', rig=tmp_path)


@pytest.mark.parametrize(
    'node_type, parameter, words',
    [
        (
            ForwardKinematicsNode,
            {'robot': 'squid_camera', 'rig': 'virtual'},
            ['squid_camera', 'tendon', 'limb_states'],
        ),
        (ContactEstimatorNode, {'robot': 'two_module_arm'}, ['two_module_arm', 'bellows', 'modal']),
        (LimbStatesNode, {'robots': '[modal_bellows]'}, ['modal_bellows', 'modal', 'tendon']),
    ],
)
def test_a_robot_that_a_node_cannot_serve_is_refused_in_one_line(
    start, node_type, parameter, words
):
    with pytest.raises(KinematicsError) as caught:
        start(node_type, **parameter)
    message = str(caught.value)
    assert all(word in message for word in words) and '\n' not in message and len(message) <= 300
