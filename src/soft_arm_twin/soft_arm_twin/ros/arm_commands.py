"""Commands to a soft arm: target with preview, path, manual pressures, vent."""

import os
import time
from collections.abc import Awaitable
from typing import Any

import numpy as np
from std_msgs.msg import Header

from soft_arm_msgs.action import FollowPath, MoveTip
from soft_arm_msgs.msg import ChamberPressures, TipTarget
from soft_arm_msgs.srv import SolveIK
from soft_arm_node_kit import qos
from soft_arm_twin.controls import Button, Control, Slider, Switch
from soft_arm_twin.graph.soft_robot import SoftRobot
from soft_arm_twin.ros.commands import Vent
from soft_arm_twin.ros.goals import Goals, cancel_button, velocity_slider
from soft_arm_twin.ros.live_graph import RESPONSE_TIMEOUT_S, LiveGraph
from soft_arm_twin.ros.target_handle import TargetHandle, point_message, point_text
from soft_arm_twin.source import Answer, TextBlock

COMMAND_PERIOD_S = 0.05
SOURCE_TIMEOUT_S = 0.6  # a driver accepts one source for 0.5 s
SERVER_TIMEOUT_S = 0.5  # a hanging server cannot end the control of a closed page
PATH_STEP_M = 0.002
MAX_PATH_POINTS = 500
MAX_PAYLOAD_G = 1000.0


