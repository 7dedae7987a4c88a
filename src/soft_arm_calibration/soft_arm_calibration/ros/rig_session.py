"""Connect a program to a running rig: record its topics, command it, wait with deadlines."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from rclpy.action import ActionClient
from rclpy.publisher import Publisher
from sensor_msgs.msg import CameraInfo

from soft_arm_calibration.rig import Clock, Ending, rate_hz
from soft_arm_control.errors import ExperimentError, MessageError
from soft_arm_control.ros import conversions
from soft_arm_control.tip.command_shaper import PERIOD_S
from soft_arm_description.named_values import pressures_from_msg
from soft_arm_description.rig import VIRTUAL
from soft_arm_description.robot import Robot
from soft_arm_msgs.action import FollowPath, MoveTip
from soft_arm_msgs.msg import ChamberPressures, TipTarget
from soft_arm_node_kit import qos
from soft_arm_node_kit.graph import ARM_EMULATION, DeviceWatch
from soft_arm_node_kit.messages import seconds
from soft_arm_node_kit.session import RESPONSE_TIMEOUT_S, Session
from soft_arm_node_kit.ticker import Ticker

NAMESPACE = 'soft_arm'
READY_S = 5.0  # simulated time by which a virtual rig is ready
SLOWEST = 30.0  # wall time over simulated time that is waited for
TRUTH_TOPIC = 'virtual_rig/debug/tip_truth'


@dataclass
class Series:
    """Samples with stamp and time of arrival [s], appended by the spin thread."""

    stamps_s: list[float] = field(default_factory=list)
    arrivals_s: list[float] = field(default_factory=list)
    values: list[np.ndarray | None] = field(default_factory=list)

    def add(self, stamp_s: float, arrival_s: float, value: np.ndarray | None) -> None:
        """Append one sample."""
        self.arrivals_s.append(arrival_s)
        self.values.append(value)
        self.stamps_s.append(stamp_s)  # last: readers go by its length

    def since(
        self, start_s: float, stop_s: float = np.inf
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return stamps, values and arrivals of the samples stamped in [start_s, stop_s]."""
        stamps_s = np.array(self.stamps_s)
        rows = np.flatnonzero((stamps_s >= start_s) & (stamps_s <= stop_s))
        return (
            stamps_s[rows],
            np.array([self.values[i] for i in rows]),
            np.array([self.arrivals_s[i] for i in rows]),
        )


EXPECTED = MoveTip.Result.NONE, MoveTip.Result.CANCELLED  # endings that are no faults


