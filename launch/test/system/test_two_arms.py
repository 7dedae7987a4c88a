"""Two arms of different robot files in one graph, launched as a user launches them.

The second arm has another geometry and stands a metre from the first. Both cameras take small
pictures at 5 Hz and the rings are segmented by colour, so that two cores suffice.
"""

import re
import shutil
import time
from collections import Counter, defaultdict

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from rclpy.time import Time
from tf2_msgs.msg import TFMessage

from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot, shipped_robots
from soft_arm_kinematics.arm import load_arm
from soft_arm_msgs.action import MoveTip
from soft_arm_sim.cameras.parameters import CONFIG
from system_testing.launched_graph import LAUNCH, LaunchedGraph, tip_goal
from system_testing.probe import DEADLINE_S
from system_testing.processes import free_port

ARMS = ('soft_arm', 'left_arm')
CAMERAS = {'soft_arm': 'camera', 'left_arm': 'left_camera'}
SHARED_TOPICS = {'/tf', '/tf_static', '/diagnostics', '/rosout', '/parameter_events'}
LATE = {MoveTip.Result.TIP_LOST, MoveTip.Result.CAMERA_STALE, MoveTip.Result.DRIVER_LOST}
MAX_POSE_AGE_S = 0.4  # half of the controller's tip timeout
STREAMS = {
    f'/{arm}/{topic}': kind
    for arm in ARMS
    for topic, kind in (
        ('tip_pose', PoseWithCovarianceStamped),
        ('virtual_rig/debug/tip_truth', PoseStamped),
    )
}


def changed(text, *replacements):
    for old, new in replacements:
        assert re.search(old, text), old
        text = re.sub(old, new, text)
    return text


def nearest_m(poses, target_m):
    points_m = [(p.pose.position.x, p.pose.position.y, p.pose.position.z) for p in poses]
    return np.linalg.norm(np.reshape(points_m, (-1, 3)) - target_m, axis=1).min(initial=np.inf)


def make_left_rig(folder):
    """Make a virtual rig for an arm of another geometry, with the dynamics of the shipped one.

    The pressure-to-length curve there is the shipped arm's: the points of the robot file are used.
    """
    virtual = load_rig('virtual').folder
    shutil.copytree(virtual, folder)
    robot_file = folder / 'robot.yaml'
    robot_file.write_text(
        changed(
            shipped_robots()['two_module_arm'].read_text(),
            ('name: two_module_arm', 'name: left_arm'),
            ('soft_arm_base_link', 'left_arm_base_link'),
            (r'position_m: \[0.0, 0.0, 0.6\]', 'position_m: [1.0, 0.0, 0.6]'),
            ('centre_radius_m: 0.030', 'centre_radius_m: 0.034'),
            (r'0\.070', '0.080'),
            (r'0\.103', '0.110'),
        )
    )
    rig_file = folder / 'rig.yaml'
    rig_file.write_text(
        changed(rig_file.read_text(), ('robot: two_module_arm', 'robot: robot.yaml'))
    )
    fingerprint = (
        'robot_fingerprint: .*',
        f'robot_fingerprint: {load_robot(robot_file).kinematic_fingerprint}',
    )
    base = ('soft_arm_base_link', 'left_arm_base_link')
    for name, replacements in {
        'dynamics': [fingerprint],
        'extrinsics': [fingerprint, base, ('camera_color', 'left_camera_color')],
    }.items():
        path = folder / 'calibration' / f'{name}.yaml'
        path.write_text(changed(path.read_text(), *replacements))
    return robot_file


