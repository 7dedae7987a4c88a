"""State of a graph from messages: poses, distances, ages, diagnostics; invalid messages."""

from types import SimpleNamespace as Message

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from abb_rws_bridge import irb120
from abb_rws_emulator.controller.irb120 import tool_pose
from soft_arm_description.assembly import load_assembly
from soft_arm_description.robot import load_robot
from soft_arm_description.urdf import joint_names
from soft_arm_description.world import load_world
from soft_arm_kinematics import make_arm
from soft_arm_kinematics.segments.sections import joint_values
from soft_arm_twin.graph.depth_cloud import depth_points
from soft_arm_twin.graph.drawing import Drawing
from soft_arm_twin.graph.journal import MAX_EVENTS, Journal
from soft_arm_twin.graph.known_graph import KnownGraph
from soft_arm_twin.graph.pictures import jpeg_data

ROBOT = load_robot('two_module_arm')


def xyz(values):
    return Message(**dict(zip('xyz', map(float, values), strict=True)))


def orientation(rotation):
    return Message(**dict(zip('xyzw', rotation.as_quat().tolist(), strict=True)))


def send(known, topic, message, now_s=0.0):
    """Give a message to all who listen to a topic; some must."""
    takes = [t.take for t in known.topics() if t.name == topic]
    assert takes, f'nobody listens to {topic}'
    for take in takes:
        take(message, now_s)


def joint_states(robot, q):
    shape = make_arm(robot).at(q)
    values = joint_values(shape)
    return shape, Message(name=joint_names(robot), position=values.tolist())


def tip_pose(at_m, sigma_m=1e-4):
    covariance = np.zeros((6, 6))
    covariance[:3, :3] = sigma_m**2 * np.eye(3)
    pose = Message(position=xyz(at_m), orientation=orientation(Rotation.identity()))
    return Message(pose=Message(pose=pose, covariance=covariance.ravel()))


@pytest.fixture
def known():
    graph = KnownGraph(lambda: 5.0)
    graph.add_robot('/soft_arm', ROBOT)
    return graph


def value(known, name):
    return next(v for v in known.values() if v.name == name).value


def bent():
    low, high = make_arm(ROBOT).q_limits
    return low + np.linspace(0.2, 0.8, len(low)) * (high - low)


def test_the_tip_is_drawn_where_the_model_has_it(known):
    shape, message = joint_states(ROBOT, bent())
    send(known, '/soft_arm/joint_states', message)
    tip_mm = [value(known, f'tip {axis} by model') for axis in 'xyz']
    np.testing.assert_allclose(tip_mm, 1e3 * shape.tip_m, atol=1e-6)
    drawing = Drawing(known)
    scene, frames = drawing.scene(), drawing.snapshot(0.0).frames
    mark = next(p for p in scene.parts if p.name == 'soft_arm tip by model')
    base = make_arm(ROBOT).base_pose
    wanted_m = base[:3, :3] @ shape.tip_m + base[:3, 3]
    np.testing.assert_allclose(frames[mark.frame_a[0], :, 3], wanted_m, atol=1e-6)


def test_the_base_stands_where_tf_has_it(known):
    parent = Message(frame_id='world')
    T = Message(translation=xyz([1, 2, 3]), rotation=orientation(Rotation.identity()))
    transform = Message(header=parent, child_frame_id=ROBOT.base.frame, transform=T)
    send(known, '/tf_static', Message(transforms=[transform]))
    np.testing.assert_allclose(known.soft_robots[0].base_pose()[:3, 3], [1, 2, 3])


@pytest.mark.parametrize('ring', [ROBOT.ring, None])
def test_distances_between_model_vision_and_target(ring):
    known = KnownGraph(lambda: 5.0)
    known.add_robot('/soft_arm', ROBOT.model_copy(update={'ring': ring}))
    shape, message = joint_states(ROBOT, bent())
    send(known, '/soft_arm/joint_states', message)
    send(known, '/soft_arm/tip_pose', tip_pose(shape.tip_m + [0.0, 0.003, 0.0]))
    target = Message(pose=Message(position=xyz(shape.tip_m + [0.0, 0.003, 0.004])))
    send(known, '/soft_arm/target', target)
    assert value(known, 'model to vision') == pytest.approx(3.0)
    assert value(known, 'tip to target') == pytest.approx(4.0)


def test_the_ellipsoid_has_two_sigmas(known):
    send(known, '/soft_arm/tip_pose', tip_pose([0.0, 0.0, 0.2], sigma_m=2e-3))
    drawing = Drawing(known)
    scene, frames = drawing.scene(), drawing.snapshot(0.0).frames
    part = next(p for p in scene.parts if p.name == 'soft_arm covariance')
    radii_m = np.linalg.svd(frames[part.frame_a[0], :, :3], compute_uv=False)
    np.testing.assert_allclose(radii_m, 4e-3, rtol=1e-5)


def test_ages_grow_after_the_first_message(known):
    assert all(age.age_s is None for age in known.ages(5.0))
    send(known, '/soft_arm/joint_states', joint_states(ROBOT, bent())[1], now_s=7.0)
    ages = {age.name: age for age in known.ages(9.5)}
    assert ages['soft_arm joint_states'].age_s == pytest.approx(2.5)


