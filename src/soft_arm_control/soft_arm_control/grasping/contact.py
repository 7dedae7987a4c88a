"""Contact of a closing finger, from its pressure and from its shape.

Pressure: the chamber of a finger that is held grows less, so the same flow raises its pressure faster than that of the free finger.
Shape: the pieces beyond the object stop to bend, so bend is missing beside that of the free finger.
"""

from collections import deque

import numpy as np

from soft_arm_control.grasping.no_load_reference import NoLoadReference

WINDOW_PA = 12.0e3  # rise over which rates are compared ..
LONGEST_S = 1.0  # .. but no longer than this
LASTING_S = 0.12  # the least of so long counts: a sample that was stamped late by a busy machine makes one peak
BASELINE_PA = 15.0e3  # first part of the closing: the bend that is missing there is the camera's or the curve's, not an object's
RATE_BASELINE_PA = 40.0e3  # the same of the rate: the supply's, the driver's or the machine's
SHAPES = 3  # the median of so many counts: one that was seen wrongly does not
KEPT_S = 5.0


class ContactDetector:
    """Watches one closing; samples carry their stamps [s] and come in the order of time.

    Attributes:
        excess: Share by which the pressure has lastingly risen faster than that of the free finger; None if not known yet.
        deficit_rad: Bend that is missing; None if not known yet.
        largest_excess, largest_deficit_rad: The largest so far.
        by_pressure, by_shape: Whether each has shown a contact.
    """

    def __init__(self, free: NoLoadReference):
        self._free = free
        self._window: deque[tuple[float, float, float]] = (
            deque()
        )  # stamp, expected rise, measured rise
        self._excesses: deque[tuple[float, float]] = (
            deque()
        )  # stamp, excess of the window that ends there
        self._ratios: list[float] = []
        self._history: deque[tuple[float, float]] = deque()
        self._last: tuple[float, float, float] | None = None
        self._waiting: deque[tuple[float, float]] = deque()  # shapes newer than the newest pressure
        self._baseline_rad: list[float] = []
        self._begin_pa: float | None = None
        self._missing_rad: deque[float] = deque(maxlen=SHAPES)
        self.excess = self.deficit_rad = self.largest_excess = self.largest_deficit_rad = None
        self.by_pressure = self.by_shape = False

    def add_pressure(self, stamp_s: float, pressure_pa: float, set_point_pa: float) -> None:
        """Take a measured pressure and what the device regulates to [Pa]."""
        if self._last is not None and stamp_s <= self._last[0]:
            return
        self._begin_pa = pressure_pa if self._begin_pa is None else self._begin_pa
        self._history.append((stamp_s, pressure_pa))
        while self._history[0][0] < stamp_s - KEPT_S:
            self._history.popleft()
        if self._last is not None and self._free.time_constants_s is not None:
            self._compare_rates(stamp_s, pressure_pa)
        self._last = stamp_s, pressure_pa, set_point_pa
        while self._waiting and self._waiting[0][0] <= stamp_s:
            self._compare_bends(*self._waiting.popleft())

    def add_shape(self, stamp_s: float, bends_rad: np.ndarray) -> None:
        """Take the bends of the pieces [rad], shape (pieces,), in the image of this stamp."""
        if np.isfinite(bends_rad).all():
            self._waiting.append((stamp_s, float(np.sum(bends_rad))))

    def _compare_rates(self, stamp_s, pressure_pa) -> None:
        before_s, before_pa, set_point_pa = self._last
        expected_pa = (set_point_pa - before_pa) * -np.expm1(
            -(stamp_s - before_s) / self._free.time_constant_s(before_pa)
        )
        self._window.append((stamp_s, expected_pa, pressure_pa - before_pa))
        expected_pa, measured_pa = (sum(row[k] for row in self._window) for k in (1, 2))
        while (
            expected_pa - self._window[0][1] >= WINDOW_PA
            or stamp_s - self._window[0][0] > LONGEST_S
        ):
            _, first_expected_pa, first_measured_pa = self._window.popleft()
            expected_pa, measured_pa = (
                expected_pa - first_expected_pa,
                measured_pa - first_measured_pa,
            )
        if expected_pa < WINDOW_PA:
            return
        ratio = measured_pa / expected_pa
        if pressure_pa < self._begin_pa + RATE_BASELINE_PA:
            self._ratios.append(ratio)
            return
        self._excesses.append(
            (stamp_s, ratio / (float(np.median(self._ratios)) if self._ratios else 1.0) - 1.0)
        )
        while len(self._excesses) > 1 and self._excesses[1][0] <= stamp_s - LASTING_S:
            self._excesses.popleft()
        if self._excesses[0][0] > stamp_s - LASTING_S:
            return
        self.excess = min(excess for _, excess in self._excesses)
        self.largest_excess = max(self.excess, self.largest_excess or 0.0)
        self.by_pressure = self.by_pressure or self.excess > self._free.excess_limit

    def _compare_bends(self, stamp_s, bend_rad) -> None:
        pressure_pa = float(np.interp(stamp_s, *zip(*self._history, strict=True)))
        missing_rad = self._free.bend_rad(pressure_pa) - bend_rad
        if pressure_pa < self._begin_pa + BASELINE_PA or not self._baseline_rad:
            self._baseline_rad.append(missing_rad)
            return
        self._missing_rad.append(missing_rad - float(np.median(self._baseline_rad)))
        if len(self._missing_rad) < SHAPES:
            return
        self.deficit_rad = float(np.median(self._missing_rad))
        self.largest_deficit_rad = max(self.deficit_rad, self.largest_deficit_rad or 0.0)
        self.by_shape = self.by_shape or self.deficit_rad > self._free.deficit_limit_rad
