"""Runs one node as a process: the `main` of every executable."""

import re
import signal
import sys
from collections.abc import Callable

import rclpy
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from soft_arm_node_kit.graph import TopicTakenError


def run(make_node: Callable[[], Node], args: list[str] | None = None) -> int:
    """Make the node, spin it until SIGINT or SIGTERM, close it; return the exit code.

    A node that owns a device or a thread gives it back in `destroy_node`, which is called in every
    case. Bad input at start (ROS arguments, ValueError or OSError from the node's construction) is
    one line on stderr and exit code 2; a topic that another node holds is one line and exit code 1,
    since that node may end.
    """
    stopping = False

    def stop(_number, _frame):
        nonlocal stopping
        stopping = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        rclpy.init(
            args=args, signal_handler_options=SignalHandlerOptions.NO
        )  # rclpy's own would end the context before the node can close
    except (
        RuntimeError
    ) as error:  # of rcl: remappings, parameters or files after --ros-args that it cannot read
        sys.stderr.write(re.sub(r', at \S+:\d+', '', str(error)) + '\n')
        return 2
    executor, node = SingleThreadedExecutor(), None
    try:
        node = make_node()
        _refuse_impossible_transitions(node)
        executor.add_node(node)
        while not stopping and rclpy.ok():
            executor.spin_once(timeout_sec=0.1)  # a signal is seen when the wait returns
    except ExternalShutdownException:
        pass
    except (ValueError, OSError, TopicTakenError) as error:
        if node is not None:
            raise
        sys.stderr.write(f'{error}\n')
        return 1 if isinstance(error, TopicTakenError) else 2
    finally:
        if node is not None:
            node.destroy_node()
        executor.shutdown()
        rclpy.try_shutdown()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(
                number, signal.SIG_IGN
            )  # ros2 launch may repeat it: not a death now that only the interpreter has to end
    return 0


def _refuse_impossible_transitions(node: Node) -> None:
    """Answer a request for a transition that a lifecycle node's state does not have; rclpy would end the node."""
    for service in node.services:
        if service.srv_type is ChangeState:
            service.callback = _answered(node, service.callback)


def _answered(node: Node, change: Callable) -> Callable:
    def answer(
        request: ChangeState.Request, response: ChangeState.Response
    ) -> ChangeState.Response:
        try:
            return change(request, response)
        except RuntimeError:  # of rcl; errors of the transition's own callback do not come here
            node.get_logger().warning(
                f'transition {request.transition.id} is not one of the present state: see get_available_transitions'
            )
            response.success = False
            return response

    return answer
