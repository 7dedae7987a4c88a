"""Bags of given messages."""

from rclpy.serialization import serialize_message
from rosbags.rosbag2 import StoragePlugin, Writer

from softarm_cli.graph.message_types import message_definition


def write_bag(path, messages):
    """Write a bag of (topic, message, time of recording [ns]); return its path."""
    links = {}
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for topic, message, at_ns in messages:
            if topic not in links:
                kind = f'{type(message).__module__.split(".")[0]}/msg/{type(message).__name__}'
                text, type_hash = message_definition(kind)
                links[topic] = writer.add_connection(
                    topic, kind, msgdef=text, rihs01=type_hash, offered_qos_profiles=[]
                )
            writer.write(links[topic], at_ns, serialize_message(message))
    return path
