"""Sections of constant curvature, bent and lengthened by effective inputs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from soft_arm_identification.arm_sections import ArmSections
from soft_arm_identification.errors import RecordingError
from soft_arm_identification.models.arcs import arcs_to, ends_of, linear_fit, transform
from soft_arm_identification.models.memory import THRESHOLDS, delayed, effect
from soft_arm_identification.models.model import Parameter, Scaling, with_offset
from soft_arm_identification.recording import Recording
from soft_arm_kinematics.segments.pcc import arc_transforms

SAMPLES = 1200  # of all recordings that the fit uses
ROUNDS, EVALUATIONS = 4, 30  # of fits of the arm, each after the starts of the recordings
PRIOR = 0.01  # weight of the distance from the first guess
OUTLIER = 0.1  # position error above which a sample counts less, in lengths of the arm
LONGEST_S = 1.0  # dead time
POSE_ERROR, START = 0.01, 0.5  # expected: error of the first pose, in lengths; place in the loops


@dataclass(frozen=True)
class _Block:
    """Some of the parameters: names, units, first guess, bounds, expected distance from it."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    guess: np.ndarray
    low: np.ndarray
    high: np.ndarray
    spread: np.ndarray


@dataclass
class _Run:
    """A recording as the model sees it.

    Attributes:
        times_s: Shape (n,).
        inputs: Scaled inputs, shape (n, k).
        ends_m: Ends of the sections, NaN where they are not known, shape (n, s, 3).
        start: Place of each input in its loop at the first sample, shape (k,).
    """

    times_s: np.ndarray
    inputs: np.ndarray
    ends_m: np.ndarray
    start: np.ndarray


@dataclass(frozen=True)
class Shape:
    """The arm at some samples.

    Attributes:
        base: Pose of the base, shape (4, 4).
        arcs: Arcs of the sections, shape (s, n, 3).
        rest: Arcs without inputs, shape (s, 3).
        rigid_m: Lengths of the rigid links after the arcs [m], shape (s,).
    """

    base: np.ndarray
    arcs: np.ndarray
    rest: np.ndarray
    rigid_m: np.ndarray

    @property
    def ends_m(self) -> np.ndarray:
        """Ends of the sections [m], shape (n, s, 3)."""
        poses = np.tile(self.base, (self.arcs.shape[1], 1, 1))
        ends_m = np.empty((len(poses), len(self.arcs), 3))
        for place, (arcs, rigid_m) in enumerate(zip(self.arcs, self.rigid_m, strict=True)):
            poses = poses @ arc_transforms(arcs)
            poses[:, :3, 3] += rigid_m * poses[:, :3, 2]
            ends_m[:, place] = poses[:, :3, 3]
        return ends_m


