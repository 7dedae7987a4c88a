"""One robot of a simulation: what drives it, and what can be read of it."""

from numbers import Integral

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from soft_arm_description.segments import (
    BellowsSegment,
    ModalSegment,
    SingleBendSegment,
    TendonSegment,
    TorqueSegment,
)
from soft_arm_physics.actuation.bellows import bellows_lengths
from soft_arm_physics.actuation.drive import Mismatch, RestBuilder, coordinates_of
from soft_arm_physics.actuation.pneumatics import Pneumatics
from soft_arm_physics.errors import PhysicsError
from soft_arm_physics.model.robot import RobotBodies
from soft_arm_physics.state import State

LENGTH_MARGIN = 0.1  # of the range of a bellows: gravity and mismatch take it that far past a limit
LIMIT_TOLERANCE = 1e-9  # of a coordinate's range: rounding at a limit is not refused


class SimulatedRobot:
    """A robot in a simulation, made by `Simulation`.

    Attributes:
        name: Its name in the simulation.
        robot: The robot file.
        state: The state of the simulation.
        coordinates: Inputs u that drive it, in the order of `actuate`: pressures [Pa] of chambers,
            tensions [N] or theta, phi [rad] and ell [m] of tendons, torques [N m].
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
        self.coordinates = coordinates_of(bodies.robot)
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
        self._low = np.array([c.low for c in self.coordinates])
        self._high = np.array([c.high for c in self.coordinates])
        self._pressures: list[tuple[int, int]] = []  # coordinate, chamber of this robot
        self._tendons: list[tuple[int, int, float]] = []  # coordinate, source, natural length
        # First coordinate and source; moments [N m] and push [N] per tension, (3, n).
        self._tensions: list[tuple[int, int, np.ndarray]] = []
        self._torques: list[tuple[int, int]] = []  # coordinate, source
        self._connect(rests, first_chamber)

    def _connect(self, rests: RestBuilder, first_chamber: int) -> None:
        columns = {c.name: i for i, c in enumerate(self.coordinates)}
        chambers = self.robot.chambers
        self._pressures = [(columns[name], k) for k, name in enumerate(chambers)]
        for segment in self.robot.segments:
            if isinstance(segment, (SingleBendSegment, ModalSegment)):
                chamber = first_chamber + chambers.index(segment.chamber)
                rests.add_bends(self.prefix, segment, chamber, self._mismatch.bends)
            elif isinstance(segment, TendonSegment) and segment.tendons is not None:
                source = rests.add_tensions(self.prefix, self._passed_by_tendons(segment))
                angles_rad = np.deg2rad(segment.tendons.angles_deg)
                arms_m = segment.tendons.radius_m * np.array(
                    [np.cos(angles_rad), np.sin(angles_rad)]
                )
                effects = np.vstack([arms_m, -np.ones(len(angles_rad))])
                self._tensions.append((columns[segment.tensions[0].name], source, effects))
            elif isinstance(segment, TendonSegment):
                source = rests.add_tendons(self.prefix, segment)
                column = columns[segment.coordinates[0].name]
                self._tendons.append((column, source, segment.natural_length_m))
            elif isinstance(segment, TorqueSegment):
                source = rests.add_torques(self.prefix, segment)
                for k, coordinate in enumerate(segment.coordinates):
                    self._torques.append((columns[coordinate.name], source + k))

    def _passed_by_tendons(self, last: TendonSegment) -> list[TendonSegment]:
        before = self.robot.segments[: self.robot.segments.index(last) + 1]
        return [s for s in before if isinstance(s, TendonSegment)]

    @property
    def rest_u(self) -> np.ndarray:
        """Inputs u (n,) without pressure, bend and torque, at the natural length."""
        rest = np.zeros(len(self.coordinates))
        for column, _, length_m in self._tendons:
            rest[column + 2] = length_m
        return rest

    def actuate(self, u: ArrayLike) -> np.ndarray:
        """Set the inputs u; the robot follows as time is stepped.

        Args:
            u: One value for each of `coordinates`, in its unit, shape (n,).

        Returns:
            The values.

        Raises:
            PhysicsError: If there are too many or too few, or one is outside its limits; nothing is
                set then.
        """
        given = self._checked(u)
        pressures_pa = given[[column for column, _ in self._pressures]]
        if self._pneumatics.filling is not None:
            supply_pa, vacuum_pa = np.maximum(pressures_pa, 0.0), np.minimum(pressures_pa, 0.0)
            self.open_valves(supply_pa, vacuum_pa, pressures_pa > 0.0, pressures_pa < 0.0)
        else:
            mismatch, target_pa = self._mismatch, self.state.chambers.target_pa
            target_pa[self._own] = pressures_pa * mismatch.gain + mismatch.offset_pa
        for column, source, length_m in self._tendons:
            theta, phi, ell = given[column : column + 3]
            self.state.sources[source : source + 3] = (
                theta * np.cos(phi),
                theta * np.sin(phi),
                ell - length_m,
            )
        for column, source, effects in self._tensions:
            tensions_n = given[column : column + effects.shape[1]]
            self.state.sources[source : source + 3] = effects @ tensions_n
        for column, source in self._torques:
            self.state.sources[source] = given[column]
        return given

    def open_valves(
        self,
        supply_pa: ArrayLike,
        vacuum_pa: ArrayLike,
        supply_open: ArrayLike,
        vacuum_open: ArrayLike,
    ) -> None:
        """Connect chambers that fill to two regulators, for supply and vacuum, or to the ambient.

        With both valves open, the two work against each other; with both shut, the chamber is
        vented. Arguments are one value for all chambers or one for each, (chambers,).

        Args:
            supply_pa, vacuum_pa: Set points of the regulators [Pa] gauge, >= 0 and <= 0.
            supply_open, vacuum_open: Whether the valves are open.

        Raises:
            PhysicsError: If the pneumatics have no `filling`, or a set point is outside the limits
                of its chamber; nothing changes then.
        """
        filling, m = self._pneumatics.filling, self._mismatch
        if filling is None:
            raise PhysicsError(
                f'chambers of {self.name} have no regulators for supply and vacuum: give '
                'pneumatics with `filling`'
            )
        n = len(self.robot.chambers)
        supply, vacuum = (np.broadcast_to(np.asarray(x, float), n) for x in (supply_pa, vacuum_pa))
        low, high = self.robot.pressure_limits_pa
        bad = ~((supply >= 0.0) & (supply <= high) & (vacuum <= 0.0) & (vacuum >= low))
        if bad.any():
            k = int(np.argmax(bad))
            raise PhysicsError(
                f'supply {supply[k]:.7g} Pa and vacuum {vacuum[k]:.7g} Pa of '
                f'{self.robot.chambers[k]}: give 0..{high[k]:.7g} Pa and {low[k]:.7g}..0 Pa'
            )
        is_open = np.stack([np.broadcast_to(x, n) for x in (supply_open, vacuum_open)]).astype(bool)
        sources_pa = np.stack(
            [supply * m.gain + m.offset_pa, vacuum * m.vacuum_gain + m.vacuum_offset_pa]
        )
        count = is_open.sum(axis=0)
        source_pa = (sources_pa * is_open).sum(axis=0) / np.maximum(count, 1)
        chambers = self.state.chambers
        chambers.target_pa[self._own] = source_pa
        chambers.resistance_pa_s_m3[self._own] = np.where(
            count > 0,
            filling.supply_resistance_pa_s_m3 / np.maximum(count, 1),
            filling.vent_resistance_pa_s_m3,
        )

    def clip(self, values: ArrayLike) -> np.ndarray:
        """Return values, shape (n,), held at their limits, as valves do; raises as `actuate`."""
        given = self._numbers(values)
        if not np.isfinite(given).all():
            raise PhysicsError(f'inputs of {self.name} are {given}: give finite values')
        return np.clip(given, self._low, self._high)

    def _checked(self, values: ArrayLike) -> np.ndarray:
        given = self._numbers(values)
        slack = LIMIT_TOLERANCE * (self._high - self._low)
        bad = ~((given >= self._low - slack) & (given <= self._high + slack))
        if bad.any():
            i = int(np.argmax(bad))
            c = self.coordinates[i]
            raise PhysicsError(
                f'{c.name} of {self.name}: {given[i]:.7g} {c.unit} is outside {c.low:.7g}..'
                f'{c.high:.7g} {c.unit}; give a value inside the limits of the robot file'
            )
        return given

    def _numbers(self, values: ArrayLike) -> np.ndarray:
        try:
            given = np.array(values, float)
        except (TypeError, ValueError) as error:
            raise self._malformed(f'holds no numbers ({error})') from error
        if given.shape != (len(self.coordinates),):
            raise self._malformed(f'has shape {given.shape}')
        return given

    def _malformed(self, what: str) -> PhysicsError:
        n = len(self.coordinates)
        names = ', '.join(f'{c.name} [{c.unit}]' for c in self.coordinates[:6])
        names += ', ..' if n > 6 else ''
        return PhysicsError(f'inputs of {self.name} {what}: give {n} values of {names}')

    @property
    def pressures_lag(self) -> bool:
        """True if chambers take time to reach a commanded pressure."""
        valves = self._pneumatics.valve or self._pneumatics.filling
        return valves is not None and len(self.robot.chambers) > 0

    @property
    def pressures_pa(self) -> np.ndarray:
        """True pressures of the chambers [Pa] gauge, shape (chambers,)."""
        return self.state.chambers.pressure_pa[self._own].copy()

    def sensor_pressures_pa(self) -> np.ndarray:
        """Return what the pressure sensors read now [Pa] gauge, shape (chambers,)."""
        true_pa = self.state.chambers.pressure_pa[self._own]
        noise = self.state.noise[self.name].standard_normal(len(true_pa))
        noise_pa = self._pneumatics.sensor.noise_rms_pa * noise
        return true_pa + self._mismatch.sensor_offset_pa + noise_pa

    def bellows_lengths_m(self) -> np.ndarray:
        """Lengths of the bellows [m], shape (bellows,), in the order of the robot file."""
        chain, state = self.state.bellows, self.state
        own = (chain.chamber >= self._own.start) & (chain.chamber < self._own.stop)
        return bellows_lengths(state.data.qpos[state.views.place], chain)[own]

    def outside_limits(self, lengths_m: ArrayLike | None = None) -> list[str]:
        """Return one line for each bellows that is longer or shorter than its limits.

        The physics does not stop a bellows there: a load may stretch it beyond what its curve was
        measured for. 10 % of the range are tolerated.

        Args:
            lengths_m: Lengths at some times, shape (..., bellows); None: the current ones.
        """
        now = self.bellows_lengths_m() if lengths_m is None else np.asarray(lengths_m, float)
        bellows = [
            (name, segment.actuators.length_limits_m)
            for segment in self.robot.segments
            if isinstance(segment, BellowsSegment)
            for name in segment.chambers
        ]
        found = []
        for i, (name, (low_m, high_m)) in enumerate(bellows):
            margin_m = LENGTH_MARGIN * (high_m - low_m)
            for worst_m in (now[..., i].min(), now[..., i].max()):
                if not low_m - margin_m <= worst_m <= high_m + margin_m:
                    found.append(
                        f'bellows {name} of {self.name} is {worst_m * 1e3:.4g} mm long, outside '
                        f'its limits {low_m * 1e3:.4g}..{high_m * 1e3:.4g} mm: reduce the load'
                    )
        return found

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
        T_world_tip, data = self.T_world_tip(), self.state.data
        R = data.xmat[self._base].reshape(3, 3)
        return _pose(R.T @ (T_world_tip[:3, 3] - data.xpos[self._base]), R.T @ T_world_tip[:3, :3])

    def T_world_backbone(self) -> np.ndarray:  # noqa: N802
        """Poses along the centre line in the world, base to tip, shape (n, 4, 4).

        They are at the sections' ends, where the chain touches the curve that it stands for; z is
        the tangent.
        """
        mujoco.mj_kinematics(self.state.model, self.state.data)
        first, second, along_m = self._points
        T = np.tile(np.eye(4), (len(first), 1, 1))
        T[:, :3, :3] = self.state.data.xmat.reshape(-1, 3, 3)[first]
        T[:, :3, 3] = 0.5 * (self.state.data.xpos[first] + self.state.data.xpos[second])
        T[:, :3, 3] += along_m[:, None] * T[:, :3, 2]
        return T

    def backbone_m(self) -> np.ndarray:
        """Points of the centre line in the world [m], shape (n, 3): see `T_world_backbone`."""
        return self.T_world_backbone()[:, :3, 3]

    def base_wrench(self) -> np.ndarray:
        """Force [N] and torque [N m] of the mount on the robot at its base, (6,), in the world.

        It holds weight, inertia, buoyancy, loads, contacts and the drag of the last time step.
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
        if not isinstance(where, Integral) or not 0 <= where < len(self._sections):
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
