"""Inverse kinematics as a service: `solve_ik` answers with all solutions of a tip target, best first.

In: `pressures` (ChamberPressures), from which changes are scored when a request does not say where the arm is. At start the workspace
table is loaded, or built once (about a second) when the cache has none for this robot.
"""

from dataclasses import dataclass

import numpy as np
from rclpy.node import Node

from soft_arm_kinematics.arm import load_arm
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.inverse import InverseKinematics
from soft_arm_kinematics.ros import conversions
from soft_arm_msgs.msg import ChamberPressures
from soft_arm_msgs.srv import SolveIK
from soft_arm_node_kit import diagnostics, parameters, qos, runner
from soft_arm_node_kit.parameters import parameter


@dataclass(frozen=True)
class InverseKinematicsParameters:
    """Parameters of the node."""

    robot: str = parameter(description='name or path of the robot file')
    rig: str = parameter(description='rig whose calibration is used')


class InverseKinematicsNode(Node):
    """Translates targets into solutions."""

    def __init__(self):
        super().__init__('inverse_kinematics')
        settings = parameters.declare(self, InverseKinematicsParameters)
        self._arm = load_arm(settings.robot, settings.rig)
        self._solver = InverseKinematics(self._arm)
        # Compiled code is loaded before it is needed
        self._solver.solve(self._arm.tip_from_lengths(self._arm.length_limits_m.mean(axis=0)))
        self._lengths_m: np.ndarray | None = None
        self._fault, self._answered, self._refused = '', 0, 0
        self.create_subscription(ChamberPressures, 'pressures', self._on_pressures, qos.STATE)
        self.create_service(SolveIK, 'solve_ik', self._on_solve)
        diagnostics.Reporter(self, self._arm.robot.name, self._status)

    def _on_pressures(self, message: ChamberPressures) -> None:
        try:
            pressures_pa = conversions.pressures_from_msg(message, self._arm.robot)
        except KinematicsError as error:
            self._fault = str(error)
            return
        self._lengths_m, self._fault = self._arm.lengths(self._arm.curve.limit(pressures_pa)), ''

    def _on_solve(self, request: SolveIK.Request, response: SolveIK.Response) -> SolveIK.Response:
        target_m, axis, present_m, most = conversions.target_from_msg(request)
        try:
            result = self._solver.solve(target_m, axis, self._lengths_m if present_m is None else present_m, most)
        except KinematicsError as error:
            self._refused += 1
            response.error_code, response.error_msg = SolveIK.Response.INVALID_TARGET, str(error)
            return response
        self._answered += 1
        return conversions.fill_response(response, result, self._arm.robot, self.get_clock().now().to_msg())

    def _status(self):
        values = {'table_points': len(self._solver.table.tips_m), 'answered': self._answered, 'refused': self._refused}
        if self._fault:
            return diagnostics.ERROR, self._fault, values
        return diagnostics.OK, 'ready', values


def main() -> int:
    """Entry point."""
    return runner.run(InverseKinematicsNode)
