"""Joystick control of tendon segments: sticks set the rates of bends and lengths."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soft_arm_control.errors import ControlError
from soft_arm_description.robot import Robot
from soft_arm_description.segments import TendonSegment

NONE = -1


@dataclass(frozen=True)
class SegmentBinding:
    """Axes and button of a joystick that move one segment.

    Attributes:
        segment: Name of the segment.
        x_axis, y_axis: Axes of its bend towards x and y.
        length_axis: Axis of its length; -1: none.
        button: Button that must be held; -1: none.
    """

    segment: str
    x_axis: int
    y_axis: int
    length_axis: int = NONE
    button: int = NONE


class Joystick:
    """Move segments by a joystick, within their limits.

    Args:
        robots: Robots with the segments.
        bindings: Axes and button of each segment.
        bend_rate_rad_s, length_rate_m_s: Rates at a full stick.
        dead_zone: Deflection below which a stick rests, 0 to 1.

    Raises:
        ControlError: If a segment is unknown, has no tendons, or is bound twice.
    """

    def __init__(
        self,
        robots: Sequence[Robot],
        bindings: Sequence[SegmentBinding],
        bend_rate_rad_s: float,
        length_rate_m_s: float,
        dead_zone: float,
    ):
        segments = {s.name: s for r in robots for s in r.segments if isinstance(s, TendonSegment)}
        for binding in bindings:
            if binding.segment not in segments:
                raise ControlError(
                    f'segment {binding.segment!r} is not known or has no tendons: give some of '
                    f'{", ".join(segments)}'
                )
        if len({binding.segment for binding in bindings}) < len(bindings):
            raise ControlError('a segment is given twice: give each one once')
        self._segments, self._bindings = segments, tuple(bindings)
        self._rates = np.array([bend_rate_rad_s, bend_rate_rad_s, length_rate_m_s])
        self._dead_zone = dead_zone
        self._bends = {
            g.segment: np.array([0.0, 0.0, np.mean(segments[g.segment].length_limits_m)])
            for g in bindings
        }

    def follow(self, segment: str, theta_rad: float, phi_rad: float, ell_m: float) -> None:
        """Continue from an arc that another node commands."""
        arc = theta_rad * np.cos(phi_rad), theta_rad * np.sin(phi_rad), ell_m
        if segment in self._bends and np.isfinite(arc).all():
            self._bends[segment] = np.array(arc)

    def move(
        self, axes: Sequence[float], buttons: Sequence[int], period_s: float
    ) -> list[tuple[str, float, float, float]]:
        """Move the segments for a period [s].

        Returns:
            Name, bend [rad], direction [rad] and length [m] of each segment that a stick moves.

        Raises:
            ControlError: If the joystick lacks an axis or button, or an axis is not finite;
                nothing is moved then.
        """
        deflections = [self._deflection(binding, axes, buttons) for binding in self._bindings]
        moved = []
        for binding, deflection in zip(self._bindings, deflections, strict=True):
            if not deflection.any():
                continue
            x, y, ell = self._bends[binding.segment] + period_s * self._rates * deflection
            segment = self._segments[binding.segment]
            limit_rad = np.radians(min(map(abs, segment.theta_limits_deg)))
            theta = np.hypot(x, y)
            shrink = min(1.0, limit_rad / theta) if theta > 0.0 else 1.0
            ell = np.clip(ell, *segment.length_limits_m)
            self._bends[binding.segment] = np.array([shrink * x, shrink * y, ell])
            moved.append(
                (binding.segment, float(shrink * theta), float(np.arctan2(y, x)), float(ell))
            )
        return moved

    def _deflection(
        self, binding: SegmentBinding, axes: Sequence[float], buttons: Sequence[int]
    ) -> np.ndarray:
        if binding.button != NONE:
            if binding.button >= len(buttons):
                raise ControlError(
                    f'the joystick has {len(buttons)} buttons, {binding.segment} is moved with '
                    f'button {binding.button}: correct the parameter `buttons`'
                )
            if not buttons[binding.button]:
                return np.zeros(3)
        found = np.zeros(3)
        for i, axis in enumerate((binding.x_axis, binding.y_axis, binding.length_axis)):
            if axis == NONE:
                continue
            if axis >= len(axes):
                raise ControlError(
                    f'the joystick has {len(axes)} axes, {binding.segment} is moved with axis '
                    f'{axis}: correct the parameters `x_axes`, `y_axes` and `length_axes`'
                )
            if not abs(axes[axis]) <= 1.0 + 1e-6:
                raise ControlError(f'axis {axis} is {axes[axis]}: an axis is within -1..1')
            found[i] = axes[axis] if abs(axes[axis]) > self._dead_zone else 0.0
        return found
