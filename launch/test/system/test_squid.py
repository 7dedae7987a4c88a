"""Simulated squid, started as a user starts it: driven by topic, joystick and action."""

import numpy as np
import pytest
from sensor_msgs.msg import Image, JointState, Joy
from tf2_msgs.msg import TFMessage

from soft_arm_description.urdf import joint_names
from soft_arm_kinematics.arm import load_arm
from soft_arm_msgs.action import MoveTip
from soft_arm_msgs.msg import ArmConfiguration
from system_testing.launched_graph import LAUNCH, LaunchedGraph, tip_goal

LIMBS = 'squid_grasper', 'squid_palpation', 'squid_camera', 'squid_light'
JOINTS, IMAGE = '/squid/joint_states', '/squid/viewpoint/image_raw'


class Squid(LaunchedGraph):
    """The launch, and an operator who sends commands; `tips` holds the newest positions [m]."""

    def __init__(self, log):
        super().__init__(log, [str(LAUNCH / 'squid.launch.xml')], {JOINTS: JointState})
        self.tips = {}
        self.create_subscription(TFMessage, '/tf', self._on_tf, 100)
        self.arcs = self.create_publisher(ArmConfiguration, '/squid/limb_configuration', 1)
        self.joy = self.create_publisher(Joy, '/squid/joy', 1)

    def _on_tf(self, message):
        for transform in message.transforms:
            t = transform.transform.translation
            self.tips[transform.child_frame_id] = np.array([t.x, t.y, t.z])

    def report(self, key):
        return {v.key: v.value for v in self.latest['squid/virtual_robots'].values}[key]

    def move(self, tip_m):
        """Return the result of a goal that moves the tip of the camera limb."""
        return self.act(MoveTip, '/squid/camera/move_tip', tip_goal(tip_m, 0.0, 0.0))


@pytest.fixture
def squid(tmp_path, ros_domain):
    with Squid(tmp_path / 'launch.txt') as squid:
        yield squid
    assert squid.launch.wait(60.0) == 0


def test_the_squid_is_driven_by_topic_joystick_and_action_and_looks(squid):
    squid.wait(lambda: "ready: the squid's four limbs, 3 nodes" in squid.output(), 'ready')
    squid.wait(lambda: JOINTS in squid.latest and 'squid_light_frame' in squid.tips, 'states')
    names = [name for limb in LIMBS for name in joint_names(load_arm(limb).robot)]
    assert list(squid.latest[JOINTS].name) == names
    assert abs(squid.tips['squid_grasper_grasper_2_tip'][0]) < 0.02

    bend = ArmConfiguration(segments=['grasper_1'], theta_rad=[0.6], phi_rad=[0.0], ell_m=[0.295])
    squid.wait(
        lambda: squid.tips['squid_grasper_grasper_2_tip'][0] > 0.1,
        'the grasper bends towards x',
        lambda: squid.arcs.publish(bend),
    )
    stick = Joy(axes=[0.0, -1.0, 0.0, 0.0, 0.0], buttons=[0, 0, 0, 1])
    squid.wait(
        lambda: squid.tips['squid_light_frame'][1] < -0.1,
        'the joystick bends the light limb towards -y',
        lambda: squid.joy.publish(stick),
    )

    squid.keep(IMAGE, Image)
    tip_m = load_arm('squid_camera').at([0.3, 1.57, 0.595]).tip_m
    found = squid.move(tip_m)
    assert found.error_code == 0, found.error_msg
    assert found.error_m <= 0.005
    assert np.linalg.norm([found.position.x, found.position.y, found.position.z]) > 0.4

    found = squid.move([0.0, 0.0, 2.0])
    assert found.error_code == MoveTip.Result.OUTSIDE_WORKSPACE, found.error_msg
    rival = ArmConfiguration(segments=['camera_1'], theta_rad=[0.0], phi_rad=[0.0], ell_m=[0.6])
    timer = squid.create_timer(0.1, lambda: squid.arcs.publish(rival))
    found = squid.move(tip_m)
    squid.destroy_timer(timer)
    assert found.error_code == MoveTip.Result.ARM_TAKEN and 'camera_1' in found.error_msg

    squid.wait(lambda: IMAGE in squid.latest, 'a picture')
    squid.wait(lambda: float(squid.report('viewpoint_hz')) > 1.0, 'the rate of the camera')
    assert 'ERROR' not in squid.output()
