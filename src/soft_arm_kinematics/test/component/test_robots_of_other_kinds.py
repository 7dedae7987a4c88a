"""Nodes of one robot of each kind, and of robots that they cannot serve."""

import threading
from contextlib import ExitStack

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation
from tf2_msgs.msg import TFMessage

from soft_arm_description.calibration import CalibrationError
from soft_arm_description.robot import load_robot, shipped_robots
from soft_arm_kinematics.arm import load_arm, make_arm
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ik.inverse import InverseKinematics
from soft_arm_kinematics.ros.contact_estimator_node import ContactEstimatorNode
from soft_arm_kinematics.ros.forward_kinematics_node import ForwardKinematicsNode
from soft_arm_kinematics.ros.inverse_kinematics_node import InverseKinematicsNode
from soft_arm_kinematics.ros.limb_states_node import LimbStatesNode
from soft_arm_msgs.msg import ArmConfiguration, ChamberPressures
from soft_arm_msgs.srv import SolveIK
from soft_arm_node_kit import diagnostics, qos
from system_testing.probe import DEADLINE_S, Probe


@pytest.fixture
def start(ros_domain):
    """Return a node with parameters and its probe; both end with the test."""
    with ExitStack() as probes:

        def make(node_type, **parameters):
            probe = Probe('probe', '/soft_arm', [node_type], **parameters)
            return probes.enter_context(probe).nodes[0], probe

        yield make


@pytest.mark.parametrize('robot', ['four_piece_finger', 'modal_bellows', 'squid_grasper'])
def test_solve_ik_answers_for_every_kind(start, robot):
    arm = load_arm(robot)
    node, probe = start(InverseKinematicsNode, robot=robot, rig='virtual')
    probe.wait(lambda: node._solver)
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
    assert len(solution.pressures_pa) == len(arm.robot.chambers)
    assert len(solution.configuration.theta_rad) == arm.n_segments
    if arm.is_pressure_driven:
        assert arm.at(np.array(solution.pressures_pa)).tip_m == pytest.approx(
            arm.at(q).tip_m, abs=1e-6
        )


def test_the_service_is_there_when_it_can_answer(start, monkeypatch):
    """While the solver compiles, /diagnostics says so and the service is not offered."""
    compiled = threading.Event()
    monkeypatch.setattr(InverseKinematics, 'prepare', lambda _: compiled.wait(DEADLINE_S))
    monkeypatch.setattr('soft_arm_kinematics.ros.inverse_kinematics_node.LOADING_S', 0.0)
    node, probe = start(InverseKinematicsNode, robot='two_module_arm', rig='virtual')
    client, turns = probe.create_client(SolveIK, 'solve_ik'), iter(range(10))
    try:
        probe.wait(lambda: next(turns) == 9)
        level, message, _ = node._status()
        assert level == diagnostics.WARN and 'compiling the solver, about 60 s' in message
        assert not client.service_is_ready()
        compiled.set()
        probe.wait(client.service_is_ready)
        assert node._status()[:2] == (diagnostics.OK, 'ready')
        answer = probe.call(SolveIK, 'solve_ik')
        assert answer.error_code == SolveIK.Response.OUTSIDE_WORKSPACE
    finally:
        compiled.set()


def test_sections_that_cannot_show_a_bend_do_not_end_forward_kinematics(start, tmp_path):
    content = yaml.safe_load(shipped_robots()['two_module_arm'].read_text())
    for segment in content['segments']:
        segment['sections'] = 1
        segment['actuators']['centre_radius_m'] = 0.016
    (tmp_path / 'arm.yaml').write_text(yaml.safe_dump(content))
    node, _ = start(ForwardKinematicsNode, robot=tmp_path / 'arm.yaml', rig='virtual')
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
    node, _ = start(ForwardKinematicsNode, robot='two_module_arm', rig=tmp_path)
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


PIECES = [f'piece_{i}' for i in range(1, 5)]


@pytest.fixture
def graph(ros_domain, tmp_path):
    """A finger with the paper's forced phi: probe, node and robot."""
    content = yaml.safe_load(shipped_robots()['four_piece_finger'].read_text())
    content['name'] = 'bent_finger'
    for segment, phi_deg in zip(content['segments'], (12.0, 8.8, 6.0, 3.3), strict=True):
        segment['phi_deg'] = phi_deg
    file = tmp_path / 'finger.yaml'
    file.write_text(yaml.safe_dump(content))
    named = '-r', 'forward_kinematics:__node:=finger_kinematics'
    nodes = [ForwardKinematicsNode]
    with Probe('probe', '/gripper', nodes, named, robot=file, rig='virtual') as probe:
        probe.listen(TFMessage, '/tf', qos.STATE)
        probe.listen(TFMessage, '/tf_static', qos.LATCHED)
        probe.listen(ArmConfiguration, 'configuration', qos.STATE)
        yield probe, probe.nodes[0], load_robot(file)


def sender(probe, pressure_pa):
    publisher = probe.create_publisher(ChamberPressures, 'pressures', qos.STATE)
    message = ChamberPressures(names=['finger'], pressures_pa=[pressure_pa])
    return lambda: publisher.publish(message)


def matrix(message):
    T, t, q = np.eye(4), message.transform.translation, message.transform.rotation
    T[:3, :3], T[:3, 3] = Rotation.from_quat([q.x, q.y, q.z, q.w]).as_matrix(), (t.x, t.y, t.z)
    return T


def test_frames_of_the_finger_hang_on_the_flange(graph):
    probe, node, robot = graph
    assert node.get_fully_qualified_name() == '/gripper/finger_kinematics'
    probe.wait(lambda: all(probe.heard.values()), each=sender(probe, 100e3))
    mount = probe.heard['/tf_static'][0].transforms[0]
    assert (mount.header.frame_id, mount.child_frame_id) == ('abb_tool0', 'soft_gripper_base_link')
    assert matrix(mount)[:3, 3] == pytest.approx(robot.base.position_m)
    frames = {t.child_frame_id: t for t in probe.heard['/tf'][-1].transforms}
    assert list(frames) == [f'soft_gripper_{name}_tip' for name in PIECES] + [
        'soft_gripper_tip_by_model'
    ]
    assert {t.header.frame_id for t in frames.values()} == {'soft_gripper_base_link'}
    poses = make_arm(robot).at([100e3]).segment_poses
    for name, pose in zip(frames, [*poses, poses[-1]], strict=True):
        assert matrix(frames[name]) == pytest.approx(pose, abs=1e-12)
    assert np.rad2deg(probe.heard['configuration'][-1].phi_rad) == pytest.approx(
        [12.0, 8.8, 6.0, 3.3]
    )
    level, text, _ = node._status()
    assert level == b'\x01' and 'nominal' in text  # no calibration of this finger


def test_a_pressure_beyond_the_range_is_said_and_its_end_used(graph):
    probe, node, robot = graph
    probe.wait(lambda: probe.heard['/tf'], each=sender(probe, 123e3))
    tip = probe.heard['/tf'][-1].transforms[-1]
    assert matrix(tip) == pytest.approx(make_arm(robot).at([120e3]).tip_pose, abs=1e-12)
    assert '3000 Pa beyond' in node._status()[1]
