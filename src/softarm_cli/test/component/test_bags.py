"""Recording and replaying: what is recorded, and that no replay drives a rig."""

import threading

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from rcl_interfaces.msg import Log
from sensor_msgs.msg import Image
from std_msgs.msg import Header

from cli_testing.bags import write_bag
from cli_testing.spinning_node import DEADLINE_S, SpinningNode, publisher
from soft_arm_msgs.msg import ChamberPressures
from softarm_cli.bag_command import main
from softarm_cli.bags.file import open_bag
from softarm_cli.bags.plot import panels
from softarm_cli.bags.replay import Replay, choose
from softarm_cli.errors import BagError
from softarm_cli.ros.bag_player import obstacle, play
from softarm_cli.ros.bag_recorder import Recorder
from softarm_cli.ros.graph import Graph

COMMAND, PRESSURES, TRUTH, ROSOUT = (
    '/soft_arm/pressure_command',
    '/soft_arm/pressures',
    '/soft_arm/virtual_rig/debug/tip_truth',
    '/rosout',
)
RING = '/soft_arm/tip_pose'
COUNT, PERIOD_NS = 20, 20_000_000
HEARS = {COMMAND: ChamberPressures, PRESSURES: ChamberPressures}


def header(number=0):
    return Header(stamp=Time(sec=1000, nanosec=number * PERIOD_NS), frame_id='soft_arm_base_link')


def rig_messages(count=COUNT):
    """Return the messages of a short bag with the topics of a default recording."""
    yield ROSOUT, Log(), 1000 * 10**9
    for number in range(count):
        at_ns = 1000 * 10**9 + number * PERIOD_NS
        for topic in (COMMAND, PRESSURES):
            names, pressures_pa = ['m1_b1', 'm1_b2'], [1e3 * number, -5e3]
            yield (
                topic,
                ChamberPressures(header=header(number), names=names, pressures_pa=pressures_pa),
                at_ns,
            )
        truth = PoseStamped(header=header(number))
        seen = PoseWithCovarianceStamped(header=header(number))
        truth.pose.position.x, seen.pose.pose.position.x = 0.01, 0.012
        yield TRUTH, truth, at_ns
        yield RING, seen, at_ns


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    return write_bag(tmp_path_factory.mktemp('bags') / 'rig', rig_messages())


def test_a_replay_sends_no_command_and_says_so(bag, capsys):
    with SpinningNode('listener', hears=HEARS) as listener:
        assert main(['play', str(bag), '--rate', '2']) == 0
        listener.wait_for(PRESSURES, COUNT)
    assert listener.heard[COMMAND] == []
    captured = capsys.readouterr()
    assert f'{3 * COUNT} messages published' in captured.out
    assert f'left out: {ROSOUT}' in captured.err and f'{COMMAND} (a command)' in captured.err


def test_a_command_that_somebody_hears_is_refused(bag, capsys):
    with SpinningNode('my_driver', 'soft_arm', hears=HEARS) as driver:
        assert main(['play', str(bag), '--topics', COMMAND]) == 2
    assert driver.heard[COMMAND] == []
    error = capsys.readouterr().err
    assert (
        f'/soft_arm/my_driver subscribes to the command {COMMAND}' in error
        and '--namespace' in error
        and error.count('\n') == 1
    )


def test_commands_that_nobody_hears_are_sent(bag):
    with SpinningNode(
        'listener',
        'soft_arm',
        hears={f'/replay{PRESSURES}': ChamberPressures, COMMAND: ChamberPressures},
    ) as listener:
        assert play(bag, Replay(commands=True, namespace='replay', rate=100.0)) == 4 * COUNT
        listener.wait_for(f'/replay{PRESSURES}', COUNT)
    assert listener.heard[COMMAND] == []


@pytest.fixture(scope='module')
def graph(ros_domain):
    """A look at a graph with a detector."""
    build = publisher(RING, PoseWithCovarianceStamped, PoseWithCovarianceStamped)
    with SpinningNode('tip_tracker', 'soft_arm', build=build), Graph() as graph:
        graph.discover()
        yield graph


