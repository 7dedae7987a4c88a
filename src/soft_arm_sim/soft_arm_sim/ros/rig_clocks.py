"""The two clocks of the virtual rig: real time, and lockstep in simulated time."""

import time
from collections.abc import Sequence
from contextlib import ExitStack

from soft_arm_node_kit.diagnostics import ERROR, OK, WARN
from soft_arm_node_kit.node import Node
from soft_arm_physics.simulation import Simulation
from soft_arm_sim.board_plant import RunningPlant
from soft_arm_sim.delays import Delays
from soft_arm_sim.devices.modbus_server import serve
from soft_arm_sim.devices.stepped_board import SteppedBoard
from soft_arm_sim.devices.valve_board import ValveBoard
from soft_arm_sim.ros.lockstep import Lockstep
from soft_arm_sim.ros.pace import pace_status
from soft_arm_sim.ros.rig_outputs import RigOutputs
from soft_arm_sim.stepped_rig import TICK_S, SteppedRig

TRUTH_PERIOD_S = 0.02


class RealTimeRig:
    """Plant, board and outputs on the wall clock; see `LockstepRig` for arguments.

    Attributes:
        board: The valve board.
    """

    def __init__(
        self, node: Node, outputs: RigOutputs, plant: Simulation, port: int, devices: ExitStack
    ):
        self._node, self._outputs = node, outputs
        self._plant = RunningPlant(plant)
        self._plant.start()
        devices.callback(self._plant.stop)
        self.board = ValveBoard(self._plant, port=port, channels=self._plant.channels)
        self._server = serve(self.board, devices)
        node.create_timer(1.0 / outputs.rate_hz, self._capture)
        node.create_timer(TRUTH_PERIOD_S, self._publish_truth)
        node.create_timer(outputs.motion_capture.period_s, self._measure)

    def status(self) -> tuple[bytes, str, dict]:
        """Return level, message and values for the diagnostics."""
        factor, rate_hz = self._plant.real_time_factor(), self._outputs.camera_node.meter.rate_hz
        values = {'real_time_factor': factor, 'camera_hz': rate_hz}
        return pace_status(values, [(rate_hz, self._outputs.rate_hz)], factor)

    def _now_ns(self) -> int:
        return self._node.get_clock().now().nanoseconds

    def _capture(self) -> None:
        self._outputs.publish_frame(self._plant.snapshot().qpos, self._now_ns())

    def _measure(self) -> None:
        now_ns = self._now_ns()
        self._outputs.motion_capture.measure(now_ns, self._plant.snapshot().T_base_tip)

    def _publish_truth(self) -> None:
        self._server.check()
        self._outputs.publish_truth(self._plant.snapshot().T_base_tip, self._now_ns())


class LockstepRig:
    """Plant, board and outputs in simulated time, which waits for the answers of nodes.

    Args:
        node: The virtual rig.
        outputs: Its outputs.
        plant: The arm; alone in its simulation.
        port: TCP port of the valve board; 0 takes a free one.
        devices: Stack that ends the devices.
        delays: Of camera, image processing and valves.
        by_tick: Names of nodes that answer ticks.
        by_image: Name of the node that answers images, or poses; empty: none.
        by_pose: Whether it answers poses of the motion capture instead of images.
        timeout_s: Wall-clock time after which a node that has answered before is given up [s].
        real_time_factor: Largest simulated time over wall time; 0: as fast as possible.
    """

    def __init__(
        self,
        node: Node,
        outputs: RigOutputs,
        plant: Simulation,
        port: int,
        devices: ExitStack,
        *,
        delays: Delays,
        by_tick: Sequence[str],
        by_image: str,
        by_pose: bool,
        timeout_s: float,
        real_time_factor: float,
    ):
        self._outputs, self._by_pose = outputs, by_pose
        self._rig = SteppedRig(plant, delays, outputs.rate_hz)
        self.board = SteppedBoard(self._rig.logic, port=port)
        self._image_ns, self._mark = -1, (time.monotonic(), 0)
        self._lockstep = Lockstep(
            node,
            TICK_S,
            self._advance,
            (outputs.motion_capture if by_pose else outputs.camera_node).publish_again,
            by_tick,
            [by_image] if by_image else [],
            timeout_s,
            real_time_factor,
        )
        serve(self.board, devices)

    def status(self) -> tuple[bytes, str, dict]:
        """Return level, message and values for the diagnostics."""
        lockstep = self._lockstep
        (before_s, before_ns), self._mark = self._mark, (time.monotonic(), lockstep.time_ns)
        factor = 1e-9 * (self._mark[1] - before_ns) / max(self._mark[0] - before_s, 1e-6)
        values = {
            'real_time_factor': factor,
            'camera_hz': self._outputs.camera_node.meter.rate_hz,
            'simulated_time_s': 1e-9 * lockstep.time_ns,
        }
        if lockstep.lost:
            return ERROR, f'time goes on without {", ".join(lockstep.lost)}', values
        if factor == 0.0:
            message = f'time waits for {", ".join(lockstep.missing())}'
            return WARN, message, values | {'ready': False}
        return OK, f'in lockstep, {factor:.2f} x real time', values

    def _advance(self, time_ns: int) -> int:
        """Advance the rig to a time [ns]; return the stamp that is to be answered."""
        with self.board.lock:
            exposures = self._rig.advance()
        for exposure in exposures:
            self._image_ns = round(1e9 * exposure.stamp_s)
            self._outputs.publish_frame(exposure.qpos, self._image_ns)
        motion_capture = self._outputs.motion_capture
        if time_ns % round(1e9 * motion_capture.period_s) == 0:
            motion_capture.measure(time_ns, self._rig.snapshot().T_base_tip)
        if time_ns % round(1e9 * TRUTH_PERIOD_S) == 0:
            self._outputs.publish_truth(self._rig.snapshot().T_base_tip, time_ns)
        return motion_capture.stamp_ns if self._by_pose else self._image_ns