class ConstantCurvature:
    """Arcs whose bending vectors and lengths are linear in the effective inputs of their section.

    arc_i = rest_i + G_i (y_i + square y_i^2), with arcs (u_x, u_y, ell) as in
    `soft_arm_kinematics.segments.pcc`. Without memory, y is the input. With it, each input is mixed
    with the mean of its section's inputs (chambers of one section stretch each other), and passes
    hysteresis, creep and lag (`memory.effect`), whose parameters all sections share. The state of
    the hysteresis at the first sample is the one that explains the first pose best. Commanded
    inputs act after a dead time; measured ones, such as the pressure in a chamber, have none.

    Args:
        arm: Sections and their inputs.
        memory: Whether inputs have hysteresis, creep and lag.
    """

    def __init__(self, arm: ArmSections, memory: bool):
        self._arm, self._memory = arm, memory

    def fit(self, recordings: Sequence[Recording]) -> None:
        """Fit base, sections and memory to the ends of the sections; see `Model.fit`."""
        self._scaling = Scaling.of(self._arm, recordings)
        self._columns = [
            [self._scaling.place(name) for name in section.inputs or self._scaling.names]
            for section in self._arm.sections
        ]
        self._length_m = recordings[0].length_m or 1.0
        self._has_dead_time = (
            self._memory and not self._arm.at_rest and not self._arm.is_measured(recordings[0])
        )
        step = max(1, sum(len(r.time_s) for r in recordings) // SAMPLES)
        runs = [self._run(recording, step) for recording in recordings]
        known = [np.isfinite(run.ends_m) for run in runs]
        self._blocks = self._guess(runs)
        guess, low, high, spread = (
            np.concatenate([getattr(block, name) for block in self._blocks])
            for name in ('guess', 'low', 'high', 'spread')
        )
        weight = PRIOR * np.sqrt(sum(part.sum() for part in known)) / spread

        def residuals(x: np.ndarray) -> np.ndarray:
            errors_m = [
                (self._ends_m(x, run) - run.ends_m)[part]
                for run, part in zip(runs, known, strict=True)
            ]
            scaled = np.concatenate(errors_m) / (OUTLIER * self._length_m)
            return np.concatenate([scaled, weight * (x - guess)])

        self._x = np.clip(guess, low, high)
        for _ in range(ROUNDS if self._memory else 1):
            for run in runs if self._memory else ():
                run.start = self._start(run)
            self._x = least_squares(
                residuals, self._x, bounds=(low, high), loss='soft_l1', max_nfev=EVALUATIONS
            ).x

    def predict(self, recording: Recording, horizon: int | None = None) -> np.ndarray:
        """Predict the tip; see `Model.predict`."""
        run = self._started(recording)
        return with_offset(self._ends_m(self._x, run)[:, -1], recording.tip_m, horizon)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The fitted parameters; gains are per largest input of the fit."""
        names = [name for block in self._blocks for name in block.names]
        units = [unit for block in self._blocks for unit in block.units]
        return {
            name: Parameter(float(value), unit)
            for name, value, unit in zip(names, self._x, units, strict=True)
        }

    def shape(self, recording: Recording) -> Shape:
        """Return base and sections in a free run; see `Model.predict`."""
        return self._shape(self._x, self._started(recording))

    def _started(self, recording: Recording) -> _Run:
        """Return a run whose loops begin where they explain the first pose best."""
        run = self._run(recording, 1)
        if self._memory:
            run.start = self._start(run)
        return run

    def _run(self, recording: Recording, step: int) -> _Run:
        inputs = self._scaling.inputs(self._arm, recording)
        ends_m = ends_of(self._arm, recording)
        start = np.zeros(inputs.shape[1])
        return _Run(recording.time_s[::step], inputs[::step], ends_m[::step], start)

    def _guess(self, runs: Sequence[_Run]) -> list[_Block]:
        """First guess: base from the arm, sections by linear regression of observed arcs."""
        inputs = np.concatenate([run.inputs for run in runs])
        ends_m = np.concatenate([run.ends_m for run in runs])
        turn, base_m = self._base(inputs, ends_m[:, -1])
        blocks = [
            _block('base', ['rad'] * 3 + ['m'] * 3, np.r_[turn, base_m], [3.0] * 3 + [0.3] * 3)
        ]
        poses = np.tile(transform(turn, base_m), (len(inputs), 1, 1))
        for place, columns in enumerate(self._columns):
            is_seen = np.isfinite(ends_m[:, place]).any()
            arcs = arcs_to(poses, ends_m[:, place if is_seen else -1])
            rest, gains = linear_fit(inputs[:, columns], arcs)
            if not is_seen:  # an equal part of the arc to the tip
                rest, gains = (part / (len(self._columns) - place) for part in (rest, gains))
            poses = poses @ arc_transforms(rest + inputs[:, columns] @ gains.T)
            blocks.append(self._section_block(f'section_{place + 1}', rest, gains))
        blocks.append(_block('square', ['1'], np.zeros(1), [10.0], [-0.45], [3.0]))
        if self._memory:
            count = len(THRESHOLDS)
            names = ['coupling', 'rising', 'falling', 'creep_share', 'creep']
            names += [f'weight_{j + 1}' for j in range(count)]
            guess = np.r_[0.0, 0.1, 0.1, 0.1, 5.0, np.full(count, 1 / count)]
            spread = [10.0, 30.0, 30.0, 10.0, 300.0] + [10.0] * count
            low = [-0.5, 1e-3, 1e-3, 0.0, 1.0] + [1e-3] * count
            high = [8.0, 5.0, 10.0, 0.6, 60.0] + [1.0] * count
            units = ['1', 's', 's', '1', 's'] + ['1'] * count
            blocks.append(_block('memory', units, guess, spread, low, high, names))
        if self._has_dead_time:
            blocks.append(_block('dead_time', ['s'], np.zeros(1), [10.0], [0.0], [LONGEST_S]))
        return blocks

    def _base(self, inputs: np.ndarray, tips_m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rotation vector and position of the base."""
        base_m, axis = np.array(self._arm.base_m), self._arm.axis
        if axis is None:
            known = np.isfinite(tips_m[:, 0])
            size = np.where(known, np.linalg.norm(inputs, axis=1), np.inf)
            axis = np.median(tips_m[size <= np.quantile(size[known], 0.05)], axis=0) - base_m
        return Rotation.align_vectors([axis], [[0.0, 0.0, 1.0]])[0].as_rotvec(), base_m

    def _section_block(self, name: str, rest: np.ndarray, gains: np.ndarray) -> _Block:
        k = gains.shape[1]
        axes = ('u_x', 'u_y', 'ell')
        names = [f'rest_{axis}' for axis in axes]
        names += [f'gain_{axis}_{j + 1}' for axis in axes for j in range(k)] + ['rigid']
        units = ['rad', 'rad', 'm'] + ['rad'] * (2 * k) + ['m'] * (k + 1)
        spread = [3.0, 3.0, 0.3] + [3.0] * (2 * k) + [0.3] * (k + 1)
        low = np.r_[[-np.pi] * 2, 1e-3, np.full(3 * k, -np.inf), -0.5 * self._length_m]
        high = np.r_[[np.pi] * 2, np.full(3 * k + 1, np.inf), 0.5 * self._length_m]
        return _block(name, units, np.r_[rest, gains.ravel(), 0.0], spread, low, high, names)

    def _start(self, run: _Run) -> np.ndarray:
        """Return the places of the inputs in their loops that explain the first pose best."""
        seen = np.flatnonzero(np.isfinite(run.ends_m[:, -1, 0]))
        if not len(seen):
            raise RecordingError('the tip is lost in all samples: leave the recording out')
        part = slice(seen[0], seen[0] + 1)
        first = _Run(run.times_s[part], run.inputs[part], run.ends_m[part], run.start)
        known = np.isfinite(first.ends_m)

        def residuals(start: np.ndarray) -> np.ndarray:
            first.start = start
            errors_m = (self._ends_m(self._x, first) - first.ends_m)[known]
            return np.concatenate([errors_m / (POSE_ERROR * self._length_m), start / START])

        return least_squares(residuals, np.zeros(len(run.start)), bounds=(-1.0, 1.0)).x

    def _shape(self, x: np.ndarray, run: _Run) -> Shape:
        sizes = np.cumsum([len(block.guess) for block in self._blocks])[:-1]
        base, *parts = np.split(x, sizes)
        sections, rest = parts[: len(self._columns)], parts[len(self._columns) :]
        square = rest[0][0]
        inputs = run.inputs
        if self._has_dead_time:
            inputs = delayed(run.times_s, inputs, rest[-1][0])
        arcs = np.empty((len(sections), len(run.times_s), 3))
        for place, (section, columns) in enumerate(zip(sections, self._columns, strict=True)):
            acting = inputs[:, columns]
            if self._memory:
                acting = _effective(rest[1], run.times_s, acting, run.start[columns])
            gains = section[3:-1].reshape(3, -1)
            arcs[place] = section[:3] + (acting + square * acting**2) @ gains.T
        return Shape(
            transform(base[:3], base[3:]),
            arcs,
            np.array([section[:3] for section in sections]),
            np.array([section[-1] for section in sections]),
        )

    def _ends_m(self, x: np.ndarray, run: _Run) -> np.ndarray:
        """Ends of the sections [m], shape (n, s, 3)."""
        return self._shape(x, run).ends_m


def _block(
    name: str,
    units: list[str],
    guess: np.ndarray,
    spread: Sequence[float],
    low: Sequence[float] | np.ndarray | None = None,
    high: Sequence[float] | np.ndarray | None = None,
    names: list[str] | None = None,
) -> _Block:
    """Make a block of parameters called NAME.., unbounded by default."""
    count = len(guess)
    names = [f'{name}.{part}' for part in names or range(1, count + 1)] if count > 1 else [name]
    return _Block(
        tuple(names),
        tuple(units),
        guess,
        np.array(low if low is not None else [-np.inf] * count),
        np.array(high if high is not None else [np.inf] * count),
        np.array(spread),
    )


def _effective(
    memory: np.ndarray, times_s: np.ndarray, inputs: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """Effective inputs (n, k) of one section."""
    coupling, rising_s, falling_s, creep_share, creep_s = memory[:5]
    weights = memory[5:] / memory[5:].sum()
    mean = inputs.mean(axis=1, keepdims=True)
    driving = (inputs + coupling * mean) / (1.0 + coupling)
    return effect(times_s, driving, weights, start, rising_s, falling_s, creep_share, creep_s)


def static(arm: ArmSections) -> ConstantCurvature:
    """Constant curvature without memory."""
    return ConstantCurvature(arm, memory=False)


def with_memory(arm: ArmSections) -> ConstantCurvature:
    """Constant curvature with hysteresis, creep and lag."""
    return ConstantCurvature(arm, memory=True)
