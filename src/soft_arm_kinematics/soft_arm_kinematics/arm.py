"""An arm: segments of any kind in series, from a robot file to poses and Jacobians.

An arm takes configuration vectors q: the values of `Robot.coordinates` in their order (lengths [m],
pressures [Pa] or theta, phi [rad] and ell [m]). All segments of a `BellowsArm` have bellows: its q
holds their lengths, and a curve turns pressures into lengths and back.
"""

import logging
from collections.abc import Iterable
from functools import cached_property

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_description.calibration import OtherRobotError, remedy
from soft_arm_description.rig import VIRTUAL, Rig, load_rig
from soft_arm_description.robot import Robot, load_robot
from soft_arm_description.segments import BellowsSegment
from soft_arm_kinematics.calibration.pressure_bend import with_calibrated_bends
from soft_arm_kinematics.calibration.pressure_length import (
    PressureLengthCurve,
    curve_of_robot_file,
    load_curve,
)
from soft_arm_kinematics.configuration import Configuration
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.segments import chain as segment_chain
from soft_arm_kinematics.segments import pcc

VIRTUAL_RIG = 'virtual'
_log = logging.getLogger(__name__)


class Arm:
    """Forward kinematics of a robot, in SI units and in the order of the robot file.

    `at(q)` gives everything that depends on q; all methods broadcast over leading shapes.

    Poses are `T_base_tip` in the arm's base frame (z along the straight arm); arcs are
    (..., n_segments, 3) as in `pcc`.

    Errors: every method that takes q raises KinematicsError if the last axis has the wrong
    size or a value is not finite.

    Sources: products of the segments' transforms: soft arm with 3-D vision, section 2 (bellows);
    gripper digital twin, (4)-(8) (single bends); modal kinematics, (1)-(9) (modal); squid limbs
    (tendons). The Jacobians are the chain rule.

    Attributes:
        robot: The robot file.
        n_segments, n_actuators: Sizes; n_actuators is the length of a configuration vector.
        chain: The segments as flat arrays, see `segments.chain`.
        columns: For each segment, the places of its coordinates in the configuration vector.
        q_limits: (2, n) lowest and highest value of each coordinate, in its unit.
        pressure_limits_pa: (2, chambers) lowest and highest pressure of each chamber [Pa].
        q_name, q_unit: What a configuration vector holds, for messages.
    """

    q_name, q_unit = 'coordinates', 'SI units'

    def __init__(self, robot: Robot):
        """Make an arm of a robot; `make_arm` makes a `BellowsArm` where the robot is one."""
        self.robot = robot
        names = [c.name for c in robot.coordinates]
        self.n_segments, self.n_actuators = len(robot.segments), len(names)
        self.columns = tuple(
            np.array([names.index(c.name) for c in s.coordinates]) for s in robot.segments
        )
        self.q_limits = np.array([(c.low, c.high) for c in robot.coordinates]).T
        self.pressure_limits_pa = robot.pressure_limits_pa

    @cached_property
    def chain(self) -> segment_chain.Chain:
        """The segments as flat arrays."""
        return segment_chain.make_chain(self.robot.segments, self.columns, self.q_limits)

    @cached_property
    def plain_chain(self) -> segment_chain.Chain:
        """The chain as Python numbers, for single poses."""
        return segment_chain.of_plain_numbers(self.chain)

    @property
    def base_pose(self) -> np.ndarray:
        """T_parent_base (4, 4) [m]: pose of the base in its parent frame, from the robot file."""
        base, pose = self.robot.base, np.eye(4)
        pose[:3, :3] = Rotation.from_euler('xyz', base.rpy_deg, degrees=True).as_matrix()
        pose[:3, 3] = base.position_m
        return pose

    @property
    def rest_q(self) -> np.ndarray:
        """Actuation (n,) at rest, inside the limits.

        That is ambient pressure or no torque; for a tendon segment, bend 0 and the middle of its
        length limits.
        """
        rest = np.zeros(self.n_actuators)
        for segment, columns in zip(self.robot.segments, self.columns, strict=True):
            rest[columns] = segment.rest_q
        return np.clip(rest, *self.q_limits)

    @property
    def is_pressure_driven(self) -> bool:
        """Whether pressures alone set the shape, by bellows or by one pressure for each bend."""
        return all(c.unit == 'Pa' for c in self.robot.coordinates)

    def clip_pressures(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Clip finite pressures [Pa], (..., n), to their range: a sensor may read beyond it."""
        return np.clip(pressures_pa, *self.pressure_limits_pa)

    def q_at(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Actuation (..., n) at gauge pressures [Pa] of all chambers.

        Raises:
            CurveError: If a pressure is outside the calibrated range of a bellows.
            KinematicsError: If pressures alone do not set the shape.
        """
        if not self.is_pressure_driven:
            other = next(s for s in self.robot.segments if s.kind not in ('single_bend', 'modal'))
            raise KinematicsError(
                f'pressures alone do not set robot {self.robot.name}: segment {other.name} is of '
                f'kind {other.kind}; give {self.coordinates_text}'
            )
        return self.checked(pressures_pa)

    def at(self, q: np.ndarray) -> Configuration:
        """Return the configuration at q (..., n): poses, arcs, Jacobian, backbone."""
        return Configuration(self, q)

    @property
    def coordinates_text(self) -> str:
        """Size, names and units of a configuration vector, for messages."""
        names = _listed(f'{c.name} [{c.unit}]' for c in self.robot.coordinates)
        return f'{self.n_actuators} values of {names}'

    def checked(self, q: np.ndarray) -> np.ndarray:
        """Return q (..., n) as floats.

        Raises:
            KinematicsError: If the last axis has another size or a value is not finite; limits are
                not checked.
        """
        what, unit = self.q_name, self.q_unit
        try:
            q = np.asarray(q, dtype=float)
        except (ValueError, TypeError) as error:
            raise KinematicsError(
                f'{what} are not numbers ({error}): give {self.n_actuators} values [{unit}]'
            ) from error
        if q.shape[-1:] != (self.n_actuators,):
            given = q.shape[-1] if q.ndim else 'no list of'
            raise KinematicsError(
                f'{what}: {given} values, but {self.robot.name} takes {self.coordinates_text}'
            )
        if not np.isfinite(q).all():
            raise KinematicsError(
                f'one of the {what} is {q[~np.isfinite(q)][0]} [{unit}]: give finite values'
            )
        return q


class BellowsArm(Arm):
    """An arm whose segments all have bellows.

    Its q holds their lengths [m], which pressures set through a curve.
    Methods that take or give pressures raise CurveError outside the calibrated range.

    Attributes:
        curve: Pressure-to-length curve.
        length_limits_m: (2, n) shortest and longest length [m] that the robot file and the curve
            both allow; the same array as `q_limits`.
        pressure_limits_pa: (2, n) pressures [Pa] of those lengths.
    """

    q_name, q_unit = 'lengths', 'm'

    def __init__(self, robot: Robot, curve: PressureLengthCurve | None = None):
        """Make an arm; without a curve the points in the robot file are used.

        Raises:
            KinematicsError: If the robot has segments without bellows, or the curve has other
                chambers than the robot, or leaves no length inside the robot's limits.
        """
        super().__init__(robot)
        check_bellows(robot)
        self.curve = curve = curve or curve_of_robot_file(robot)
        if curve.chambers != robot.chambers:
            raise KinematicsError(
                f'curve of {curve.chambers}: the robot {robot.name} has {robot.chambers}; '
                'calibrate this robot'
            )
        at_limits_m = curve.lengths(curve.clip(robot.pressure_limits_pa))
        low = np.max([robot.length_limits_m[0], curve.length_range_m[0], at_limits_m[0]], axis=0)
        high = np.min([robot.length_limits_m[1], curve.length_range_m[1], at_limits_m[1]], axis=0)
        if not (low < high).all():
            name = robot.chambers[int(np.argmin(high - low))]
            raise KinematicsError(
                f'the curve of {name} lies outside its length limits: calibrate again'
            )
        self.length_limits_m = self.q_limits = np.stack([low, high])
        self.pressure_limits_pa = curve.pressures(self.length_limits_m)

    @property
    def is_pressure_driven(self) -> bool:
        """True: pressures alone set the shape."""
        return True

    def clip_pressures(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Clip finite pressures [Pa], (..., n), to their range: a sensor may read beyond it."""
        return self.curve.clip(pressures_pa)

    def q_at(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Lengths (..., n) [m] at gauge pressures (..., n) [Pa]."""
        return self.lengths(pressures_pa)

    def lengths(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Lengths (..., n) [m] at gauge pressures (..., n) [Pa]."""
        return self.curve.lengths(pressures_pa)

    def pressures(self, lengths_m: np.ndarray) -> np.ndarray:
        """Gauge pressures (..., n) [Pa] that give lengths (..., n) [m]."""
        return self.curve.pressures(lengths_m)

    def lengths_from_arcs(self, arcs: np.ndarray) -> np.ndarray:
        """Return lengths (..., n) [m] of arcs (..., n_segments, 3), without limits.

        L_j = ell - theta h cos(phi - beta_j).

        Raises:
            KinematicsError: If the arcs have another shape or a value is not finite.
        """
        arcs = np.asarray(arcs, dtype=float)
        if arcs.shape[-2:] != (self.n_segments, 3) or not np.isfinite(arcs).all():
            raise KinematicsError(
                f'arcs of shape {arcs.shape}: give finite values (..., {self.n_segments}, 3): '
                'u_x, u_y [rad], ell [m]'
            )
        lengths_m = np.empty((*arcs.shape[:-2], self.n_actuators))
        for i, (segment, columns) in enumerate(zip(self.robot.segments, self.columns, strict=True)):
            if isinstance(segment, BellowsSegment):  # always
                bellows = segment.actuators
                matrix = pcc.lengths_matrix(bellows.angles_rad, bellows.centre_radius_m)
                lengths_m[..., columns] = arcs[..., i, :] @ matrix.T
        return lengths_m


def check_bellows(robot: Robot) -> None:
    """Raise KinematicsError if a segment of the robot has no bellows."""
    others = [f'{s.name} ({s.kind})' for s in robot.segments if s.kind != 'bellows']
    if others:
        raise KinematicsError(
            f'robot {robot.name} has no bellows in {_listed(others)}: lengths and a '
            'pressure-to-length curve are needed here; choose a robot whose segments all have '
            'bellows, such as two_module_arm'
        )


def _listed(names: Iterable[str], most: int = 6) -> str:
    names = list(names)
    return ', '.join(names[:most]) + (', ..' if len(names) > most else '')


def make_arm(robot: Robot) -> Arm:
    """Make the arm of a robot, without a rig's calibration.

    It is a `BellowsArm` if all segments have bellows, and an `Arm` otherwise.
    """
    return (BellowsArm if all(s.kind == 'bellows' for s in robot.segments) else Arm)(robot)


def load_arm(
    robot: str = 'two_module_arm', rig: str = VIRTUAL_RIG, uncalibrated: bool = False
) -> Arm:
    """Load a robot file and the calibration of a rig.

    It is a `BellowsArm` if all segments have bellows, and an `Arm` otherwise.

    Bellows need a calibrated curve. Single bends take their rig's cubics if it has a file of them,
    and are nominal otherwise. On a virtual rig, a robot without a calibration keeps the
    curves of the robot file.

    Args:
        robot: Name of a shipped robot, or path of a robot file.
        rig: Name of a rig, or path of its folder.
        uncalibrated: Whether bellows take the curves of the robot file if the rig has none yet.

    Raises:
        RobotFileError, RigError, CurveError: One line each, saying what to do.
    """
    loaded = load_robot(robot)
    if all(s.kind == 'bellows' for s in loaded.segments):
        loaded_rig = load_rig(rig)
        if uncalibrated and not loaded_rig.calibration_file('pressure_length').exists():
            return BellowsArm(loaded)
        return _calibrated_bellows(loaded, loaded_rig)
    return _calibrated_bends(loaded, load_rig(rig))


def uncalibrated_shape(arm: Arm, rig: str) -> str:
    """Return which part of an arm's shape a rig has not calibrated, with the remedy, or ''."""
    if isinstance(arm, BellowsArm):
        loaded = load_rig(rig)
        file = loaded.calibration_file('pressure_length')
        if file.exists():
            return ''
        return (
            f'lengths are those of the robot file, not measured: {file} does not exist; '
            f'{remedy(loaded, "pressure_length")}'
        )
    nominal = [s.name for s in arm.robot.segments if getattr(s, 'nominal', False)]
    if not nominal:
        return ''
    return (
        f'the bend of {nominal[0]} is nominal, not measured: calibrate it, for a finger with '
        '`softarm calibrate finger`'
    )


def load_bellows_arm(robot: str = 'two_module_arm', rig: str = VIRTUAL_RIG) -> BellowsArm:
    """Load an arm as `load_arm`; raise KinematicsError if a segment has no bellows."""
    loaded = load_robot(robot)
    check_bellows(loaded)
    return _calibrated_bellows(loaded, load_rig(rig))


def _calibrated_bellows(robot: Robot, rig: Rig) -> BellowsArm:
    try:
        return BellowsArm(robot, load_curve(rig, robot))
    except OtherRobotError as error:
        _refuse_unless_virtual(rig, error)
        return BellowsArm(robot)


def _calibrated_bends(robot: Robot, rig: Rig) -> Arm:
    try:
        return Arm(with_calibrated_bends(robot, rig))
    except OtherRobotError as error:
        _refuse_unless_virtual(rig, error)
        return Arm(robot)


def _refuse_unless_virtual(rig: Rig, error: OtherRobotError) -> None:
    if rig.devices != VIRTUAL:
        raise error
    _log.info('%s; the robot file is used', error)
