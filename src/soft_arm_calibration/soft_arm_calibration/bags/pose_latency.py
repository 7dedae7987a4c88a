"""Find how late another system's poses are, from a motion that something else has measured too."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from soft_arm_calibration.bags.track import Track
from soft_arm_vision.calibration.extrinsics import MAX_RESIDUAL_M, register, transform
from soft_arm_vision.errors import VisionError

RANGE_S, STEP_S = 0.5, 0.01  # latencies that are looked at, and steps of the first look
MIN_SAMPLES = 60
OUTLIER_FLOOR_M, OUTLIER_MEDIANS = 3e-3, 3.5  # as of the extrinsics' points
BLOCKS = 10  # parts of the recording that are left out in turn
MAX_SD_S = 5e-3
SMOOTHED = 5  # length of the moving average; avoids bias from interpolated noise
MIN_DISTANCE_M = 1e-5  # mean distance of two independent measurements


@dataclass(frozen=True)
class Latency:
    """Latency of poses.

    Attributes:
        latency_s, sd_s: Age of a pose at its stamp [s], and its standard deviation.
        residual_m: Root mean square distance of both tracks then [m].
        samples: Number of samples of the reference that were used.
    """

    latency_s: float
    sd_s: float
    residual_m: float
    samples: int


def find_latency(late: Track, reference: Track) -> Latency:
    """Estimate by how much one track of a moving tip is later than another one.

    Least squares over the latency and the rigid transform between their frames. The uncertainty
    comes from the jackknife over parts of the recording (Efron and Tibshirani 1993, chapter 11),
    which allows for correlated errors.

    Args:
        late: Places of the tip in any frame.
        reference: Places of the tip in any frame, with stamps that are right.

    Raises:
        VisionError: If the tracks do not overlap, do not correspond, or move too little.
    """
    given, late = late, _smoothed(late)
    ends_ns = round(1e9 * RANGE_S) * np.array([1, -1])
    stamps_ns, reference_m = reference.stamps_ns, reference.points_m
    there = np.ones(len(stamps_ns), bool)
    for end_ns in ends_ns:
        there &= late.at(stamps_ns + end_ns)[0]
    stamps_ns, reference_m = stamps_ns[there], reference_m[there]
    if len(stamps_ns) < MIN_SAMPLES:
        raise VisionError(
            f'the tip was measured both ways in {len(stamps_ns)} samples, {MIN_SAMPLES} are '
            'needed: record a longer motion in view of both'
        )

    def distances_m(latency_s: float, used: np.ndarray) -> np.ndarray:
        points_m = late.at(stamps_ns + round(1e9 * latency_s))[1]
        known = used & np.isfinite(points_m[:, 0])
        T = register(points_m[known], reference_m[known])
        return np.linalg.norm(transform(T, points_m) - reference_m, axis=1)

    def best_s(used: np.ndarray, low_s: float, high_s: float) -> float:
        def cost(latency_s: float) -> float:
            return float(np.nanmean(np.square(distances_m(latency_s, used)[used])))

        return float(minimize_scalar(cost, bounds=(low_s, high_s), options={'xatol': 1e-5}).x)

    kept = np.ones(len(stamps_ns), bool)
    looked_s = np.arange(-RANGE_S, RANGE_S + STEP_S / 2, STEP_S)
    about_s = looked_s[np.argmin([np.nanmedian(distances_m(s, kept)) for s in looked_s])]
    near_s = about_s - 2 * STEP_S, about_s + 2 * STEP_S
    apart_m = distances_m(about_s, kept)
    kept = ~(apart_m > max(OUTLIER_FLOOR_M, OUTLIER_MEDIANS * float(np.nanmedian(apart_m))))
    latency_s = best_s(kept, *near_s)
    residual_m = float(np.sqrt(np.nanmean(np.square(distances_m(latency_s, kept)[kept]))))
    if residual_m > MAX_RESIDUAL_M:
        raise VisionError(
            f'the two tracks of the tip are {1e3 * residual_m:.1f} mm rms apart at best, '
            f'{1e3 * MAX_RESIDUAL_M:g} mm are allowed: check that both clocks agree within '
            f'{RANGE_S} s, and where the tip is on the body'
        )
    if _is_made_of(given, stamps_ns, reference_m, latency_s):
        raise VisionError(
            'the recorded tip_pose was made of these poses: record with another tip_source'
        )
    block = np.arange(len(stamps_ns)) * BLOCKS // len(stamps_ns)
    without_s = np.array([best_s(kept & (block != b), *near_s) for b in range(BLOCKS)])
    sd_s = float(np.sqrt((BLOCKS - 1) * np.var(without_s)))
    if sd_s > MAX_SD_S:
        raise VisionError(
            f'the latency {1e3 * latency_s:.0f} ms is uncertain by {1e3 * sd_s:.0f} ms, '
            f'{1e3 * MAX_SD_S:.0f} ms are allowed: move the tip faster, and longer'
        )
    return Latency(latency_s, sd_s, residual_m, int(kept.sum()))


def _is_made_of(
    late: Track, stamps_ns: np.ndarray, reference_m: np.ndarray, latency_s: float
) -> bool:
    """Return whether the reference is but one of the poses for each stamp."""
    nearest = np.argmin(np.abs(late.stamps_ns - stamps_ns[0] - round(1e9 * latency_s)))
    known, points_m = late.at(stamps_ns + late.stamps_ns[nearest] - stamps_ns[0])
    points_m, reference_m = points_m[known], reference_m[known]
    apart_m = transform(register(points_m, reference_m), points_m) - reference_m
    return bool(np.abs(apart_m).mean() < MIN_DISTANCE_M)


def _smoothed(track: Track) -> Track:
    """Return moving averages of positions and stamps, which add no latency."""
    if len(track.stamps_ns) < SMOOTHED:
        return track
    over = np.lib.stride_tricks.sliding_window_view
    since_ns = track.stamps_ns - track.stamps_ns[0]
    stamps_ns = track.stamps_ns[0] + np.round(over(since_ns, SMOOTHED).mean(axis=-1))
    return Track.of(stamps_ns, over(track.points_m, SMOOTHED, axis=0).mean(axis=-1))
