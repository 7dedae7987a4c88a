"""Node `limb_controller`: moves the tips of an assembly's arms of tendons to points.

In: the action `ROBOT/move_tip` of each robot of the assembly whose segments all have tendons;
`limb_configuration`, the present commands; /tf of the robots' tips, the measured tips that correct
what inverse kinematics do not know. Without it a goal stays open loop, and its result says so. Out:
`limb_configuration` (ArmConfiguration) at 50 Hz during a goal, else nothing. A goal ends when
another node commands the same segments. At start the workspace tables are built;
/diagnostics says so.
"""

import threading
import time
from dataclasses import dataclass

import numpy as np
from std_msgs.msg import Header

from soft_arm_control.ros.limb_goals import TendonArm
from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_description.assembly import load_assembly
from soft_arm_description.assembly_frames import (
    WORLD_FRAME,
    robots_with_frames,
)
from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ros.conversions import arcs_from_msg
from soft_arm_kinematics.ros.target_frames import TargetFrames
from soft_arm_msgs.msg import ArmConfiguration
from soft_arm_node_kit import diagnostics, qos
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import declare, parameter
from soft_arm_node_kit.runner import run


@dataclass(frozen=True)
class LimbControllerParameters:
    """Parameters of the node."""

    assembly: str = parameter(description='assembly file: shipped name or path')
    tolerance_m: float = parameter(
        0.005, 'tolerance of a goal without one [m]', minimum=1e-4, maximum=1.0
    )
    timeout_s: float = parameter(
        30.0, 'time to settle of a goal without one [s]', minimum=0.1, maximum=600.0
    )


class LimbControllerNode(Node):
    """Connects `soft_arm_control.tip.limb_move` to topics and actions."""

    def __init__(self):
        super().__init__('limb_controller')
        p = declare(self, LimbControllerParameters)
        assembly = load_assembly(p.assembly)
        robots = {
            name: robot
            for name, robot in robots_with_frames(assembly).items()
            if all(segment.kind == 'tendon' for segment in robot.segments)
        }
        if not robots:
            raise KinematicsError(f'assembly {assembly.name} has no robot with tendons only')
        self._publisher = self.create_publisher(
            ArmConfiguration, 'limb_configuration', qos.ANY_COMMAND
        )
        frames = TargetFrames(self, WORLD_FRAME)
        self._arms = {
            name: TendonArm(self, name, robot, p.tolerance_m, p.timeout_s, frames, self._send)
            for name, robot in robots.items()
        }
        self.create_subscription(
            ArmConfiguration, 'limb_configuration', self._on_configuration, qos.STATE
        )
        self.create_timer(PERIOD_S, self._tick)
        self._failed: Exception | None = None
        self._start_s = time.monotonic()
        diagnostics.Reporter(self, assembly.name, self._report)
        threading.Thread(target=self._prepare, daemon=True).start()

    def destroy_node(self) -> None:
        """Close the actions with the node."""
        for arm in self._arms.values():
            arm.goals.destroy()
        super().destroy_node()

    def _prepare(self) -> None:
        from soft_arm_kinematics.ik.inverse import InverseKinematics  # it loads the compiler

        try:
            for arm in self._arms.values():
                solver = InverseKinematics(arm.arm)
                solver.prepare()
                arm.solver = solver
        except Exception as error:
            self._failed = error

    def _send(self, arm: Arm, q: np.ndarray) -> None:
        stamp = self.get_clock().now().to_msg()
        theta, phi, ell = np.array([q[columns] for columns in arm.columns]).T
        self._publisher.publish(
            ArmConfiguration(
                header=Header(stamp=stamp, frame_id=self.get_fully_qualified_name()),
                segments=list(arm.robot.segment_names),
                theta_rad=theta.tolist(),
                phi_rad=phi.tolist(),
                ell_m=ell.tolist(),
            )
        )

    def _on_configuration(self, message: ArmConfiguration) -> None:
        if message.header.frame_id == self.get_fully_qualified_name():
            return
        try:
            arcs = arcs_from_msg(message)
        except KinematicsError:
            return  # the receiving node reports the error
        for arm in self._arms.values():
            arm.add_other_command(arcs)

    def _tick(self) -> None:
        if self._failed:
            raise self._failed
        for arm in self._arms.values():
            arm.tick(self.now_s())

    def _report(self) -> tuple[bytes, str, dict]:
        waiting = [name for name, arm in self._arms.items() if arm.solver is None]
        if waiting:
            elapsed_s = time.monotonic() - self._start_s
            text = f'preparing inverse kinematics of {", ".join(waiting)}'
            return diagnostics.WARN, text, {'elapsed_s': elapsed_s, 'ready': False}
        unseen = [name for name, arm in self._arms.items() if arm.tip_m() is None]
        if unseen:
            text = f'no recent pose of the tip of {", ".join(unseen)}: goals stay open loop'
            return diagnostics.WARN, text, {}
        return diagnostics.OK, 'ready', {}


def main() -> int:
    """Run the node."""
    return run(LimbControllerNode)
