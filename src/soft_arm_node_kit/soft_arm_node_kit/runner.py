"""Run one node as a process: the `main` of every executable."""

import gc
import os
import re
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import rclpy
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from soft_arm_node_kit.executor import make_executor
from soft_arm_node_kit.graph import TopicTakenError
from soft_arm_node_kit.node_names import AlreadyRunsError, domain_of, hold, node_of


def run(make_node: Callable[[], Node], args: list[str] | None = None) -> int:
    """Make a node, spin it until SIGINT or SIGTERM, destroy it; return the exit code.

    A node that owns a device or a thread releases it in `destroy_node`, which is called in every
    case. Bad input at start (ROS arguments, ValueError or OSError from the node's construction)
    gives one line on stderr and exit code 2. If another process runs a node of the same name, as
    this one or as its companion, or publishes a topic that this one must publish alone, it is exit
    code 1: starting again may help.
    """
    name = node_of(sys.argv if args is None else args)
    try:
        with ExitStack() as names:
            if name:
                names.enter_context(hold(name, domain_of(os.environ)))
            return _run(make_node, args, names)
    except AlreadyRunsError as error:
        sys.stderr.write(f'{error}\n')
        return 1


def _run(make_node: Callable[[], Node], args: list[str] | None, names: ExitStack) -> int:
    stopping = False

    def stop(_number: int, _frame: object) -> None:
        nonlocal stopping
        stopping = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:  # without the signal handlers of rclpy, which end the context before the node can close
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # unreadable remapping, parameter or file after --ros-args
        sys.stderr.write(re.sub(r', at \S+:\d+', '', str(error)) + '\n')
        return 2
    executor, node = None, None
    try:
        node = make_node()
        companions = getattr(node, 'companions', ())
        for each in companions:
            names.enter_context(hold(each.get_fully_qualified_name(), domain_of(os.environ)))
        in_order = any(node.guards) or node.get_parameter('use_sim_time').value
        executor = make_executor(in_order)
        for each in (node, *companions):
            _refuse_impossible_requests(each)
            executor.add_node(each)
        while not stopping and rclpy.ok():  # type: ignore[attr-defined]
            executor.spin_once(timeout_sec=0.1)  # signals are handled between two waits
    except ExternalShutdownException:
        pass
    except (ValueError, OSError, TopicTakenError) as error:
        if node is not None:
            raise
        sys.stderr.write(f'{error}\n')
        return 1 if isinstance(error, TopicTakenError) else 2
    finally:
        if executor is not None:  # first: it uses the node's events until it is shut down
            executor.shutdown()
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()  # type: ignore[attr-defined]
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)  # ros2 launch may repeat it
        # The interpreter's last collection of garbage takes a second of CPU time in each node:
        # together, on a busy machine, longer than a launch waits after SIGINT.
        gc.freeze()
    return 0


def _refuse_impossible_requests(node: Node) -> None:
    """Refuse lifecycle transitions and parameters for which rclpy would end the node."""
    for service in node.services:
        if service.srv_type in (ChangeState, SetParameters, SetParametersAtomically):
            service.callback = _answered(node, service.callback)


def _answered(node: Node, serve: Callable) -> Callable:
    def answer(request: Any, response: Any) -> Any:
        try:
            return serve(request, response)
        except RuntimeError:  # from rcl; errors in the callback of the transition do not get here
            node.get_logger().warning(
                f'transition {request.transition.id} refused: the present state does not have it; '
                'see the service get_available_transitions'
            )
        except ValueError as error:  # a type of parameter that does not exist
            node.get_logger().warning(f'parameters refused: {error}')
        return response  # as it is made: without success

    return answer
