"""Node `gripper_controller`: grasps and releases objects and detects the contact.

In: actions `grasp` and `release`; `state` of the pneumatic driver (20 to 50 Hz), `piece_angles` of
the finger detector, `pcu2v_driver/transition_event`. Out: `pressure_command` at 50 Hz during a goal
and while something is held or kept open, else nothing; diagnostics. Without shapes it detects
the contact from the pressure, unless the goal requires the shape. Without measured pressures, or
with an inactive driver, nothing is commanded until the next goal, and the driver vents. A message
with a value that is not finite or an old stamp is ignored. A second publisher of `pressure_command`
is not allowed: the node ends if there is one at its start, and rejects goals while there is one
later.
"""

from dataclasses import dataclass

from sensor_msgs.msg import JointState

from soft_arm_control.grasping import no_load_reference
from soft_arm_control.grasping.gripper import PERIOD_S, GraspSettings, Gripper, GripStatus
from soft_arm_control.ros import grip_conversions as conversions
from soft_arm_control.ros.conversions import command_message
from soft_arm_control.ros.driver_state import DriverState
from soft_arm_control.ros.grip_goals import grip_goals
from soft_arm_control.ros.inputs import Inputs
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_kinematics.arm import load_arm
from soft_arm_msgs.msg import ChamberPressures, GripperState
from soft_arm_node_kit import diagnostics, qos
from soft_arm_node_kit.graph import OnlyPublisher
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import declare, parameter
from soft_arm_node_kit.runner import run


@dataclass(frozen=True)
class GripperControllerParameters:
    """Parameters of the node."""

    robot: str = parameter(description='name or path of the robot file of the finger')
    rig: str = parameter(description='rig whose calibration is used')
    grip_pa: float = parameter(
        80.0e3, 'highest pressure of a grasp without one [Pa]', minimum=1.0e3, maximum=120.0e3
    )
    squeeze_pa: float = parameter(
        15.0e3,
        'pressure added after contact in a grasp without one [Pa]',
        minimum=0.0,
        maximum=100.0e3,
    )
    open_pa: float = parameter(
        -60.0e3,
        'vacuum that a grasp starts from and a release ends with [Pa]',
        minimum=-90.0e3,
        maximum=-5.0e3,
    )
    goal_timeout_s: float = parameter(
        10.0, 'timeout of a goal without one [s]', minimum=0.5, maximum=600.0
    )


class GripperControllerNode(Node):
    """Connect `soft_arm_control.grasping.gripper.Gripper` to topics and actions."""

    def __init__(self):
        super().__init__('gripper_controller')
        p = declare(self, GripperControllerParameters)
        self._robot, rig = load_robot(p.robot), load_rig(p.rig)
        # The bends are calibrated ones where the rig has them.
        reference = no_load_reference.from_robot(load_arm(p.robot, p.rig).robot)
        if rig.calibration_file(no_load_reference.NoLoadValues.kind).exists():
            reference = no_load_reference.load(rig, self._robot)
        self._calibrated = reference.time_constants_s is not None
        self._gripper = Gripper(
            reference,
            tuple(map(float, self._robot.pressure_limits_pa[:, 0])),
            GraspSettings(open_pa=p.open_pa),
        )
        self._status = GripStatus('idle', 0.0, None)
        self._inputs = Inputs(self)
        self._inputs.subscribe(GripperState, 'state', self._on_state, qos.SENSOR)
        self._inputs.subscribe(JointState, 'piece_angles', self._on_shape, qos.SENSOR)
        self._command_rate = diagnostics.RateMeter(self.now_s)
        self._driver_state = DriverState(self, 'pcu2v_driver', self._gripper.liveness)
        self._command = OnlyPublisher(self, ChamberPressures, 'pressure_command', qos.COMMAND)
        self._goals = grip_goals(
            self,
            self._gripper,
            lambda request: conversions.grasp_goal(
                request, p.grip_pa, p.squeeze_pa, p.goal_timeout_s
            ),
            lambda request: conversions.release_goal(request, p.open_pa, p.goal_timeout_s),
            self._command.others,
        )
        self.create_timer(PERIOD_S, self._tick)
        self._reporter = diagnostics.Reporter(self, self._robot.name, self._report)

    def destroy_node(self) -> None:
        """Close the actions with the node. Its last command expires, and the driver vents."""
        self._goals.destroy()
        super().destroy_node()

    def _on_state(self, stamp_s: float, message: GripperState) -> None:
        pressure_pa = conversions.pressure_pa(message, self._robot)
        self._gripper.add_pressure(stamp_s, pressure_pa, conversions.set_point_pa(message))

    def _on_shape(self, stamp_s: float, message: JointState) -> None:
        self._gripper.add_shape(stamp_s, conversions.bends_from_msg(message, self._robot))

    def _tick(self) -> None:
        now_s = self.now_s()
        self._goals.before_tick(now_s)
        command_pa, self._status = self._gripper.step(now_s)
        if command_pa is not None:
            self._command.publish(command_message([command_pa], self._robot, self))
            self._command_rate.tick()
        self._goals.after_tick(self._status, now_s)

    def _report(self) -> tuple[bytes, str, dict]:
        values = self._inputs.values() | {
            'command_hz': self._command_rate.rate_hz,
            'calibrated': self._calibrated,
        }
        if reason := self._not_ready_reason():
            return diagnostics.WARN, reason, values | {'ready': False}
        if self._goals.failure:
            return diagnostics.WARN, self._goals.failure, values
        if not self._calibrated:
            return (
                diagnostics.WARN,
                'contact is detected by shape alone: '
                'measure the no-load reference with `softarm calibrate grasp`',
                values,
            )
        return diagnostics.OK, self._status.phase, values

    def _not_ready_reason(self) -> str:
        """Return why a goal would fail now, in one line; empty if it would not."""
        if others := self._command.others():
            return f'{others[0]} also publishes pressure_command: end it'
        return self._inputs.explained(self._gripper.not_ready_reason(self.now_s()))


def main() -> int:
    """Run the node."""
    return run(GripperControllerNode)
