"""Node `pcu2v_driver`: the gripper's chamber on ROS topics <-> a PCU2-V on Modbus TCP.

As `pneumatic_driver`, with one chamber: a pressure > 0 switches the positive supply on, < 0 the
vacuum, 0 neither, which vents. Additional output: `state`, the five values of the controller, with
every exchange.
"""

from dataclasses import dataclass

from rclpy.time import Time

from pneumatic_driver.pcu2v import Pcu2v, Pcu2vExchange
from pneumatic_driver.ros.conversions import gripper_state_message
from pneumatic_driver.ros.driver_node import PneumaticDriverNode
from pneumatic_driver.ros.driver_parameters import DriverParameters
from soft_arm_msgs.msg import GripperState
from soft_arm_node_kit import qos, runner
from soft_arm_node_kit.parameters import parameter


@dataclass(frozen=True)
class Pcu2vParameters(DriverParameters):
    """Parameters of the node."""

    map: str = parameter('pcu2v', 'register map: a shipped name or a path')


class Pcu2vDriverNode(PneumaticDriverNode):
    """ROS interface of the driver of a PCU2-V."""

    def __init__(self):
        super().__init__('pcu2v_driver', Pcu2vParameters, Pcu2v)
        self._state = self.create_publisher(GripperState, 'state', qos.STATE)

    def publish(self, stamp: Time, exchange: Pcu2vExchange) -> None:
        """Publish one exchange; `stamp` is the time of the controller's answer."""
        super().publish(stamp, exchange)
        self._state.publish(gripper_state_message(stamp, exchange, self.clock() - exchange.at_s))


def main() -> int:
    """Entry point of the executable."""
    return runner.run(Pcu2vDriverNode)
