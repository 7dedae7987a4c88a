"""Commands of the robots of `virtual_robots`."""

from collections.abc import Callable
from functools import partial

from sensor_msgs.msg import JointState

from soft_arm_description.named_values import pressures_from_msg, values_by_name
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ros.conversions import arcs_from_msg
from soft_arm_msgs.msg import ArmConfiguration, ChamberPressures
from soft_arm_node_kit import qos
from soft_arm_node_kit.node import Node
from soft_arm_physics import PhysicsError
from soft_arm_sim.running_simulation import RunningSimulation


class RobotCommands:
    """Subscriptions that drive a simulation; a refused command changes nothing.

    Attributes:
        fault: Why the last command was refused; empty if it was not.
    """

    def __init__(self, node: Node, simulation: RunningSimulation):
        self.fault = ''
        self._node, self._simulation = node, simulation
        self._subscribe(ArmConfiguration, 'limb_configuration', self._bend)
        for name, robot in simulation.robots.items():
            if robot.chambers:
                press = partial(self._press, name)
                self._subscribe(ChamberPressures, f'{name}/pressure_command', press)
            if any(segment.kind == 'torque' for segment in robot.segments):
                turn = partial(self._turn, name)
                self._subscribe(JointState, f'{name}/torque_command', turn)

    def _subscribe(self, kind: type, topic: str, act: Callable) -> None:
        def obey(message) -> None:
            try:
                act(message)
                self.fault = ''
            except (KinematicsError, PhysicsError) as error:
                self.fault = f'{topic} is ignored: {error}'
                self._node.get_logger().warning(self.fault, throttle_duration_sec=10.0)

        self._node.create_subscription(kind, topic, obey, qos.ANY_COMMAND)

    def _bend(self, message: ArmConfiguration) -> None:
        self._simulation.bend(arcs_from_msg(message))

    def _press(self, name: str, message: ChamberPressures) -> None:
        robot = self._simulation.robots[name]
        pressures_pa = pressures_from_msg(message, robot, PhysicsError)
        values = dict(zip(robot.chambers, pressures_pa.tolist(), strict=True))
        self._simulation.drive(name, values)

    def _turn(self, name: str, message: JointState) -> None:
        torques = values_by_name(message.name, message.effort, 'torques in `effort`', PhysicsError)
        self._simulation.drive(name, torques)