class RigSession(Session):
    """A session that spins in a thread and raises ExperimentError when a deadline passes.

    It is a `soft_arm_calibration.rig.Rig`.

    Args:
        robot: Robot file of the arm.
        name: Name of the node.
        plant_seed: Which virtual arm runs; None if this is not known.
        check: Called often while waiting; raises if the rig has ended.
        use_sim_time: Whether the rig runs in lockstep: simulated time then stands while this
            program does not wait, from `READY_S` on if it has started the rig.
    """

    def __init__(
        self,
        robot: Robot,
        name: str = 'experiment',
        plant_seed: int | None = None,
        check: Callable[[], None] = lambda: None,
        use_sim_time: bool = False,
    ):
        remedy = "see `softarm doctor` and the rig's log"
        super().__init__(
            name, NAMESPACE, remedy=remedy, error=ExperimentError, use_sim_time=use_sim_time
        )
        self.clock: Clock = 'lockstep' if use_sim_time else 'wall'
        self._robot, self.plant_seed, self.check = robot, plant_seed, check
        self.truth = Series()
        self.pressures = Series()
        self.rings = Series()
        self.images = Series()
        self.diagnostics: dict[str, dict[str, str]] = {}  # newest values of each node
        self.command_pa: np.ndarray | None = None  # sent at 50 Hz while set
        self.sent_pa, self.sent_since_s = self.command_pa, 0.0  # last sent
        self.commanded_by_others_s: float | None = None  # time of another node's last command
        # A publisher only while it commands: the controller takes no goal while another publishes.
        self._command: Publisher | None = None

    def begin(self) -> None:
        """Record in a thread."""
        node = self.node
        node.create_subscription(PoseStamped, TRUTH_TOPIC, self._on_truth, qos.STATE)
        node.create_subscription(ChamberPressures, 'pressures', self._on_pressures, qos.STATE)
        node.create_subscription(PoseWithCovarianceStamped, 'tip_pose', self._on_ring, qos.STATE)
        node.create_subscription(
            CameraInfo, '/camera/camera/color/camera_info', self._on_image, qos.SENSOR
        )
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, qos.STATE)
        node.create_subscription(
            ChamberPressures, 'pressure_command', self._on_command, qos.ANY_COMMAND
        )
        self.devices = DeviceWatch(node, ARM_EMULATION, self._namespace)
        self._move = self.action_client(MoveTip, 'move_tip')
        self._follow = self.action_client(FollowPath, 'follow_path')
        self._ticker, self._ticked_s = Ticker(node, PERIOD_S, self._on_tick), 0.0
        if self.plant_seed is not None:
            self._ticker.stand_at(READY_S)
        self.spin_in_thread()

    def __exit__(self, *error: object) -> None:
        self._ticker.leave()
        super().__exit__(*error)

    def missing(self, control: bool = True) -> str:
        """List what the rig, with its control, still lacks before it is ready; empty when it is."""
        seen = {'pressures': self.pressures, 'tip_pose': self.rings}
        if control:
            seen['camera_info'] = self.images
        lacking = [name for name, series in seen.items() if len(series.stamps_s) < 5]
        if not control:
            return ', '.join(lacking)
        lacking += [
            name
            for name, client in (('move_tip', self._move), ('follow_path', self._follow))
            if not client.server_is_ready()
        ]
        controller = self.diagnostics.get(f'{self._namespace}/tip_controller', {})
        heard_hz = float(controller.get('pressures_hz', 0.0))
        return ', '.join(lacking + ([] if heard_hz else ['pressures at the tip_controller']))

    def wait_until_ready(self, timeout_s: float, control: bool = True) -> None:
        """Wait until the rig is ready; one in lockstep that was started here until `READY_S`."""
        self.wait_for(
            lambda: not self.missing(control), timeout_s, lambda: self.missing(control), self.check
        )
        if self.clock == 'lockstep' and self.plant_seed is not None:
            self.wait_until(READY_S)

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
        goal = MoveTip.Goal(
            target=_target(point_m, lengths_m),
            tolerance_m=tolerance_m,
            timeout_s=timeout_s,
            open_loop=open_loop,
            held_segments=held,
        )
        return self._result_of(self._move, goal)

    def follow_path(
        self, points_m: np.ndarray, lengths_m: np.ndarray, times_s: np.ndarray, held: list[str]
    ) -> Ending:
        """See `Rig.follow_path`."""
        waypoints = [_target(p, lengths) for p, lengths in zip(points_m, lengths_m, strict=True)]
        return self._result_of(
            self._follow,
            FollowPath.Goal(
                waypoints=waypoints, times_s=[float(t) for t in times_s], held_segments=held
            ),
        )

    def wait_until(self, stop_s: float) -> None:
        """See `Rig.wait_until`."""
        if self.clock == 'lockstep':
            # The tick comes after the true tip of this time; see `Ticker`.
            stop_s = PERIOD_S * np.ceil(stop_s / PERIOD_S - 1e-6)
            patience_s = SLOWEST * (10.0 + stop_s - self.now_s())
            self._ticker.stand_at(stop_s)
            self.wait_for(
                lambda: self._ticked_s > stop_s - 1e-6,
                patience_s,
                f'{stop_s:.2f} s on /clock',
                self.check,
            )
            return
        # Hardware knows no true tip; its pressures come until the end, also when the tip is lost.
        virtual = self.devices.devices == VIRTUAL
        stamps_s = (self.truth if virtual else self.pressures).stamps_s
        self.wait_for(
            lambda: bool(stamps_s) and stamps_s[-1] >= stop_s,
            stop_s - self.now_s() + 5.0,
            f'the true tip on {TRUTH_TOPIC}' if virtual else 'pressures',
            self.check,
        )

    def tips(self, start_s: float, stop_s: float) -> tuple[np.ndarray, np.ndarray]:
        """See `Rig.tips`."""
        tips = self.truth if self.devices.devices == VIRTUAL else self.rings
        times_s, tips_m, _ = tips.since(start_s, stop_s)
        return times_s, tips_m

    def measured_pa(self, start_s: float, stop_s: float) -> tuple[np.ndarray, np.ndarray]:
        """See `Rig.measured_pa`."""
        times_s, pressures_pa, _ = self.pressures.since(start_s, stop_s)
        return times_s, pressures_pa

    def rates_hz(self, since_s: float) -> dict[str, float]:
        """See `Rig.rates_hz`."""
        seen = {'camera': self.images, 'valves': self.pressures, 'tip_pose': self.rings}
        return {name: round(rate_hz(series.stamps_s, since_s), 2) for name, series in seen.items()}

    def latency_ms(self) -> dict[str, float]:
        """See `Rig.latency_ms`."""
        values = self.diagnostics.get(f'{self._namespace}/tip_controller', {})
        return {
            f'p{p}': round(1e3 * float(values[f'image_to_command_p{p}_s']), 1)
            for p in (50, 99)
            if f'image_to_command_p{p}_s' in values
        }

    def _result_of(self, client: ActionClient, goal) -> Ending:
        results = []

        def accepted(future):
            future.result().get_result_async().add_done_callback(
                lambda done: results.append(done.result().result)
            )

        sent = self.send(client, goal)
        sent.add_done_callback(accepted)
        if self.clock == 'lockstep':  # time stands until the controller has the goal
            self.wait_for(sent.done, RESPONSE_TIMEOUT_S, 'the goal to be accepted', self.check)
        return lambda: _ending(results[0]) if results else None

    def _on_truth(self, message: PoseStamped) -> None:
        self.truth.add(
            seconds(message.header.stamp),
            self.now_s(),
            conversions.point_from_msg(message.pose.position),
        )

    def _on_pressures(self, message: ChamberPressures) -> None:
        with contextlib.suppress(MessageError):
            pressures_pa = pressures_from_msg(message, self._robot, MessageError)
            self.pressures.add(seconds(message.header.stamp), self.now_s(), pressures_pa)

    def _on_ring(self, message: PoseWithCovarianceStamped) -> None:
        with contextlib.suppress(MessageError):
            ring_m, _ = conversions.tip_from_msg(message, self._robot.base.frame)
            self.rings.add(seconds(message.header.stamp), self.now_s(), ring_m)

    def _on_image(self, message: CameraInfo) -> None:
        self.images.add(seconds(message.header.stamp), self.now_s(), None)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.diagnostics[status.name] = {v.key: v.value for v in status.values}

    def _on_command(self, _message: ChamberPressures) -> None:
        if self._command is None:
            self.commanded_by_others_s = self.now_s()

    def _on_tick(self) -> None:
        self._ticked_s = self.now_s()
        self._send_command()

    def _send_command(self) -> None:
        command_pa = self.command_pa  # set by another thread
        if command_pa is not None:
            self._command = self._command or self.node.create_publisher(
                ChamberPressures, 'pressure_command', qos.COMMAND
            )
            self._command.publish(conversions.command_message(command_pa, self._robot, self.node))
            if command_pa is not self.sent_pa:
                self.sent_pa, self.sent_since_s = command_pa, self._ticked_s
        elif self._command is not None:
            self.node.destroy_publisher(self._command)
            self._command = None


def _ending(result: MoveTip.Result | FollowPath.Result) -> tuple[bool, str]:
    """Return whether a goal was reached, and what went wrong."""
    message = '' if result.error_code in EXPECTED else result.error_msg
    return result.error_code == MoveTip.Result.NONE, message


def _target(point_m, lengths_m) -> TipTarget:
    return TipTarget(
        position=conversions.point_message(point_m), lengths_m=[float(v) for v in lengths_m]
    )
