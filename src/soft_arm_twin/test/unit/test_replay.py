"""A replay shows what was recorded: at any time, forth and back, up to a cut, and never moves."""

import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import cv2
import numpy as np
import pytest
from rosbags.interfaces import Nodetype
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from soft_arm_description.robot import load_robot
from soft_arm_description.urdf import joint_names
from soft_arm_kinematics import make_arm
from soft_arm_kinematics.segments.sections import joint_values
from soft_arm_twin.cli.twin import main
from soft_arm_twin.errors import TwinError
from soft_arm_twin.replay.bag_source import BagSource

ROBOT = load_robot('two_module_arm')
ARM = make_arm(ROBOT)
OWN = Path(__file__).parents[3] / 'soft_arm_msgs' / 'msg'
START_S, STEP_S, SECONDS, JOINTS_END_S = 1_800_000_000, 0.05, 20.0, 15.0
GOALS, ERROR_S, LIMIT_S = {4.0: 0.02, 12.0: -0.02}, 8.0, (10.0, 13.0)
DEADLINE_S = 300.0
CAMERA = '/camera/color/image_raw'


def message_types():
    store = get_typestore(Stores.ROS2_JAZZY)
    for name in ('ChamberPressures', 'ArmConfiguration'):
        known = get_types_from_msg((OWN / f'{name}.msg').read_text(), f'soft_arm_msgs/msg/{name}')
        store.register({kind: fields for kind, fields in known.items() if kind not in store.types})
    return store


class RecordedRig:
    """Writes what a rig says, as a recorder does."""

    def __init__(self, writer, robot):
        self._writer, self._robot, self._links = writer, robot, {}
        self._store = message_types()

    def make(self, kind, **fields):
        """Return a message; fields that are not given are empty or 0."""
        empty = {name: self._empty(*of) for name, of in self._store.fielddefs[kind][1]}
        return self._store.types[kind](**{**empty, **fields})

    def _empty(self, node, of):
        if node == Nodetype.NAME:
            return self.make(of)
        if node == Nodetype.BASE:
            return {'string': '', 'bool': False}.get(of[0], 0)
        (element, name), count = of
        numeric = element == Nodetype.BASE and name[0] != 'string'
        count = count if node == Nodetype.ARRAY else 0
        return np.zeros(count, name[0]) if numeric else []

    def say(self, at_s, topic, message):
        kind = message.__msgtype__
        if topic not in self._links:
            text, _ = self._store.generate_msgdef(kind)
            self._links[topic] = self._writer.add_connection(topic, kind, msgdef=text, rihs01='x')
        raw = self._store.serialize_cdr(message, kind)
        self._writer.write(self._links[topic], round((START_S + at_s) * 1e9), raw)

    def transform(self, parent, child, x_m):
        transform = self.make('geometry_msgs/msg/TransformStamped', child_frame_id=child)
        transform.header.frame_id = parent
        transform.transform.translation.x, transform.transform.rotation.w = x_m, 1.0
        return self.make('tf2_msgs/msg/TFMessage', transforms=[transform])

    def step(self, i):
        at_s = i * STEP_S
        low, high = ARM.actuation_limits
        share = 0.5 + 0.4 * np.sin(0.7 * at_s + np.arange(len(low)))
        shape = ARM.configuration(low + share * (high - low))
        if at_s < JOINTS_END_S:
            kind, names = 'sensor_msgs/msg/JointState', joint_names(ROBOT)
            joints = self.make(kind, name=names, position=joint_values(shape))
            self.say(at_s, '/soft_arm/joint_states', joints)
        low_pa, high_pa = ROBOT.pressure_limits_pa
        asked_pa = 0.5 * high_pa * np.sin(at_s)
        if LIMIT_S[0] <= at_s < LIMIT_S[1]:
            asked_pa[1] = high_pa[1]
        for topic, pressures_pa in (('pressures', asked_pa - 5e2), ('pressure_command', asked_pa)):
            kind, names = 'soft_arm_msgs/msg/ChamberPressures', list(ROBOT.chambers)
            message = self.make(kind, names=names, pressures_pa=pressures_pa, source='tip')
            self.say(at_s, f'/soft_arm/{topic}', message)
        self.say(at_s, '/tf', self.transform('world', ROBOT.base.frame, 0.01 * at_s))
        if i % 2:
            self.say(at_s, '/tf', self.transform('world', 'another', 0.0))
        for goal_s, x_m in GOALS.items():
            if abs(at_s - goal_s) < STEP_S / 2:
                self.say(at_s, '/soft_arm/target', self.marker(x_m))
        if i % 20 == 0:
            self.report(at_s)
        if i % 4 == 0:
            size = {'width': 8, 'height': 8, 'step': 24, 'encoding': 'rgb8'}
            pixels = np.full(192, 10 * int(at_s) % 250, np.uint8)
            self.say(at_s, CAMERA, self.make('sensor_msgs/msg/Image', data=pixels, **size))
        if abs(at_s - ERROR_S) < STEP_S / 2:
            log = self.make('rcl_interfaces/msg/Log', level=40, name='rig', msg='no air')
            self.say(at_s, '/rosout', log)

    def marker(self, x_m):
        marker = self.make('visualization_msgs/msg/Marker')
        marker.pose.position.x, marker.pose.position.z = x_m, 0.2
        return marker

    def report(self, at_s):
        status = self.make(
            'diagnostic_msgs/msg/DiagnosticStatus',
            level=2 if at_s == 17.0 else 0,
            name='soft_arm/forward_kinematics',
            message='works',
            hardware_id=self._robot,
        )
        array = self.make('diagnostic_msgs/msg/DiagnosticArray', status=[status])
        self.say(at_s, '/diagnostics', array)

    def configuration(self):
        configuration = self.make('soft_arm_msgs/msg/ArmConfiguration')
        self.say(0.0, '/soft_arm/configuration', configuration)


