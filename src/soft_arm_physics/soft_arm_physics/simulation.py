"""Simulation of robots in a world: load, actuate, step, read.

sim = Simulation('two_module_arm')
sim.robot.actuate([40e3, 0, 0, 0, 0, 0])
sim.settle()
print(sim.robot.backbone_m())
"""

import copy
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from soft_arm_description.assembly import Assembly, as_assembly
from soft_arm_description.robot import Robot
from soft_arm_description.segments import MissingPhysicsError
from soft_arm_description.world import World, load_world
from soft_arm_physics.actuation.bellows import bellows_stiffness
from soft_arm_physics.actuation.drive import (
    RestBuilder,
    draw_mismatch,
    make_bellows,
    make_chambers,
    sensor_noise,
)
from soft_arm_physics.actuation.pneumatics import Pneumatics, load_pneumatics
from soft_arm_physics.actuation.stepping import advance
from soft_arm_physics.errors import PhysicsError, PhysicsWarning
from soft_arm_physics.model.checks import (
    body_name,
    check_overlaps,
    check_stability,
    divergence,
    slowest_mode_rad_s,
)
from soft_arm_physics.model.drag import make_drag
from soft_arm_physics.model.urdf import write_urdf
from soft_arm_physics.model.world import build, pose
from soft_arm_physics.simulated_robot import SimulatedRobot
from soft_arm_physics.state import State

RESTING_PA_S = 50.0
RESTING_M_S = 1e-5
MAX_STEP_S = 0.01


@dataclass(frozen=True, eq=False)
class Contact:
    """Two bodies that touch.

    Attributes:
        body_a, body_b: Names of bodies: objects, `ROBOT/SEGMENT_i`, `ground`.
        position_m: Point of contact in the world [m], (3,).
        normal: Unit vector from a to b in the world, (3,).
        force_n: Force of a on b in the world [N], (3,).
    """

    body_a: str
    body_b: str
    position_m: np.ndarray
    normal: np.ndarray
    force_n: np.ndarray


