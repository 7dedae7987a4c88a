"""The short bag of the virtual rig with changed messages."""

from pathlib import Path

from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

BAG = Path(__file__).parents[2] / 'soft_arm_calibration/test/data/virtual_rig_bag'
COLOUR, DEPTH = (f'/camera/camera/{name}/image_raw' for name in ('color', 'aligned_depth_to_color'))
INFO, TRUTH = '/camera/camera/color/camera_info', '/virtual_rig/debug/tip_truth'
STORE = get_typestore(Stores.ROS2_JAZZY)


def changed_bag(path, change, plugin=StoragePlugin.MCAP):
    """Write the short bag; return its path.

    Args:
        path: Folder of the new bag.
        change: Called with topic and message; returns pairs of topic and message, or bytes instead
            of a message.
        plugin: Format of the file.
    """
    with Reader(BAG) as reader, Writer(path, version=9, storage_plugin=plugin) as writer:
        links = {}
        for connection, at_ns, raw in reader.messages():
            for topic, message in change(
                connection.topic, STORE.deserialize_cdr(raw, connection.msgtype)
            ):
                kind = getattr(message, '__msgtype__', connection.msgtype)
                if topic not in links:
                    links[topic] = writer.add_connection(topic, kind, typestore=STORE)
                if not isinstance(message, bytes):
                    message = STORE.serialize_cdr(message, kind)
                writer.write(links[topic], at_ns, message)
    return path


def later(message, ns):
    """Change the stamp of a message."""
    stamp = message.header.stamp
    total_ns = stamp.sec * 10**9 + stamp.nanosec + ns
    stamp.sec, stamp.nanosec = divmod(total_ns, 10**9)
    return message