def write_bag(path, robot='two_module_arm', seconds=SECONDS, killed=False):
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        rig = RecordedRig(writer, robot)
        rig.configuration()
        for i in range(int(seconds / STEP_S)):
            rig.step(i)
        if killed:
            shutil.copytree(path, path.with_name('killed'))  # as it is on the disk now
    return path.with_name('killed') if killed else path


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    return write_bag(tmp_path_factory.mktemp('bags') / 'rig')


@pytest.fixture
def source(bag):
    with BagSource(bag, play=False) as source:
        yield source


def wait_for(condition):
    end_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end_s
        threading.Event().wait(0.01)


def control(source, name):
    return next(c.value for c in source.panel().controls if c.name == name)


def seen_at(source, at_s):
    """Return frames and numbers after a jump."""
    before = source.panel().epoch
    assert source.command('time', at_s, owner=False).accepted
    wait_for(lambda: source.panel().epoch != before)
    assert control(source, 'time') == at_s
    return source.snapshot().frames, source.panel()


def test_the_robot_is_that_of_the_recording_and_stands_where_tf_had_it(source):
    scene = source.scene()
    flange = next(part for part in scene.parts if part.name == 'soft_arm flange')
    for at_s in (18.0, 3.0):
        frames, _ = seen_at(source, at_s)
        assert frames.shape == (scene.n_frames, 3, 4)
        x_m = frames[flange.frame_a[0], 0, 3]
        np.testing.assert_allclose(x_m, 0.01 * at_s, atol=0.01 * STEP_S)
    assert source.scene() is scene


def test_forth_and_back_is_as_it_was_played(source):
    seen_at(source, 9.0)
    source.command('speed', '8', owner=False)
    source.command('play', True, owner=False)
    wait_for(lambda: not control(source, 'play'))
    at_s, played = control(source, 'time'), source.snapshot().frames
    assert at_s == source.duration_s
    seen_at(source, 1.0)
    later, _ = seen_at(source, 14.0)
    frames, panel = seen_at(source, at_s)
    np.testing.assert_array_equal(frames, played)
    assert not np.array_equal(frames, later)
    again, panel_again = seen_at(source, at_s)
    np.testing.assert_array_equal(again, frames)
    assert panel_again.values == panel.values and panel_again.ages == panel.ages


def test_playing_stops_at_the_end_and_begins_anew(bag):
    with BagSource(bag, play=False) as source:
        seen_at(source, source.duration_s - 0.2)
        source.command('play', True, owner=False)
        wait_for(lambda: not control(source, 'play'))
        assert control(source, 'time') == source.duration_s
        source.command('play', True, owner=False)
        wait_for(lambda: control(source, 'time') < 5.0 and control(source, 'play'))


