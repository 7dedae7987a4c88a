"""Inverse kinematics in a thread: all solutions of a target, and an explanation of the best."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from soft_arm_kinematics import KinematicsError
from soft_arm_twin.parts.robot import robot_frames
from soft_arm_twin.view.robots import ViewedRobot

if TYPE_CHECKING:
    from soft_arm_kinematics.ik.inverse import IkResult, IkSolution, InverseKinematics

MAX_DRAWN_SOLUTIONS = 6
CLOUD_POINTS = 3000
PRINCIPLES = (
    ('angle change', 'score_angle_change', 'angle_change', 'rad'),
    ('bend growth', 'score_bend_growth', 'bend_growth', 'rad'),
    ('stiffness', 'score_stiffness', 'stiffness', ''),
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Aimed:
    """Solutions of one target.

    Attributes:
        robot: Name of the robot.
        target_m: (3,) in the robot's base [m].
        result: All solutions.
        drawn: Indices of the drawn solutions: the best, and those that differ enough.
        ghosts: Their frames in the robot's base, (k, n, 3, 4).
        lines: Explanation of the best solution.
        took_s: Duration of the search [s].
    """

    robot: str
    target_m: np.ndarray
    result: 'IkResult'
    drawn: tuple[int, ...]
    ghosts: np.ndarray
    lines: tuple[str, ...]
    took_s: float

    @property
    def solutions(self) -> list['IkSolution']:
        """Drawn solutions, the best first."""
        return [self.result.solutions[k] for k in self.drawn]


class Aim:
    """Solve the newest request in a thread.

    Args:
        robots: The robots by name.
        answer: Callback in the thread with each answer.
        after: Event to wait for before the compiler is loaded, which occupies the processor.

    Attributes:
        text: Its state, in one line.
    """

    def __init__(
        self,
        robots: dict[str, ViewedRobot],
        answer: Callable[[Aimed], None],
        after: threading.Event,
    ):
        self.text = 'not asked for'
        self._robots, self._answer, self._after = robots, answer, after
        self._solvers: dict[str, InverseKinematics] = {}
        self._lock = threading.Condition()
        self._next: tuple[str, np.ndarray | None, np.ndarray | None] | None = None
        self._ended = False
        threading.Thread(target=self._run, name='view solver', daemon=True).start()

    def prepare(self, robot: str) -> None:
        """Load the solver of a robot before it is needed."""
        self._ask((robot, None, None))

    def ask(self, robot: str, target_m: np.ndarray, present: np.ndarray) -> None:
        """Request solutions of a target (3,) [m] in the base, from a configuration (n,)."""
        self._ask((robot, target_m, present))

    def stop(self) -> None:
        """End the thread after its present answer."""
        with self._lock:
            self._ended = True
            self._lock.notify()

    def _ask(self, request: tuple[str, np.ndarray | None, np.ndarray | None]) -> None:
        with self._lock:
            if request[1] is not None or self._next is None:
                self._next = request
            self._lock.notify()

    def _run(self) -> None:
        while True:
            with self._lock:
                while self._next is None and not self._ended:
                    self._lock.wait()
                if self._ended or self._next is None:
                    return
                (name, target_m, present), self._next = self._next, None
            try:
                solver = self._solver(name)
                if target_m is not None and present is not None:
                    self._answer(self._solve(solver, name, target_m, present))
            except KinematicsError as error:
                self.text = str(error)
            except Exception:
                _log.exception('inverse kinematics of %s failed', name)
                self.text = 'failed: see the terminal'

    def _solver(self, name: str) -> 'InverseKinematics':
        if name not in self._solvers:
            self.text = 'waits for the physics to be ready'
            self._after.wait()
            self.text = 'loading (compiling takes a minute, once on a machine)'
            from soft_arm_kinematics import InverseKinematics  # loads the compiler

            solver = InverseKinematics(self._robots[name].arm)
            solver.prepare()
            self._solvers[name] = solver
        self.text = 'ready'
        return self._solvers[name]

    def _solve(
        self, solver: 'InverseKinematics', name: str, target_m: np.ndarray, present: np.ndarray
    ) -> Aimed:
        from soft_arm_kinematics.ik.scores import distinct  # loaded with the solver

        begun_s = time.monotonic()
        result = solver.solve(target_m, present_lengths_m=present)
        took_s = time.monotonic() - begun_s
        viewed = self._robots[name]
        count = len(result.solutions)
        if not count:
            nothing = np.zeros((0, 1, 3, 4))
            return Aimed(name, target_m, result, (), nothing, (result.message,), took_s)
        every = np.array([s.q for s in result.solutions])
        drawn = tuple(distinct(viewed.arm, every, MAX_DRAWN_SOLUTIONS))
        poses = viewed.arm.at(every[list(drawn)]).section_poses
        ghosts = robot_frames(viewed.robot, poses)
        lines = explanation([result.solutions[k] for k in drawn], count, viewed)
        return Aimed(name, target_m, result, drawn, ghosts, lines, took_s)


def explanation(solutions: list['IkSolution'], count: int, viewed: ViewedRobot) -> tuple[str, ...]:
    """Explain by the penalties why the first solution is the best.

    Args:
        solutions: Drawn solutions, the best first.
        count: Number of all solutions.
        viewed: The robot.
    """
    weights = viewed.robot.ik_weights

    def parts(solution: 'IkSolution') -> list[float]:
        return [
            getattr(weights, weight) * getattr(solution, key) for _, key, weight, _ in PRINCIPLES
        ]

    some = 'solution' if count == 1 else 'solutions'
    others = 'it is drawn' if count == 1 else f'{len(solutions)} that differ clearly are drawn'
    lines = [f'{count} {some}; {others}. Lower scores are better; weight x score:']
    for k, solution in enumerate(solutions):
        terms = ' + '.join(
            f'{name} {getattr(weights, weight):g} x {getattr(solution, key):.3f} {unit}'.rstrip()
            for name, key, weight, unit in PRINCIPLES
        )
        who = 'Best' if k == 0 else f'Rival {k}'
        lines.append(f'{who}: {solution.score:.3f} = {terms}. {solution.explanation}')
    if len(solutions) > 1:
        lines.insert(2, _comparison(parts(solutions[0]), parts(solutions[1])))
    return tuple(lines)


def _comparison(best: list[float], rival: list[float]) -> str:
    """Compare the penalties of the best solution and its first rival."""
    gains = [(r - b, name) for b, r, (name, *_) in zip(best, rival, PRINCIPLES, strict=True)]
    gains.sort(reverse=True)
    wins = ' and '.join(f'{name} ({gain:.3f} less)' for gain, name in gains if gain > 5e-4)
    loses = ' and '.join(f'{name} ({-gain:.3f} more)' for gain, name in gains if gain < -5e-4)
    total = sum(gain for gain, _ in gains)
    line = f'The best beats rival 1 by {total:.3f}: it is better in {wins or "nothing"}'
    return line + (f', which outweighs {loses}.' if loses else '.')


def workspace_points(viewed: ViewedRobot, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return tips (n, 3) [m] in the base, sampled in the workspace, and the total bends [rad].

    As in the table of the inverse kinematics, some coordinates are on a limit: the edge lies there.
    """
    from soft_arm_kinematics.workspace.table import LIMIT_SHARE  # loads the compiler

    arm = viewed.arm
    low, high = arm.q_limits
    share = np.random.default_rng(seed).random((CLOUD_POINTS, arm.n_actuators))
    share = np.clip(share * (1.0 + 2.0 * LIMIT_SHARE) - LIMIT_SHARE, 0.0, 1.0)
    shape = arm.at(low + share * (high - low))
    return shape.tip_m, np.abs(shape.theta_rad).sum(axis=-1)
