"""The node as a process of its own; this file stands for the driver and the inverse kinematics."""

import subprocess
import sys

import pytest
import rclpy
from control_testing.spinning_node import SpinningNode
from geometry_msgs.msg import Point
from rclpy.action import ActionClient

from soft_arm_control.ros.goal_server import IK_TIMEOUT_S
from soft_arm_control.valves import PERIOD_S
from soft_arm_kinematics.arm import load_arm
from soft_arm_msgs.action import MoveTip
from soft_arm_msgs.msg import ChamberPressures, IkSolution, TipTarget
from soft_arm_msgs.srv import SolveIK
from soft_arm_node_kit import qos

START = 'import sys; from soft_arm_control.ros.tip_controller_node import main; sys.exit(main())'
ARGUMENTS = ['--ros-args', '-r', '__ns:=/soft_arm', '-p', 'robot:=two_module_arm', '-p', 'rig:=virtual']


class Rig(SpinningNode):
    """Driver, inverse kinematics and client in one node."""

    def __init__(self):
        super().__init__('rig', 'soft_arm')
        self.arm = load_arm()
        self.commands, self.questions, self._service, self._offer = [], 0, None, None
        self._pressures = self.create_publisher(ChamberPressures, 'pressures', qos.STATE)
        self.create_subscription(ChamberPressures, 'pressure_command', self.commands.append, qos.COMMAND)
        self.move_tip = ActionClient(self, MoveTip, 'move_tip')
        self.create_timer(PERIOD_S, self._tick)
        self.spin()

    def _tick(self):
        message = ChamberPressures(names=list(self.arm.robot.chambers), pressures_pa=[0.0] * 6)
        message.header.stamp = self.get_clock().now().to_msg()
        self._pressures.publish(message)

    def offer_ik(self, after_s):
        self._offer = self.create_timer(after_s, self._offer_now)

    def _offer_now(self):
        self._offer.cancel()
        self._service = self.create_service(SolveIK, 'solve_ik', self._solve)

    def _solve(self, request, response):
        self.questions += 1
        response.solutions = [IkSolution(lengths_m=[0.1] * 6, names=list(self.arm.robot.chambers))]
        return response

    def move(self):
        self.wait(self.move_tip.server_is_ready, 'move_tip is offered')
        target = TipTarget(position=Point(x=0.0, y=0.0, z=0.2))
        sent = self.called(lambda: self.move_tip.send_goal_async(MoveTip.Goal(target=target, timeout_s=1.0, open_loop=True)))
        self.wait(sent.done, 'the goal is answered')
        ended = self.called(sent.result().get_result_async)
        self.wait(ended.done, 'the goal ends')
        return ended.result().result


@pytest.fixture(scope='module')
def rig(ros_domain):
    process = subprocess.Popen([sys.executable, '-c', START, *ARGUMENTS], stderr=subprocess.PIPE, text=True)
    rclpy.init()
    rig = Rig()
    yield rig
    rig.close()
    rclpy.shutdown()
    process.kill()
    process.communicate()


def test_a_goal_without_inverse_kinematics_is_refused_and_nothing_moves(rig):
    result = rig.move()
    assert result.error_code == MoveTip.Result.INVALID_GOAL and 'solve_ik is not there' in result.error_msg
    assert not rig.commands


def test_a_goal_waits_for_inverse_kinematics_that_is_starting(rig):
    rig.offer_ik(IK_TIMEOUT_S / 4)
    result = rig.move()
    assert rig.questions == 1 and 'solve_ik' not in result.error_msg
    commanded_pa = rig.commands[-1].pressures_pa  # vacuum, the same in all bellows: they are to be equal and shorter than at rest
    assert max(commanded_pa) < 0.0 and max(commanded_pa) - min(commanded_pa) < 1.0
