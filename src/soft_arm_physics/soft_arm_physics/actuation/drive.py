"""The actuation of all robots of a model as arrays for the stepping loop."""

from dataclasses import dataclass

import mujoco
import numpy as np

from soft_arm_description.robot import Robot
from soft_arm_description.segments import (
    BellowsSegment,
    Coordinate,
    ModalSegment,
    SingleBendSegment,
    TendonSegment,
    TorqueSegment,
)
from soft_arm_kinematics.calibration.curve_families import Exponential
from soft_arm_kinematics.calibration.pressure_length import fit_points
from soft_arm_physics.actuation.bellows import BellowsChain
from soft_arm_physics.actuation.chambers import Chambers
from soft_arm_physics.actuation.pneumatics import Pneumatics
from soft_arm_physics.actuation.rest_shape import Rests, section_bends
from soft_arm_physics.model.robot import RobotBodies

NEARLY_STRAIGHT_PER_PA = 1e-9
TABLE_STEPS = 1024  # of the inverse of a curve that is not an exponential


@dataclass(frozen=True)
class Mismatch:
    """Deviation of one robot's chambers from its files, drawn by a seed; arrays are (chambers,).

    Attributes:
        gain, offset_pa: Of the valve; of the regulator for supply where a chamber fills.
        sensor_offset_pa: Of the pressure sensor.
        length_gain, length_offset_m: Of the bellows' curves.
        vacuum_gain, vacuum_offset_pa: Of the regulator for vacuum.
        bends: Draws the curves of bending segments.
    """

    gain: np.ndarray
    offset_pa: np.ndarray
    sensor_offset_pa: np.ndarray
    length_gain: np.ndarray
    length_offset_m: np.ndarray
    vacuum_gain: np.ndarray
    vacuum_offset_pa: np.ndarray
    bends: np.random.Generator


def draw_mismatch(p: Pneumatics, n: int, seed: int, robot: int) -> Mismatch:
    """Draw the mismatch of the n chambers of a robot, which is the same for the same seed."""
    random = np.random.default_rng([seed, 0, robot])
    regulator = p.valve or p.filling
    gain_std = regulator.gain_std if regulator else 0.0
    offset_std_pa = regulator.offset_std_pa if regulator else 0.0
    return Mismatch(
        1.0 + gain_std * random.standard_normal(n),
        offset_std_pa * random.standard_normal(n),
        p.sensor.offset_std_pa * random.standard_normal(n),
        1.0 + p.bellows.length_gain_std * random.standard_normal(n),
        p.bellows.length_offset_std_m * random.standard_normal(n),
        1.0 + gain_std * random.standard_normal(n),
        offset_std_pa * random.standard_normal(n),
        random,
    )


def sensor_noise(seed: int, robot: int) -> np.random.Generator:
    """Return the generator of the noise of a robot's pressure sensors."""
    return np.random.default_rng([seed, 1, robot])


def coordinates_of(robot: Robot) -> tuple[Coordinate, ...]:
    """Return what drives a robot, in the order of its segments.

    Pressures [Pa] of the chambers, tensions [N] or theta, phi [rad] and ell [m] of tendons, torques
    [N m].
    """
    found: dict[str, Coordinate] = {}
    for segment in robot.segments:
        if isinstance(segment, BellowsSegment):
            limits = segment.actuators.pressure_limits_pa
            found |= {name: Coordinate(name, 'Pa', *limits) for name in segment.chambers}
        elif isinstance(segment, TendonSegment) and segment.tendons is not None:
            found |= {c.name: c for c in segment.tensions}
        else:
            found |= {c.name: c for c in segment.coordinates}
    return tuple(found.values())


