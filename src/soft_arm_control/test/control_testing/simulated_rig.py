"""Simulated environment of the tip controller in one node."""

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, PoseWithCovarianceStamped
from lifecycle_msgs.msg import TransitionEvent
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future
from sensor_msgs.msg import CameraInfo
from std_msgs.msg import Header
from tf2_ros import StaticTransformBroadcaster
from visualization_msgs.msg import Marker

from control_testing.controller_rig import ControllerRig
from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_kinematics.arm import load_arm
from soft_arm_msgs.action import MoveTip
from soft_arm_msgs.msg import ChamberPressures, IkSolution, TipTarget
from soft_arm_msgs.srv import SolveIK
from soft_arm_node_kit import qos
from system_testing.processes import start_node

TARGET = Point(x=0.0, y=0.0, z=0.2)


def start_controller(namespace, *parameters):
    given = ('robot:=two_module_arm', 'rig:=virtual', *parameters)
    return start_node('soft_arm_control.ros.tip_controller_node', *given, namespace=namespace)


class Rig(ControllerRig):
    """Driver, camera, tip tracker, inverse kinematics and client in one node; the arm rests."""

    def __init__(self):
        super().__init__('soft_arm', 'tip_controller')
        self.arm = load_arm()
        self.tip_m = self.arm.at(self.arm.lengths([0.0] * 6)).tip_m.tolist()
        self.questions, self._service, self._offer, self._held = [], None, None, None
        self._pressures = self.create_publisher(ChamberPressures, 'pressures', qos.STATE)
        self._tip_pose = self.create_publisher(PoseWithCovarianceStamped, 'tip_pose', qos.STATE)
        self._camera = self.create_publisher(CameraInfo, 'color/camera_info', qos.STATE)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', qos.STATE)
        self.transitions = self.create_publisher(
            TransitionEvent, 'pneumatic_driver/transition_event', qos.STATE
        )
        self.tf = StaticTransformBroadcaster(self)
        self.commands = self.listen(ChamberPressures, 'pressure_command', qos.COMMAND)
        self.markers = self.listen(Marker, 'target', qos.LATCHED)
        self.spoil_tip_pose, self.ik_error_code = None, SolveIK.Response.NONE
        self.create_timer(PERIOD_S, self._tick)
        self.spin()

    def _tick(self):
        names = list(self.arm.robot.chambers)
        message = ChamberPressures(names=names, pressures_pa=[0.0] * 6)
        tip, camera = PoseWithCovarianceStamped(), CameraInfo()
        pose = tip.pose.pose
        tip.header.frame_id, pose.orientation.w = self.arm.robot.base.frame, 1.0
        pose.position.x, pose.position.y, pose.position.z = self.tip_m
        for each in (message, tip, camera):
            each.header.stamp = self.get_clock().now().to_msg()
        if self.spoil_tip_pose:
            self.spoil_tip_pose(tip)
        self._pressures.publish(message)
        self._tip_pose.publish(tip)
        self._camera.publish(camera)

    def driver_says_active(self):
        message = DiagnosticArray(status=[DiagnosticStatus(name='soft_arm/pneumatic_driver')])
        message.header.stamp = self.get_clock().now().to_msg()
        message.status[0].values = [KeyValue(key='state', value='active')]
        self._diagnostics.publish(message)

    def detector_says(self, text):
        self._diagnostics.publish(
            DiagnosticArray(status=[DiagnosticStatus(name='soft_arm/tip_tracker', message=text)])
        )

    def offer_ik(self, after_s=0.0):
        self._offer = self.create_timer(after_s, self._offer_now)

    def _offer_now(self):
        self._offer.cancel()
        self._service = self.create_service(
            SolveIK, 'solve_ik', self._solve, callback_group=ReentrantCallbackGroup()
        )

    def hold_answers(self, wanted):
        held, self._held = self._held, Future() if wanted else None
        if held:
            held.set_result(None)

    async def _solve(self, request, response):
        self.questions.append(request)
        if self._held:
            await self._held
        response.error_code = self.ik_error_code
        if response.error_code:
            return response
        response.solutions = [IkSolution(lengths_m=[0.1] * 6, names=list(self.arm.robot.chambers))]
        return response

    def send(
        self,
        timeout_s=1.0,
        open_loop=True,
        lengths_m=(),
        point=TARGET,
        tolerance_m=0.0,
        frame='',
        **fields,
    ):
        goal = MoveTip.Goal(
            target=TipTarget(header=Header(frame_id=frame), position=point, lengths_m=lengths_m),
            timeout_s=timeout_s,
            open_loop=open_loop,
            **fields,
        )
        goal.tolerance_m = tolerance_m
        return self.send_to(MoveTip, 'move_tip', goal)

    def move(self, **goal):
        return self.ended(self.send(**goal))
