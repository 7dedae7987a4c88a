"""Goals of actions, sent by a page; every outcome is an event."""

from typing import Any

from soft_arm_twin.controls import Button, Slider
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
        self._server = graph.action(kind, name, self._gone)
        self._handle: Any = None

    @property
    def reason(self) -> str:
        """Reason for which no goal can be sent; empty if it can."""
        return '' if self._server.offered else f'{self._name} is not offered: see softarm doctor'

    @property
    def running(self) -> bool:
        """True while a goal of this page runs."""
        return self._handle is not None

    def send(self, goal: Any, what: str) -> Answer:
        """Send a goal; `what` describes it in the events."""
        if self.reason:
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

        if self._server.client is None:
            self._graph.event('error', f'not sent: {what}: {self.reason}', self._name)
        else:
            self._server.client.send_goal_async(goal).add_done_callback(answered)

    def _gone(self) -> None:
        """Forget the goal of a server that has ended."""
        if self._handle is not None:
            self._handle = None
            self._graph.event('warning', 'the goal is lost: its node has ended', self._name)

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
        """Cancel the running goal, if any."""
        self._graph.post(self._cancel)

    def _cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel_goal_async()


def cancel_button(group: str, *goals: Goals) -> Button:
    """Return the control that cancels goals, enabled while one runs."""
    running = any(each.running for each in goals)
    reason = '' if running else 'no goal of this page runs'
    return Button(name=f'{group}/cancel', label='Cancel', group=group, reason=reason)


def velocity_slider(group: str, share: float) -> Slider:
    """Return the control of the velocity scaling of moves, of which a share of 1 is the most."""
    return Slider(
        name=f'{group}/velocity',
        label='Velocity',
        group=group,
        low=5.0,
        high=100.0,
        step=5.0,
        value=100.0 * share,
        unit='%',
    )


def _figures(result: Any) -> str:
    """Return the figures of a result as text."""
    figures = [
        f'{1e3 * result.error_m:.2f} mm from the target' if hasattr(result, 'error_m') else '',
        f'after {result.settle_s:.2f} s' if hasattr(result, 'settle_s') else '',
        f'contact at {result.contact_pa / 1e3:.1f} kPa'
        if getattr(result, 'contact', False)
        else '',
    ]
    text = ', '.join(figure for figure in figures if figure and 'nan' not in figure)
    return f': {text}' if text else ''