def make_chambers(
    robots: list[RobotBodies], pneumatics: Pneumatics, mismatches: list[Mismatch]
) -> Chambers:
    """Return the chambers of all robots, at rest and at ambient pressure."""
    p, n = pneumatics, sum(len(r.robot.chambers) for r in robots)
    valve, filling, plays = p.valve, p.filling, len(p.hysteresis.weights)

    def all_of(value: float) -> np.ndarray:
        return np.full(n, value)

    return Chambers(
        # A chamber that fills is vented at first.
        target_pa=np.concatenate([m.offset_pa * (filling is None) for m in mismatches]),
        lag_s=all_of(valve.lag_s if valve else 0.0),
        rate_limit_pa_s=all_of(valve.rate_limit_pa_s if valve else 0.0),
        resistance_pa_s_m3=all_of(filling.vent_resistance_pa_s_m3 if filling else 0.0),
        volume_m3=all_of(filling.volume_m3 if filling else 0.0),
        volume_per_bend_m3_rad=all_of(filling.volume_per_bend_m3_rad if filling else 0.0),
        bend_rad=np.zeros(n),
        bend_rate_rad_s=np.zeros(n),
        thresholds_pa=np.tile(np.array(p.hysteresis.thresholds_pa, float), (n, 1)),
        weights=np.tile(np.array(p.hysteresis.weights, float), (n, 1)),
        creep_share=all_of(p.creep.share),
        creep_time_s=all_of(p.creep.time_constant_s),
        pressure_pa=np.zeros(n),
        play_pa=np.zeros((n, plays)),
        crept_pa=np.zeros(n),
        effective_pa=np.zeros(n),
    )


def make_bellows(
    model: mujoco.MjModel, robots: list[RobotBodies], mismatches: list[Mismatch]
) -> BellowsChain:
    """Return the bellows of all robots."""
    curves, tables, layout, chambers = [], [], [], []
    segments: list[tuple[str, BellowsSegment]] = []
    first = 0
    for bodies, mismatch in zip(robots, mismatches, strict=True):
        names = bodies.robot.chambers
        for segment in bodies.robot.segments:
            if isinstance(segment, BellowsSegment):
                segments.append((bodies.prefix + segment.name, segment))
                own = [names.index(name) for name in segment.chambers]
                chambers += [first + k for k in own]
                curve, table = _curves(segment, mismatch, own)
                curves.append(curve)
                tables.append(table)
                a = segment.actuators
                layout += [
                    (a.effective_area_m2, a.centre_radius_m, np.cos(angle), np.sin(angle))
                    for angle in a.angles_rad
                ]
        first += len(names)

    def addresses(joint: str, extra: int) -> np.ndarray:
        return _addresses(
            model,
            [f'{name}_{joint}_{i}' for name, s in segments for i in range(s.sections + extra)],
        )

    cells = np.array([s.sections for _, s in segments], dtype=np.int64)
    rest_m, span_m, scale_pa = np.concatenate([*curves, np.zeros((3, 0))], axis=1)
    area_m2, radius_m, cosine, sine = np.array(layout).reshape(-1, 4).T.copy()
    return BellowsChain(
        chamber=np.array(chambers, dtype=np.int64),
        rest_m=rest_m,
        span_m=span_m,
        scale_pa=scale_pa,
        table_pa=np.concatenate([*tables, np.zeros((0, TABLE_STEPS + 1))]),
        area_m2=area_m2,
        radius_m=radius_m,
        cosine=cosine,
        sine=sine,
        cells=cells,
        rest_length_m=np.array([s.natural_length_m for _, s in segments]),
        damping_time_s=np.array([s.damping_time_s for _, s in segments]),
        bellows_start=_starts([len(s.actuators.names) for _, s in segments]),
        slide_start=_starts(cells + 1),
        hinge_start=_starts(cells),
        slide_dof=addresses('slide', 1),
        hinge_x_dof=addresses('x', 0),
        hinge_y_dof=addresses('y', 0),
    )


