"""Sends one goal to a running gripper cell, for `softarm gripper`."""

from soft_arm_control.errors import NothingOffersError
from soft_arm_control.grasping.gripper import Evidence
from soft_arm_msgs.action import Grasp, Release
from soft_arm_msgs.srv import PlaceObject
from soft_arm_node_kit.session import Session

NAMESPACE = 'gripper'
MAX_GOAL_S = 3700.0  # a goal's own limit is at most an hour
END_STATES = {
    'grasp': ('nothing commanded', 'holding', 'vented', 'other goal'),
    'release': ('nothing commanded', 'open', 'vented', 'other goal'),
}


class GripperClient(Session):
    """A session that raises NothingOffersError if no cell answers; Ctrl-C cancels a goal."""

    def __init__(self):
        super().__init__(
            'gripper_client',
            NAMESPACE,
            remedy='start a cell with `softarm launch launch/cell.launch.xml`',
            error=NothingOffersError,
        )

    def grasp(
        self, evidence: Evidence, grip_pa: float, squeeze_pa: float, timeout_s: float
    ) -> dict:
        """Grasp; 0 takes the node's default. Returns the result's fields."""
        goal = Grasp.Goal(
            evidence=evidence.value, grip_pa=grip_pa, squeeze_pa=squeeze_pa, timeout_s=timeout_s
        )
        return self._fields('grasp', self.act(Grasp, 'grasp', goal, MAX_GOAL_S))

    def release(self, stay_open: bool, timeout_s: float) -> dict:
        """Release; returns the result's fields."""
        return self._fields(
            'release',
            self.act(
                Release,
                'release',
                Release.Goal(stay_open=stay_open, timeout_s=timeout_s),
                MAX_GOAL_S,
            ),
        )

    def place_object(self, gap_m: float) -> dict:
        """Put an object before the virtual finger [m]; NaN takes it away."""
        response = self.call(
            PlaceObject, '/virtual_cell/place_object', PlaceObject.Request(gap_m=gap_m)
        )
        return {'error_code': 0 if response.success else 1, 'error_msg': response.message}

    def _fields(self, name: str, result) -> dict:
        fields = {field: getattr(result, field) for field in result.get_fields_and_field_types()}
        return fields | {'end_state': END_STATES[name][fields['end_state']]}
