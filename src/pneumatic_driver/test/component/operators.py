"""Operator of a driver node."""

import functools
import os
from pathlib import Path

from ament_index_python.packages import get_package_prefix
from rclpy.duration import Duration

from soft_arm_msgs.msg import ChamberPressures
from system_testing.node_operator import NodeOperator

FOLDER = Path(get_package_prefix('pneumatic_driver')) / 'lib' / 'pneumatic_driver'


class Operator(NodeOperator):
    """Client of the driver, with the driver's process."""

    def __init__(self, namespace: str, executable: str, chambers: list[str]):
        super().__init__(namespace, executable)
        self._executable, self._chambers = executable, chambers
        self.pressures = self.listen(ChamberPressures, 'pressures')
        self._commands = self.create_publisher(ChamberPressures, 'pressure_command', 1)
        self.environment = {}  # added to the environment of this process
        self.driver_ahead_s = 0.0  # of this process' clock

    def start(self, **parameters) -> None:
        self.launch([FOLDER / self._executable], self.environment, **parameters)

    def wait(self, condition, what='the condition', each=None, command=None):
        """Wait for a condition while commanding pressures [Pa]."""
        if command is not None:
            each = functools.partial(self.command, self._chambers, command)
        super().wait(condition, what, each)

    def command(self, names, pressures_pa, age_s: float | None = 0.0) -> None:
        """Command pressures [Pa] with a stamp of this age [s] for the driver; None: no stamp."""
        message = ChamberPressures(names=names, pressures_pa=[float(p) for p in pressures_pa])
        if age_s is not None:
            ahead = Duration(seconds=self.driver_ahead_s - age_s)
            message.header.stamp = (self.get_clock().now() + ahead).to_msg()
        self._commands.publish(message)


def operator_of(name: str, executable: str, chambers: list[str]):
    """Fixture body: an operator in a separate namespace."""
    operator = Operator(f'/test_{os.getpid()}_{abs(hash(name)) % 10_000}', executable, chambers)
    yield operator
    operator.close()
