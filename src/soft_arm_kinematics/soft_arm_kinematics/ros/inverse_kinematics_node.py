"""Inverse kinematics as a service: `solve_ik` returns all solutions of a target, best first.

In: `pressures` (ChamberPressures), from which changes are scored when a request does not say where
the arm is; not for robots that have coordinates which no pressure sets. At start the workspace
table is loaded, or built once (about a second) when the cache has none for this robot, and the
solver is loaded, or compiled once (about a minute) after an installation. Until then /diagnostics
says so and the service is not offered: who finds it is answered.
"""

import threading
import time
from dataclasses import dataclass

import numpy as np
from rclpy.clock import Clock, ClockType

from soft_arm_description.named_values import pressures_from_msg
from soft_arm_kinematics.arm import load_arm
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ros import conversions
from soft_arm_kinematics.ros.target_frames import TargetFrameError, TargetFrames
from soft_arm_msgs.msg import ChamberPressures
from soft_arm_msgs.srv import SolveIK
from soft_arm_node_kit import diagnostics, parameters, qos, runner
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import parameter

LOADING_S = 3.0  # a start that takes longer compiles


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
        self._q: np.ndarray | None = None
        self._frames = TargetFrames(self, self._arm.robot.base.frame)
        self._fault, self._answered, self._refused = '', 0, 0
        if self._arm.is_pressure_driven:
            self.create_subscription(ChamberPressures, 'pressures', self._on_pressures, qos.SENSOR)
        diagnostics.Reporter(self, self._arm.robot.name, self._status)
        self._solver, self._prepared, self._start_s = None, None, time.monotonic()
        self.get_logger().info(
            f'preparing the solver of {self._arm.robot.name}: about 60 s the first time, else 2 s'
        )
        # In a thread, so that /diagnostics reports the progress
        threading.Thread(target=self._prepare, daemon=True).start()
        # Preparing takes this machine's time, even while simulated time stands.
        self._waiting = self.create_timer(
            0.05, self._offer_when_prepared, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def _prepare(self) -> None:
        from soft_arm_kinematics.ik.inverse import (
            InverseKinematics,
        )  # it loads the compiler, which takes seconds

        try:
            solver = InverseKinematics(self._arm)
            solver.prepare()
            self._prepared = solver
        except Exception as error:
            self._prepared = error

    def _offer_when_prepared(self) -> None:
        if self._prepared is None:
            return
        self._waiting.cancel()
        if isinstance(self._prepared, Exception):
            raise self._prepared
        self._solver = self._prepared
        self.create_service(SolveIK, 'solve_ik', self._on_solve)
        self.get_logger().info(
            f'the solver is ready after {time.monotonic() - self._start_s:.1f} s'
        )

    def _on_pressures(self, message: ChamberPressures) -> None:
        try:
            pressures_pa = pressures_from_msg(message, self._arm.robot, KinematicsError)
            self._q = self._arm.q_at(self._arm.clip_pressures(pressures_pa))
            self._fault = ''
        except KinematicsError as error:
            self._fault = str(error)
            self.get_logger().warning(f'pressures are ignored: {error}', throttle_duration_sec=10.0)

    def _on_solve(self, request: SolveIK.Request, response: SolveIK.Response) -> SolveIK.Response:
        present = request.present_lengths_m
        try:
            target_m, axis = conversions.target_from_msg(request, self._frames)
            result = self._solver.solve(
                target_m,
                axis,
                present if len(present) else self._q,
                request.max_solutions or None,
                request.held_segments,
            )
        except KinematicsError as error:
            self._refused += 1
            of_tf = isinstance(error, TargetFrameError)
            response.error_code = (
                SolveIK.Response.TF_ERROR if of_tf else SolveIK.Response.INVALID_TARGET
            )
            response.error_msg = str(error)
            return response
        self._answered += 1
        return conversions.fill_response(
            response, result, self._arm.robot, self.get_clock().now().to_msg()
        )

    def _status(self):
        if self._solver is None:
            elapsed_s = time.monotonic() - self._start_s
            text = (
                'loading the solver'
                if elapsed_s < LOADING_S
                else 'compiling the solver, about 60 s the first time'
            )
            values = {'elapsed_s': elapsed_s, 'ready': False}
            return (
                diagnostics.WARN,
                text,
                values | {'remedy': 'wait: it compiles once after an installation'},
            )
        values = {
            'table_points': len(self._solver.table.tips_m),
            'answered': self._answered,
            'refused': self._refused,
        }
        if self._fault:
            return diagnostics.ERROR, self._fault, values
        return diagnostics.OK, 'ready', values


def main() -> int:
    """Entry point."""
    return runner.run(InverseKinematicsNode)