def test_a_second_interrupt_while_it_ends_is_not_held_by_its_threads(bag):
    code = 'import sys; from soft_arm_twin.replay.bag_source import BagSource as source'
    ending = f'{code}; source(sys.argv[1]).__enter__(); raise KeyboardInterrupt'
    done = subprocess.run([sys.executable, '-c', ending, bag], timeout=100, capture_output=True)
    assert b'KeyboardInterrupt' in done.stderr


def test_goals_faults_and_saturations_are_marked_once(source):
    marks = [(round(mark.time_s, 6), mark.level) for mark in source.marks]
    goals = [(at_s, 'info') for at_s in GOALS]
    assert marks == sorted([*goals, (ERROR_S, 'error'), (LIMIT_S[0], 'warning'), (17.0, 'error')])
    assert all(not mark.text.endswith(' ') for mark in source.marks)


def test_nothing_of_the_future_is_shown(source):
    _, late = seen_at(source, 14.0)
    assert [event.text for event in late.events] == ['no air']
    _, early = seen_at(source, 2.0)
    assert early.events == () and early.epoch > late.events[-1].number
    target = next(part for part in source.scene().parts if part.name == 'soft_arm target')
    assert not source.snapshot().frames[target.frame_a[0]].any()
    _, again = seen_at(source, 14.0)
    assert [event.text for event in again.events] == ['no air']
    assert again.events[0].number > again.epoch > early.epoch


def test_ages_and_levels_are_those_of_the_bag(source):
    _, panel = seen_at(source, JOINTS_END_S + 2.0)
    ages = {age.name: age.age_s for age in panel.ages}
    assert ages['soft_arm joint_states'] == pytest.approx(2.0, abs=1.5 * STEP_S)
    assert ages['soft_arm pressures'] < 1.5 * STEP_S
    assert panel.diagnostics[0].level == 'error'


def test_the_picture_is_that_of_the_time(source):
    assert source.image() is None
    source.command('camera/image', CAMERA, owner=False)
    for at_s in (15.5, 6.5):
        seen_at(source, at_s)
        wait_for(lambda at_s=at_s: abs(brightness(source.image()) - 10 * int(at_s)) < 3)


def brightness(picture):
    if picture is None:
        return np.inf
    return cv2.imdecode(np.frombuffer(picture.data, np.uint8), cv2.IMREAD_COLOR).mean()


def test_plots_are_filled_after_a_jump(source):
    seen_at(source, 16.0)
    taken = []
    wait_for(lambda: len(taken.append(source.panel().plots) or taken[-1]) > 100)
    times_s = [p.t_s for p in taken[-1] if p.name == ROBOT.chambers[0]]
    assert times_s == sorted(times_s) and times_s[0] < 1.0 and times_s[-1] > 15.9


def test_a_bag_of_a_killed_recorder_plays_up_to_the_cut(tmp_path, bag):
    with BagSource(write_bag(tmp_path / 'bag', seconds=80.0, killed=True), play=False) as source:
        assert source.is_cut and 5.0 < source.duration_s < 79.0
        assert source.marks[-1].time_s == source.duration_s and 'cut' in source.marks[-1].text
        frames, panel = seen_at(source, 9.0)
        assert any('killed' in line for line in panel.texts[0].lines)
        with BagSource(bag, play=False) as whole:
            np.testing.assert_array_equal(frames, seen_at(whole, 9.0)[0])


def test_an_unknown_robot_is_one_error_with_its_remedy(tmp_path, capsys):
    bag = write_bag(tmp_path / 'bag', robot='no_such_arm', seconds=2.0)
    assert main(['--bag', str(bag), '--no-browser', '--port', '0']) == 2
    said = capsys.readouterr().err
    assert said.count('\n') == 1 and 'no_such_arm' in said and '--robot /soft_arm=FILE' in said
    for robots in ({'': 'two_module_arm'}, {'soft_arm': 'two_module_arm'}):
        assert BagSource(bag, robots, play=False).scene().n_frames > 0
    with pytest.raises(TwinError, match='no namespace /arm'):
        BagSource(bag, {'arm': 'two_module_arm'})


def test_a_bag_without_a_robot_says_what_it_lacks(tmp_path):
    with Writer(tmp_path / 'bag', version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        RecordedRig(writer, '').report(0.0)
    with pytest.raises(TwinError, match='holds no robot'):
        BagSource(tmp_path / 'bag')
