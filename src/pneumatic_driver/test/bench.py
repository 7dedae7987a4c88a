"""Emulated devices without threads or sockets, alone and driven on a clock that the test moves."""

import numpy as np

from pneumatic_driver.board import Board
from pneumatic_driver.cycle import Cycle
from pneumatic_driver.pcu2v import Pcu2v
from pneumatic_driver.register_map import RegisterMap, load_map
from soft_arm_sim.devices.direct_client import DirectClient, run_to_end
from soft_arm_sim.devices.pcu2v import Pcu2vLogic
from soft_arm_sim.devices.valve_board import FUNCTIONS, VENT, BoardLogic

PERIOD_S, COMMAND_TIMEOUT_S, TICK_MS = 0.02, 0.5, 5


class EmulatedBoard:
    """A valve board whose sensors read its valves' set points, or `forced_pa`."""

    map, device_type, functions = 'valve_board', Board, FUNCTIONS
    targets_pa = np.array([10e3, -10e3, 0.0, 0.0, 5e3, 0.0])
    make_logic = BoardLogic

    def __init__(self):
        self.logic, self.forced_pa = self.make_logic(), None

    def tick(self) -> None:
        readings_pa = self.logic.drives_pa if self.forced_pa is None else self.forced_pa
        self.logic.tick(TICK_MS, [int(pa) // 10 for pa in readings_pa], 20_000)

    def pass_time(self, seconds: float) -> None:
        for _ in range(round(1e3 * seconds / TICK_MS)):
            self.tick()

    @property
    def runs(self) -> bool:
        return self.logic.mode != VENT

    def restart(self) -> None:
        self.logic.__init__()


class EmulatedGripper(EmulatedBoard):
    """A PCU2-V whose chamber is at its set point, or `forced_pa`."""

    map, device_type, functions = 'pcu2v', Pcu2v, (3, 4, 6, 16)
    targets_pa = np.array([50e3])
    make_logic = Pcu2vLogic

    def tick(self) -> None:
        logic = self.logic
        asked = (
            logic.positive_target * logic.positive_trigger
            + logic.negative_target * logic.negative_trigger
        )
        self.logic.tick(TICK_MS, asked if self.forced_pa is None else int(self.forced_pa[0]) // 100)

    @property
    def runs(self) -> bool:
        return self.logic.positive_trigger or self.logic.negative_trigger

    def restart(self) -> None:
        self.logic.vent()


class Bench:
    """Mixin of an emulated device: its cycle and their clock."""

    def __init__(
        self,
        register_map: RegisterMap | None = None,
        command_timeout_s: float = COMMAND_TIMEOUT_S,
        accept_unverified_map: str = '',
    ):
        super().__init__()
        self.now_s, self.reasons = 0.0, []
        self.register_map = register_map or load_map(self.map)
        self.device = self.device_type(
            self.register_map,
            accept_unverified_map,
            clock=lambda: self.now_s,
            new_client=lambda link, trace: DirectClient(self.logic, self.functions),
        )
        self.cycle = Cycle(
            self.device, command_timeout_s, on_disarm=self.reasons.append, clock=lambda: self.now_s
        )

    def run(self, seconds: float, command: bool = True, targets_pa=None) -> None:
        for _ in range(round(seconds / PERIOD_S)):
            self.pass_time(PERIOD_S)
            if command and self.cycle.armed:
                self.cycle.command(self.targets_pa if targets_pa is None else targets_pa)
            run_to_end(self.cycle.run())

    def do(self, name: str):
        """Run a coroutine of the cycle to its end."""
        return run_to_end(getattr(self.cycle, name)())

    def armed(self):
        self.do('connect')
        self.do('arm')
        self.run(0.2)
        assert self.runs
        return self

    def pass_time(self, seconds: float) -> None:
        self.now_s += seconds
        super().pass_time(seconds)


class BoardBench(Bench, EmulatedBoard):
    """A valve board with its cycle."""


class GripperBench(Bench, EmulatedGripper):
    """A PCU2-V with its cycle."""
