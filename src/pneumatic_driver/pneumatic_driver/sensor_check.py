"""Detection of impossible readings: out of range, or stuck while the pressure should change."""

from collections.abc import Sequence

import numpy as np

# Out-of-range readings of a channel among the last ones that are a fault; one spike is tolerated.
MIN_OUT_OF_RANGE_READINGS = 2
READINGS_WINDOW = 6
STUCK_WINDOW_S = 0.5
MIN_STUCK_ERROR_PA = 10e3
MAX_STUCK_CHANGE_PA = 300.0


class SensorCheck:
    """Check of the readings of one device.

    A reading is stuck if it stays within `MAX_STUCK_CHANGE_PA` for `STUCK_WINDOW_S` although it is
    more than `MIN_STUCK_ERROR_PA` from the valve's set point: frozen sensor, stuck valve, detached
    tube or missing supply. A sensor frozen at its set point cannot be distinguished from a steady
    pressure.

    Args:
        channels: Number of readings.
        valid_pa: Lowest and highest possible reading [Pa] gauge; None: any.
    """

    def __init__(self, channels: int, valid_pa: Sequence[float] | None):
        self._valid_pa = valid_pa
        self._beyond = np.zeros(
            (READINGS_WINDOW, channels), bool
        )  # the last readings, newest first
        self._anchors_pa = np.full(channels, np.nan)
        self._stuck_since_s = np.zeros(channels)

    def restart(self) -> None:
        """Restart the check after a gap in the readings or when faults are cleared."""
        self._beyond[:] = False
        self._anchors_pa[:] = np.nan

    def faults(
        self, at_s: float, pressures_pa: np.ndarray, set_points_pa: np.ndarray | None
    ) -> list[str]:
        """Return the names of the present faults.

        Args:
            at_s: Time of the readings [s], on any steady clock.
            pressures_pa: Readings, shape (channels,) [Pa] gauge.
            set_points_pa: Set points of the valves, shape (channels,) [Pa] gauge; None: not
                driven, so that no reading is stuck.
        """
        found = []
        if self._valid_pa is not None:
            low_pa, high_pa = self._valid_pa
            inside = (low_pa <= pressures_pa) & (pressures_pa <= high_pa)
            self._beyond = np.vstack([~inside, self._beyond[:-1]])
            found += [
                f'pressure_{k}_out_of_range'
                for k in np.flatnonzero(self._beyond.sum(0) >= MIN_OUT_OF_RANGE_READINGS)
            ]
        if set_points_pa is None:
            self._anchors_pa[:] = np.nan
            return found
        unchanged = (np.abs(set_points_pa - pressures_pa) > MIN_STUCK_ERROR_PA) & (
            np.abs(pressures_pa - self._anchors_pa) <= MAX_STUCK_CHANGE_PA
        )
        self._anchors_pa = np.where(unchanged, self._anchors_pa, pressures_pa)
        self._stuck_since_s = np.where(unchanged, self._stuck_since_s, at_s)
        return found + [
            f'pressure_{k}_stuck'
            for k in np.flatnonzero(at_s - self._stuck_since_s >= STUCK_WINDOW_S)
        ]
