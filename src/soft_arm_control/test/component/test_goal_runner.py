"""Goals of one node, without a middleware: each gets only what the controller says of itself."""

import logging
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from soft_arm_control.outcome import Outcome
from soft_arm_control.ros import goal_runner
from soft_arm_control.ros.goal_runner import FEEDBACK_TICKS, Action, GoalRunner


@dataclass(frozen=True)
class Status:
    goal: str
    outcome: Outcome | None = None
    message: str = ''


class Handle:
    """A goal as its client sees it."""

    is_cancel_requested = False

    def __init__(self):
        self.state, self.result, self.feedback = '', None, []
        self.publish_feedback = self.feedback.append

    def execute(self, end):
        self.result = end(self)

    def succeed(self):
        self.state = 'succeeded'

    def abort(self):
        self.state = 'aborted'


@pytest.mark.parametrize('outcome', [None, Outcome.REACHED])
def test_a_goal_that_waited_gets_no_status_of_the_one_before(monkeypatch, outcome):
    ready, accept = [], []
    monkeypatch.setattr(
        goal_runner,
        'ActionServer',
        lambda *_, handle_accepted_callback, **__: accept.append(handle_accepted_callback),
    )

    async def start(job):
        if job.handle is second:
            await job.until(lambda: bool(ready), 1.0)

    action = Action(object, 'move', start, result=lambda s: s.goal, feedback=lambda s: s.goal)
    runner = GoalRunner(
        SimpleNamespace(now_s=lambda: 0.0, get_logger=lambda: logging),
        [action],
        refused=lambda outcome, message: Status('none', outcome, message),
        cancel=lambda now_s: Status('none'),
    )
    first, second = Handle(), Handle()
    accept[0](first)
    accept[0](second)
    for _ in range(FEEDBACK_TICKS - 1):
        runner.after_tick(Status('first'), 0.0)
    ready.append(True)
    runner.after_tick(Status('first', outcome), 0.0)
    assert second.state == '' and second.feedback == []
    assert first.state == ('aborted' if outcome is None else 'succeeded')
    runner.after_tick(Status('second', Outcome.REACHED), 0.0)
    assert (second.state, second.result) == ('succeeded', 'second')