class TwoArms(LaunchedGraph):
    """Two launches in one domain, and a node that hears both."""

    def __init__(self, folder):
        camera_file = folder / 'camera.yaml'
        camera_file.write_text(
            changed(
                (CONFIG / 'virtual_camera.yaml').read_text(),
                ('640', '320'),
                ('480', '240'),
                (r'607\.3', '303.65'),
                (r'320\.6', '160.05'),
                (r'241\.2', '120.35'),
                ('rate_hz: 30.0', 'rate_hz: 5.0'),
            )
        )
        rig = folder / 'left'
        robot_file = make_left_rig(rig)
        self.arms = {'soft_arm': load_arm(), 'left_arm': load_arm(str(robot_file), str(rig))}
        shared = [
            str(LAUNCH / 'sim.launch.xml'),
            f'camera_file:={camera_file}',
            'tip_source:=colour',
        ]
        left = [f'robot:={robot_file}', f'rig:={rig}', 'namespace:=left_arm']
        super().__init__(folder / 'launch.txt', [*shared, f'modbus_port:={free_port()}'], STREAMS)
        self.parents = defaultdict(set)
        latched = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.create_subscription(TFMessage, '/tf_static', self._add_frames, latched)
        self.create_subscription(TFMessage, '/tf', self._add_frames, 100)
        try:
            self.left = LaunchedGraph(
                folder / 'left.txt',
                [
                    *shared,
                    *left,
                    'camera_name:=left_camera',
                    f'modbus_port:={free_port()}',
                    'plant_seed:=2',
                ],
                {},
            )
        except BaseException:
            super().close()
            raise

    def _add_frames(self, message):
        for transform in message.transforms:
            self.parents[transform.child_frame_id].add(transform.header.frame_id)

    def close(self):
        self.left.close()
        super().close()

    def output(self):
        return super().output() + self.left.output()

    def is_ready(self, arm):
        return f'ready: {arm} on the virtual rig' in self.output()

    def tip_is_measured(self, arm):
        stamp = Time.from_msg(self.latest[f'/{arm}/tip_pose'].header.stamp)
        return (self.get_clock().now() - stamp).nanoseconds < MAX_POSE_AGE_S * 1e9

    def listen_to_truth(self, arm):
        """Return the true poses of an arm's tip from now on."""
        return self.listen(
            PoseStamped, f'/{arm}/virtual_rig/debug/tip_truth', qos_profile_sensor_data
        )

    def target_m(self, arm, share):
        """A tip that the arm reaches with its first bellows at this share of its range."""
        low_m, high_m = self.arms[arm].length_limits_m
        shares = np.array([share, 0.2, 0.2, share, 0.3, 0.3])
        return self.arms[arm].at(low_m + (high_m - low_m) * shares).tip_m


@pytest.fixture(scope='module')
def graph(tmp_path_factory, ros_domain):
    with TwoArms(tmp_path_factory.mktemp('two_arms')) as graph:
        graph.wait(lambda: all(map(graph.is_ready, ARMS)), 'both arms are ready')
        graph.wait_for_streams()
        yield graph


def test_each_arm_has_frames_of_its_own_and_no_frame_has_two_parents(graph):
    expected = {
        f'{arm}_{name}'
        for arm in ARMS
        for name in ('base_link', 'module_1_tip', 'module_2_tip', 'tip_by_model', 'tip_by_vision')
    }
    expected |= {
        f'{camera}_{name}'
        for camera in CAMERAS.values()
        for name in ('link', 'color_frame', 'color_optical_frame')
    }
    graph.wait(lambda: expected <= set(graph.parents), f'{sorted(expected)} are known')
    assert set(graph.parents) == expected
    assert {frame: parents for frame, parents in graph.parents.items() if len(parents) > 1} == {}
    for arm in ARMS:
        assert graph.parents[f'{arm}_base_link'] == {'world'}
        assert graph.parents[f'{CAMERAS[arm]}_link'] == {f'{arm}_base_link'}
        ring = graph.latest[f'/{arm}/tip_pose']
        assert ring.header.frame_id == f'{arm}_base_link'


def test_no_node_and_no_publisher_is_there_twice(graph):
    names = Counter(graph.get_node_names_and_namespaces())
    tests_own = {'system_test'}
    assert [name for name, n in names.items() if n > 1 and name[0] not in tests_own] == []
    for topic, _ in graph.get_topic_names_and_types():
        if topic not in SHARED_TOPICS:
            publishers = graph.get_publishers_info_by_topic(topic)
            assert len(publishers) <= 1, (topic, [p.node_namespace for p in publishers])


def test_both_tips_reach_targets_of_their_own_at_the_same_time(graph):
    targets_m = {
        'soft_arm': graph.target_m('soft_arm', 0.35),
        'left_arm': graph.target_m('left_arm', 0.1),
    }
    assert np.linalg.norm(targets_m['soft_arm'] - targets_m['left_arm']) > 0.02
    truths = {arm: graph.listen_to_truth(arm) for arm in ARMS}
    waiting, end_s = set(ARMS), time.monotonic() + DEADLINE_S
    # Two graphs load two cores almost fully: the tip, the images or the driver may be late.
    while waiting:
        assert time.monotonic() < end_s, f'not reached: {waiting}'
        graph.wait(lambda: all(map(graph.tip_is_measured, ARMS)), 'both tips are measured in time')
        handles = {
            arm: graph.send_goal(
                MoveTip, f'/{arm}/move_tip', tip_goal(targets_m[arm], 0.002, 20.0)
            )[0]
            for arm in waiting
        }
        assert all(handle.accepted for handle in handles.values())
        results = {
            arm: graph.result(
                graph.called(handle.get_result_async), f'the goal of {arm} ends'
            ).result
            for arm, handle in handles.items()
        }
        waiting = {arm for arm, result in results.items() if result.error_code in LATE}
        others = {arm: results[arm] for arm in set(results) - waiting}
        assert all(r.error_code == MoveTip.Result.NONE for r in others.values()), others
    for arm in ARMS:
        graph.wait(
            lambda arm=arm: nearest_m(truths[arm], targets_m[arm]) < 0.003,
            f"{arm}'s true tip came within 3 mm of its target",
        )
