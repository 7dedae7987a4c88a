"""Virtual rig as one object: plant, board, driver, tip sensor and controller; no ROS, no thread.

Its timing is the same as on the virtual rig in lockstep: the driver exchanges at multiples of 20 ms
of simulated time, the controller steps 10 ms later, and images, their processing and the valves
have the delays of `Delays`. Two rigs with the same arguments are identical to the last bit.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from pneumatic_driver.board import Board
from pneumatic_driver.channels import ChannelMap
from pneumatic_driver.cycle import Cycle
from pneumatic_driver.errors import PneumaticDriverError
from pneumatic_driver.valve_board_map import SHIPPED as SHIPPED_MAP
from pneumatic_driver.valve_board_map import map_for
from soft_arm_calibration.rig import Clock, Ending, rate_hz
from soft_arm_control.errors import ControlError
from soft_arm_control.outcome import Outcome
from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_control.tip.controller import Status, TipController
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_control.tip.goal_planning import plan
from soft_arm_control.tip_covariance import position_covariance
from soft_arm_description.rig import Rig as RigFolder
from soft_arm_description.world import World
from soft_arm_experiments.arm.tip_sensors import TipSensor, delays_of, tip_sensor_of
from soft_arm_kinematics.arm import BellowsArm
from soft_arm_physics.actuation.pneumatics import Pneumatics
from soft_arm_physics.pneumatic_arm import SHIPPED, pneumatic_arm
from soft_arm_sim.cameras.placement import camera_of
from soft_arm_sim.delays import Delays, load_delays
from soft_arm_sim.devices.direct_client import DirectClient, run_to_end
from soft_arm_sim.devices.valve_board import FUNCTIONS
from soft_arm_sim.stepped_rig import TICK_S, Exposure, SteppedRig

COMMAND_TIMEOUT_S = 0.5  # of the driver, as in its node
START_S = 0.5  # until the first images
RECOVER_S = 0.5  # until a driver that has vented is activated again, as on the virtual rig
PATH_TOLERANCE_M, PATH_TIMEOUT_S = 1e-3, 10.0  # of `follow_path`, as in the node
EXCHANGE_TICKS = round(PERIOD_S / TICK_S)  # of driver and controller, half a period apart
CONTROL_TICK = EXCHANGE_TICKS // 2
_SLACK_S = 1e-9  # of sums of floating-point times


class InProcessRig:
    """A virtual arm in closed loop; see `soft_arm_calibration.rig.Rig`.

    Args:
        arm: The model of the arm, with the curves of its rig.
        dynamics: Identified on the same rig.
        sensor: Measures the tip; the caller closes it.
        plant_seed: Seed of the deviations from the robot file and of the sensors' noise.
        delays: Of camera, image processing and valves.
        pneumatics: Model of the pneumatics, or the name or path of its file.
        world: Objects and loads; None: only gravity.
        camera_file: The camera of the sensor, for its rate; see `camera_of`.

    Raises:
        PhysicsError: If the arm cannot be simulated.
        RobotFileError: If no valve board has so many channels.
    """

    clock: Clock = 'in_process'

    def __init__(
        self,
        arm: BellowsArm,
        dynamics: Dynamics,
        sensor: TipSensor,
        plant_seed: int,
        delays: Delays,
        pneumatics: Pneumatics | str | Path = SHIPPED,
        world: World | None = None,
        camera_file: str = 'virtual',
    ):
        robot = arm.robot
        self.plant_seed: int | None = plant_seed
        self.problems: list[str] = []  # reasons for which the driver vented
        self._arm, self._sensor = arm, sensor
        plant = pneumatic_arm(robot, plant_seed, pneumatics, world)
        self._rig = SteppedRig(plant, delays, camera_of(robot, camera_file).image.rate_hz)
        device = Board(
            map_for(SHIPPED_MAP, robot),
            clock=self.now_s,
            new_client=lambda link, trace: DirectClient(self._rig.logic, FUNCTIONS),
        )
        self._channels = ChannelMap(robot, device.map.device.name, device.channels)
        self._cycle = Cycle(device, COMMAND_TIMEOUT_S, on_disarm=self._disarmed, clock=self.now_s)
        self._controller = TipController(arm, dynamics)
        self._ticks = 0
        self._recover_s: float | None = None
        self._endings: list[tuple[bool, str]] = []  # of the current goal, at most one
        self._images_s: list[float] = []  # stamps
        self._tips_s: list[float] = []  # stamps of the images in which the tip was found
        self._exchanged_s: list[float] = []  # stamps of the measured pressures
        self._measured_pa: list[np.ndarray] = []
        self._latencies_s: list[float] = []
        self._unanswered_s: float | None = None  # stamp of the newest tip pose without a command
        self._truth: tuple[list[float], list[np.ndarray]] = [], []
        run_to_end(self._cycle.connect())
        run_to_end(self._cycle.arm())
        self.wait_until(START_S)

    def now_s(self) -> float:
        """See `Rig.now_s`."""
        return self._rig.time_s

    def move_tip(
        self,
        point_m: np.ndarray,
        lengths_m: np.ndarray,
        held: list[str],
        open_loop: bool,
        tolerance_m: float,
        timeout_s: float,
    ) -> Ending:
        """See `Rig.move_tip`."""
        options = (tolerance_m, timeout_s, open_loop)
        return self._start([point_m], [lengths_m], np.zeros(1), held, *options)

    def follow_path(
        self, points_m: np.ndarray, lengths_m: np.ndarray, times_s: np.ndarray, held: list[str]
    ) -> Ending:
        """See `Rig.follow_path`."""
        options = (PATH_TOLERANCE_M, PATH_TIMEOUT_S, False)
        return self._start(list(points_m), list(lengths_m), times_s, held, *options)

    def wait_until(self, stop_s: float) -> None:
        """See `Rig.wait_until`.

        Raises:
            PhysicsError: If the plant becomes unstable.
        """
        while self.now_s() < stop_s - _SLACK_S:
            self._tick()

    def tips(self, start_s: float, stop_s: float) -> tuple[np.ndarray, np.ndarray]:
        """See `Rig.tips`."""
        return _since(*self._truth, start_s, stop_s)

    def measured_pa(self, start_s: float, stop_s: float) -> tuple[np.ndarray, np.ndarray]:
        """See `Rig.measured_pa`."""
        return _since(self._exchanged_s, self._measured_pa, start_s, stop_s)

    def rates_hz(self, since_s: float) -> dict[str, float]:
        """See `Rig.rates_hz`."""
        stamps = {'camera': self._images_s, 'valves': self._exchanged_s, 'tip_pose': self._tips_s}
        return {name: round(rate_hz(stamps_s, since_s), 2) for name, stamps_s in stamps.items()}

    def latency_ms(self) -> dict[str, float]:
        """See `Rig.latency_ms`."""
        if not self._latencies_s:
            return {}
        return {
            f'p{p}': round(1e3 * float(np.percentile(self._latencies_s, p)), 1) for p in (50, 99)
        }

    def _start(
        self,
        points_m: Sequence[np.ndarray],
        lengths_m: Sequence[np.ndarray],
        times_s: np.ndarray,
        held: list[str],
        tolerance_m: float,
        timeout_s: float,
        open_loop: bool,
    ) -> Ending:
        arm, measured_pa = self._arm, self._controller.measured_pa
        assert measured_pa is not None, 'the driver exchanges before the first goal'
        present_m = arm.lengths(np.clip(measured_pa, *arm.pressure_limits_pa))
        endings: list[tuple[bool, str]] = []
        options = (held, present_m, tolerance_m, timeout_s, open_loop)
        try:
            self._controller.start(plan(arm, points_m, lengths_m, times_s, *options), self.now_s())
        except ControlError as error:
            endings.append((False, str(error)))
        else:
            self._endings.append((False, ''))  # the previous goal is replaced
            self._endings = endings
        return lambda: endings[0] if endings else None

    def _tick(self) -> None:
        arrived = self._rig.advance()
        self._ticks += 1
        for exposure in arrived:
            self._measure_tip(exposure)
        phase = self._ticks % EXCHANGE_TICKS
        if phase == 0:
            self._exchange()
            self._truth[0].append(self.now_s())
            self._truth[1].append(self._rig.snapshot().T_base_tip[:3, 3])
        elif phase == CONTROL_TICK:
            self._control()

    def _measure_tip(self, exposure: Exposure) -> None:
        sight, controller = self._sensor.measure(exposure), self._controller
        self._images_s.append(exposure.stamp_s)
        controller.tip_trouble = sight.trouble
        controller.add_image(exposure.stamp_s)
        if sight.T_base_tip is not None:
            covariance_m2 = position_covariance(sight.covariance)
            controller.add_tip_pose(exposure.stamp_s, sight.T_base_tip[:3, 3], covariance_m2)
            self._tips_s.append(exposure.stamp_s)
            self._unanswered_s = exposure.stamp_s

    def _exchange(self) -> None:
        if self._recover_s is not None and self.now_s() >= self._recover_s:
            self._recover()
        run_to_end(self._cycle.run())
        exchange = self._cycle.latest
        if exchange is not None and exchange.at_s == self.now_s():
            pressures_pa = self._channels.to_chambers(exchange.pressures_pa)
            self._controller.add_pressures(exchange.at_s, pressures_pa)
            self._exchanged_s.append(exchange.at_s)
            self._measured_pa.append(pressures_pa)

    def _control(self) -> None:
        now_s = self.now_s()
        command_pa, status = self._controller.step(now_s)
        if status.outcome is not None:
            self._endings.append(_ending(status))
        if command_pa is None:
            return
        if self._cycle.armed:
            names = self._channels.chambers
            self._cycle.command(self._channels.to_channels(names, command_pa.tolist()))
        if self._unanswered_s is not None:
            self._latencies_s.append(now_s - self._unanswered_s)
            self._unanswered_s = None

    def _disarmed(self, reason: str) -> None:
        self.problems.append(f'{self.now_s():.2f} s: {reason}')
        self._controller.liveness.add_driver_state(self.now_s(), False)
        self._recover_s = self.now_s() + RECOVER_S

    def _recover(self) -> None:
        try:
            run_to_end(self._cycle.arm())
        except PneumaticDriverError as error:
            self.problems.append(f'{self.now_s():.2f} s: {error}')
            self._recover_s = self.now_s() + RECOVER_S
        else:
            self._controller.liveness.add_driver_state(self.now_s(), True)
            self._recover_s = None


@contextmanager
def in_process_rig(
    rig: RigFolder,
    arm: BellowsArm,
    dynamics: Dynamics,
    plant_seed: int,
    *,
    tip_source: str | None,
    network: Path | None = None,
    camera_file: str = 'virtual',
    delays: Delays | None = None,
) -> Iterator[InProcessRig]:
    """Open a virtual arm with the calibrations of a rig; see `InProcessRig` and `tip_sensor_of`.

    Args:
        rig: The rig.
        arm, dynamics: Model and identified dynamics of the arm.
        plant_seed: Seed of arm and sensors.
        tip_source, network, camera_file: See `tip_sensor_of`.
        delays: Delays of a rig with a camera; None: the shipped ones.
    """
    sensor = tip_sensor_of(rig, arm.robot, plant_seed, tip_source, network, camera_file)
    with closing(sensor):
        late = delays_of(tip_source, delays or load_delays())
        yield InProcessRig(arm, dynamics, sensor, plant_seed, late, camera_file=camera_file)


def _since(
    times_s: list[float], values: list[np.ndarray], start_s: float, stop_s: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the times in [start_s, stop_s] (k,) and the values at these times (k, n)."""
    first = bisect_left(times_s, start_s - _SLACK_S)
    last = bisect_right(times_s, stop_s + _SLACK_S)
    return np.array(times_s[first:last]), np.reshape(values[first:last], (last - first, -1))


def _ending(status: Status) -> tuple[bool, str]:
    on_purpose = status.outcome in (Outcome.REACHED, Outcome.CANCELLED)
    return status.outcome is Outcome.REACHED, '' if on_purpose else status.message
