"""Goals of actions, sent from a page and followed to their ends; every end is an event."""

from typing import Any

from soft_arm_twin.ros.live_graph import LiveGraph
from soft_arm_twin.source import Answer

SUCCEEDED = 4  # action_msgs/msg/GoalStatus


class Goals:
    """One action; its newest goal can be cancelled.

    Args:
        graph: The session.
        kind: Type of the action.
        name: Full name of the action.
    """

    def __init__(self, graph: LiveGraph, kind: Any, name: str):
        self._graph, self.kind, self._name = graph, kind, name
        self._client = graph.action_client(kind, name)
        self._handle: Any = None

    @property
    def ready(self) -> bool:
        """Whether a node offers the action."""
        return self._client.server_is_ready()

    @property
    def reason(self) -> str:
        """Why a goal cannot be sent; empty if it can."""
        return '' if self.ready else f'{self._name} is not offered: see softarm doctor'

    @property
    def running(self) -> bool:
        """Whether a goal of this page runs."""
        return self._handle is not None

    def send(self, goal: Any, what: str) -> Answer:
        """Send a goal; `what` says it in words, for the list of events."""
        if not self.ready:
            return Answer(False, self.reason)
        self._graph.event('info', f'asked: {what}', self._name)
        self._graph.post(lambda: self._send(goal, what))
        return Answer(True, f'asked: {what}')

    def _send(self, goal: Any, what: str) -> None:
        def answered(sent: Any) -> None:
            handle = sent.result()
            if not handle.accepted:
                self._graph.event('error', f'refused: {what}', self._name)
                return
            self._handle = handle
            handle.get_result_async().add_done_callback(lambda r: self._ended(handle, r, what))

        self._client.send_goal_async(goal).add_done_callback(answered)

    def _ended(self, handle: Any, future: Any, what: str) -> None:
        if self._handle is handle:
            self._handle = None
        response = future.result()
        if response.status == SUCCEEDED:
            self._graph.event('info', f'done: {what}{_figures(response.result)}', self._name)
        else:
            reason = response.result.error_msg or 'no reason given'
            self._graph.event('warning', f'not done: {what}: {reason}', self._name)

    def cancel(self) -> None:
        """Cancel the goal that runs, if one does."""
        if self._handle is not None:
            self._graph.post(self._handle.cancel_goal_async)


def _figures(result: Any) -> str:
    """Return the figures of a result that people want, as a part of a line."""
    figures = [
        f'{1e3 * result.error_m:.2f} mm from the target' if hasattr(result, 'error_m') else '',
        f'after {result.settle_s:.2f} s' if hasattr(result, 'settle_s') else '',
        f'contact at {result.contact_pa / 1e3:.1f} kPa'
        if getattr(result, 'contact', False)
        else '',
    ]
    text = ', '.join(figure for figure in figures if figure and 'nan' not in figure)
    return f': {text}' if text else ''
