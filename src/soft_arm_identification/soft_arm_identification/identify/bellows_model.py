"""Tip of an arm of bellows from its pressures, and its derivatives by the unknown parameters.

Pressures pass hysteresis and creep. The arm is a chain of arcs, PARTS of each segment, with point
masses, which rests where B^T A (p - f^-1(B a)) = dV/da as in `LoadedArm`, and swings about this
shape (`swing.py`). Derivatives are differences of a model that is linear in the arcs about the
shapes at the present parameters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_control.tip.arm_weight import ArmWeight
from soft_arm_description.robot import Robot
from soft_arm_identification.identify.bellows_chain import (
    BellowsChain,
    bellows_chain,
    divided,
    legendre_modes,
)
from soft_arm_identification.identify.pressures import (
    GRID_S,
    effective_pressures,
    on_grid,
    valve_response,
    valve_unknowns,
)
from soft_arm_identification.identify.swing import Course, Postures, Scales, course
from soft_arm_identification.identify.unknowns import (
    Unknown,
    arm_unknowns,
    bellows_segments,
    plays_of,
)
from soft_arm_identification.recording import Recording
from soft_arm_kinematics.arm import BellowsArm, check_bellows

PARTS, MODES = 6, 2  # arcs of a segment, and polynomials along it by which they change
ERROR_SHARE = 1e-3  # of the arm's length: least error of such a model
POSTURES = 150  # at which the swing is linearised
BATCH = 100  # shapes that are computed at once
MAX_STEPS, MAX_CHANGE, TOLERANCE = 20, 0.3, 1e-6  # of Newton's method [rad, m]


@dataclass(frozen=True)
class _Run:
    """A recording on the grid.

    Attributes:
        grid_s: Times of the grid [s], (g,).
        pressures_pa: Measured or commanded pressures on it, (g, n).
        times_s: Times of compared tips [s], (m,).
    """

    grid_s: np.ndarray
    pressures_pa: np.ndarray
    times_s: np.ndarray

    def at_tips(self, values: np.ndarray, delay_s: float) -> np.ndarray:
        """Interpolate values (g, ..) on the grid to the times of the tips less a delay."""
        place = (self.times_s - delay_s - self.grid_s[0]) / GRID_S
        below = np.clip(place.astype(int), 0, len(self.grid_s) - 2)
        share = np.clip(place - below, 0.0, 1.0)[:, None]
        return (1.0 - share) * values[below] + share * values[below + 1]


@dataclass
class _Shapes:
    """Rest shapes at all compared tips, at some parameters.

    Attributes:
        x: The parameters.
        arcs: (m, c).
        inverse: Inverse of the stiffness, (m, c, c).
        force: Remaining force on the arcs, (m, c).
        gradient, hessian: Of the potential of gravity, (m, c) and (m, c, c).
        tips: Poses of the tip in the base, (m, 4, 4).
        twists: Twists of the tip by the arcs, (m, 6, c).
    """

    x: np.ndarray
    arcs: np.ndarray
    inverse: np.ndarray
    force: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    tips: np.ndarray
    twists: np.ndarray


class BellowsModel:
    """Model of the tip in some recordings.

    Args:
        robot: Robot file with rough values.
        recordings: Recordings whose inputs are the robot's chambers [Pa].
        poses: Number of tips of all recordings that are compared.

    Attributes:
        commanded: Whether some pressures are known as commands only.
        pressure_range_pa: Lowest and highest pressure of each chamber, (2, n).
        times_s: Times of the compared tips of each recording.
        values, lengths, least_error: As `Model`; the values are tips [m].
    """

    def __init__(self, robot: Robot, recordings: Sequence[Recording], poses: int = 800):
        check_bellows(robot)
        self.robot, self._segments = robot, bellows_segments(robot)
        self.commanded = not all(len(r.measured.names) for r in recordings)
        self.least_error = ERROR_SHARE * sum(s.natural_length_m for s in self._segments)
        self._arm = BellowsArm(divided(robot, PARTS))
        modes = legendre_modes(len(self._segments), PARTS, MODES)
        self._weight = ArmWeight(self._arm, modes=modes)
        counts = [len(s.chambers) for s in self._segments]
        self._owner = np.repeat(range(len(counts)), [PARTS * count for count in counts])
        self._chambers = np.array(
            [robot.chambers.index(name) for s in self._segments for name in s.chambers * PARTS]
        )
        total = sum(int(np.isfinite(r.tip_m[:, 0]).sum()) for r in recordings)
        step = max(1, total // poses)
        self._runs, tips_m = [], []
        for recording in recordings:
            seen = np.flatnonzero(np.isfinite(recording.tip_m[:, 0]))[::step]
            self._runs.append(self._run(recording, seen))
            tips_m.append(recording.tip_m[seen])
        self.values = np.concatenate(tips_m)
        self.lengths = [len(tips) for tips in tips_m]
        every_pa = np.concatenate([run.pressures_pa for run in self._runs])
        self.pressure_range_pa = np.array([every_pa.min(axis=0), every_pa.max(axis=0)])
        half_pa = float(np.ptp(self.pressure_range_pa, axis=0).max()) / 2.0
        self.unknowns: list[Unknown] = arm_unknowns(robot, half_pa)
        if self.commanded:
            self.unknowns += valve_unknowns()
        self._places = {unknown.name: i for i, unknown in enumerate(self.unknowns)}
        self.times_s = [run.times_s for run in self._runs]
        self._shapes: _Shapes | None = None
        self._swing_at: tuple[Postures, list[Course], np.ndarray] | None = None

    def _run(self, recording: Recording, seen: np.ndarray) -> _Run:
        channels = recording.inputs if self.commanded else recording.measured
        on = on_grid(recording.time_s, channels, self.robot.chambers, held=self.commanded)
        return _Run(*on, recording.time_s[seen])

    def prepare(self, x: np.ndarray) -> None:
        """Linearise the swing about the shapes at parameters (k,), for all later predictions."""
        acting_pa = self._acting_pa(x)
        at = self._shapes_at(x, acting_pa)
        chosen = np.unique(np.linspace(0, len(at.arcs) - 1, POSTURES).astype(int))
        apart = (at.arcs[:, None] - at.arcs[chosen]) / (np.ptp(at.arcs, axis=0) + 1e-6)
        nearest = np.argmin(np.square(apart).sum(axis=2), axis=1)
        mass = self._weight.mass_matrix(
            self._weight.jacobians(self._weight.places(at.arcs[chosen], mixed=False))
        )
        postures = Postures(at.arcs[chosen], at.hessian[chosen], mass, self._chambers)
        bellows, scales, courses, first = self._bellows(x), self._scales(x), [], 0
        for run, p, length in zip(self._runs, acting_pa, self.lengths, strict=True):
            late_s = run.grid_s + self._value(x, 'tip_delay')
            tip = first + np.clip(np.searchsorted(run.times_s, late_s), 0, length - 1)
            near = at.arcs[tip], at.inverse[tip]
            courses.append(course(self._weight, postures, nearest[tip], bellows, scales, p, near))
            first += length
        self._swing_at = postures, courses, at.twists

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Return the tips [m] in the frame of the recordings, (m, 3), at parameters (k,)."""
        acting_pa = self._acting_pa(x)
        return self._tips_m(x, acting_pa, self._shapes_at(x, acting_pa))

    def _shapes_at(self, x: np.ndarray, acting_pa: list[np.ndarray]) -> _Shapes:
        if self._shapes is None or not np.array_equal(x, self._shapes.x):
            self._shapes = self._solved(x, acting_pa)
        return self._shapes

    def derivatives(self, x: np.ndarray) -> np.ndarray:
        """Return the derivatives of `predict` by the parameters, (m, 3, k)."""
        acting_pa = self._acting_pa(x)
        at = self._shapes_at(x, acting_pa)
        middle_m = self._tips_m(x, acting_pa, at)
        found = np.empty((*middle_m.shape, len(x)))
        for i, unknown in enumerate(self.unknowns):
            step = 1e-3 * unknown.spread
            if x[i] + 2.0 * step > unknown.high:
                step = -step
            changed = x.copy()
            changed[i] += step
            moved_m = self._tips_m(changed, self._acting_pa(changed), at)
            found[..., i] = (moved_m - middle_m) / step
        return found

    def states(self, x: np.ndarray) -> np.ndarray:
        """Return mean bends and lengths of the segments at the compared tips, (m, 3 segments)."""
        arcs = self._shapes_at(x, self._acting_pa(x)).arcs
        return arcs.reshape(len(arcs), -1, MODES, 3)[:, :, 0].reshape(len(arcs), -1)

    def _value(self, x: np.ndarray, name: str) -> float:
        return float(x[self._places[name]])

    def _acting_pa(self, x: np.ndarray) -> list[np.ndarray]:
        """Effective pressures [Pa] of each run, (g, n)."""
        plays = plays_of(partial(self._value, x))
        creep = self._value(x, 'creep_share'), self._value(x, 'creep_time_constant')
        found = []
        for run in self._runs:
            pressures_pa = run.pressures_pa
            if self.commanded:
                pressures_pa = valve_response(run.grid_s, pressures_pa, *x[-3:])
            found.append(effective_pressures(pressures_pa, *plays, *creep))
        return found

    def _bellows(self, x: np.ndarray) -> BellowsChain:
        matrix, owner = self._weight.matrix, self._owner
        value = partial(self._value, x)
        return bellows_chain(self.robot, matrix, owner, PARTS, MODES, value)

    def _scales(self, x: np.ndarray) -> Scales:
        bend, stretch = (self._value(x, f'{key}_damping_scale') for key in ('bend', 'stretch'))
        times_s = [[s.damping_time_s] * MODES for s in self._segments]
        damping_s = np.outer(np.concatenate(times_s), [bend, bend, stretch]).ravel()
        return Scales(self._value(x, 'frequency_scale'), damping_s)

    def _at_tips(self, x: np.ndarray, values: Sequence[np.ndarray]) -> np.ndarray:
        """Values (g, ..) of each run at all compared tips, (m, ..)."""
        delay_s = self._value(x, 'tip_delay')
        pairs = zip(self._runs, values, strict=True)
        return np.concatenate([run.at_tips(own, delay_s) for run, own in pairs])

    def _solved(self, x: np.ndarray, acting_pa: list[np.ndarray]) -> _Shapes:
        wanted_pa = self._at_tips(x, acting_pa)[:, self._chambers]
        if self._shapes is None:
            rest = np.concatenate(
                [
                    [0.0, 0.0, s.natural_length_m / PARTS, *[0.0] * (3 * MODES - 3)]
                    for s in self._segments
                ]
            )
            arcs = np.tile(rest, (len(wanted_pa), 1))
        else:
            arcs = self._shapes.arcs.copy()
        bellows = self._bellows(x)
        parts: list[tuple[np.ndarray, ...]] = []
        for first in range(0, len(arcs), BATCH):
            part = slice(first, first + BATCH)
            parts.append(self._settle(arcs[part], wanted_pa[part], bellows))
        return _Shapes(x.copy(), *(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _settle(
        self, arcs: np.ndarray, wanted_pa: np.ndarray, bellows: BellowsChain
    ) -> tuple[np.ndarray, ...]:
        """Newton's method for some shapes; return the columns of `_Shapes` without x."""
        for _ in range(MAX_STEPS):
            gradient, hessian = self._weight.gravity(self._weight.places(arcs))
            pressures_pa, slopes = bellows.pressures(arcs)
            force = (wanted_pa - pressures_pa) @ bellows.lever.T - gradient
            inverse = np.linalg.inv(bellows.stiffness(slopes) + hessian)
            change = (inverse @ force[:, :, None])[:, :, 0]
            largest = np.abs(change).max(axis=1, keepdims=True)
            if largest.max() < TOLERANCE:
                break
            arcs = arcs + change * np.minimum(1.0, MAX_CHANGE / np.maximum(largest, 1e-12))
        shape = self._arm.at(arcs @ self._weight.matrix.T)
        twists = shape.twist_jacobian @ self._weight.matrix
        return arcs, inverse, force, gradient, hessian, shape.tip_pose, twists

    def _tips_m(self, x: np.ndarray, acting_pa: list[np.ndarray], at: _Shapes) -> np.ndarray:
        """Tips [m] in the frame of the recordings, linear in the arcs about known shapes."""
        if self._swing_at is None:
            self.prepare(x)
        assert self._swing_at is not None
        postures, courses, swing_twists = self._swing_at
        bellows = self._bellows(x)
        wanted_pa = self._at_tips(x, acting_pa)[:, self._chambers]
        force = (wanted_pa - bellows.pressures(at.arcs)[0]) @ bellows.lever.T - at.gradient
        change = at.inverse @ (force - at.force)[:, :, None]
        linear = postures.linear(bellows, self._scales(x))
        swing = self._at_tips(
            x, [c.displacements(p, linear) for c, p in zip(courses, acting_pa, strict=True)]
        )
        twist = (at.twists @ change + swing_twists @ swing[:, :, None])[:, :, 0]
        offset_m = at.tips[:, :3, :3] @ [self._value(x, f'tip_{axis}') for axis in 'xyz']
        tips_m = at.tips[:, :3, 3] + offset_m + twist[:, :3] + np.cross(twist[:, 3:], offset_m)
        first = self._places['base_x']
        turn = Rotation.from_rotvec(x[first + 3 : first + 6]).as_matrix()
        return tips_m @ turn.T + x[first : first + 3]
