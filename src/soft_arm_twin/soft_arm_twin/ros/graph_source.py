"""Source of a twin that shows and commands a ROS graph."""

import time
from collections.abc import Awaitable, Mapping
from typing import Any, Self

from soft_arm_io.command_line import uninterrupted
from soft_arm_twin.controls import Control
from soft_arm_twin.graph.drawing import Drawing
from soft_arm_twin.graph.gripper import Gripper
from soft_arm_twin.graph.industrial_robot import IndustrialRobot
from soft_arm_twin.graph.soft_robot import SoftRobot
from soft_arm_twin.ros.arm_commands import ArmCommands
from soft_arm_twin.ros.camera_view import CameraView
from soft_arm_twin.ros.commands import Commands
from soft_arm_twin.ros.gripper_commands import GripperCommands
from soft_arm_twin.ros.limb_commands import LimbCommands
from soft_arm_twin.ros.live_graph import LiveGraph
from soft_arm_twin.ros.robot_commands import RobotCommands
from soft_arm_twin.scene import Scene
from soft_arm_twin.source import Answer, Cloud, Jpeg, Panel, Snapshot


class GraphSource:
    """Show and command the nodes of a graph. Use it in a `with` statement.

    Args:
        domain: ROS domain; None is the domain of the environment.
        robots: Robot files by namespace, see `LiveGraph`.
        read_only: Whether to offer no commands, as for a bag.
    """

    title = 'twin'

    def __init__(
        self,
        domain: int | None = None,
        robots: Mapping[str, str] | None = None,
        read_only: bool = False,
    ):
        on_system = (lambda _: None) if read_only else self._on_system
        self._graph = LiveGraph(on_system, domain, robots)
        self._known = self._graph.known
        self._drawing = Drawing(self._known)
        self._commands: list[Commands] = []
        self._cameras = CameraView(self._graph)

    def __enter__(self) -> Self:
        self._graph.__enter__()
        self._graph.listen()
        return self

    def __exit__(self, *error: object) -> None:
        with uninterrupted():  # else the thread would use destroyed objects
            self._graph.__exit__(*error)

    def _on_system(self, system: Any) -> None:
        """Create the commands of a new system."""
        made: Commands | None = None
        if isinstance(system, IndustrialRobot):
            made = RobotCommands(self._graph, system)
        elif isinstance(system, Gripper):
            made = GripperCommands(self._graph, system.namespace)
        elif isinstance(system, SoftRobot) and '/' in system.name:
            made = LimbCommands(self._graph, system)
        elif isinstance(system, SoftRobot) and system.is_arm:
            made = ArmCommands(self._graph, system)
        if made is not None:
            self._commands = [*self._commands, made]

    def scene(self) -> Scene:
        """Return the scene."""
        return self._drawing.scene()

    def snapshot(self) -> Snapshot:
        """Return the poses of all frames."""
        return self._drawing.snapshot(time.monotonic())

    def panel(self) -> Panel:
        """Return the contents of the side panel."""
        now_s, known = time.monotonic(), self._known
        self._graph.asked_s = now_s
        previews = (c.texts() for c in self._commands if isinstance(c, ArmCommands))
        return Panel(
            controls=self._controls(),
            values=known.values(),
            ages=known.ages(now_s),
            diagnostics=known.diagnostics(now_s),
            events=known.journal.events(),
            plots=known.plots(),
            texts=(*known.texts(), *(text for texts in previews for text in texts)),
        )

    def _controls(self) -> tuple[Control, ...]:
        found = (control for commands in self._commands for control in commands.controls())
        return (*found, *self._cameras.controls())

    def image(self) -> Jpeg | None:
        """Return the newest image of the selected camera."""
        return self._cameras.image

    def cloud(self) -> Cloud | None:
        """Return the newest point cloud of the selected camera."""
        return self._cameras.cloud

    def command(self, control: str, value: Any, owner: bool) -> Answer | Awaitable[Answer]:
        """Execute a command through the public actions and services."""
        if control.startswith('camera/'):
            return self._cameras.command(control, value)
        for commands in self._commands:
            if any(known.name == control for known in commands.controls()):
                return commands.command(control, value)
        return Answer(False, f'{control}: its system has ended')

    def released(self) -> None:
        """Stop all commands that need an owner."""
        for commands in self._commands:
            commands.released()
