"""A chain of rigid bodies in MuJoCo, with fitted stiffness, damping, gravity and gains."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import mujoco
import numpy as np
from mujoco import rollout
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from soft_arm_identification.arm_sections import ArmSections
from soft_arm_identification.models.arcs import ends_of
from soft_arm_identification.models.constant_curvature import OUTLIER, ConstantCurvature, Shape
from soft_arm_identification.models.model import Parameter, with_offset
from soft_arm_identification.recording import Recording

ELEMENTS = 3  # bodies of a section
DOFS = 5  # of a body: slide along its parent, ball joint, slide along itself
AXIAL = 400.0  # E A L^2 / (E I) of a round rod whose radius is a tenth of its length
SHORTEST = 0.2  # section, in mean lengths of all
STEP_S, CHUNK = 0.005, 4000  # step of the simulation; steps of one call
WINDOW_S, WARM_UP_S, WINDOWS = 5.0, 1.0, 10  # parts of the recordings that the fit simulates
POSES = 300  # of all recordings, whose sag is compensated, and at rest that the fit uses
SWEEPS, SETTLED = 100, 1e-9  # limits of the iteration for an equilibrium [rad, m]
PRIOR, EVALUATIONS = 0.03, 20  # weight of a parameter at its bound, in errors of OUTLIER
STARTS_HZ, STARTS_S = (0.5, 1.0, 2.0, 4.0, 8.0), (0.01, 0.05, 0.3)  # frequency, retardation


@dataclass(frozen=True)
class _Window:
    """Part of a recording.

    Attributes:
        times_s: Times from the first sample of the warm-up [s], shape (n,).
        arcs: Arcs without mass and gravity, shape (s, n, 3).
        ends_m: Ends of the sections, NaN where they do not count, shape (n, s, 3).
    """

    times_s: np.ndarray
    arcs: np.ndarray
    ends_m: np.ndarray


class MujocoChain:
    """Bodies in series whose springs are driven to the arcs of `ConstantCurvature`.

    Each section is `ELEMENTS` bodies, each with its mass at the middle of its part of the arc, a
    ball joint there, and a slide before and after it. Joints have stiffness, and damping in
    proportion to it (Kelvin-Voigt). Forces of the joints are linear in the arcs of a fitted
    `ConstantCurvature`, so that the chain without gravity rests on exactly these arcs. Fitted are
    frequency, retardation, sag, and stiffness and gain of the sections. As the gains were fitted
    with gravity acting, the part of the sag that is linear in the arcs of its section is taken off
    the forces. The arm has 1 kg: only ratios of force and mass can be identified.

    Args:
        arm: Sections and their inputs.
    """

    def __init__(self, arm: ArmSections):
        self._arm, self._shapes = arm, ConstantCurvature(arm, memory=False)

    def fit(self, recordings: Sequence[Recording]) -> None:
        """Fit arcs, then stiffness, damping, gravity and gains; see `Model.fit`."""
        self._shapes.fit(recordings)
        shapes = [self._shapes.shape(recording) for recording in recordings]
        self._build(shapes)
        windows = self._windows(recordings, shapes)
        known = [np.isfinite(window.ends_m) for window in windows]
        count = len(self._arm.sections)
        guess = np.r_[np.log([3.0, 0.1]), np.zeros(3 + count - 1), np.ones(count)]
        far = np.r_[np.log([10.0, 25.0]), np.ones(3), np.full(count - 1, np.log(4.0))]
        far = np.r_[far, np.full(count, 0.5)]
        weight = PRIOR * np.sqrt(sum(part.sum() for part in known)) / far
        scale = OUTLIER * (recordings[0].length_m or 1.0)

        def residuals(x: np.ndarray) -> np.ndarray:
            self._set(x)
            errors_m = [
                (self._ends_m(window.times_s, window.arcs) - window.ends_m)[part]
                for window, part in zip(windows, known, strict=True)
            ]
            return np.concatenate([np.concatenate(errors_m) / scale, weight * (x - guess)])

        starts = [np.r_[np.log(start), guess[2:]] for start in product(STARTS_HZ, STARTS_S)]
        if self._arm.at_rest:  # frequency and retardation have no effect
            starts = [guess]
        self._x = least_squares(
            residuals,
            min(starts, key=lambda x: np.abs(residuals(x)).sum()),
            bounds=(guess - far, guess + far),
            x_scale=far,
            loss='soft_l1',
            max_nfev=EVALUATIONS,
        ).x
        self._set(self._x)

    def predict(self, recording: Recording, horizon: int | None = None) -> np.ndarray:
        """Predict the tip; see `Model.predict`."""
        ends_m = self._ends_m(recording.time_s, self._shapes.shape(recording).arcs)
        return with_offset(ends_m[:, -1], recording.tip_m, horizon)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The fitted parameters of `ConstantCurvature` and of the chain.

        frequency: First natural frequency, were all sections as stiff as the first one.
        retardation: Damping over stiffness.
        sag: Angle of the tip if the arm were held across gravity, along each axis.
        """
        count = len(self._arm.sections)
        names = ['frequency', 'retardation', 'sag_x', 'sag_y', 'sag_z']
        names += [f'section_{i}.stiffness' for i in range(2, count + 1)]
        names += [f'section_{i}.gain' for i in range(1, count + 1)]
        values = [*np.exp(self._x[:2]), *self._x[2:5], *np.exp(self._x[5:-count])]
        found = zip(names, [*values, *self._x[-count:]], strict=True)
        units = {'frequency': 'Hz', 'retardation': 's', **dict.fromkeys(names[2:5], 'rad')}
        return self._shapes.parameters | {
            f'chain.{name}': Parameter(float(value), units.get(name, '1')) for name, value in found
        }

    def _build(self, shapes: Sequence[Shape]) -> None:
        """Make the model of an arm of these shapes."""
        shape, arcs = shapes[0], np.concatenate([shape.arcs for shape in shapes], axis=1)
        self._poses = arcs[:, :: max(1, arcs.shape[1] // POSES)]
        lengths_m = arcs[..., 2].mean(axis=1)
        self._rest = shape.rest[:, None]
        self._element_m = lengths_m / ELEMENTS
        whole_m = lengths_m + shape.rigid_m  # where a rigid link is fitted, only the sum is certain
        whole_m = np.maximum(whole_m, SHORTEST * whole_m.mean())
        self._size_m, self._length_m = whole_m / ELEMENTS, whole_m.sum()
        spec = mujoco.MjSpec()
        spec.option.timestep = STEP_S
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        quat = Rotation.from_matrix(shape.base[:3, :3]).as_quat(scalar_first=True)
        body = spec.worldbody.add_body(pos=shape.base[:3, 3], quat=quat)
        at_m, slide = 0.0, mujoco.mjtJoint.mjJNT_SLIDE
        for place, element_m in enumerate(self._element_m):
            size_m = self._size_m[place]
            mass = size_m / self._length_m
            for _ in range(ELEMENTS):
                body = body.add_body(pos=[0.0, 0.0, at_m + element_m / 2], mass=mass)
                body.ipos = [0.0, 0.0, 0.0]  # MuJoCo's default is pos
                body.inertia, body.explicitinertial = [mass * size_m**2 / 12] * 3, True
                stretched = mass / 12  # without it, the slides of a straight body are singular
                body.add_joint(type=slide, axis=[0.0, 0.0, 1.0], armature=stretched)
                body.add_joint(type=mujoco.mjtJoint.mjJNT_BALL)
                body.add_joint(type=slide, axis=[0.0, 0.0, 1.0], armature=stretched)
                at_m = element_m / 2
            at_m += shape.rigid_m[place]
            body.add_site(name=f'end_{place}', pos=[0.0, 0.0, at_m])
            spec.add_sensor(
                type=mujoco.mjtSensor.mjSENS_FRAMEPOS,
                objtype=mujoco.mjtObj.mjOBJ_SITE,
                objname=f'end_{place}',
            )
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)

    def _windows(self, recordings: Sequence[Recording], shapes: list[Shape]) -> list[_Window]:
        """Choose parts of equal distance in all recordings; at rest, poses."""
        step = max(1, sum(len(recording.time_s) for recording in recordings) // POSES)
        found = []
        for recording, shape in zip(recordings, shapes, strict=True):
            times_s, ends_m = recording.time_s, ends_of(self._arm, recording)
            if self._arm.at_rest:
                found.append(_Window(times_s[::step], shape.arcs[:, ::step], ends_m[::step]))
                continue
            for from_s in np.arange(times_s[0], times_s[-1] + STEP_S, WINDOW_S):
                counts = (times_s >= from_s) & (times_s < from_s + WINDOW_S)
                part = (times_s >= from_s - WARM_UP_S) & (times_s < from_s + WINDOW_S)
                ends = np.where(counts[:, None, None], ends_m, np.nan)
                if counts.any():
                    found.append(_Window(times_s[part], shape.arcs[:, part], ends[part]))
        return found if self._arm.at_rest else found[:: -(-len(found) // WINDOWS)]

    def _set(self, x: np.ndarray) -> None:
        """Set stiffness, damping, gravity and gains."""
        count = len(self._arm.sections)
        frequency_hz, retardation_s = np.exp(x[:2])
        # uniform cantilever of 1 kg: f = 3.516 / (2 pi) sqrt(EI / L^3), tip angle g L^2 / (6 EI)
        bending = self._length_m**3 * (2 * np.pi * frequency_hz / 3.516) ** 2  # EI [N m^2]
        self._model.opt.gravity = 6 * bending / self._length_m**2 * x[2:5]
        stiffness = bending * np.exp(np.r_[0.0, x[5:-count]]) / self._size_m
        slide = 2 * AXIAL * stiffness / self._length_m**2
        ball = np.column_stack([slide, stiffness, slide])
        self._model.jnt_stiffness = np.repeat(ball, ELEMENTS, axis=0).ravel()
        self._stiffness = self._model.jnt_stiffness[self._model.dof_jntid]
        self._model.dof_damping = retardation_s * self._stiffness
        self._gain, self._sag = x[-count:, None, None], np.zeros((count, 4, 3))
        design = np.ones((count, self._poses.shape[1], 4))
        design[..., 1:] = self._scaled(self._poses)
        forces = [self._weight(joints) for joints in self._joints(self._poses)]
        sags = (forces / self._stiffness).reshape(-1, count, ELEMENTS, DOFS).sum(axis=2)
        sags = np.stack([sags[..., 2], -sags[..., 1], sags[..., 0] + sags[..., 4]], axis=-1)
        for place in range(count):
            self._sag[place] = np.linalg.lstsq(design[place], sags[:, place], rcond=1e-6)[0]

    def _scaled(self, arcs: np.ndarray) -> np.ndarray:
        """Arcs (s, n, 3) with the gains of the sections."""
        return self._rest + self._gain * (arcs - self._rest)

    def _joints(self, arcs: np.ndarray) -> np.ndarray:
        """Joint coordinates (n, dofs) [m, rad] at which the springs rest, from arcs (s, n, 3)."""
        arcs = self._scaled(arcs)
        arcs = arcs - self._sag[:, :1] - arcs @ self._sag[:, 1:]
        bend = arcs[..., :2] / ELEMENTS
        half = np.clip(np.hypot(*np.moveaxis(bend, -1, 0)) / 2, 1e-9, 1.2)
        # two tangents instead of the arc
        slide_m = (arcs[..., 2] / ELEMENTS * np.tan(half) / half - self._element_m[:, None]) / 2
        joints = np.stack(
            [slide_m, -bend[..., 1], bend[..., 0], np.zeros_like(slide_m), slide_m], axis=-1
        )
        return np.repeat(np.swapaxes(joints, 0, 1), ELEMENTS, axis=1).reshape(arcs.shape[1], -1)

    def _weight(self, joints: np.ndarray) -> np.ndarray:
        """Generalised forces of gravity (dofs,) at joint coordinates (dofs,)."""
        mujoco.mj_resetData(self._model, self._data)
        mujoco.mj_integratePos(self._model, self._data.qpos, joints, 1.0)
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        force = np.empty(self._model.nv)
        mujoco.mj_rne(self._model, self._data, 0, force)
        return -force

    def _settle(self, target: np.ndarray, joints: np.ndarray) -> np.ndarray:
        """Equilibrium (dofs,) of springs that rest at a target, sought from other coordinates."""
        for _ in range(SWEEPS):
            change = target + self._weight(joints) / self._stiffness - joints
            joints = joints + 0.5 * change
            if np.abs(change).max() < SETTLED:
                break
        return joints

    def _ends_m(self, times_s: np.ndarray, arcs: np.ndarray) -> np.ndarray:
        """Ends of the sections [m] (n, s, 3), from rest or, where the arm is so, always at rest."""
        targets = self._joints(arcs)
        now = self._settle(targets[0], targets[0])
        if self._arm.at_rest:
            ends_m = np.empty((len(targets), len(arcs), 3))
            for target, ends in zip(targets, ends_m, strict=True):
                now = self._settle(target, now)
                self._weight(now)
                ends[:] = self._data.site_xpos
            return ends_m
        self._weight(now)  # leaves the data at rest there
        grid_s = np.arange(times_s[0], times_s[-1] + STEP_S, STEP_S)
        forces = np.column_stack([np.interp(grid_s, times_s, x) for x in targets.T])
        forces *= self._stiffness
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        state = np.empty(mujoco.mj_stateSize(self._model, kind))
        mujoco.mj_getState(self._model, self._data, state, kind)
        found = []
        for first in range(0, len(grid_s), CHUNK):
            states, sensed = rollout.rollout(
                self._model,
                self._data,
                state,
                forces[None, first : first + CHUNK],
                control_spec=mujoco.mjtState.mjSTATE_QFRC_APPLIED,
            )
            state = states[0, -1]
            found.append(sensed[0])
        sensed = np.concatenate(found)
        ends_m = np.column_stack([np.interp(times_s, grid_s, x) for x in sensed.T])
        return ends_m.reshape(len(times_s), -1, 3)