def _curves(
    segment: BellowsSegment, mismatch: Mismatch, own: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return rest, span and scale (3, n) and tables (n, steps + 1) of a segment's bellows.

    A bellows has a table where its curve is not an exponential: `BellowsChain`.
    """
    curve = fit_points(segment.name, segment.actuators.curve).curve
    offset_m, gain = mismatch.length_offset_m[own], mismatch.length_gain[own]
    if isinstance(curve, Exponential):
        growth = curve.growth_per_pa
        if abs(growth) < NEARLY_STRAIGHT_PER_PA:
            growth = NEARLY_STRAIGHT_PER_PA
        numbers = (
            curve.value_0 + offset_m,
            curve.slope_0 / growth * gain,
            np.full(len(own), 1.0 / growth),
        )
        return np.stack(numbers), np.full((len(own), TABLE_STEPS + 1), np.nan)
    rest_m = float(curve.values(np.zeros(1))[0])
    limits_pa = np.array(segment.actuators.curve.pressure_pa)[[0, -1]]
    shortest_m, longest_m = curve.values(limits_pa)
    lengths_m = np.linspace(shortest_m, longest_m, TABLE_STEPS + 1)
    table_pa = curve.pressures(lengths_m, limits_pa)
    table_pa[[0, -1]] = limits_pa
    low_m = rest_m + offset_m + gain * (lengths_m[0] - rest_m)
    step_m = gain * (lengths_m[1] - lengths_m[0])
    return np.stack([low_m, step_m, np.zeros(len(own))]), np.tile(table_pa, (len(own), 1))


def _starts(counts: np.ndarray | list[int]) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def _addresses(model: mujoco.MjModel, joints: list[str]) -> np.ndarray:
    return np.array([model.joint(name).dofadr[0] for name in joints], dtype=np.int64)


class RestBuilder:
    """Collects the rest positions of all joints that a pressure, motor or torque moves.

    Args:
        model: The compiled model.
        first_source: Number of chambers; other sources follow.
        pneumatics: The spread of the bends' curves.
    """

    def __init__(self, model: mujoco.MjModel, first_source: int, pneumatics: Pneumatics):
        self._model, self._spread = model, pneumatics.bends
        self.n_sources = first_source
        self._dof: list[int] = []
        self._numbers: list[tuple[int, float, float, float]] = []
        self._coefficients: list[np.ndarray] = []

    def add_bends(
        self,
        prefix: str,
        segment: SingleBendSegment | ModalSegment,
        chamber: int,
        random: np.random.Generator,
    ) -> None:
        """Let the effective pressure of a chamber bend a segment."""
        bends = section_bends(segment)
        spread = self._spread
        bends = bends * (1.0 + spread.coefficient_std * random.standard_normal(bends.shape[1]))
        bends[:, 0] += spread.rest_std_rad * random.standard_normal() / segment.sections
        unit = segment.pressure_unit_pa
        for i, row in enumerate(bends):
            for letter, share in (('x', np.cos(segment.phi_rad)), ('y', np.sin(segment.phi_rad))):
                self._add(f'{prefix}{segment.name}_{letter}_{i}', chamber, unit, row * share, share)

    def add_tendons(self, prefix: str, segment: TendonSegment) -> int:
        """Let bend towards x, bend towards y and extension set a segment; return their first."""
        first, n = self.n_sources, segment.sections
        self.n_sources += 3
        row = np.array([0.0, 1.0 / n])
        for i in range(n):
            for k, joint in enumerate(('x', 'y', 'slide')):
                self._add(f'{prefix}{segment.name}_{joint}_{i}', first + k, 1.0, row, 0.0)
        return first

    def add_tensions(self, prefix: str, segments: list[TendonSegment]) -> int:
        """Let two bending moments [N m] and a push [N] act on segments; return their first."""
        first = self.n_sources
        self.n_sources += 3
        row = np.array([0.0, 1.0])
        for segment in segments:
            for i in range(segment.sections):
                for k, joint in enumerate(('x', 'y', 'slide')):
                    name = f'{prefix}{segment.name}_{joint}_{i}'
                    self._add(name, first + k, 1.0, row, 0.0, stiffness=1.0)
        return first

    def add_torques(self, prefix: str, segment: TorqueSegment) -> int:
        """Let one torque act on all hinges of a kind; return the first torque's source."""
        first = self.n_sources
        actuated = list(dict.fromkeys(h.name for h in segment.hinges if h.actuated))
        self.n_sources += len(actuated)
        for i, hinge in enumerate(segment.section_hinges):
            if hinge.actuated:
                source = first + actuated.index(hinge.name)
                name = f'{prefix}{segment.name}_{hinge.name}_{i}'
                self._add(name, source, 1.0, np.array([0.0, 1.0]), 0.0, stiffness=1.0)
        return first

    def _add(
        self,
        joint: str,
        source: int,
        unit: float,
        row: np.ndarray,
        share: float,
        stiffness: float | None = None,
    ) -> None:
        at = self._model.joint(joint)
        k = float(np.ravel(at.stiffness)[0]) if stiffness is None else stiffness
        self._dof.append(at.dofadr[0])
        self._numbers.append((source, unit, k, share))
        self._coefficients.append(row)

    def build(self) -> Rests:
        """Return everything that was added."""
        n, w = len(self._dof), max([1, *(len(row) for row in self._coefficients)])
        coefficients = np.zeros((n, w))
        for i, row in enumerate(self._coefficients):
            coefficients[i, : len(row)] = row
        numbers = np.array(self._numbers).reshape(n, 4)
        source, unit, stiffness, share = numbers.T.copy()
        return Rests(
            np.array(self._dof, dtype=np.int64),
            source.astype(np.int64),
            unit,
            coefficients,
            stiffness,
            share,
        )
