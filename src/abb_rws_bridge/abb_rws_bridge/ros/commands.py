"""Services of the bridge; requests run in the thread of the link."""

import concurrent.futures

from rclpy.callback_groups import CallbackGroup
from rclpy.guard_condition import GuardCondition
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from abb_rws_bridge.errors import RwsError, WrongState
from abb_rws_bridge.link import Link
from abb_rws_bridge.ros.answer import Answer
from abb_rws_bridge.ros.move_action import MoveAction
from soft_arm_msgs.srv import GetRapidData, SetIo, SetRapidData, SetSpeedRatio


class Commands:
    """Services of the node: stop and read always, others while `active`.

    Attributes:
        active: Set by the node with its lifecycle state.
        refused: Number of failed commands.
    """

    def __init__(
        self, node: Node, link: Link, move: MoveAction, wake: GuardCondition, group: CallbackGroup
    ):
        self.active, self.refused = False, 0
        self._link, self._move, self._wake = link, move, wake
        for kind, name, serve in (
            (Trigger, 'stop', self._on_stop),
            (SetBool, 'set_motors', self._on_motors),
            (Trigger, 'start', self._on_start),
            (Trigger, 'reset_pointer', self._on_reset_pointer),
            (SetSpeedRatio, 'set_speed_ratio', self._on_speed_ratio),
            (GetRapidData, 'get_rapid_data', self._on_get_rapid_data),
            (SetRapidData, 'set_rapid_data', self._on_set_rapid_data),
            (SetIo, 'set_io', self._on_set_io),
        ):
            node.create_service(kind, name, serve, callback_group=group)

    async def _on_stop(self, _request, response):
        self._move.cancel()
        await self._serve(response, lambda c, m: c.stop(), always=True)
        return response

    async def _on_motors(self, request, response):
        await self._serve(
            response, lambda c, m: c.set_motors(request.data), always=not request.data
        )
        return response

    async def _on_start(self, _request, response):
        await self._serve(response, lambda c, m: c.start())
        return response

    async def _on_reset_pointer(self, _request, response):
        await self._serve(response, lambda c, m: c.reset_pointer())
        return response

    async def _on_speed_ratio(self, request, response):
        await self._serve(response, lambda c, m: c.set_speed_ratio(request.speed_ratio))
        return response

    async def _on_get_rapid_data(self, request, response):
        result = await self._serve(response, lambda c, m: c.symbol(request.symbol), always=True)
        response.literal = '' if result is None else result.value
        return response

    async def _on_set_rapid_data(self, request, response):
        await self._serve(response, lambda c, m: c.set_symbol(request.symbol, request.literal))
        return response

    async def _on_set_io(self, request, response):
        await self._serve(response, lambda c, m: c.set_signal(request.signal, request.value))
        return response

    async def _serve(self, response, work, always: bool = False):
        """Run a command while the node spins, and fill in the response."""
        result = None
        try:
            if not self.active and not always:
                raise WrongState('the node is not active: activate it first')
            result = await Answer(self._link.submit(work), self._wake)
            response.success, response.message = True, ''
        except RwsError as error:
            response.success, response.message = False, str(error)
        except concurrent.futures.CancelledError:
            response.success, response.message = False, 'the node was disconnected'
        self.refused += not response.success
        return result
