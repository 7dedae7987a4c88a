"""Sends one goal to a running gripper cell, for `softarm gripper`."""

import time
from collections.abc import Callable

import rclpy
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from soft_arm_control.errors import ExperimentError
from soft_arm_control.grasp import Evidence
from soft_arm_msgs.action import Grasp, Release
from soft_arm_msgs.srv import PlaceObject

NAMESPACE = 'gripper'
FIND_S = 10.0
END_STATES = {
    'grasp': ('nothing commanded', 'holding', 'vented', 'other goal'),
    'release': ('nothing commanded', 'open', 'vented', 'other goal'),
}


class GripperClient:
    """Context manager; a goal that is interrupted is cancelled."""

    def __enter__(self) -> 'GripperClient':
        self._context = Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = Node('gripper_client', context=self._context, namespace=NAMESPACE, use_global_arguments=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        return self

    def __exit__(self, *_exception) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def grasp(self, evidence: Evidence, grip_pa: float, squeeze_pa: float, timeout_s: float) -> dict:
        """Grasp; 0 takes the node's default. Returns the result's fields.

        Raises:
            ExperimentError: If no cell answers.
        """
        goal = Grasp.Goal(evidence=evidence.value, grip_pa=grip_pa, squeeze_pa=squeeze_pa, timeout_s=timeout_s)
        return self._act('grasp', Grasp, goal)

    def release(self, stay_open: bool, timeout_s: float) -> dict:
        """Release; returns the result's fields.

        Raises:
            ExperimentError: If no cell answers.
        """
        return self._act('release', Release, Release.Goal(stay_open=stay_open, timeout_s=timeout_s))

    def place_object(self, gap_m: float) -> dict:
        """Put an object before the virtual finger [m]; NaN takes it away.

        Raises:
            ExperimentError: If no virtual cell answers.
        """
        client = self._node.create_client(PlaceObject, '/virtual_cell/place_object')
        self._until(client.service_is_ready, FIND_S, 'a virtual cell')
        response = self._wait(client.call_async(PlaceObject.Request(gap_m=gap_m)), FIND_S, 'its answer')
        return {'error_code': 0 if response.success else 1, 'error_msg': response.message}

    def _act(self, name: str, kind, goal) -> dict:
        client = ActionClient(self._node, kind, name)
        try:
            self._until(client.server_is_ready, FIND_S, f'the action {NAMESPACE}/{name}')
            handle = self._wait(client.send_goal_async(goal), FIND_S, 'the goal to be accepted')
            future = handle.get_result_async()
            try:
                result = self._wait(future, 600.0, 'its result')
            except KeyboardInterrupt:
                handle.cancel_goal_async()
                result = self._wait(future, FIND_S, 'its cancellation')
        finally:
            client.destroy()
        fields = {field: getattr(result.result, field) for field in result.result.get_fields_and_field_types()}
        return fields | {'end_state': END_STATES[name][fields['end_state']]}

    def _wait(self, future, timeout_s: float, what: str):
        self._until(future.done, timeout_s, what)
        return future.result()

    def _until(self, condition: Callable[[], bool], timeout_s: float, what: str) -> None:
        end_s = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > end_s:
                raise ExperimentError(f'waited {timeout_s:g} s for {what}: does `softarm launch launch/cell.launch.xml` run?')
            self._executor.spin_once(timeout_sec=0.05)