def refusal(graph, bag, **how):
    """Why a replay is refused once what stands in its way was found."""
    replay = Replay(**how)
    with open_bag(bag) as opened:
        sent, _ = choose(opened, replay)
    graph.spin(1.0 if not obstacle(graph, sent, replay) else 0.0)
    return obstacle(graph, sent, replay)


def test_a_topic_with_a_publisher_is_refused(graph, bag):
    assert f'{RING} is published by /soft_arm/tip_tracker already' in refusal(graph, bag)
    assert refusal(graph, bag, topics=(PRESSURES,)) is None
    assert refusal(graph, bag, namespace='replay') is None


def test_nothing_is_sent_under_its_own_name_beside_a_driver(graph, bag):
    with SpinningNode(
        'pneumatic_driver',
        'left',
        hears={'/left/pressure_command': ChamberPressures},
        lifecycle=True,
    ):
        assert graph.holds(lambda: refusal(graph, bag, topics=(PRESSURES,)) is not None, DEADLINE_S)
        assert 'the driver /left/pneumatic_driver runs' in refusal(graph, bag, topics=(PRESSURES,))
        assert refusal(graph, bag, namespace='replay', commands=True) is None
        assert '/left/pneumatic_driver' in refusal(graph, bag, topics=(COMMAND,))


def test_a_driver_that_starts_ends_the_replay(tmp_path):
    slow, entered = write_bag(tmp_path / 'slow', rig_messages(1000)), threading.Event()
    raised = []

    def replay():
        try:
            play(slow, Replay(topics=(PRESSURES,), rate=0.1), on_start=lambda *_: entered.set())
        except BagError as error:
            raised.append(error)

    thread = threading.Thread(target=replay)
    thread.start()
    assert entered.wait(DEADLINE_S)
    with SpinningNode(
        'pneumatic_driver', 'soft_arm', hears={COMMAND: ChamberPressures}, lifecycle=True
    ):
        thread.join(DEADLINE_S)
    assert not thread.is_alive() and 'pneumatic_driver' in str(raised[0])


def test_the_default_recording_holds_truth_and_with_images_the_camera(tmp_path, ros_domain):
    def build(node):
        publisher(TRUTH, PoseStamped, PoseStamped)(node)
        publisher('/camera/camera/color/image_raw', Image, Image)(node)
        publisher('/soft_arm/tip_tracker/debug/overlay', Image, Image)(node)

    wanted = {TRUTH, '/camera/camera/color/image_raw'}
    with SpinningNode('rig', build=build):
        recorder = Recorder()
        recorder.start(None, tmp_path / 'bag', images=True)
        waiting = threading.Event()
        for _ in range(int(DEADLINE_S / 0.1)):
            if wanted <= set(recorder.topics) and recorder.message_count > 50:
                break
            waiting.wait(0.1)
        recorder.stop()
    with open_bag(tmp_path / 'bag') as bag:
        held = {connection.topic for connection in bag.connections}
    assert wanted <= held and '/soft_arm/tip_tracker/debug/overlay' not in held
    with pytest.raises(BagError, match='exists already'):
        Recorder().start(None, tmp_path / 'bag')


def test_a_plot_shows_pressures_tip_and_error_in_their_units(bag):
    with open_bag(bag) as opened:
        pressures, tip, error = panels(opened)
        [poses] = panels(opened, [TRUTH])
    lines = {line.label: line for panel in (pressures, tip, error, poses) for line in panel.lines}
    assert lines['m1_b1 measured'].values[-1] == pytest.approx(COUNT - 1)  # kPa
    assert lines['m1_b2 commanded'].values == pytest.approx(np.full(COUNT, -5.0))
    assert (
        lines['m1_b1 measured'].colour
        == lines['m1_b1 commanded'].colour
        != lines['m1_b2 measured'].colour
    )
    assert lines['x by vision'].values == pytest.approx(np.full(COUNT, 12.0))  # mm
    assert lines['vision to truth'].values == pytest.approx(np.full(COUNT, 2.0))
    assert lines['pose.position.x'].times_s[-1] == pytest.approx((COUNT - 1) * 0.02)
