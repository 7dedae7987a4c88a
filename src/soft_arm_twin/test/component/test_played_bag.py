"""A bag that is played for the twin, with its robots drawn and without commands."""

import time

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.serialization import serialize_message
from rosbags.rosbag2 import StoragePlugin, Writer
from sensor_msgs.msg import JointState

from soft_arm_description.robot import load_robot
from soft_arm_description.urdf import joint_names
from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.segments.sections import joint_values
from soft_arm_msgs.msg import ArmConfiguration
from soft_arm_twin.ros.graph_source import GraphSource
from soft_arm_twin.ros.played_bag import PlayedBag
from softarm_cli.errors import BagError
from softarm_cli.graph.message_types import message_definition

DEADLINE_S = 60.0
ROBOT = load_robot('two_module_arm')
ARM = Arm(ROBOT)
JOINTS = joint_values(ARM.at(ARM.q_limits.mean(axis=0)))


@pytest.fixture
def bag(tmp_path):
    path = tmp_path / 'bag'
    kinematics = DiagnosticStatus(name='arm/forward_kinematics', hardware_id=ROBOT.name)
    messages = {
        '/arm/configuration': ArmConfiguration(),
        '/arm/joint_states': JointState(name=joint_names(ROBOT), position=JOINTS),
        '/diagnostics': DiagnosticArray(status=[kinematics]),
    }
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for topic, message in messages.items():
            kind = f'{type(message).__module__.split(".")[0]}/msg/{type(message).__name__}'
            text, type_hash = message_definition(kind)
            link = writer.add_connection(topic, kind, msgdef=text, rihs01=type_hash)
            for tenth in range(100):
                writer.write(link, 10**8 * (tenth + 10), serialize_message(message))
    return path


@pytest.mark.parametrize('robots', [{}, {'arm': 'two_module_arm'}], ids=['diagnostics', 'option'])
def test_the_robot_of_a_bag_moves_and_has_no_controls(bag, robots, ros_domain):
    with PlayedBag(bag, ros_domain), GraphSource(ros_domain, robots, read_only=True) as source:
        end_s = time.monotonic() + DEADLINE_S
        while True:
            ages = {age.name: age.age_s for age in source.panel().ages}
            if ages.get('arm joint_states') is not None:
                break
            assert time.monotonic() < end_s, source.panel().events
            time.sleep(0.05)
        assert any(part.name == 'arm flange' for part in source.scene().parts)
        assert np.isfinite(source.snapshot().frames).all()
        assert not any(control.needs_control for control in source.panel().controls)


def test_a_missing_bag_is_refused(tmp_path):
    with pytest.raises(BagError, match='does not exist'):
        PlayedBag(tmp_path / 'none', 1)


def test_two_bags_are_played_into_two_domains(bag):
    with PlayedBag(bag) as first, PlayedBag(bag) as second:
        domains = first.domain, second.domain
    with PlayedBag(bag) as third:
        assert third.domain == domains[0] != domains[1]
