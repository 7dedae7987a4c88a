"""Move and vent a running arm through its interfaces, for `softarm move` and `softarm vent`."""

from collections.abc import Callable, Sequence

from std_msgs.msg import Header
from std_srvs.srv import Trigger

from soft_arm_control.errors import NothingOffersError
from soft_arm_control.ros.conversions import point_message, vector_message
from soft_arm_msgs.action import FollowPath, MoveTip
from soft_arm_msgs.msg import TipTarget
from soft_arm_node_kit.session import Session

MAX_GOAL_S = 3700.0  # a goal's own limits are at most an hour together
# Phase, distance [m] (NaN while the tip is not measured), time since the start [s].
OnFeedback = Callable[[str, float, float], None]


class ArmClient(Session):
    """A session that raises NothingOffersError if no node answers; Ctrl-C cancels a goal."""

    def __init__(self, namespace: str, launch_file: str = 'launch/sim.launch.xml'):
        remedy = f'start a rig with `softarm launch {launch_file}`, or see `softarm doctor`'
        super().__init__('arm_client', namespace, remedy=remedy, error=NothingOffersError)

    def move(
        self,
        target: TipTarget,
        tolerance_m: float,
        timeout_s: float,
        on_feedback: OnFeedback,
        open_loop: bool = False,
        velocity_scaling: float = 1.0,
        payload_kg: float = 0.0,
    ) -> MoveTip.Result:
        """Bring the tip to a target; 0 takes the node's default tolerance [m] and timeout [s].

        In open loop the model determines the tip, and it need not be measured.
        """
        goal = MoveTip.Goal(
            target=target,
            tolerance_m=tolerance_m,
            timeout_s=timeout_s,
            open_loop=open_loop,
            max_velocity_scaling_factor=velocity_scaling,
            payload_kg=payload_kg,
        )
        return self.act(
            MoveTip,
            'move_tip',
            goal,
            MAX_GOAL_S,
            lambda f: on_feedback(f.phase, f.error_m, f.elapsed_s),
        )

    def follow(
        self,
        times_s: Sequence[float],
        waypoints: Sequence[TipTarget],
        on_feedback: OnFeedback,
        payload_kg: float = 0.0,
    ) -> FollowPath.Result:
        """Follow a path: one waypoint at each of the times [s] from the start."""
        count = len(waypoints)
        return self.act(
            FollowPath,
            'follow_path',
            FollowPath.Goal(
                waypoints=list(waypoints), times_s=list(times_s), payload_kg=payload_kg
            ),
            MAX_GOAL_S,
            lambda f: on_feedback(f'waypoint {f.waypoint + 1} of {count}', f.error_m, f.elapsed_s),
        )

    def vent(self) -> tuple[bool, str]:
        """Vent the driver's device; return success and the driver's message."""
        response = self.call(Trigger, 'vent', Trigger.Request())
        return response.success, response.message


def tip_target(point_m, axis=None, frame: str = '') -> TipTarget:
    """Make a target.

    Args:
        point_m: Position in the frame [m], shape (3,).
        axis: Direction that the tip shall have there, shape (3,), or None for any.
        frame: Frame of both; empty: the arm's base frame.
    """
    target = TipTarget(header=Header(frame_id=frame), position=point_message(point_m))
    if axis is not None:
        target.axis = vector_message(axis)
    return target
