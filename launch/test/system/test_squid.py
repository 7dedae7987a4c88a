"""The simulated squid, started as a user starts it, and driven in the three ways there are."""

import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.action import ActionClient
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Image, JointState, Joy
from tf2_msgs.msg import TFMessage

from soft_arm_description.urdf import joint_names
from soft_arm_kinematics.arm import load_arm
from soft_arm_msgs.action import MoveTip
from soft_arm_msgs.msg import ArmConfiguration
from soft_arm_node_kit.testing import SpinningNode

LAUNCH = Path(__file__).parents[2]
LIMBS = 'squid_grasper', 'squid_palpation', 'squid_camera', 'squid_light'


class Operator(SpinningNode):
    """Sends what an operator sends, and keeps the newest of what the squid publishes."""

    def __init__(self):
        super().__init__('operator', '/squid')
        self.tips, self.values, self.status, self.image = {}, {}, {}, None
        self.create_subscription(TFMessage, '/tf', self._on_tf, qos_profile_sensor_data)
        self.create_subscription(
            JointState, 'joint_states', self._on_joints, qos_profile_sensor_data
        )
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        self.arcs = self.create_publisher(ArmConfiguration, 'limb_configuration', 1)
        self.joy = self.create_publisher(Joy, 'joy', 1)
        self.camera_limb = ActionClient(self, MoveTip, 'camera/move_tip')
        self.spin()

    def look(self):
        self.create_subscription(
            Image, 'viewpoint/image_raw', self._on_image, qos_profile_sensor_data
        )

    def _on_tf(self, message):
        for transform in message.transforms:
            t = transform.transform.translation
            self.tips[transform.child_frame_id] = np.array([t.x, t.y, t.z])

    def _on_joints(self, message):
        self.values = dict(zip(message.name, message.position, strict=True))

    def _on_diagnostics(self, message):
        for status in message.status:
            self.status[status.name] = status

    def _on_image(self, message):
        self.image = np.frombuffer(message.data, np.uint8).reshape(message.height, -1)

    def report(self, key):
        return {v.key: v.value for v in self.status['squid/virtual_robots'].values}[key]

    def move(self, tip_m):
        """Return the future of the result of a goal that the tip of the camera limb moves."""
        goal = MoveTip.Goal()
        goal.target.position.x, goal.target.position.y, goal.target.position.z = map(float, tip_m)
        sent = self.called(lambda: self.camera_limb.send_goal_async(goal))
        self.wait(sent.done, 'the goal is accepted')
        result = self.called(sent.result().get_result_async)
        self.wait(result.done, 'the goal ends')
        return result

    def push(self, what, until, send):
        """Send at 20 Hz until a condition holds."""
        timer = self.create_timer(0.05, send)
        self.wait(until, what)
        self.destroy_timer(timer)


@pytest.fixture
def squid(tmp_path):
    log = tmp_path / 'log'
    with log.open('w') as out:
        process = subprocess.Popen(
            ['softarm', 'launch', str(LAUNCH / 'squid.launch.xml')],
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    rclpy.init()
    operator = Operator()
    yield operator, log
    operator.close()
    rclpy.shutdown()
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60.0) == 0


def test_the_squid_is_driven_by_topic_joystick_and_action_and_looks(squid):
    operator, log = squid
    operator.wait(lambda: "ready: the squid's four limbs, 3 nodes" in log.read_text(), 'ready')
    operator.wait(lambda: operator.values and 'squid_light_frame' in operator.tips, 'states')
    names = [name for limb in LIMBS for name in joint_names(load_arm(limb).robot)]
    assert list(operator.values) == names
    assert abs(operator.tips['squid_grasper_grasper_2_tip'][0]) < 0.02

    bend = ArmConfiguration(segments=['grasper_1'], theta_rad=[0.6], phi_rad=[0.0], ell_m=[0.295])
    operator.push(
        'the grasper bends towards x',
        lambda: operator.tips['squid_grasper_grasper_2_tip'][0] > 0.1,
        lambda: operator.arcs.publish(bend),
    )
    stick = Joy(axes=[0.0, -1.0, 0.0, 0.0, 0.0], buttons=[0, 0, 0, 1])
    operator.push(
        'the joystick bends the light limb towards -y',
        lambda: operator.tips['squid_light_frame'][1] < -0.1,
        lambda: operator.joy.publish(stick),
    )

    operator.look()
    tip_m = load_arm('squid_camera').fk([0.3, 1.57, 0.595])[:3, 3]
    operator.wait(operator.camera_limb.server_is_ready, 'move_tip')
    found = operator.move(tip_m).result().result
    assert found.error_code == 0, found.error_msg
    assert found.error_m <= 0.005
    assert np.linalg.norm([found.position.x, found.position.y, found.position.z]) > 0.4

    found = operator.move([0.0, 0.0, 2.0]).result().result
    assert found.error_code == MoveTip.Result.OUTSIDE_WORKSPACE, found.error_msg
    rival = ArmConfiguration(segments=['camera_1'], theta_rad=[0.0], phi_rad=[0.0], ell_m=[0.6])
    timer = operator.create_timer(0.1, lambda: operator.arcs.publish(rival))
    found = operator.move(tip_m).result().result
    operator.destroy_timer(timer)
    assert found.error_code == MoveTip.Result.ARM_TAKEN and 'camera_1' in found.error_msg

    operator.wait(lambda: operator.image is not None, 'a picture')
    operator.wait(lambda: float(operator.report('viewpoint_hz')) > 1.0, 'the rate of the camera')
    assert 'ERROR' not in log.read_text()
