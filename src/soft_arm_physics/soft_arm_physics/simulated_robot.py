"""One robot of a simulation: what drives it, and what can be read of it."""

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from soft_arm_description.segments import (
    ModalSegment,
    SingleBendSegment,
    TendonSegment,
    TorqueSegment,
)
from soft_arm_physics.actuation.drive import Mismatch, RestBuilder, coordinates_of
from soft_arm_physics.actuation.pneumatics import Pneumatics
from soft_arm_physics.errors import PhysicsError
from soft_arm_physics.model.robot import RobotBodies
from soft_arm_physics.state import State

LIMIT_TOLERANCE = 1e-9  # of a coordinate's range: rounding at a limit is not refused


class SimulatedRobot:
    """A robot in a simulation, made by `Simulation`.

    Attributes:
        name: Its name in the simulation.
        robot: The robot file.
        state: The state of the simulation.
        actuation: Coordinates that drive it, in the order of `actuate`: pressures [Pa] of chambers,
            theta, phi [rad] and ell [m] of tendons, torques [N m].
    """

    state: State

    def __init__(
        self,
        bodies: RobotBodies,
        model: mujoco.MjModel,
        rests: RestBuilder,
        first_chamber: int,
        mismatch: Mismatch,
        pneumatics: Pneumatics,
    ):
        self.name, self.robot, self.prefix = bodies.name, bodies.robot, bodies.prefix
        self.actuation = coordinates_of(bodies.robot)
        self._mismatch, self._pneumatics = mismatch, pneumatics
        self._own = slice(first_chamber, first_chamber + len(self.robot.chambers))
        self._base = model.body(f'{self.prefix}base').id
        self._tip = model.site(f'{self.prefix}tip').id
        names = [model.body(i).name for i in range(model.nbody)]
        own = [i for i, name in enumerate(names) if name.startswith(self.prefix)]
        joints = np.flatnonzero(np.isin(model.jnt_bodyid, own))
        self.dofs, self._places = model.jnt_dofadr[joints], model.jnt_qposadr[joints]
        self._points = _backbone_points(bodies, model)
        self._sections = [
            model.body(f'{self.prefix}{s.name}_{i}').id
            for s in self.robot.segments
            for i in range(s.sections)
        ]
        self._low = np.array([c.low for c in self.actuation])
        self._high = np.array([c.high for c in self.actuation])
        self._pressures: list[tuple[int, int]] = []  # coordinate, chamber of this robot
        self._tendons: list[tuple[int, int, float]] = []  # coordinate, source, natural length
        self._torques: list[tuple[int, int]] = []  # coordinate, source
        self._connect(rests, first_chamber)

    def _connect(self, rests: RestBuilder, first_chamber: int) -> None:
        columns = {c.name: i for i, c in enumerate(self.actuation)}
        chambers = self.robot.chambers
        self._pressures = [(columns[name], k) for k, name in enumerate(chambers)]
        for segment in self.robot.segments:
            if isinstance(segment, (SingleBendSegment, ModalSegment)):
                chamber = first_chamber + chambers.index(segment.chamber)
                rests.add_bends(self.prefix, segment, chamber, self._mismatch.bends)
            elif isinstance(segment, TendonSegment):
                source = rests.add_tendons(self.prefix, segment)
                column = columns[segment.actuation[0].name]
                self._tendons.append((column, source, segment.natural_length_m))
            elif isinstance(segment, TorqueSegment):
                source = rests.add_torques(self.prefix, segment)
                for k, coordinate in enumerate(segment.actuation):
                    self._torques.append((columns[coordinate.name], source + k))

    @property
    def rest_actuation(self) -> np.ndarray:
        """Actuation (n,) without pressure, bend and torque, at the natural length."""
        rest = np.zeros(len(self.actuation))
        for column, _, length_m in self._tendons:
            rest[column + 2] = length_m
        return rest

    def actuate(self, values: ArrayLike) -> np.ndarray:
        """Set the actuation; the robot follows as time is stepped.

        Args:
            values: One value for each coordinate of `actuation`, in its unit, shape (n,).

        Returns:
            The values.

        Raises:
            PhysicsError: If there are too many or too few, or one is outside its limits; nothing is
                set then.
        """
        given = self._checked(values)
        mismatch = self._mismatch
        for column, k in self._pressures:
            target = given[column] * mismatch.gain[k] + mismatch.offset_pa[k]
            self.state.chambers.target_pa[self._own][k] = target
        for column, source, length_m in self._tendons:
            theta, phi, ell = given[column : column + 3]
            self.state.sources[source : source + 3] = (
                theta * np.cos(phi),
                theta * np.sin(phi),
                ell - length_m,
            )
        for column, source in self._torques:
            self.state.sources[source] = given[column]
        return given

    def clip(self, values: ArrayLike) -> np.ndarray:
        """Return values, shape (n,), held at their limits, as valves do; raises as `actuate`."""
        given = self._numbers(values)
        if not np.isfinite(given).all():
            raise PhysicsError(f'actuation of {self.name} holds {given}: give finite values')
        return np.clip(given, self._low, self._high)

    def _checked(self, values: ArrayLike) -> np.ndarray:
        given = self._numbers(values)
        slack = LIMIT_TOLERANCE * (self._high - self._low)
        bad = ~((given >= self._low - slack) & (given <= self._high + slack))
        if bad.any():
            i = int(np.argmax(bad))
            c = self.actuation[i]
            raise PhysicsError(
                f'{c.name} of {self.name}: {given[i]:.7g} {c.unit} is outside {c.low:.7g}..'
                f'{c.high:.7g} {c.unit}; give a value inside the limits of the robot file'
            )
        return given

    def _numbers(self, values: ArrayLike) -> np.ndarray:
        n = len(self.actuation)
        names = ', '.join(f'{c.name} [{c.unit}]' for c in self.actuation[:6])
        names += ', ..' if n > 6 else ''
        try:
            given = np.array(values, float)
        except (TypeError, ValueError) as error:
            raise PhysicsError(
                f'actuation of {self.name} holds no numbers ({error}): give {n} values of {names}'
            ) from error
        if given.shape != (n,):
            raise PhysicsError(
                f'actuation of {self.name} has shape {given.shape}: give {n} values of {names}'
            )
        return given

    @property
    def pressures_pa(self) -> np.ndarray:
        """True pressures of the chambers [Pa] gauge, shape (chambers,)."""
        return self.state.chambers.pressure_pa[self._own].copy()

    def sensor_pressures_pa(self) -> np.ndarray:
        """Return what the pressure sensors read now [Pa] gauge, shape (chambers,)."""
        n = len(self.robot.chambers)
        rms_pa = self._pneumatics.sensor.noise_rms_pa
        noise = rms_pa * self._mismatch.noise.standard_normal(n)
        return self.state.chambers.pressure_pa[self._own] + self._mismatch.sensor_offset_pa + noise

    def joint_positions(self) -> np.ndarray:
        """Joint positions [rad, m], shape (n,), in the order of the chain (see `model.chain`)."""
        return self.state.data.qpos[self._places]

    def joint_velocities(self) -> np.ndarray:
        """Joint velocities [rad/s, m/s], shape (n,), in the same order."""
        return self.state.data.qvel[self.dofs]

    def T_world_tip(self) -> np.ndarray:  # noqa: N802  # house style: T_world_tip is a pose
        """Pose of the tip in the world, shape (4, 4)."""
        mujoco.mj_kinematics(self.state.model, self.state.data)
        return _pose(self.state.data.site_xpos[self._tip], self.state.data.site_xmat[self._tip])

    def T_world_base(self) -> np.ndarray:  # noqa: N802
        """Pose of the base in the world, shape (4, 4)."""
        mujoco.mj_kinematics(self.state.model, self.state.data)
        return _pose(self.state.data.xpos[self._base], self.state.data.xmat[self._base])

    def T_base_tip(self) -> np.ndarray:  # noqa: N802
        """Pose of the tip in the base, shape (4, 4)."""
        return np.linalg.inv(self.T_world_base()) @ self.T_world_tip()

    def backbone_m(self) -> np.ndarray:
        """Points of the centre line in the world [m], shape (n, 3), base to tip.

        They are the sections' ends, where the chain touches the curve that it stands for.
        """
        mujoco.mj_kinematics(self.state.model, self.state.data)
        first, second, along_m = self._points
        axes = self.state.data.xmat.reshape(-1, 3, 3)[first, :, 2]
        points = 0.5 * (self.state.data.xpos[first] + self.state.data.xpos[second])
        return points + along_m[:, None] * axes

    def base_wrench(self) -> np.ndarray:
        """Force [N] and torque [N m] of the mount on the robot at its base, (6,), in the world.

        It holds weight, inertia, buoyancy, loads and contacts, but no drag of a medium.
        """
        model, data = self.state.model, self.state.data
        mujoco.mj_forward(model, data)
        mujoco.mj_rnePostConstraint(model, data)
        torque, force = data.cfrc_int[self._base].reshape(2, 3).copy()
        origin = data.xpos[self._base]
        torque += np.cross(data.subtree_com[model.body_rootid[self._base]] - origin, force)
        lift = -model.body_gravcomp * model.body_mass  # MuJoCo's wrench leaves buoyancy out
        for body in np.flatnonzero(lift):
            if self._carries(int(body)):
                buoyancy = lift[body] * model.opt.gravity
                force -= buoyancy
                torque -= np.cross(data.xipos[body] - origin, buoyancy)
        return np.concatenate([force, torque])

    def load_point(self, where: int | str) -> tuple[int, np.ndarray]:
        """Body and point on it (3,) [m] of a load; see `Simulation.apply_load`."""
        if where == 'tip':
            model = self.state.model
            return int(model.site_bodyid[self._tip]), model.site_pos[self._tip]
        if not isinstance(where, int) or not 0 <= where < len(self._sections):
            raise PhysicsError(
                f'section {where!r} of {self.name}: give `tip` or 0..{len(self._sections) - 1}'
            )
        return self._sections[where], np.zeros(3)

    def _carries(self, body: int) -> bool:
        while body > self._base:
            body = self.state.model.body_parentid[body]
        return body == self._base


def _pose(position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation.reshape(3, 3), position
    return T


def _backbone_points(
    bodies: RobotBodies, model: mujoco.MjModel
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pairs of bodies between which points of the backbone lie, and their offsets."""
    before, offset_m = model.body(f'{bodies.prefix}base').id, 0.0
    found = [(before, before, 0.0)]
    for segment in bodies.robot.segments:
        ids = [
            model.body(f'{bodies.prefix}{segment.name}_{i}').id for i in range(segment.sections + 1)
        ]
        found += [(a, b, 0.0) for a, b in zip(ids[:-2], ids[1:-1], strict=True)]
        before, offset_m = ids[-1], segment.rigid_length_m
        found.append((before, before, 0.0))
        if offset_m > 0.0:
            found.append((before, before, offset_m))
    first, second, along_m = zip(*found, strict=True)
    return np.array(first), np.array(second), np.array(along_m)
