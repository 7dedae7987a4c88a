"""Motion of the emulated IRB 120: synchronised joint moves at the data-sheet speeds."""

import math
import time
from collections.abc import Callable

import numpy as np

from abb_rws_emulator.controller import irb120

HOME_RAD = np.deg2rad([0.0, 0.0, 0.0, 0.0, 30.0, 0.0])


class Robot:
    """Joint angles as a function of time during the last move.

    Speed is constant, without acceleration; the slowest axis moves at its limit times the speed
    ratio.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._start_rad, self._goal_rad = HOME_RAD.copy(), HOME_RAD.copy()
        self._began_s, self._duration_s = clock(), 0.0

    @property
    def joints_rad(self) -> np.ndarray:
        """Current joint angles [rad], shape (6,)."""
        done = (
            1.0
            if self._duration_s == 0.0
            else min(1.0, (self._clock() - self._began_s) / self._duration_s)
        )
        return self._start_rad + done * (self._goal_rad - self._start_rad)

    @property
    def arrived(self) -> bool:
        """True if the last move has ended."""
        return self._clock() >= self._began_s + self._duration_s

    def move_to(self, goal_rad: np.ndarray, speed_ratio: float) -> None:
        """Start a move from the current joint angles.

        At ratio 0 the robot holds until the ratio is changed.
        """
        now_rad = self.joints_rad
        self._start_rad, self._goal_rad = now_rad, np.asarray(goal_rad, dtype=float)
        self._began_s = self._clock()
        fastest_s = float(np.max(np.abs(self._goal_rad - now_rad) / irb120.SPEED_RAD_S))
        if fastest_s == 0.0:
            self._duration_s = 0.0
        else:
            self._duration_s = fastest_s / speed_ratio if speed_ratio > 0.0 else math.inf

    def change_speed(self, speed_ratio: float) -> None:
        """Continue the move at a different speed ratio."""
        self.move_to(self._goal_rad, speed_ratio)

    def halt(self) -> None:
        """Stop at the current joint angles."""
        self.place(self.joints_rad)

    def place(self, joints_rad: np.ndarray) -> None:
        """Set the joint angles [rad] instantly."""
        self._start_rad = self._goal_rad = np.asarray(joints_rad, dtype=float)
        self._began_s, self._duration_s = self._clock(), 0.0

    def jointtarget(self, prefix: str = 'rax_') -> dict[str, str]:
        """Return the joint angles as the controller formats them [deg]."""
        return {
            f'{prefix}{i}': _text(math.degrees(q)) for i, q in enumerate(self.joints_rad, start=1)
        }

    def robtarget(self) -> dict[str, str]:
        """Return the pose of tool0 in the base frame [mm], quaternion w x y z."""
        pose = irb120.tool_pose(self.joints_rad)
        values = [*(1000.0 * pose[:3, 3]), *irb120.quaternion(pose[:3, :3])]
        return dict(zip(('x', 'y', 'z', 'q1', 'q2', 'q3', 'q4'), map(_text, values), strict=True))

    def configuration(self) -> dict[str, str]:
        """Return the quadrants of axes 1, 4 and 6."""
        quadrants = np.floor(self.joints_rad / (math.pi / 2)).astype(int)
        return {
            'cf1': str(quadrants[0]),
            'cf4': str(quadrants[3]),
            'cf6': str(quadrants[5]),
            'cfx': '0',
        }


def _text(value: float) -> str:
    return f'{value:.6g}' if abs(value) > 1e-9 else '0'
