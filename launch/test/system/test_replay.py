"""replay.launch.xml: recorded sensors go into the real nodes, and no command does."""

from pathlib import Path

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PointStamped, PoseWithCovarianceStamped
from rclpy.serialization import serialize_message
from rosbags.rosbag2 import StoragePlugin, Writer
from std_msgs.msg import Header

from soft_arm_kinematics.arm import load_bellows_arm
from soft_arm_msgs.msg import ArmConfiguration, ChamberPressures
from softarm_cli.bags.file import open_bag
from softarm_cli.graph.message_types import message_definition
from system_testing.launched_graph import LAUNCH, LaunchedGraph

PICTURES = LAUNCH.parent / 'src/soft_arm_calibration/test/data/virtual_rig_bag'
CHAMBERS = [f'm{module}_b{bellows}' for module in (1, 2) for bellows in (1, 2, 3)]
PRESSURES_PA = [-96e3, -96e3, -96e3, 20e3, 0.0, -60e3]
IMAGES, SAMPLES = 6, 12
RING, TIP, SHAPE = '/soft_arm/tip_pose', '/soft_arm/tip_estimate', '/soft_arm/configuration'
COMMAND = '/soft_arm/pressure_command'
STREAMS = {
    RING: PoseWithCovarianceStamped,
    TIP: PointStamped,
    SHAPE: ArmConfiguration,
    COMMAND: ChamberPressures,
}


def with_pressures(path: Path) -> Path:
    """The short bag of the virtual rig with measured and commanded pressures."""
    chambers = 'soft_arm_msgs/msg/ChamberPressures'
    entries = []
    for number in range(SAMPLES):
        at_ns = 10**9 + number * 15_000_000
        header = Header(stamp=Time(sec=1, nanosec=number * 15_000_000))
        message = ChamberPressures(header=header, names=CHAMBERS, pressures_pa=PRESSURES_PA)
        for topic in ('/soft_arm/pressures', COMMAND):
            entries.append((at_ns, topic, chambers, serialize_message(message)))
    with open_bag(PICTURES) as short:
        entries += [(at_ns, link.topic, link.msgtype, raw) for link, at_ns, raw in short.messages()]
    links = {}
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for at_ns, topic, kind, raw in sorted(entries, key=lambda entry: entry[0]):
            if topic not in links:
                text, type_hash = message_definition(kind)
                links[topic] = writer.add_connection(topic, kind, msgdef=text, rihs01=type_hash)
            writer.write(links[topic], at_ns, raw)
    return path


@pytest.fixture
def launched(tmp_path, ros_domain):
    bag = with_pressures(tmp_path / 'bag')
    command = [str(LAUNCH / 'replay.launch.xml'), f'bag:={bag}', 'tip_source:=colour']
    with LaunchedGraph(tmp_path / 'launch.txt', command, STREAMS) as graph:
        yield graph


def test_recorded_sensors_go_through_the_real_nodes_and_the_launch_ends(launched):
    launched.wait(lambda: launched.launch.poll() is not None, 'the launch ends')
    assert launched.launch.returncode == 0, launched.output()
    assert f'{COMMAND} (a command)' in launched.output()
    assert COMMAND not in launched.latest and not launched.deaths()
    point = launched.latest[RING].pose.pose.position
    ring_m = np.array([point.x, point.y, point.z])
    with open_bag(PICTURES) as bag:
        [truth] = [link for link in bag.connections if link.topic.endswith('tip_truth')]
        *_, (_, _, last) = bag.decoded([truth])
    place = last.pose.position
    assert np.linalg.norm(ring_m - [place.x, place.y, place.z]) < 3e-3
    assert launched.latest[RING].header.stamp.nanosec == (IMAGES - 1) * 33_333_333
    last_ns = (SAMPLES - 1) * 15_000_000
    assert launched.latest[SHAPE].header.stamp.nanosec == last_ns
    tip = launched.latest[TIP]
    assert tip.header.stamp.nanosec == last_ns and tip.header.frame_id == 'soft_arm_base_link'
    # The camera has corrected the deviation of the arm from its model.
    arm = load_bellows_arm()
    model_m = arm.at(arm.lengths(arm.clip_pressures(np.array(PRESSURES_PA)))).tip_m
    estimate_m = np.array([tip.point.x, tip.point.y, tip.point.z])
    assert np.linalg.norm(estimate_m - ring_m) < 0.7 * np.linalg.norm(model_m - ring_m)
