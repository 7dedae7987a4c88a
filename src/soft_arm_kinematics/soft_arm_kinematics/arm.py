"""An arm: segments in series, from a robot file and a pressure-to-length curve, to poses and Jacobians."""

import hashlib

import numpy as np

from soft_arm_description.calibration import calibration_path
from soft_arm_description.robot import Robot, load_robot
from soft_arm_kinematics import pcc
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.pressure_length import PressureLengthCurve, curve_of_robot_file, load_curve


class Arm:
    """Forward kinematics of a robot; all methods broadcast over leading shapes, SI units, robot-file order.

    Poses are `T_base_tip` in the arm's base frame (z along the straight arm); `arcs` are (..., n_segments, 3) as in `pcc`.

    Attributes:
        robot: The robot file.
        curve: Pressure-to-length curve.
        n_segments, n_actuators: Sizes.
        length_limits_m: (2, n) shortest and longest length [m] that the robot file and the curve both allow.
        pressure_limits_pa: (2, n) pressures [Pa] of those lengths.
        closing_twists, rigid_lengths_m: Convention and rigid end [m] of every segment.
        arcs_from_lengths_matrix: (3 n_segments, n), arcs = matrix @ lengths.
        lengths_from_arcs_matrix: (n, 3 n_segments), lengths = matrix @ arcs.
    """

    def __init__(self, robot: Robot, curve: PressureLengthCurve | None = None):
        """Make an arm; without a curve the points in the robot file are used.

        Raises:
            KinematicsError: If the curve has other chambers than the robot, or leaves no length inside the robot's limits.
        """
        self.robot = robot
        self.curve = curve or curve_of_robot_file(robot)
        if self.curve.chambers != robot.chambers:
            raise KinematicsError(f'curve of {self.curve.chambers}: the robot {robot.name} has {robot.chambers}; calibrate this robot')
        self.n_segments = len(robot.segments)
        self.n_actuators = len(robot.chambers)
        self.closing_twists = tuple(s.closing_twist for s in robot.segments)
        self.rigid_lengths_m = np.array([s.rigid_length_m for s in robot.segments])
        self.arcs_from_lengths_matrix = np.zeros((3 * self.n_segments, self.n_actuators))
        self.lengths_from_arcs_matrix = np.zeros((self.n_actuators, 3 * self.n_segments))
        first = 0
        for i, segment in enumerate(robot.segments):
            rows, columns = slice(3 * i, 3 * i + 3), slice(first, first + len(segment.actuators.names))
            layout = segment.actuators.angles_rad, segment.actuators.centre_radius_m
            self.arcs_from_lengths_matrix[rows, columns] = pcc.arcs_matrix(*layout)
            self.lengths_from_arcs_matrix[columns, rows] = pcc.lengths_matrix(*layout)
            first = columns.stop
        low = np.maximum(robot.length_limits_m[0], self.curve.length_range_m[0])
        high = np.minimum(robot.length_limits_m[1], self.curve.length_range_m[1])
        low = np.maximum(low, self.curve.lengths(np.clip(robot.pressure_limits_pa[0], *self.curve.pressure_range_pa)))
        high = np.minimum(high, self.curve.lengths(np.clip(robot.pressure_limits_pa[1], *self.curve.pressure_range_pa)))
        if not (low < high).all():
            name = robot.chambers[int(np.argmin(high - low))]
            raise KinematicsError(f'the curve of {name} lies outside its length limits: calibrate again')
        self.length_limits_m = np.stack([low, high])
        self.pressure_limits_pa = self.curve.pressures(self.length_limits_m)

    @property
    def fingerprint(self) -> str:
        """Hash of what the poses and limits of this arm depend on."""
        numbers = self.arcs_from_lengths_matrix, self.rigid_lengths_m, self.length_limits_m, np.array(self.closing_twists, dtype=float)
        return hashlib.sha256(b''.join(np.ascontiguousarray(n).tobytes() for n in numbers)).hexdigest()[:16]

    def lengths(self, pressures_pa: np.ndarray) -> np.ndarray:
        """Actuator lengths [m] at gauge pressures [Pa], both (..., n). Raises CurveError outside the calibrated range."""
        return self.curve.lengths(pressures_pa)

    def pressures(self, lengths_m: np.ndarray) -> np.ndarray:
        """Gauge pressures [Pa] that give lengths [m], both (..., n). Raises CurveError outside the calibrated range."""
        return self.curve.pressures(lengths_m)

    def arcs(self, lengths_m: np.ndarray) -> np.ndarray:
        """Arcs (..., n_segments, 3) of lengths (..., n) [m]."""
        lengths_m = self._checked(lengths_m)
        return (lengths_m @ self.arcs_from_lengths_matrix.T).reshape(lengths_m.shape[:-1] + (self.n_segments, 3))

    def lengths_from_arcs(self, arcs: np.ndarray) -> np.ndarray:
        """Lengths (..., n) [m] of arcs (..., n_segments, 3); limits are not applied."""
        arcs = np.asarray(arcs, dtype=float)
        return arcs.reshape(arcs.shape[:-2] + (-1,)) @ self.lengths_from_arcs_matrix.T

    def polar(self, lengths_m: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bend theta [rad], direction phi [rad] and ell [m] of every segment, each (..., n_segments)."""
        return pcc.polar_from_arcs(self.arcs(lengths_m))

    def fk_lengths(self, lengths_m: np.ndarray) -> np.ndarray:
        """T_base_tip (..., 4, 4) at lengths (..., n) [m]."""
        return self.fk_segments(lengths_m)[..., -1, :, :]

    def fk_pressures(self, pressures_pa: np.ndarray) -> np.ndarray:
        """T_base_tip (..., 4, 4) at gauge pressures (..., n) [Pa]. Raises CurveError outside the calibrated range."""
        return self.fk_lengths(self.lengths(pressures_pa))

    def fk_segments(self, lengths_m: np.ndarray) -> np.ndarray:
        """Poses of the ends of all segments in the base, (..., n_segments, 4, 4)."""
        return self.fk_arcs(self.arcs(lengths_m))

    def fk_arcs(self, arcs: np.ndarray) -> np.ndarray:
        """Poses of the ends of all segments in the base, (..., n_segments, 4, 4), from arcs (..., n_segments, 3)."""
        arcs = np.asarray(arcs, dtype=float)
        poses = np.empty(arcs.shape[:-1] + (4, 4))
        pose = np.eye(4)
        for i, twist in enumerate(self.closing_twists):
            pose = pose @ pcc.arc_transforms(arcs[..., i, :], twist)
            pose[..., :3, 3] += self.rigid_lengths_m[i] * pose[..., :3, 2]
            poses[..., i, :, :] = pose
        return poses

    def backbone(self, lengths_m: np.ndarray, points: int) -> np.ndarray:
        """Centre line from base to tip at one length vector (n,) [m]: (1 + n_segments * points, 3) positions [m] in the base."""
        arcs = self.arcs(lengths_m)
        starts = np.concatenate([np.eye(4)[None], self.fk_arcs(arcs)[:-1]])
        parts = arcs[:, None, :] * (np.arange(1, points + 1) / points)[:, None]
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
        return self.jacobian_lengths(self.lengths(pressures_pa)) * self.curve.slopes(pressures_pa)[..., None, :]

    def axis_jacobian_lengths(self, lengths_m: np.ndarray) -> np.ndarray:
        """Derivative of the tip axis (z of the tip frame) by the lengths, (..., 3, n) [1/m]."""
        axis = self.fk_lengths(lengths_m)[..., :3, 2]
        return np.cross(self.twist_jacobian_lengths(lengths_m)[..., 3:, :], axis[..., :, None], axis=-2)

    def twist_jacobian_lengths(self, lengths_m: np.ndarray) -> np.ndarray:
        """Twist of the tip in the base per unit rate of the lengths, (..., 6, n): velocity [m/m], then angular velocity [rad/m]."""
        return self.twist_jacobian_arcs(self.arcs(lengths_m)) @ self.arcs_from_lengths_matrix

    def twist_jacobian_arcs(self, arcs: np.ndarray) -> np.ndarray:
        """Twist of the tip in the base per unit rate of the arcs, (..., 6, 3 n_segments)."""
        arcs = np.asarray(arcs, dtype=float)
        poses = self.fk_arcs(arcs)
        tip = poses[..., -1, :3, 3]
        jacobian = np.empty(arcs.shape[:-2] + (6, 3 * self.n_segments))
        rotation = np.broadcast_to(np.eye(3), arcs.shape[:-2] + (3, 3))
        for i, twist in enumerate(self.closing_twists):
            local = pcc.arc_jacobians(arcs[..., i, :], twist)
            columns = slice(3 * i, 3 * i + 3)
            end = poses[..., i, :3, 3] - self.rigid_lengths_m[i] * poses[..., i, :3, 2]
            angular = rotation @ local[..., 3:, :]
            jacobian[..., 3:, columns] = angular
            jacobian[..., :3, columns] = rotation @ local[..., :3, :] + np.cross(angular, (tip - end)[..., :, None], axis=-2)
            rotation = poses[..., i, :3, :3]
        return jacobian

    def _checked(self, lengths_m):
        lengths_m = np.asarray(lengths_m, dtype=float)
        if lengths_m.shape[-1:] != (self.n_actuators,):
            raise KinematicsError(
                f'lengths of shape {lengths_m.shape}: give {self.n_actuators} values [m], one for each of {", ".join(self.robot.chambers)}'
            )
        if not np.isfinite(lengths_m).all():
            raise KinematicsError(f'a length is {lengths_m[~np.isfinite(lengths_m)][0]} m: give finite values')
        return lengths_m


def load_arm(robot: str = 'two_module_arm', rig: str = 'virtual') -> Arm:
    """The arm of a robot file with the curve calibrated on a rig.

    Raises:
        RobotFileError, CalibrationError, CurveError: One line each, saying what to do.
    """
    loaded = load_robot(robot)
    return Arm(loaded, load_curve(calibration_path(rig, 'pressure_length'), loaded))
