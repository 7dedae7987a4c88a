"""Contact from a stream of pressures and tip poses.

Every pose updates the detection; a location uses the poses in memory.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from soft_arm_kinematics.contact.estimation import (
    ContactEstimate,
    alarm_limit,
    centrode_deviations,
    locate_contact,
)
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.segments.modal import ModalModel

MEMORY = 900  # poses kept for the location
RELEASE_LIMIT = float(chi2.isf(0.05, 3))


@dataclass(frozen=True)
class Detection:
    """State of the detector after one pose.

    A value is None while it is unknown: with too few poses, or without a change of pressure.

    Attributes:
        in_contact: An alarm was raised and the tip has not come back to the free model since.
        statistic: Squared centrode deviation over its variance, chi-squared with 2 degrees of
            freedom in free motion.
        limit: Value of the statistic that raises the alarm.
        deviation_m: Distance of the measured centrode from the model's [m].
    """

    in_contact: bool
    statistic: float | None
    limit: float
    deviation_m: float | None


class ContactStream:
    """Detects and locates contact as poses come in."""

    def __init__(
        self,
        model: ModalModel,
        covariance: np.ndarray,
        false_alarms_per_min: float = 0.1,
        rate_hz: float = 30.0,
        window: int = 30,
    ):
        """Start without contact.

        Args:
            model: The bellows.
            covariance: (3, 3), default for planar poses without one [m, m, rad].
            false_alarms_per_min: Largest accepted rate of alarms in free motion [1/min].
            rate_hz: Poses per second [Hz].
            window: Poses over which the twist is measured.

        Raises:
            KinematicsError: If the covariance is not positive definite or a number is out of range.
        """
        covariance = _checked(covariance)
        if not 3 <= window <= MEMORY or not 0.0 < false_alarms_per_min < 60.0 * rate_hz:
            raise KinematicsError(
                f'window {window}, {false_alarms_per_min} false alarms a minute '
                f'at {rate_hz} Hz: need 3 <= window <= {MEMORY} and fewer alarms than poses'
            )
        self._model, self._covariance, self._window = model, covariance, window
        self._false_alarm = false_alarms_per_min / (60.0 * rate_hz)
        self._limit = alarm_limit(false_alarms_per_min, rate_hz)
        self._samples: deque[tuple[float, np.ndarray, np.ndarray]] = deque(maxlen=MEMORY)
        self._in_contact = False

    def update(
        self, pressure_pa: float, pose: np.ndarray, covariance: np.ndarray | None = None
    ) -> Detection:
        """Add a pressure and the planar pose measured with it.

        Args:
            pressure_pa: Gauge pressure [Pa].
            pose: (3,) = x [m], z [m], theta [rad].
            covariance: (3, 3) of this pose, as the tracker reports it; default: the
                covariance given to the constructor.

        Raises:
            KinematicsError: If the pressure is outside the model's limits, a value is not finite,
                or the covariance is not positive definite.
        """
        self._model.checked_pressures(pressure_pa)
        if not np.isfinite(pose).all():
            raise KinematicsError(f'pose {pose} is not finite: check the tracker')
        covariance = self._covariance if covariance is None else _checked(covariance)
        self._samples.append((float(pressure_pa), np.asarray(pose, dtype=float), covariance))
        if len(self._samples) < self._window:
            return Detection(self._in_contact, None, self._limit, None)
        p, poses, noise = self._arrays(self._window)
        statistic, deviation = (
            values[0] for values in centrode_deviations(self._model, p, poses, noise, self._window)
        )
        if np.isfinite(statistic) and statistic > self._limit:
            self._in_contact = True
        elif self._in_contact and self._released(p, poses, noise):
            self._in_contact = False
            self._samples = deque(list(self._samples)[-self._window :], maxlen=self._samples.maxlen)
        known = np.isfinite(statistic) and np.isfinite(deviation).all()
        return Detection(
            self._in_contact,
            float(statistic) if known else None,
            self._limit,
            float(np.linalg.norm(deviation)) if known else None,
        )

    def estimate(self) -> ContactEstimate | None:
        """Locate the contact with the poses in memory; None without contact."""
        if not self._in_contact:
            return None
        p, poses, noise = self._arrays(len(self._samples))
        return locate_contact(self._model, p, poses, noise, self._false_alarm)

    def _released(self, p: np.ndarray, poses: np.ndarray, noise: np.ndarray) -> bool:
        """Test whether the mean pose of a window agrees with free motion."""
        mean = (poses - self._model.tip(p)).mean(axis=0)
        covariance = noise.sum(axis=0) / len(noise) ** 2
        return float(mean @ np.linalg.solve(covariance, mean)) < RELEASE_LIMIT

    def _arrays(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the newest pressures (n,), poses (n, 3) and covariances (n, 3, 3)."""
        p, poses, noise = zip(*list(self._samples)[-count:], strict=True)
        return np.array(p), np.array(poses), np.array(noise)


def _checked(covariance: np.ndarray) -> np.ndarray:
    covariance = np.asarray(covariance, dtype=float)
    if (
        covariance.shape != (3, 3)
        or not np.isfinite(covariance).all()
        or not np.all(np.linalg.eigvalsh(covariance) > 0)
    ):
        raise KinematicsError(
            f'covariance {covariance.tolist()}: give a positive definite (3, 3) of x, z [m] and '
            'theta [rad]'
        )
    return covariance
