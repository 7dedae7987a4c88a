"""Commands of the node: services and set points, carried out in the link's thread."""

import concurrent.futures

import numpy as np
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.guard_condition import GuardCondition
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from std_srvs.srv import SetBool, Trigger

from abb_rws_bridge.errors import RwsError, WrongState
from abb_rws_bridge.link import Link
from abb_rws_bridge.ros import conversions
from abb_rws_bridge.ros.answer import Answer
from abb_rws_bridge.ros.bridge_parameters import BridgeParameters
from abb_rws_bridge.sequence import Arrival, move_to
from soft_arm_node_kit import qos


class Commands:
    """Serves the commands of a node. What stops the robot is served always, the rest while `active`.

    Attributes:
        active: Set by the node with its lifecycle state.
        refused: Count of what was refused.
    """

    def __init__(self, node: Node, link: Link, wake: GuardCondition, parameters: BridgeParameters):
        self.active, self.refused = False, 0
        self._node, self._link, self._wake, self._parameters = node, link, wake, parameters
        self._target_rad: np.ndarray | None = None
        self._move: concurrent.futures.Future | None = None
        group = ReentrantCallbackGroup()  # a command that waits must hold neither a stop nor the lifecycle
        node.create_subscription(JointState, 'joint_target', self._on_target, qos.COMMAND)
        node.create_subscription(Float64, 'speed_ratio_command', self._on_speed_ratio, qos.COMMAND, callback_group=group)
        node.create_service(Trigger, 'stop', self._on_stop, callback_group=group)
        node.create_service(SetBool, 'set_motors', self._on_motors, callback_group=group)
        node.create_service(Trigger, 'start', self._on_start, callback_group=group)
        node.create_service(Trigger, 'reset_pointer', self._on_reset_pointer, callback_group=group)
        node.create_service(Trigger, 'move_to_target', self._on_move, callback_group=group)

    def end_move(self) -> None:
        """End a move under way; its program is stopped."""
        self._target_rad = None
        if self._move is not None:
            self._move.cancel()

    async def _on_stop(self, _request, response: Trigger.Response) -> Trigger.Response:
        self.end_move()
        return await self._serve(response, lambda c, m: c.stop(), always=True)

    async def _on_motors(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        return await self._serve(response, lambda c, m: c.set_motors(request.data), always=not request.data)

    async def _on_start(self, _request, response: Trigger.Response) -> Trigger.Response:
        return await self._serve(response, lambda c, m: c.start())

    async def _on_reset_pointer(self, _request, response: Trigger.Response) -> Trigger.Response:
        return await self._serve(response, lambda c, m: c.reset_pointer())

    async def _on_move(self, _request, response: Trigger.Response) -> Trigger.Response:
        return await self._serve(response, self._move_to_target, is_move=True)

    def _move_to_target(self, controller, monitor):
        if self._target_rad is None:
            raise WrongState('no joint target: publish joint_target first')
        p = self._parameters
        return move_to(
            controller, monitor, self._target_rad, symbol=p.target_symbol, tolerance_rad=p.move_tolerance_rad, timeout_s=p.move_timeout_s
        )

    async def _serve(self, response, work, always: bool = False, is_move: bool = False):
        """Run one command while the node goes on, and answer with what became of it."""
        try:
            if not self.active and not always:
                raise WrongState('the node is not active: activate it first')
            if is_move and self._move is not None and not self._move.done():
                raise WrongState('a move is under way: stop it first')
            future = self._link.submit(work)
            self._move = future if is_move else self._move
            result = await Answer(future, self._wake)
            response.success, response.message = True, _told(result)
        except RwsError as error:
            self._refuse(response, str(error))
        except concurrent.futures.CancelledError:
            self._refuse(response, 'ended by stop or by the node: the program was stopped')
        return response

    def _refuse(self, response, reason: str) -> None:
        self.refused += 1
        response.success, response.message = False, reason

    def _on_target(self, message: JointState) -> None:
        try:
            self._target_rad = conversions.joints_from(message, self._parameters.frame_prefix)
        except RwsError as error:
            self.refused, self._target_rad = self.refused + 1, None
            self._node.get_logger().error(f'joint_target refused: {error}', throttle_duration_sec=1.0)

    async def _on_speed_ratio(self, message: Float64) -> None:
        answer = await self._serve(Trigger.Response(), lambda c, m: c.set_speed_ratio(message.data))
        if not answer.success:
            self._node.get_logger().error(f'speed_ratio_command refused: {answer.message}', throttle_duration_sec=1.0)


def _told(result) -> str:
    if isinstance(result, Arrival):
        return f'arrived in {result.duration_s:.2f} s, {np.rad2deg(result.error_rad):.4f} deg off'
    return ''
