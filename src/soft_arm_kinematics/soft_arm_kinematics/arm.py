"""An arm: segments of any kind in series, from a robot file and a pressure-to-length curve, to poses and Jacobians.

Every arm takes actuation vectors: the coordinates of `Robot.actuation` in their order (lengths [m],
pressures [Pa] or theta, phi [rad] and ell [m]). An arm whose segments all have bellows also takes
arcs, and pressures through its curve; its actuation is its lengths.
"""

import hashlib
import logging
from collections.abc import Iterable

import numpy as np

from soft_arm_description.calibration import VIRTUAL, devices_of, loadable
from soft_arm_description.robot import Robot, load_robot
from soft_arm_kinematics.calibration.pressure_bend import with_calibrated_bends
from soft_arm_kinematics.calibration.pressure_length import (
    PressureLengthCurve,
    curve_of_robot_file,
    load_curve,
)
from soft_arm_kinematics.errors import KinematicsError, OtherRobotError
from soft_arm_kinematics.segments import pcc
from soft_arm_kinematics.segments.segment_maps import segment_map

VIRTUAL_RIG = 'virtual'
_log = logging.getLogger(__name__)


class Arm:
    """Forward kinematics of a robot; all methods broadcast over leading shapes, SI units, robot-file order.

    Poses are `T_base_tip` in the arm's base frame (z along the straight arm); `arcs` are (...,
    n_segments, 3) as in `pcc`.

    Errors: every method that takes actuation, lengths or arcs raises KinematicsError where the last
    axes are wrong or a value is not finite, and where the arm has no bellows but the method needs
    them; every one that takes pressures or gives them raises CurveError outside the calibrated
    range.

    Sources: products of the segments' transforms: soft arm with 3-D vision, section 2 (bellows);
    gripper digital twin, (4)-(8) (single bends); modal kinematics, (1)-(9) (modal); squid limbs
    (tendons). The Jacobians are the chain rule.

    Attributes:
        robot: The robot file.
        n_segments, n_actuators: Sizes; n_actuators is the length of an actuation vector.
        maps: `segment_maps` of the segments.
        columns: For each segment, the places of its coordinates in the actuation vector.
        rigid_lengths_m: Rigid end [m] of every segment.
        actuation_limits: (2, n) lowest and highest value of each coordinate, in its unit.
        has_bellows: Whether all segments have bellows. The following exist only where it is True.
        curve: Pressure-to-length curve; None otherwise.
        length_limits_m: (2, n) shortest and longest length [m] that the robot file and the curve both allow; = actuation_limits.
        pressure_limits_pa: (2, n) pressures [Pa] of those lengths; of the robot file otherwise.
        closing_twists: Convention of every segment.
        arcs_from_lengths_matrix: (3 n_segments, n), arcs = matrix @ lengths.
        lengths_from_arcs_matrix: (n, 3 n_segments), lengths = matrix @ arcs.
    """

    def __init__(self, robot: Robot, curve: PressureLengthCurve | None = None):
        """Make an arm; without a curve the points in the robot file are used.

        Raises:
            KinematicsError: If the curve has other chambers than the robot, or leaves no length
                inside the robot's limits.
        """
        self.robot = robot
        names = [c.name for c in robot.actuation]
        self.n_segments, self.n_actuators = len(robot.segments), len(names)
        self.maps = tuple(segment_map(s) for s in robot.segments)
        self.columns = tuple(
            np.array([names.index(c.name) for c in s.actuation]) for s in robot.segments
        )
        self.closing_twists = tuple(s.closing_twist for s in robot.segments)
        self.rigid_lengths_m = np.array([s.rigid_length_m for s in robot.segments])
        self.actuation_limits = np.array([(c.low, c.high) for c in robot.actuation]).T
        self.pressure_limits_pa = robot.pressure_limits_pa
        self.has_bellows = all(s.kind == 'bellows' for s in robot.segments)
        self.curve = None
        if self.has_bellows:
            self._add_lengths(curve or curve_of_robot_file(robot))
        elif curve is not None:
            raise KinematicsError(
                f'robot {robot.name} has segments without bellows: give it no pressure-to-length curve'
            )

    def _add_lengths(self, curve):
        robot, self.curve = self.robot, curve
        if curve.chambers != robot.chambers:
            raise KinematicsError(
                f'curve of {curve.chambers}: the robot {robot.name} has {robot.chambers}; calibrate this robot'
            )
        self.arcs_from_lengths_matrix = np.zeros((3 * self.n_segments, self.n_actuators))
        self.lengths_from_arcs_matrix = np.zeros((self.n_actuators, 3 * self.n_segments))
        for i, (part, columns) in enumerate(zip(self.maps, self.columns, strict=True)):
            rows = slice(3 * i, 3 * i + 3)
            self.arcs_from_lengths_matrix[rows, columns] = part.arcs_matrix
            self.lengths_from_arcs_matrix[columns, rows] = part.lengths_matrix
        low = np.maximum(robot.length_limits_m[0], curve.length_range_m[0])
        high = np.minimum(robot.length_limits_m[1], curve.length_range_m[1])
        low = np.maximum(
            low, curve.lengths(np.clip(robot.pressure_limits_pa[0], *curve.pressure_range_pa))
        )
        high = np.minimum(
            high, curve.lengths(np.clip(robot.pressure_limits_pa[1], *curve.pressure_range_pa))
        )
        if not (low < high).all():
            name = robot.chambers[int(np.argmin(high - low))]
            raise KinematicsError(
                f'the curve of {name} lies outside its length limits: calibrate again'
            )
        self.length_limits_m = self.actuation_limits = np.stack([low, high])
        self.pressure_limits_pa = curve.pressures(self.length_limits_m)

    @property
    def fingerprint(self) -> str:
        """Hash of what the poses and limits of this arm depend on."""
        numbers = (
            self.robot.kinematic_fingerprint.encode(),
            self.actuation_limits.tobytes(),
            self.pressure_limits_pa.tobytes(),
        )
        return hashlib.sha256(b''.join(numbers)).hexdigest()[:16]

    @property
    def rest_actuation(self) -> np.ndarray:
        """Actuation (n,) at ambient pressure, bend 0 and the middle of the length limits of a tendon segment, inside the limits."""
        if self.has_bellows:
            return np.clip(self.robot.rest_lengths_m, *self.actuation_limits)
        middle = self.actuation_limits.mean(axis=0)
        rest = [middle[i] if c.unit == 'm' else 0.0 for i, c in enumerate(self.robot.actuation)]
        for s, columns in zip(self.robot.segments, self.columns, strict=True):
            if s.kind == 'bellows':
                rest_m = np.interp(0.0, s.actuators.curve.pressure_pa, s.actuators.curve.length_m)
                for k in columns:
                    rest[k] = rest_m
        return np.clip(rest, *self.actuation_limits)

    def fk(self, actuation: np.ndarray) -> np.ndarray:
        """T_base_tip (..., 4, 4) [m] at actuation (..., n): the product E = T1 T2 ... of the segments with their rigid ends."""
        return self.segment_poses(actuation)[..., -1, :, :]

    def segment_poses(self, actuation: np.ndarray) -> np.ndarray:
        """Poses of the ends of all segments in the base, (..., n_segments, 4, 4), at actuation (..., n)."""
        actuation = self.checked(actuation)
        poses = np.empty(actuation.shape[:-1] + (self.n_segments, 4, 4))
        pose = np.eye(4)
        for i, (part, columns) in enumerate(zip(self.maps, self.columns, strict=True)):
            pose = pose @ part.transforms(actuation[..., columns])
            pose[..., :3, 3] += self.rigid_lengths_m[i] * pose[..., :3, 2]
            poses[..., i, :, :] = pose
        return poses

    def segment_arcs(self, actuation: np.ndarray) -> np.ndarray:
        """Arcs (..., n_segments, 3) at actuation (..., n) [rad, rad, m]; of a modal segment, the arc that bends its end as far."""
        actuation = self.checked(actuation)
        return np.stack(
            [
                part.arcs(actuation[..., columns])
                for part, columns in zip(self.maps, self.columns, strict=True)
            ],
            axis=-2,
        )

    def twist_jacobian(self, actuation: np.ndarray) -> np.ndarray:
        """Twist of the tip in the base per m, Pa or rad of each coordinate, (..., 6, n): velocity [m], then angular velocity [rad]."""
        actuation = self.checked(actuation)
        poses = self.segment_poses(actuation)
        jacobian = np.zeros(actuation.shape[:-1] + (6, self.n_actuators))
        parts = [
            part.jacobians(actuation[..., columns])
            for part, columns in zip(self.maps, self.columns, strict=True)
        ]
        for columns, local in zip(self.columns, self._moved_to_tip(poses, parts), strict=True):
            jacobian[..., :, columns] += local
        return jacobian

    def _moved_to_tip(self, poses, parts):
        """Twists of the tip in the base, from each segment's twist of its own end in its start frame."""
        tip, rotation = poses[..., -1, :3, 3], np.broadcast_to(np.eye(3), poses.shape[:-3] + (3, 3))
        for i, local in enumerate(parts):
            end = poses[..., i, :3, 3] - self.rigid_lengths_m[i] * poses[..., i, :3, 2]
            angular = rotation @ local[..., 3:, :]
            velocity = rotation @ local[..., :3, :] + np.cross(
                angular, (tip - end)[..., :, None], axis=-2
            )
            yield np.concatenate([velocity, angular], axis=-2)
            rotation = poses[..., i, :3, :3]

    def lengths(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Actuator lengths [m] at gauge pressures [Pa], both (..., n). Raises CurveError outside the calibrated range."""
        self._need_bellows()
        return self.curve.lengths(pressures_pa)

    def pressures(self, lengths_m: np.ndarray) -> np.ndarray:
        """Gauge pressures [Pa] that give lengths [m], both (..., n). Raises CurveError outside the calibrated range."""
        self._need_bellows()
        return self.curve.pressures(lengths_m)

    def arcs(self, lengths_m: np.ndarray) -> np.ndarray:
        """Arcs (..., n_segments, 3) [rad, rad, m] of lengths (..., n) [m], linear in them; for three bellows the arm paper's formulas."""
        self._need_bellows()
        lengths_m = self.checked(lengths_m)
        return (lengths_m @ self.arcs_from_lengths_matrix.T).reshape(
            lengths_m.shape[:-1] + (self.n_segments, 3)
        )

    def lengths_from_arcs(self, arcs: np.ndarray) -> np.ndarray:
        """Lengths (..., n) [m] of arcs (..., n_segments, 3), L_j = ell - theta h cos(phi - beta_j); limits are not applied."""
        self._need_bellows()
        arcs = self._checked_arcs(arcs)
        return arcs.reshape(arcs.shape[:-2] + (-1,)) @ self.lengths_from_arcs_matrix.T

    @property
    def set_by_pressures(self) -> bool:
        """Whether pressures alone set the shape: all segments have bellows, or are bent by a pressure each."""
        return self.has_bellows or all(c.unit == 'Pa' for c in self.robot.actuation)

    def _need_bellows(self):
        if not self.has_bellows:
            kinds = _listed(
                f'{s.name} ({s.kind})' for s in self.robot.segments if s.kind != 'bellows'
            )
            raise KinematicsError(
                f'robot {self.robot.name} has no lengths in {kinds}: give actuation, {self.coordinates_text}'
            )

    @property
    def coordinates_text(self) -> str:
        """What an actuation vector holds, for messages."""
        return f'{self.n_actuators} values of {_listed(f"{c.name} [{c.unit}]" for c in self.robot.actuation)}'

    def _checked_arcs(self, arcs):
        arcs = np.asarray(arcs, dtype=float)
        if arcs.shape[-2:] != (self.n_segments, 3) or not np.isfinite(arcs).all():
            raise KinematicsError(
                f'arcs of shape {arcs.shape}: give finite values (..., {self.n_segments}, 3): u_x, u_y [rad], ell [m]'
            )
        return arcs

    def calibrated_pressures(self, pressures_pa: np.ndarray) -> np.ndarray:
        """The nearest pressures [Pa] inside the calibrated range to finite ones, (..., n): sensors read just beyond a limit."""
        return (
            self.curve.limit(pressures_pa)
            if self.has_bellows
            else np.clip(pressures_pa, *self.pressure_limits_pa)
        )

    def actuation_at(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Actuation (..., n) at gauge pressures [Pa] of all chambers.

        Raises:
            CurveError: If a pressure is outside the calibrated range.
            KinematicsError: If the shape also depends on something else than pressures.
        """
        if self.has_bellows:
            return self.lengths(pressures_pa)
        if not self.set_by_pressures:
            other = next(s for s in self.robot.segments if s.kind in ('bellows', 'tendon'))
            raise KinematicsError(
                f'robot {self.robot.name} is not set by pressures alone: segment {other.name} is of kind {other.kind}; '
                f'give actuation, {self.coordinates_text}'
            )
        return self.checked(pressures_pa)

    def configuration(self, actuation: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Theta [rad], phi [rad] and ell [m] of every segment, each (n_segments,), at one actuation (n,).

        Where the segment's own coordinates or the robot file give the bending plane, theta has the
        sign of the bend in that plane.
        """
        actuation = self.checked(actuation)
        theta, phi, ell = pcc.polar_from_arcs(self.segment_arcs(actuation))
        for i, (segment, part, columns) in enumerate(
            zip(self.robot.segments, self.maps, self.columns, strict=True)
        ):
            if segment.kind != 'bellows':
                phi[i] = (
                    part.phi if segment.kind == 'modal' else float(part.phi_rad(actuation[columns]))
                )
                theta[i] = self.segment_arcs(actuation)[i, :2] @ [np.cos(phi[i]), np.sin(phi[i])]
        return theta, phi, ell

    def polar(self, lengths_m: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bend theta [rad], direction phi [rad] and ell [m] of every segment, each (..., n_segments), at lengths (..., n) [m]."""
        return pcc.polar_from_arcs(self.arcs(lengths_m))

    def fk_lengths(self, lengths_m: np.ndarray) -> np.ndarray:
        """T_base_tip (..., 4, 4) at lengths (..., n) [m]."""
        return self.fk_segments(lengths_m)[..., -1, :, :]

    def fk_pressures(self, pressures_pa: np.ndarray) -> np.ndarray:
        """T_base_tip (..., 4, 4) at gauge pressures (..., n) [Pa]. Raises CurveError outside the calibrated range."""
        return self.fk_lengths(self.lengths(pressures_pa))

    def fk_segments(self, lengths_m: np.ndarray) -> np.ndarray:
        """Poses of the ends of all segments in the base, (..., n_segments, 4, 4), at lengths (..., n) [m]."""
        return self.fk_arcs(self.arcs(lengths_m))

    def fk_arcs(self, arcs: np.ndarray) -> np.ndarray:
        """Poses of the ends of all segments in the base, (..., n_segments, 4, 4), from arcs (..., n_segments, 3) [rad, rad, m]."""
        arcs = self._checked_arcs(arcs)
        poses = np.empty(arcs.shape[:-1] + (4, 4))
        pose = np.eye(4)
        for i, twist in enumerate(self.closing_twists):
            pose = pose @ pcc.arc_transforms(arcs[..., i, :], twist)
            pose[..., :3, 3] += self.rigid_lengths_m[i] * pose[..., :3, 2]
            poses[..., i, :, :] = pose
        return poses

    def backbone(self, actuation: np.ndarray, points: int) -> np.ndarray:
        """Centre line from base to tip at one actuation (n,): (1 + n_segments * points, 3) positions [m] in the base.

        Of arcs; of a modal segment, the arc that bends its end as far.
        """
        starts = np.concatenate([np.eye(4)[None], self.segment_poses(actuation)[:-1]])
        parts = (
            self.segment_arcs(actuation)[:, None, :] * (np.arange(1, points + 1) / points)[:, None]
        )
        ends = (starts[:, None] @ pcc.arc_transforms(parts))[..., :3, 3]
        return np.concatenate([np.zeros((1, 3)), ends.reshape(-1, 3)])

    def tip_from_lengths(self, lengths_m: np.ndarray) -> np.ndarray:
        """Tip position [m], (..., 3), at lengths (..., n) [m]."""
        return self.fk_lengths(lengths_m)[..., :3, 3]

    def tip_from_pressures(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Tip position [m], (..., 3), at gauge pressures (..., n) [Pa]. Raises CurveError outside the calibrated range."""
        return self.fk_pressures(pressures_pa)[..., :3, 3]

    def jacobian_lengths(self, lengths_m: np.ndarray) -> np.ndarray:
        """Derivative of the tip position by the lengths, (..., 3, n), dimensionless [m/m]."""
        return self.twist_jacobian_lengths(lengths_m)[..., :3, :]

    def jacobian_pressures(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Derivative of the tip position by the pressures, (..., 3, n) [m/Pa]. Raises CurveError outside the calibrated range."""
        return (
            self.jacobian_lengths(self.lengths(pressures_pa))
            * self.curve.slopes(pressures_pa)[..., None, :]
        )

    def axis_jacobian_lengths(self, lengths_m: np.ndarray) -> np.ndarray:
        """Derivative of the tip axis (z of the tip frame) by the lengths, (..., 3, n) [1/m]."""
        axis = self.fk_lengths(lengths_m)[..., :3, 2]
        return np.cross(
            self.twist_jacobian_lengths(lengths_m)[..., 3:, :], axis[..., :, None], axis=-2
        )

    def twist_jacobian_lengths(self, lengths_m: np.ndarray) -> np.ndarray:
        """Twist of the tip in the base per unit rate of the lengths, (..., 6, n): velocity [m/m], then angular velocity [rad/m]."""
        return self.twist_jacobian_arcs(self.arcs(lengths_m)) @ self.arcs_from_lengths_matrix

    def twist_jacobian_arcs(self, arcs: np.ndarray) -> np.ndarray:
        """Twist of the tip in the base per rad, rad and m of each arc, (..., 6, 3 n_segments), at arcs (..., n_segments, 3)."""
        arcs = self._checked_arcs(arcs)
        parts = [
            pcc.arc_jacobians(arcs[..., i, :], twist) for i, twist in enumerate(self.closing_twists)
        ]
        return np.concatenate(list(self._moved_to_tip(self.fk_arcs(arcs), parts)), axis=-1)

    def checked(self, actuation: np.ndarray) -> np.ndarray:
        """Actuation (..., n) as floats.

        Raises:
            KinematicsError: If the last axis has another size or a value is not finite; limits are
                not checked.
        """
        what, unit = ('lengths', 'm') if self.has_bellows else ('actuation', 'SI units')
        try:
            actuation = np.asarray(actuation, dtype=float)
        except (ValueError, TypeError) as error:
            raise KinematicsError(
                f'{what} are not numbers ({error}): give {self.n_actuators} values [{unit}]'
            ) from error
        if actuation.shape[-1:] != (self.n_actuators,):
            given = actuation.shape[-1] if actuation.ndim else 'no list of'
            raise KinematicsError(
                f'{what}: {given} values, but {self.robot.name} takes {self.coordinates_text}'
            )
        if not np.isfinite(actuation).all():
            raise KinematicsError(
                f'one of the {what} is {actuation[~np.isfinite(actuation)][0]} [{unit}]: give finite values'
            )
        return actuation


def _listed(names: Iterable[str], most: int = 6) -> str:
    names = list(names)
    return ', '.join(names[:most]) + (', ..' if len(names) > most else '')


def load_arm(robot: str = 'two_module_arm', rig: str = VIRTUAL_RIG) -> Arm:
    """The arm of a robot file, with what was calibrated on a rig.

    Segments with bellows need a curve. Single bends take their rig's cubics where it has a file of
    them, and are nominal otherwise.

    A virtual rig has one calibration, that of the shipped arm: other robots have the points of
    their own files there.

    Raises:
        RobotFileError, CalibrationError, CurveError: One line each, saying what to do.
    """
    loaded = load_robot(robot)
    if any(s.kind != 'bellows' for s in loaded.segments):
        return Arm(with_calibrated_bends(loaded, loadable(rig, 'pressure_bend')))
    try:
        return Arm(loaded, load_curve(loadable(rig, 'pressure_length'), loaded))
    except OtherRobotError as error:
        if devices_of(rig) != VIRTUAL:
            raise
        _log.info('%s; the points of the robot file are used', error)
        return Arm(loaded)
