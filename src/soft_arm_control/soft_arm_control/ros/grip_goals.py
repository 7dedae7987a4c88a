"""Prepare goals of `grasp` and `release` and start them on the gripper."""

from collections.abc import Callable

from soft_arm_control.errors import TakenError
from soft_arm_control.grasping.gripper import GraspGoal, Gripper, ReleaseGoal
from soft_arm_control.ros import grip_conversions as conversions
from soft_arm_control.ros.goal_runner import Action, GoalRunner, Job
from soft_arm_msgs.action import Grasp, Release
from soft_arm_node_kit.node import Node


def grip_goals(
    node: Node,
    gripper: Gripper,
    grasp_goal: Callable[[Grasp.Goal], GraspGoal],
    release_goal: Callable[[Release.Goal], ReleaseGoal],
    others: Callable[[], list[str]],
) -> GoalRunner:
    """Offer the actions `grasp` and `release` on a node.

    Args:
        node: The node; it calls `before_tick` and `after_tick` at each tick of the gripper.
        gripper: Executes the goals.
        grasp_goal: Converts a Grasp request to the gripper's goal; may raise GoalError.
        release_goal: Converts a Release request to the gripper's goal.
        others: Returns the names of other nodes that command the same finger.
    """

    async def start(job: Job, make_goal) -> None:
        if names := others():
            raise TakenError(
                f'{names[0]} also publishes pressure_command: '
                'end it, since one node at a time may command the finger'
            )
        now_s = node.now_s()
        gripper.start(make_goal(job.handle.request), now_s)

    return GoalRunner(
        node,
        [
            Action(
                Grasp,
                'grasp',
                lambda job: start(job, grasp_goal),
                conversions.grasp_result,
                conversions.grasp_feedback,
            ),
            Action(
                Release,
                'release',
                lambda job: start(job, release_goal),
                conversions.release_result,
                conversions.release_feedback,
            ),
        ],
        gripper.refused,
        gripper.cancel,
    )
