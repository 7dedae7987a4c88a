"""Moves and vents a running arm through its public interfaces, for `softarm move` and `softarm vent`."""

from collections.abc import Callable

from std_srvs.srv import Trigger

from soft_arm_control.errors import OutsideWorkspaceError
from soft_arm_control.ros.conversions import point_message
from soft_arm_control.ros.program_client import ProgramClient
from soft_arm_msgs.action import FollowPath, MoveTip
from soft_arm_msgs.msg import TipTarget
from soft_arm_msgs.srv import SolveIK

LONGEST_S = 3700.0  # a goal's own limits are at most an hour together
OnFeedback = Callable[
    [str, float, float], None
]  # phase, distance [m] (NaN while no ring is seen), time since the start [s]


class ArmClient(ProgramClient):
    """Context manager; a goal that is interrupted is cancelled. Its methods raise NothingOffersError if no node answers."""

    def __init__(self, namespace: str, launch_file: str = 'launch/sim.launch.xml'):
        super().__init__('arm_client', namespace, launch_file)

    def move(
        self, point_m, axis, tolerance_m: float, timeout_s: float, on_feedback: OnFeedback
    ) -> MoveTip.Result:
        """Bring the tip to a point [m]; 0 takes the node's default tolerance [m] and timeout [s].

        Args:
            point_m: In the arm's base frame, shape (3,).
            axis: Direction that the tip shall have there, shape (3,), or None for any.
            tolerance_m, timeout_s: Of the goal.
            on_feedback: Told the phase, the distance and the time.

        Raises:
            OutsideWorkspaceError: If the tip cannot have this axis there.
        """
        target = TipTarget(
            position=point_message(point_m), lengths_m=self._lengths_m(point_m, axis)
        )
        goal = MoveTip.Goal(target=target, tolerance_m=tolerance_m, timeout_s=timeout_s)
        return self.act(
            MoveTip,
            'move_tip',
            goal,
            LONGEST_S,
            lambda f: on_feedback(f.phase, f.error_m, f.elapsed_s),
        )

    def follow(self, times_s, points_m, on_feedback: OnFeedback) -> FollowPath.Result:
        """Follow a path: times [s] from the start, shape (k,), and points [m], shape (k, 3)."""
        goal = FollowPath.Goal(
            waypoints=[TipTarget(position=point_message(p)) for p in points_m],
            times_s=list(times_s),
        )
        count = len(goal.waypoints)
        return self.act(
            FollowPath,
            'follow_path',
            goal,
            LONGEST_S,
            lambda f: on_feedback(f'waypoint {f.waypoint + 1} of {count}', f.error_m, f.elapsed_s),
        )

    def vent(self) -> tuple[bool, str]:
        """Vent the driver's device; returns whether it did, and what the driver says."""
        response = self.call(Trigger, 'vent', Trigger.Request())
        return response.success, response.message

    def _lengths_m(self, point_m, axis) -> list[float]:
        if axis is None:
            return []  # the controller asks itself
        request = SolveIK.Request(target=point_message(point_m), max_solutions=1)
        request.axis.x, request.axis.y, request.axis.z = (float(v) for v in axis)
        answer = self.call(SolveIK, 'solve_ik', request)
        if answer.error_code or not answer.solutions:
            raise OutsideWorkspaceError(
                answer.error_msg
                or 'no solution with this axis: choose another, or leave --axis out'
            )
        return list(answer.solutions[0].lengths_m)
