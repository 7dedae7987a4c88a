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
from soft_arm_msgs.msg import ChamberPressures, TickAnswer
from soft_arm_node_kit import qos
from softarm_cli.bag_command import main
from softarm_cli.bags.replay import Replay
from softarm_cli.errors import BagError
from softarm_cli.ros import replay_time
from softarm_cli.ros.bag_player import play
from system_testing.probe import Probe

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


def listener(kinds, name='listener', namespace=''):
    probe = Probe(name, namespace)
    for topic, kind in kinds.items():
        probe.listen(kind, topic, 1000)
    return probe.spin()


def test_nodes_live_in_the_time_of_the_recording(bag, ros_domain):
    with listener({'/clock': Clock, PRESSURES: ChamberPressures}) as probe:
        assert play(bag, Replay(topics=(PRESSURES,), clock=True, rate=0.5)) == IMAGES
        probe.wait(lambda: len(probe.heard[PRESSURES]) >= IMAGES)
        ticks_ns = [ns(message.clock) for message in probe.heard['/clock']]
    assert {b - a for a, b in zip(ticks_ns, ticks_ns[1:], strict=False)} == {replay_time.TICK_NS}
    last_ns = START_NS + (IMAGES - 1) * PERIOD_NS
    assert ticks_ns[0] >= START_NS and last_ns - 10_000_000 <= ticks_ns[-1] <= last_ns + 4


def test_the_clock_of_the_bag_is_sent_where_it_holds_one(tmp_path, ros_domain):
    """A recording of simulated time: the recorder wrote down another clock."""
    own = [('/clock', Clock(clock=stamp(number * 10**7)), START_NS + number) for number in range(5)]
    path = write_bag(tmp_path / 'bag', [*own, (PRESSURES, ChamberPressures(), START_NS + 9)])
    with listener({'/clock': Clock, PRESSURES: ChamberPressures}) as probe:
        play(path, Replay(clock=True))
        probe.wait(lambda: len(probe.heard['/clock']) >= 5 and probe.heard[PRESSURES])
    assert [ns(message.clock) for message in probe.heard['/clock']] == [
        number * 10**7 for number in range(5)
    ]


def test_of_the_sensors_neither_results_nor_commands_are_sent(bag, ros_domain):
    hears = {COLOUR: Image, INFO: CameraInfo, PRESSURES: ChamberPressures, TRUTH: PoseStamped}
    with listener(hears | {COMMAND: ChamberPressures}, 'kinematics', 'soft_arm') as node:
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        heard = node.listen(TFMessage, STATIC, latched)
        replay = Replay(sensors=True, rate=10.0, wait_for=('/soft_arm/kinematics',))
        assert play(bag, replay) == 4 * IMAGES + 1
        for topic in (COLOUR, INFO, PRESSURES):
            node.wait(lambda topic=topic: len(node.heard[topic]) >= IMAGES)
    assert node.heard[TRUTH] == node.heard[COMMAND] == []
    assert [t.child_frame_id for message in heard for t in message.transforms] == [OPTICAL]


def test_a_node_in_another_namespace_is_refused_before_anything_is_sent(bag, capsys):
    assert main(['play', str(bag), '--sensors', '--wait-for', '/left/forward_kinematics']) == 2
    error = capsys.readouterr().err
    assert 'holds pressures in /soft_arm, not in /left' in error and error.count('\n') == 1


class Detector(Probe):
    """Answers each set of images, or none."""

    def __init__(self, answers=True):
        super().__init__('tip_tracker', 'soft_arm')
        self._answers, self.seen = answers, []
        self._publisher = self.create_publisher(TickAnswer, '/clock_answers', qos.ANSWERS)
        self.create_subscription(Image, COLOUR, lambda image: None, qos.SENSOR)
        self.create_subscription(Image, DEPTH, self._work, qos.SENSOR)  # comes last
        self.spin()

    def _work(self, image):
        threading.Event().wait(0.05)  # its work; meanwhile the other images would come
        self.seen.append(ns(image.header.stamp))
        if self._answers:
            self._publisher.publish(
                TickAnswer(node='/soft_arm/tip_tracker', stamp=image.header.stamp)
            )


def test_images_are_waited_for_so_that_none_is_dropped(bag, ros_domain):
    with Detector() as detector:
        play(bag, Replay(sensors=True, clock=True, rate=1000.0))
    # Each had been answered before the next was sent: a best-effort reader of depth 5 saw all.
    assert detector.seen == [START_NS + number * PERIOD_NS for number in range(IMAGES)]


def test_a_node_that_does_not_answer_is_named_and_the_replay_goes_on(
    bag, ros_domain, monkeypatch, caplog
):
    monkeypatch.setattr(replay_time, '_FIRST_ANSWER_S', 0.3)
    with Detector(answers=False):
        play(bag, Replay(sensors=True, clock=True, rate=100.0))
    named = [record.message for record in caplog.records if 'did not answer' in record.message]
    assert len(named) == 1 and '/soft_arm/tip_tracker' in named[0]


def test_nothing_is_sent_where_another_clock_runs(bag, ros_domain):
    with Probe('virtual_rig') as rig:
        publisher = rig.create_publisher(Clock, '/clock', 10)
        rig.create_timer(0.05, lambda: publisher.publish(Clock()))
        rig.spin()
        with pytest.raises(BagError, match='/clock is published by /virtual_rig already'):
            play(bag, Replay(sensors=True, clock=True))