@pytest.mark.parametrize(
    'spoil',
    [
        lambda m: m.position.__setitem__(0, float('nan')),
        lambda m: m.position.pop(),
        lambda m: m.name.__setitem__(0, 'another'),
    ],
)
def test_joint_states_that_are_not_whole_change_nothing(known, spoil):
    _, message = joint_states(ROBOT, bent())
    send(known, '/soft_arm/joint_states', message)
    before = known.soft_robots[0].joints.copy()
    _, other = joint_states(ROBOT, make_arm(ROBOT).rest_q)
    spoil(other)
    send(known, '/soft_arm/joint_states', other)
    np.testing.assert_array_equal(known.soft_robots[0].joints, before)


def test_a_tip_pose_that_is_none_changes_nothing(known):
    message = tip_pose([0.0, 0.0, np.nan])
    send(known, '/soft_arm/tip_pose', message)
    assert known.soft_robots[0].vision is None


def test_a_silent_node_is_an_error_with_a_remedy(known):
    status = Message(name='soft_arm/x', level=b'\x00', message='fine', hardware_id='', values=[])
    send(known, '/diagnostics', Message(status=[status]), now_s=1.0)
    assert [d.level for d in known.diagnostics(2.0)] == ['info']
    (found,) = known.diagnostics(9.0)
    assert found.level == 'error' and found.remedy


def test_a_diagnostic_keeps_its_remedy_apart(known):
    values = [Message(key='remedy', value='check the cable')]
    status = Message(
        name='d', level=b'\x02', message='link lost: no answer', hardware_id='', values=values
    )
    send(known, '/diagnostics', Message(status=[status]))
    (found,) = known.diagnostics(0.0)
    assert (found.text, found.remedy) == ('link lost: no answer', 'check the cable')


def test_the_journal_is_bounded_and_its_numbers_go_on():
    journal = Journal(lambda: 5.0)
    for i in range(MAX_EVENTS + 7):
        journal.add('info', 'test', f'line {i}\n' * 200)
    events = journal.events()
    assert len(events) == MAX_EVENTS and events[-1].number == MAX_EVENTS + 7
    assert all('\n' not in e.text and len(e.text) <= 400 for e in events)


def test_an_assembly_uses_one_topic_and_moves_every_limb():
    known = KnownGraph(lambda: 5.0)
    limbs = known.add_assembly('/squid', load_assembly('squid'), load_world('squid_sea'))
    assert len(limbs) == 4
    names, values = [], []
    for limb in limbs:
        arm = make_arm(limb.robot)
        names += joint_names(limb.robot)
        values += joint_values(arm.at(arm.rest_q)).tolist()
    send(known, '/squid/joint_states', Message(name=names, position=values))
    assert all(limb.joints is not None for limb in known.soft_robots)
    drawing = Drawing(known)
    assert drawing.snapshot(0.0).frames.shape == (drawing.scene().n_frames, 3, 4)


def test_an_industrial_robot_moves_by_its_joint_states():
    known = KnownGraph(lambda: 5.0)
    known.add_industrial_robot('/abb')
    drawing = Drawing(known)
    assert drawing.scene().n_frames == 0
    send(known, '/abb/robot_description', Message(data=irb120.urdf('abb_')))
    joints = np.array([0.1, -0.2, 0.3, 0.4, 0.5, -0.6])
    names = [f'abb_{name}' for name in irb120.JOINT_NAMES]
    send(known, '/abb/joint_states', Message(name=names, position=joints.tolist()))
    model = known.industrial_robots[0].model
    assert drawing.scene().n_frames == len(model.links)
    tool0 = drawing.snapshot(0.0).frames[model.index('abb_tool0')]
    np.testing.assert_allclose(tool0, tool_pose(joints)[:3], atol=1e-6)


def test_a_robot_description_that_is_none_is_an_event():
    known = KnownGraph(lambda: 5.0)
    known.add_industrial_robot('/abb')
    send(known, '/abb/robot_description', Message(data='<robot'))
    assert [(e.level, e.time_s) for e in known.journal.events()] == [('error', 5.0)]
    assert Drawing(known).scene().n_frames == 0


def test_depth_becomes_points_before_the_camera():
    k = np.array([[600.0, 0.0, 320.0], [0.0, 600.0, 240.0], [0.0, 0.0, 1.0]])
    depth_mm = np.zeros((480, 640), np.uint16)
    depth_mm[200:280, 300:340] = 800
    points_m = depth_points(depth_mm, k)
    assert 0 < len(points_m) < 8000
    np.testing.assert_allclose(points_m[:, 2], 0.8)
    assert np.abs(points_m[:, 0]).max() <= 0.8 * 20.5 / 600


@pytest.mark.parametrize(('step', 'count'), [(24, 192), (23, 184), (24, 100), (0, 0)])
def test_a_damaged_picture_is_none(step, count):
    message = Message(width=8, height=8, step=step, encoding='rgb8', data=bytes(count))
    assert (jpeg_data(message) is None) == ((step, count) != (24, 192))


def test_an_empty_graph_says_what_to_start():
    (text,) = KnownGraph(lambda: 5.0).texts()
    assert 'softarm launch' in ' '.join(text.lines)