class ArmCommands:
    """Controls of one arm.

    Args:
        graph: The session.
        arm: State of the arm; its `preview` is set here.
    """

    def __init__(self, graph: LiveGraph, arm: SoftRobot):
        self._graph, self._arm, at = graph, arm, arm.namespace.rstrip('/')
        self._name, self._at = arm.name, at
        self._vent = Vent(graph, at, 'pneumatic_driver')
        self._move = Goals(graph, MoveTip, f'{at}/move_tip')
        self._follow = Goals(graph, FollowPath, f'{at}/follow_path')
        self._solve = graph.service(SolveIK, f'{at}/solve_ik')
        self._publisher: Any = None
        self._by_hand_pa = dict.fromkeys(arm.robot.chambers, 0.0)
        self._target = TargetHandle(arm)
        self._velocity, self._payload_kg = 1.0, 0.0
        self._solving: tuple[float, Any, Any] | None = None  # time of the request, client, future
        self._reachable_m, self._preview = None, ('drag the target',)
        self._drawing, self._path_m, self._speed_m_s = False, list[np.ndarray](), 0.02
        graph.node.create_timer(COMMAND_PERIOD_S, self._send_by_hand)

    def controls(self) -> tuple[Control, ...]:
        """Return the present controls."""
        n, group = self._name, self._name
        moves, follows = self._move.reason, self._follow.reason
        if self._publisher is not None:
            moves = follows = 'pressures are set by hand: switch that off first'
        if not moves and self._reachable_m is None:
            moves = 'drag the target first, and wait for its preview'
        if not follows and len(self._path_m) < 2:
            follows = 'switch `Draw a path` on, and drag the target along it'
        path, low_high = f'{n} path', zip(*self._arm.robot.pressure_limits_pa * 1e-3, strict=True)
        return (
            *self._vent.controls(),
            self._target.control(),
            velocity_slider(n, self._velocity),
            Slider(
                name=f'{n}/payload',
                label='Payload at the tip',
                group=group,
                low=0.0,
                high=MAX_PAYLOAD_G,
                step=10.0,
                value=1e3 * self._payload_kg,
                unit='g',
            ),
            _button(f'{n}/move', 'Move to the target', group, moves),
            cancel_button(n, self._move, self._follow),
            Switch(name=f'{n}/draw', label='Draw a path', group=path, value=self._drawing),
            Slider(
                name=f'{n}/speed',
                label='Speed along the path',
                group=path,
                low=1.0,
                high=100.0,
                step=1.0,
                value=1e3 * self._speed_m_s,
                unit='mm/s',
            ),
            _button(f'{n}/follow', 'Follow the path', path, follows),
            Switch(
                name=f'{n}/by_hand',
                label='Set pressures by hand',
                group=f'{n} by hand',
                value=self._publisher is not None,
            ),
            *(
                Slider(
                    name=f'{n}/pressure/{chamber}',
                    label=chamber,
                    group=f'{n} by hand',
                    low=float(low),
                    high=float(high),
                    step=0.5,
                    value=1e-3 * self._by_hand_pa[chamber],
                    unit='kPa',
                    reason='' if self._publisher else 'switch `Set pressures by hand` on first',
                )
                for chamber, (low, high) in zip(self._arm.robot.chambers, low_high, strict=True)
            ),
        )

    def texts(self) -> tuple[TextBlock, ...]:
        """Return the description of the preview."""
        return (TextBlock(f'{self._name}: preview', tuple(self._preview)),)

    def command(self, name: str, value: Any) -> Answer | Awaitable[Answer]:
        """Execute a command."""
        if self._vent.owns(name):
            self._stop_by_hand()
            return self._vent.command(name)
        what = name.removeprefix(f'{self._name}/')
        if what.startswith('pressure/'):
            self._by_hand_pa[what.removeprefix('pressure/')] = 1e3 * value
            return Answer(True)
        return getattr(self, f'_{what}_asked')(value)

    def released(self) -> None:
        """Stop manual commands, so that the driver vents; a goal continues to its end."""
        self._stop_by_hand()

    def _target_asked(self, value: tuple[float, float, float]) -> Answer:
        point_m = self._target.drag(value)
        if self._drawing:
            self._draw(point_m)
        self._graph.post(self._solve_newest)
        return Answer(True)

    def _draw(self, point_m: np.ndarray) -> None:
        last_m = self._path_m[-1] if self._path_m else None
        if last_m is None or np.linalg.norm(point_m - last_m) >= PATH_STEP_M:
            self._path_m = [*self._path_m, point_m][-MAX_PATH_POINTS:]

    def _solve_newest(self) -> None:
        """Request solutions of the newest target, one request at a time."""
        target_m = self._target.point_m
        if self._solving and time.monotonic() - self._solving[0] > RESPONSE_TIMEOUT_S:
            _, client, future = self._solving
            client.remove_pending_request(future)  # the node has ended meanwhile
            self._solving = None
        if target_m is None or self._solving:
            return
        client = self._solve.client
        if client is None or not self._solve.offered:
            self._preview = ('solve_ik is not offered: inverse_kinematics does not run, or loads',)
            return
        request = SolveIK.Request(target=point_message(target_m), max_solutions=0)
        future = client.call_async(request)
        self._solving = time.monotonic(), client, future
        future.add_done_callback(lambda future: self._solved(target_m, future.result()))

    def _solved(self, target_m: np.ndarray, response: SolveIK.Response) -> None:
        self._solving = None
        if response.solutions:
            best = response.solutions[0]
            arcs = best.configuration
            self._arm.preview = self._arm.joints_of_arcs(arcs.theta_rad, arcs.phi_rad, arcs.ell_m)
            self._reachable_m, self._preview = target_m, _explained(response.solutions)
        else:
            nearest = response.nearest
            self._arm.preview = None
            outside = response.error_code == SolveIK.Response.OUTSIDE_WORKSPACE
            self._reachable_m = np.array([nearest.x, nearest.y, nearest.z]) if outside else None
            self._preview = (response.error_msg,)
        if self._target.point_m is not target_m:
            self._solve_newest()

    def _move_asked(self, _value: None) -> Answer:
        point_m = self._reachable_m
        goal = MoveTip.Goal(
            target=TipTarget(position=point_message(point_m)),
            max_velocity_scaling_factor=self._velocity,
            payload_kg=self._payload_kg,
        )
        return self._move.send(goal, f'move the tip to {point_text(point_m)}')

    def _velocity_asked(self, value: float) -> Answer:
        self._velocity = value / 100.0
        return Answer(True)

    def _payload_asked(self, value: float) -> Answer:
        self._payload_kg = 1e-3 * value
        return Answer(True)

    def _cancel_asked(self, _value: None) -> Answer:
        self._move.cancel()
        self._follow.cancel()
        return Answer(True, 'cancelling: the arm stops and holds the present pressures')

    def _draw_asked(self, value: bool) -> Answer:
        self._drawing = value
        if value:
            self._path_m = []
        return Answer(True, f'{len(self._path_m)} points')

    def _speed_asked(self, value: float) -> Answer:
        self._speed_m_s = 1e-3 * value
        return Answer(True)

    def _follow_asked(self, _value: None) -> Answer:
        steps_m = np.linalg.norm(np.diff(self._path_m, axis=0), axis=1)
        times_s = 1.0 + np.concatenate([[0.0], np.cumsum(steps_m)]) / self._speed_m_s
        waypoints = [TipTarget(position=point_message(p)) for p in self._path_m]
        goal = FollowPath.Goal(
            waypoints=waypoints, times_s=times_s.tolist(), payload_kg=self._payload_kg
        )
        return self._follow.send(goal, f'follow {len(waypoints)} points in {times_s[-1]:.1f} s')

    def _by_hand_asked(self, value: bool) -> Answer:
        if not value:
            self._stop_by_hand()
            return Answer(True, 'no more commands: the driver vents')
        if time.monotonic() - self._arm.command_received_s < SOURCE_TIMEOUT_S:
            who = self._arm.commander.partition(' ')[0]
            return Answer(False, f'{who} commands the arm: vent, then activate the driver')
        if self._arm.pressures_stamp is None:
            return Answer(False, 'no pressures are measured: configure and activate the driver')
        self._by_hand_pa = dict.fromkeys(self._arm.robot.chambers, 0.0)
        self._publisher = self._graph.node.create_publisher(
            ChamberPressures, f'{self._at}/pressure_command', qos.COMMAND
        )
        self._graph.event('warning', 'pressures are set by hand from now on', self._name)
        return Answer(True)

    def _stop_by_hand(self) -> None:
        publisher, self._publisher = self._publisher, None
        if publisher is not None:
            self._graph.post(lambda: self._graph.node.destroy_publisher(publisher))
            self._graph.event('info', 'no more pressures by hand: the driver vents', self._name)

    def _send_by_hand(self) -> None:
        publisher = self._publisher
        if publisher is not None:
            if time.monotonic() - self._graph.asked_s > SERVER_TIMEOUT_S:
                self._stop_by_hand()
                return
            publisher.publish(
                ChamberPressures(
                    # The driver's clock may be simulated or on another machine.
                    header=Header(stamp=self._arm.pressures_stamp),
                    names=list(self._by_hand_pa),
                    pressures_pa=list(self._by_hand_pa.values()),
                    source=f'{self._graph.node.get_fully_qualified_name()} {os.getpid()}',
                )
            )


def _explained(solutions: list) -> tuple[str, ...]:
    """Return an explanation of the best solution, and its pressures."""
    lines = [f'reachable: {len(solutions)} solutions; the best has the least penalty']
    for i, s in enumerate(solutions[:4]):
        lines.append(
            f'{i + 1}. penalty {s.score:.3f}: change of angle {s.score_angle_change:.3f}, '
            f'growth of bend {s.score_bend_growth:.3f}, stiffness {s.score_stiffness:.3f}'
        )
    pressures = zip(solutions[0].names, solutions[0].pressures_pa, strict=True)
    lines.append('pressures: ' + ', '.join(f'{n} {1e-3 * p:.1f} kPa' for n, p in pressures))
    return tuple(lines)


def _button(name: str, label: str, group: str, reason: str) -> Button:
    return Button(name=name, label=label, group=group, reason=reason)
