"""The virtual rig in lockstep, with nodes of the test that answer and that do not."""

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import Parameter
from rclpy.time import Time
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Image
from tf2_msgs.msg import TFMessage

from soft_arm_node_kit import qos
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.ticker import Answers, Ticker
from system_testing.probe import Probe

TICK_S, IMAGE_DELAY_S = 0.010, 0.045  # of the shipped delays
TIMEOUT_S = 0.5


class Answering(Node):
    """Answers each tick."""

    def __init__(self, context):
        simulated = [Parameter('use_sim_time', value=True)]
        super().__init__('driver', parameter_overrides=simulated, context=context)
        self.ticks_s = []
        self._ticker = Ticker(self, 0.020, lambda: self.ticks_s.append(self.now_s()))


class Watching(Probe):
    """Sees what the rig says, and answers images while `answers`."""

    def __init__(self):
        super().__init__('detector')
        self.answers, self.times_s, self.images_s, self.status = True, [0.0], [], ''
        self._answers = Answers(self)
        self.create_subscription(Clock, '/clock', self._on_clock, qos.STATE)
        topic = '/camera/camera/color/image_raw'
        self.create_subscription(Image, topic, self._on_image, qos.SENSOR)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_status, qos.STATE)
        self.static_frames = []
        self.create_subscription(TFMessage, '/tf_static', self._on_static, qos.LATCHED)
        self.spin()

    def _on_clock(self, message):
        self.times_s.append(1e-9 * Time.from_msg(message.clock).nanoseconds)

    def _on_static(self, message):
        self.static_frames += message.transforms

    def _on_image(self, message):
        stamp = Time.from_msg(message.header.stamp)
        self.images_s.append((1e-9 * stamp.nanoseconds, self.times_s[-1]))
        if self.answers:
            self._answers.done_until(message.header.stamp)

    def _on_status(self, message):
        for status in message.status:
            if status.name == 'virtual_rig':
                self.status = status.message


@pytest.fixture(scope='module')
def rig(lockstep_rig):
    """The node that watches, before any node answers ticks."""
    with (
        Watching() as watching,
        lockstep_rig(image_answers_from='detector', answer_timeout_s=TIMEOUT_S),
    ):
        yield watching


@pytest.fixture(scope='module')
def answering(rig):
    """A node that answers; time has stood at the first tick until it came."""
    rig.wait(lambda: 'time waits for /driver' in rig.status, 'the rig says whom it waits for')
    assert set(rig.times_s) <= {0.0, TICK_S}
    node = Answering(rig.context)
    rig._executor.add_node(node)
    yield node
    rig._executor.remove_node(node)
    node.destroy_node()


def test_the_camera_is_a_node_on_the_clock_of_the_graph(rig, answering):
    answer = rig.call(GetParameters, '/camera/camera/get_parameters', names=['use_sim_time'])
    assert answer.values[0].bool_value
    rig.wait(lambda: rig.static_frames, 'the frames of the camera')
    assert all(frame.header.stamp.sec < 1000 for frame in rig.static_frames)


def test_time_goes_on_in_ticks_when_all_have_answered(rig, answering):
    rig.wait(lambda: rig.times_s[-1] > 1.0, 'one second')
    assert answering.ticks_s[:3] == pytest.approx([0.02, 0.04, 0.06])
    steps_s = {round(b - a, 9) for a, b in zip(rig.times_s, rig.times_s[1:], strict=False)}
    assert steps_s <= {0.0, TICK_S}  # repeated, or one tick


def test_images_come_at_the_camera_s_rate_and_as_late_as_the_devices_are(rig, answering):
    rig.wait(lambda: len(rig.images_s) > 20, 'images')
    stamps_s = sorted({stamp_s for stamp_s, _ in rig.images_s})
    assert stamps_s == pytest.approx([k / 30.0 for k in range(len(stamps_s))], abs=1e-6)
    for stamp_s, before_s in rig.images_s[1:]:  # the clock follows when the image is answered
        assert before_s - 1e-6 < stamp_s + IMAGE_DELAY_S < before_s + TICK_S + 1e-6


def test_time_stands_for_a_node_that_is_silent_and_then_goes_on_without_it(rig, answering):
    rig.answers = False
    rig.wait(lambda: 'time goes on without /detector' in rig.status, 'the rig names the node')
    at_s = rig.times_s[-1]
    rig.wait(lambda: rig.times_s[-1] > at_s + 0.5, 'time goes on')
    rig.answers = True
    rig.wait(lambda: rig.status.startswith('in lockstep'), 'it is waited for again')
