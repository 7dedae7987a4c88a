"""Node `joy_to_limbs`: a joystick moves the tendon segments of an assembly's robots.

In: `joy` (sensor_msgs/Joy); `limb_configuration`, from which it continues. Out:
`limb_configuration` (ArmConfiguration) at 50 Hz while a stick is deflected. When `joy` has been
silent for `timeout_s` the limbs stop. Segment k of `segments` bends by `x_axes[k]` and `y_axes[k]`
and lengthens by `length_axes[k]` while `buttons[k]` is held; -1: none.
"""

from dataclasses import dataclass

import numpy as np
from sensor_msgs.msg import Joy
from std_msgs.msg import Header

from soft_arm_control.errors import ControlError
from soft_arm_control.joystick import NONE, Joystick, SegmentBinding
from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_description.assembly import load_assembly
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ros.conversions import arcs_from_msg
from soft_arm_msgs.msg import ArmConfiguration
from soft_arm_node_kit import diagnostics, qos
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.parameters import declare, parameter
from soft_arm_node_kit.runner import run


@dataclass(frozen=True)
class JoyToLimbsParameters:
    """Parameters of the node."""

    assembly: str = parameter(description='assembly file: shipped name or path')
    segments: list[str] = parameter(description='segments that the joystick moves')
    x_axes: list[int] = parameter(description='axis of each bend towards x', minimum=NONE)
    y_axes: list[int] = parameter(description='axis of each bend towards y', minimum=NONE)
    length_axes: list[int] = parameter(description='axis of each length', minimum=NONE)
    buttons: list[int] = parameter(
        description='button of each segment that must be held', minimum=NONE
    )
    bend_rate_rad_s: float = parameter(
        0.6, 'rate of a bend at a full stick [rad/s]', minimum=0.01, maximum=10.0
    )
    length_rate_m_s: float = parameter(
        0.02, 'rate of a length at a full stick [m/s]', minimum=0.001, maximum=1.0
    )
    dead_zone: float = parameter(
        0.1, 'deflection below which a stick rests', minimum=0.0, maximum=0.9
    )
    timeout_s: float = parameter(
        0.5, 'silence of joy after which the limbs stop [s]', minimum=0.1, maximum=10.0
    )


class JoyToLimbsNode(Node):
    """Connect `soft_arm_control.joystick` to topics."""

    def __init__(self):
        super().__init__('joy_to_limbs')
        p = declare(self, JoyToLimbsParameters)
        columns = (p.segments, p.x_axes, p.y_axes, p.length_axes, p.buttons)
        if len({len(column) for column in columns}) != 1:
            counts = ', '.join(str(len(column)) for column in columns)
            raise ControlError(
                f'segments, x_axes, y_axes, length_axes, buttons have {counts} values: give as '
                'many of each'
            )
        bindings = [SegmentBinding(*row) for row in zip(*columns, strict=True)]
        robots = [mounted.robot for mounted in load_assembly(p.assembly).robots]
        self._joystick = Joystick(
            robots, bindings, p.bend_rate_rad_s, p.length_rate_m_s, p.dead_zone
        )
        self._timeout_s, self._fault = p.timeout_s, ''
        self._joy, self._heard_s, self._rate = Joy(), -np.inf, diagnostics.RateMeter(self.now_s)
        self._publisher = self.create_publisher(
            ArmConfiguration, 'limb_configuration', qos.ANY_COMMAND
        )
        self.create_subscription(Joy, 'joy', self._on_joy, qos.SENSOR)
        self.create_subscription(
            ArmConfiguration, 'limb_configuration', self._on_configuration, qos.STATE
        )
        self.create_timer(PERIOD_S, self._tick)
        diagnostics.Reporter(self, p.assembly, self._report)

    def _on_joy(self, message: Joy) -> None:
        self._joy, self._heard_s = message, self.steady_s()
        self._rate.tick()

    def _on_configuration(self, message: ArmConfiguration) -> None:
        if message.header.frame_id == self.get_fully_qualified_name():
            return
        try:
            arcs = arcs_from_msg(message)
        except KinematicsError:
            return  # the receiving node reports the error
        for segment, *arc in arcs:
            self._joystick.follow(segment, *arc)

    def _tick(self) -> None:
        if self.steady_s() - self._heard_s > self._timeout_s:
            return
        try:
            arcs = self._joystick.move(self._joy.axes, self._joy.buttons, PERIOD_S)
            self._fault = ''
        except ControlError as error:
            self._fault = str(error)
            return
        if arcs:
            segments, theta, phi, ell = map(list, zip(*arcs, strict=True))
            stamp = self.get_clock().now().to_msg()
            header = Header(stamp=stamp, frame_id=self.get_fully_qualified_name())
            self._publisher.publish(
                ArmConfiguration(
                    header=header, segments=segments, theta_rad=theta, phi_rad=phi, ell_m=ell
                )
            )

    def _report(self) -> tuple[bytes, str, dict]:
        values = {'joy_hz': self._rate.rate_hz}
        if self._fault:
            return diagnostics.WARN, self._fault, values
        return diagnostics.OK, 'joystick' if self._rate.rate_hz else 'no joystick', values


def main() -> int:
    """Run the node."""
    return run(JoyToLimbsNode)
