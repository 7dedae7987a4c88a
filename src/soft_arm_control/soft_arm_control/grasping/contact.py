"""Detect the contact of a closing finger from its pressure and from its shape.

Pressure: the chamber of a blocked finger expands less, so the same flow raises its pressure faster
than in the no-load reference. Shape: the segments beyond the object stop bending, so the finger
bends less than in the no-load reference.
"""

import math
from collections import deque

import numpy as np

from soft_arm_control.grasping.no_load_reference import NoLoadReference

WINDOW_PA = 12.0e3  # expected rise over which the rates are compared
MAX_WINDOW_S = 1.0
# The smallest excess of this time is used: a sample with a late stamp causes a single peak.
MIN_EXCESS_DURATION_S = 0.12
# Missing bend in this first rise of the closing is an error of the camera or of the reference.
BASELINE_PA = 15.0e3
# Excess in this first rise of the closing is caused by the supply or the driver.
RATE_BASELINE_PA = 40.0e3
MEDIAN_SHAPES = 3  # median filter against single wrong detections
HISTORY_S = 5.0


class ContactDetector:
    """Detect the contact in one closing. Samples have stamps [s] and come in the order of time.

    Attributes:
        excess: Share by which the pressure rises faster than in the reference; None if unknown.
        deficit_rad: Bend missing relative to the reference; None if unknown.
        largest_excess, largest_deficit_rad: Largest values of this closing.
        by_pressure, by_shape: Whether the pressure, or the shape, has shown a contact.
    """

    def __init__(self, reference: NoLoadReference):
        self._reference = reference
        # Stamp, expected rise and measured rise of each pair of samples in the window.
        self._window: deque[tuple[float, float, float]] = deque()
        # Stamp and excess of the window that ends there.
        self._excesses: deque[tuple[float, float]] = deque()
        self._ratios: list[float] = []
        self._history: deque[tuple[float, float]] = deque()
        self._last: tuple[float, float, float] | None = None
        self._waiting: deque[tuple[float, float]] = deque()  # shapes newer than the newest pressure
        self._baseline_rad: list[float] = []
        self._begin_pa = math.nan  # first pressure of the closing
        self._missing_rad: deque[float] = deque(maxlen=MEDIAN_SHAPES)
        self.excess: float | None = None
        self.deficit_rad: float | None = None
        self.largest_excess: float | None = None
        self.largest_deficit_rad: float | None = None
        self.by_pressure = False
        self.by_shape = False

    def add_pressure(self, stamp_s: float, pressure_pa: float, set_point_pa: float) -> None:
        """Add a measured pressure and the set point of the device [Pa]."""
        if self._last is not None and stamp_s <= self._last[0]:
            return
        if self._last is None:
            self._begin_pa = pressure_pa
        self._history.append((stamp_s, pressure_pa))
        while self._history[0][0] < stamp_s - HISTORY_S:
            self._history.popleft()
        if self._last is not None and self._reference.time_constants_s is not None:
            self._compare_rates(self._last, stamp_s, pressure_pa)
        self._last = stamp_s, pressure_pa, set_point_pa
        while self._waiting and self._waiting[0][0] <= stamp_s:
            self._compare_bends(*self._waiting.popleft())

    def add_shape(self, stamp_s: float, bends_rad: np.ndarray) -> None:
        """Add the bends of the segments [rad], shape (segments,), in the image of this stamp."""
        if np.isfinite(bends_rad).all():
            self._waiting.append((stamp_s, float(np.sum(bends_rad))))

    def _compare_rates(
        self, last: tuple[float, float, float], stamp_s: float, pressure_pa: float
    ) -> None:
        before_s, before_pa, set_point_pa = last
        expected_pa = (set_point_pa - before_pa) * -np.expm1(
            -(stamp_s - before_s) / self._reference.time_constant_s(before_pa)
        )
        self._window.append((stamp_s, expected_pa, pressure_pa - before_pa))
        expected_pa = sum(row[1] for row in self._window)
        measured_pa = sum(row[2] for row in self._window)
        while (
            expected_pa - self._window[0][1] >= WINDOW_PA
            or stamp_s - self._window[0][0] > MAX_WINDOW_S
        ):
            _, first_expected_pa, first_measured_pa = self._window.popleft()
            expected_pa -= first_expected_pa
            measured_pa -= first_measured_pa
        if expected_pa < WINDOW_PA:
            return
        ratio = measured_pa / expected_pa
        if pressure_pa < self._begin_pa + RATE_BASELINE_PA:
            self._ratios.append(ratio)
            return
        baseline = float(np.median(self._ratios)) if self._ratios else 1.0
        self._excesses.append((stamp_s, ratio / baseline - 1.0))
        while len(self._excesses) > 1 and self._excesses[1][0] <= stamp_s - MIN_EXCESS_DURATION_S:
            self._excesses.popleft()
        if self._excesses[0][0] > stamp_s - MIN_EXCESS_DURATION_S:
            return
        self.excess = min(excess for _, excess in self._excesses)
        self.largest_excess = max(self.excess, self.largest_excess or 0.0)
        self.by_pressure = self.by_pressure or self.excess > self._reference.excess_limit

    def _compare_bends(self, stamp_s: float, bend_rad: float) -> None:
        times_s, pressures_pa = zip(*self._history, strict=True)
        pressure_pa = float(np.interp(stamp_s, times_s, pressures_pa))
        missing_rad = self._reference.bend_rad(pressure_pa) - bend_rad
        if pressure_pa < self._begin_pa + BASELINE_PA or not self._baseline_rad:
            self._baseline_rad.append(missing_rad)
            return
        self._missing_rad.append(missing_rad - float(np.median(self._baseline_rad)))
        if len(self._missing_rad) < MEDIAN_SHAPES:
            return
        self.deficit_rad = float(np.median(self._missing_rad))
        self.largest_deficit_rad = max(self.deficit_rad, self.largest_deficit_rad or 0.0)
        self.by_shape = self.by_shape or self.deficit_rad > self._reference.deficit_limit_rad