class Simulation:
    """Robots and what surrounds them, as one MuJoCo model.

    Args:
        robot: Robot or assembly, or the name or path of the file of one.
        world: World, or the name or path of a world file; None: gravity and nothing else.
        pneumatics: What lies between commands and pressures, or the name or path of a pneumatics
            file; None: pressures follow at once.
        seed: Draws the mismatch of the chambers and the sensors' noise. The same seed is the same
            robot.
        time_step_s: Time step [s].

    Attributes:
        robots: The robots by their names.
        state: MuJoCo's model and data with the arrays of the actuation.

    Raises:
        RobotFileError, AssemblyFileError, WorldFileError: If a file cannot be used.
        PhysicsError: If something that the simulation needs is missing, bodies overlap, or a spring
            is too stiff for the time step.
    """

    def __init__(
        self,
        robot: Robot | Assembly | str | Path,
        world: World | str | Path | None = None,
        pneumatics: Pneumatics | str | Path | None = None,
        seed: int = 0,
        time_step_s: float = 0.002,
    ):
        if not 0.0 < time_step_s <= MAX_STEP_S:
            raise PhysicsError(
                f'time_step_s {time_step_s} s must be greater than 0 and at most {MAX_STEP_S} s'
            )
        if world is None:
            world = World(schema_version=1, name='empty', description='')
        self.world = world if isinstance(world, World) else load_world(world)
        if pneumatics is None:
            pneumatics = Pneumatics()
        p = pneumatics if isinstance(pneumatics, Pneumatics) else load_pneumatics(pneumatics)
        try:
            assembly = as_assembly(robot)
            built = build(assembly, self.world, time_step_s)
            model = built.spec.compile()
        except (MissingPhysicsError, ValueError) as error:
            raise PhysicsError(' '.join(str(error).split())) from error
        self._spec, bodies = built.spec, built.robots
        self._mesh_files = {b.name: b.mesh for b in assembly.bodies if b.mesh is not None}
        data = mujoco.MjData(model)
        check_stability(model, data)
        check_overlaps(model, data)
        counts = [len(b.robot.chambers) for b in bodies]
        mismatches = [draw_mismatch(p, n, seed, i) for i, n in enumerate(counts)]
        rests = RestBuilder(model, sum(counts), p)
        self.robots = {
            b.name: SimulatedRobot(b, model, rests, sum(counts[:i]), mismatches[i], p)
            for i, b in enumerate(bodies)
        }
        self.state = State.of(
            model,
            data,
            make_chambers(bodies, p, mismatches),
            make_bellows(model, bodies, mismatches),
            rests.build(),
            make_drag(model, built.drag),
            rests.n_sources,
            {b.name: sensor_noise(seed, i) for i, b in enumerate(bodies)},
        )
        self._pending_s = 0.0
        self._loads: dict[tuple[str, int | str], np.ndarray] = {}
        self._use(self.state)
        for load in self.world.loads:
            self.apply_load(load.robot, load.section, load.force_n, load.torque_n_m)
        self._start = self.state.copy(), dict(self._loads)

    def _use(self, state: State) -> None:
        self.state = state
        for robot in self.robots.values():
            robot.state = state

    def copy(self) -> Self:
        """Return a simulation in the same state that goes on by itself."""
        other = copy.copy(self)
        other.robots = {name: copy.copy(robot) for name, robot in self.robots.items()}
        other._loads = dict(self._loads)
        other._use(self.state.copy())
        return other

    def reset(self) -> None:
        """Go back to the start: time 0, at rest, without pressure; loads as in the world file.

        Model and data stay the same objects; the sensors' noise begins again.
        """
        state, loads = self._start
        self.state.restore(state)
        self._loads, self._pending_s = dict(loads), 0.0

    @property
    def robot(self) -> SimulatedRobot:
        """The only robot.

        Raises:
            PhysicsError: If there are several.
        """
        if len(self.robots) != 1:
            names = ', '.join(self.robots)
            raise PhysicsError(f'there are {len(self.robots)} robots: use robots[NAME] of {names}')
        return next(iter(self.robots.values()))

    @property
    def model(self) -> mujoco.MjModel:
        """The compiled model, for a viewer or renderer."""
        return self.state.model

    @property
    def data(self) -> mujoco.MjData:
        """The present state of the model, for a viewer or renderer."""
        return self.state.data

    @property
    def time_s(self) -> float:
        """Simulated time [s]."""
        return float(self.data.time)

    def step(self, dt_s: float) -> None:
        """Advance by `dt_s` [s]; a rest shorter than a time step is added to the next call's.

        Raises:
            PhysicsError: If `dt_s` is negative or not finite, or the simulation diverges; it names
                the probable cause.
        """
        if not 0.0 <= dt_s < np.inf:
            raise PhysicsError(f'dt_s {dt_s} s: give a finite time of 0 s or more')
        time_step_s = self.model.opt.timestep
        self._pending_s += dt_s
        steps = int(self._pending_s / time_step_s + 1e-6)
        self._pending_s -= steps * time_step_s
        if advance(steps, *self.state.arguments()) < steps:
            raise self.diverged()

    def diverged(self) -> PhysicsError:
        """Return the error of a simulation that has diverged, with the probable cause."""
        cause = divergence(self.model)
        return PhysicsError(f'the simulation diverged at {self.time_s:.3f} s: {cause}')

    def settle(self, limit_s: float = 120.0, critical: bool = False) -> float:
        """Step until pressures, creep and the robots' joints are at rest.

        They are if they do not move for a quarter of the period of the slowest mode: at a turning
        point of a swing they are slow, too.

        Args:
            limit_s: Longest simulated time [s].
            critical: Damp the slowest mode of the springs critically meanwhile: the rest shape is
                found sooner, on another way.

        Returns:
            The simulated time this took [s].

        Raises:
            PhysicsError: If a robot still moves after `limit_s`.

        Warns:
            PhysicsWarning: If a bellows is at rest outside its length limits.
        """
        damping, bellows = self.model.dof_damping.copy(), self.state.bellows
        held = bellows_stiffness(bellows, self.model.nv)
        has_springs = bool(self.model.jnt_stiffness.any() or held.any())
        slowest_rad_s = slowest_mode_rad_s(self.model, held) if critical or has_springs else np.inf
        if critical:
            time_s = 2.0 / slowest_rad_s
            springs = np.array([self.model.jnt_stiffness[j] for j in self.model.dof_jntid])
            self.model.dof_damping[:] = np.maximum(damping, time_s * springs)
            damped_s = np.maximum(bellows.damping_time_s, time_s)
            self.state.bellows = bellows._replace(damping_time_s=damped_s)
        try:
            took_s = self._settle(limit_s, np.pi / 2.0 / slowest_rad_s)
        finally:
            self.model.dof_damping[:], self.state.bellows = damping, bellows
        for robot in self.robots.values():
            for line in robot.outside_limits():
                warnings.warn(line, PhysicsWarning, stacklevel=2)
        return took_s

    def _settle(self, limit_s: float, quarter_period_s: float) -> float:
        start, c, quiet_s = self.time_s, self.state.chambers, 0.0
        while self.time_s - start < limit_s:
            crept = c.crept_pa.copy()
            self.step(0.05)
            unsettled_pa = np.abs(c.target_pa - c.pressure_pa).max(initial=0.0)
            creep_pa_s = np.abs(c.crept_pa - crept).max(initial=0.0) / 0.05
            is_constant = max(unsettled_pa, creep_pa_s) < RESTING_PA_S
            is_quiet = is_constant and self._fastest() < RESTING_M_S
            quiet_s = quiet_s + 0.05 if is_quiet else 0.0
            if is_quiet and quiet_s >= quarter_period_s:
                return self.time_s - start
        raise PhysicsError(
            f'a robot still moves at {self._fastest():.2g} m/s or rad/s after {limit_s:g} s: '
            'increase limit_s, settle with critical damping, or increase damping_time_s in the '
            'robot file'
        )

    def _fastest(self) -> float:
        dofs = np.concatenate([robot.dofs for robot in self.robots.values()])
        return float(np.abs(self.data.qvel[dofs]).max(initial=0.0))

    def apply_load(
        self,
        robot: str,
        where: int | Literal['tip'],
        force_n: ArrayLike = (0.0, 0.0, 0.0),
        torque_n_m: ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        """Load a robot from now on; it replaces the load at this place.

        Args:
            robot: Its name.
            where: `tip`, or the number of a section, from 0 over all segments: its midpoint.
            force_n, torque_n_m: Force [N] and torque [N m] in the world, (3,) each.

        Raises:
            PhysicsError: If robot or section is unknown, or force or torque are not three finite
                numbers; the loads stay as they were.
        """
        if robot not in self.robots:
            raise PhysicsError(f'no robot {robot!r}: give one of {", ".join(self.robots)}')
        body, point = self.robots[robot].load_point(where)
        arm = point - self.model.body_ipos[body]
        wrench = np.concatenate([_vector('force_n', force_n), _vector('torque_n_m', torque_n_m)])
        key = robot, where if where == 'tip' else int(where)
        self._loads[key] = np.concatenate([[body], arm, wrench])
        self.state.set_loads(np.array(list(self._loads.values())))

    def contacts(self) -> list[Contact]:
        """Return what touches now, with forces."""
        model, data = self.model, self.data
        mujoco.mj_forward(model, data)
        found = []
        for i in range(data.ncon):
            contact, wrench = data.contact[i], np.zeros(6)
            mujoco.mj_contactForce(model, data, i, wrench)
            frame = contact.frame.reshape(3, 3)
            a, b = (body_name(model, geom) for geom in contact.geom)
            found.append(Contact(a, b, contact.pos.copy(), frame[0].copy(), wrench[:3] @ frame))
        return found

    def pose(self, name: str) -> np.ndarray:
        """Pose of an object or body in the world, (4, 4); PhysicsError if it is not there."""
        body = self._body(name)
        mujoco.mj_kinematics(self.model, self.data)
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = self.data.xmat[body].reshape(3, 3), self.data.xpos[body]
        return T

    def place(
        self, name: str, position_m: tuple[float, ...], rpy_deg: tuple[float, ...] = (0.0, 0.0, 0.0)
    ) -> None:
        """Put an object or body at a place in the world, at rest; a fixed one stays there.

        Raises:
            PhysicsError: If the body is unknown or part of a robot, or position or angles are not
                three finite numbers.
        """
        _vector('position_m', position_m), _vector('rpy_deg', rpy_deg)
        body, T = self._body(name), pose(position_m, rpy_deg)
        if '/' in name:
            raise PhysicsError(f'{name} is a part of a robot: place the body that carries it')
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, T[:3, :3].ravel())
        if self.model.body_jntnum[body] == 0:
            self.model.body_pos[body], self.model.body_quat[body] = T[:3, 3], quat
            return
        joint = self.model.body_jntadr[body]
        at, dof = self.model.jnt_qposadr[joint], self.model.jnt_dofadr[joint]
        self.data.qpos[at : at + 7] = np.concatenate([T[:3, 3], quat])
        self.data.qvel[dof : dof + 6] = 0.0

    def _body(self, name: str) -> int:
        body = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, name)
        if body < 0:
            names = [self.model.body(i).name for i in range(1, self.model.nbody)]
            objects = ', '.join(n for n in names if '/' not in n) or 'none'
            raise PhysicsError(f'no object {name!r} in this world: there are {objects}')
        return int(body)

    @property
    def spec(self) -> mujoco.MjSpec:
        """The model before it was compiled; copy it before a change."""
        return self._spec

    def to_mjcf(self) -> str:
        """Return the model as MJCF, without pressures, tendons, torques and drag."""
        return str(self._spec.to_xml())

    def to_urdf(self) -> str:
        """Return robots and the bodies that carry them as URDF, at the start pose.

        URDF has no key for springs: comments in the file give them, and say what else is left out.
        """
        objects = frozenset(item.name for item in self.world.objects)
        return write_urdf(self.model, '_'.join(self.robots), objects, self._mesh_files)


def _vector(what: str, given: ArrayLike) -> np.ndarray:
    """Return three finite numbers (3,), or raise PhysicsError."""
    try:
        vector = np.array(given, float)
    except (TypeError, ValueError):
        vector = np.empty(0)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise PhysicsError(f'{what} {given!r}: give three finite numbers, x, y and z')
    return vector
