"""Replay on /clock: the time that nodes see, what of the sensors is sent, and waits for images."""

import threading

import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TransformStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage

from cli_testing.bags import write_bag
from cli_testing.spinning_node import SpinningNode
from soft_arm_msgs.msg import ChamberPressures, TickAnswer
from soft_arm_node_kit import qos
from softarm_cli.bag_command import main
from softarm_cli.bags.replay import Replay
from softarm_cli.errors import BagError
from softarm_cli.ros import replay_time
from softarm_cli.ros.bag_player import play

START_NS, PERIOD_NS, IMAGES = 1000 * 10**9, 33_333_333, 12
COLOUR, DEPTH = '/camera/camera/color/image_raw', '/camera/camera/depth/image_raw'
INFO, STATIC, TRUTH = '/camera/camera/color/camera_info', '/tf_static', '/rig/debug/tip_truth'
PRESSURES, COMMAND = '/soft_arm/pressures', '/soft_arm/pressure_command'
OPTICAL = 'camera_color_optical_frame'


def stamp(time_ns):
    return Time(sec=time_ns // 10**9, nanosec=time_ns % 10**9)


def frames(parent, child):
    header = Header(frame_id=parent)
    return TFMessage(transforms=[TransformStamped(header=header, child_frame_id=child)])


def rig_messages():
    yield STATIC, frames('soft_arm_base_link', 'camera_link'), START_NS
    yield STATIC, frames('camera_link', OPTICAL), START_NS
    for number in range(IMAGES):
        at_ns = START_NS + number * PERIOD_NS
        header = Header(stamp=stamp(at_ns), frame_id=OPTICAL)
        yield INFO, CameraInfo(header=header), at_ns + 1
        yield COLOUR, Image(header=header), at_ns + 2
        yield DEPTH, Image(header=header), at_ns + 3
        for topic in (PRESSURES, COMMAND):
            yield topic, ChamberPressures(header=Header(stamp=stamp(at_ns))), at_ns + 4
        yield TRUTH, PoseStamped(header=header), at_ns + 5


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    return write_bag(tmp_path_factory.mktemp('bags') / 'rig', rig_messages())


def ns(time):
    return time.sec * 10**9 + time.nanosec


def test_nodes_live_in_the_time_of_the_recording(bag, ros_domain):
    hears = {'/clock': Clock, PRESSURES: ChamberPressures}
    with SpinningNode('listener', hears=hears) as listener:
        assert play(bag, Replay(topics=(PRESSURES,), clock=True, rate=0.5)) == IMAGES
        listener.wait_for(PRESSURES, IMAGES)
        ticks_ns = [ns(message.clock) for message in listener.heard['/clock']]
    assert {b - a for a, b in zip(ticks_ns, ticks_ns[1:], strict=False)} == {replay_time.TICK_NS}
    last_ns = START_NS + (IMAGES - 1) * PERIOD_NS
    assert ticks_ns[0] >= START_NS and last_ns - 10_000_000 <= ticks_ns[-1] <= last_ns + 4


def test_the_clock_of_the_bag_is_sent_where_it_holds_one(tmp_path, ros_domain):
    """A recording of simulated time: the recorder wrote down another clock."""
    own = [('/clock', Clock(clock=stamp(number * 10**7)), START_NS + number) for number in range(5)]
    path = write_bag(tmp_path / 'bag', [*own, (PRESSURES, ChamberPressures(), START_NS + 9)])
    with SpinningNode('listener', hears={'/clock': Clock, PRESSURES: ChamberPressures}) as listener:
        play(path, Replay(clock=True))
        listener.wait_for('/clock', 5)
        listener.wait_for(PRESSURES, 1)
    assert [ns(message.clock) for message in listener.heard['/clock']] == [
        number * 10**7 for number in range(5)
    ]


def test_of_the_sensors_neither_results_nor_commands_are_sent(bag, ros_domain):
    hears = {COLOUR: Image, INFO: CameraInfo, PRESSURES: ChamberPressures, TRUTH: PoseStamped}
    hears |= {COMMAND: ChamberPressures}
    heard = []

    def build(node):
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        node.create_subscription(TFMessage, STATIC, heard.append, latched)

    with SpinningNode('kinematics', 'soft_arm', hears=hears, build=build) as node:
        replay = Replay(sensors=True, rate=10.0, wait_for=('/soft_arm/kinematics',))
        count = play(bag, replay)
        for topic in (COLOUR, INFO, PRESSURES):
            node.wait_for(topic, IMAGES)
    assert count == 4 * IMAGES + 1
    assert node.heard[TRUTH] == node.heard[COMMAND] == []
    assert [t.child_frame_id for message in heard for t in message.transforms] == [OPTICAL]


def test_a_node_in_another_namespace_is_refused_before_anything_is_sent(bag, capsys):
    assert main(['play', str(bag), '--sensors', '--wait-for', '/left/forward_kinematics']) == 2
    error = capsys.readouterr().err
    assert 'holds pressures in /soft_arm, not in /left' in error and error.count('\n') == 1


class Detector:
    """Answers each set of images, or none."""

    def __init__(self, answers=True):
        self._answers, self.seen = answers, []

    def build(self, node):
        self._publisher = node.create_publisher(TickAnswer, '/clock_answers', qos.ANSWERS)
        node.create_subscription(Image, COLOUR, lambda image: None, qos.SENSOR)
        node.create_subscription(Image, DEPTH, self._work, qos.SENSOR)  # comes last

    def _work(self, image):
        threading.Event().wait(0.05)  # its work; meanwhile the other images would come
        self.seen.append(ns(image.header.stamp))
        if self._answers:
            self._publisher.publish(
                TickAnswer(node='/soft_arm/tip_tracker', stamp=image.header.stamp)
            )


def test_images_are_waited_for_so_that_none_is_dropped(bag, ros_domain):
    detector = Detector()
    with SpinningNode('tip_tracker', 'soft_arm', build=detector.build):
        play(bag, Replay(sensors=True, clock=True, rate=1000.0))
    # Each had been answered before the next was sent: a best-effort reader of depth 5 saw all.
    assert detector.seen == [START_NS + number * PERIOD_NS for number in range(IMAGES)]


def test_a_node_that_does_not_answer_is_named_and_the_replay_goes_on(
    bag, ros_domain, monkeypatch, caplog
):
    monkeypatch.setattr(replay_time, '_FIRST_ANSWER_S', 0.3)
    with SpinningNode('tip_tracker', 'soft_arm', build=Detector(answers=False).build):
        play(bag, Replay(sensors=True, clock=True, rate=100.0))
    named = [record.message for record in caplog.records if 'did not answer' in record.message]
    assert len(named) == 1 and '/soft_arm/tip_tracker' in named[0]


def test_nothing_is_sent_where_another_clock_runs(bag, ros_domain):
    def build(node):
        publisher = node.create_publisher(Clock, '/clock', 10)
        node.create_timer(0.05, lambda: publisher.publish(Clock()))

    with (
        SpinningNode('virtual_rig', build=build),
        pytest.raises(BagError, match='/clock is published by /virtual_rig already'),
    ):
        play(bag, Replay(sensors=True, clock=True))
