"""Values of the tip loop in the diagnostics of `tip_controller`."""

import math
from collections.abc import Sequence

import numpy as np

from soft_arm_control.tip.bias_filter import BiasFilter
from soft_arm_control.tip.controller import ADDED_DAMPING_RATIO
from soft_arm_control.tip.stability_margins import stability_margins


def loop_values(
    bias_filter: BiasFilter, valve_delay_s: float, latencies_s: Sequence[float]
) -> dict[str, float]:
    """Return delay, stability margins and estimated payload; what is not known is left out.

    Args:
        bias_filter: Estimator of the loop.
        valve_delay_s: Time from a command to its effect [s].
        latencies_s: Times from images to the commands that contain them [s].
    """
    if not latencies_s:
        return {}
    values = {f'image_to_command_p{p}_s': float(np.percentile(latencies_s, p)) for p in (50, 99)}
    if math.isfinite(bias_filter.image_period_s):
        margins = stability_margins(
            bias_filter.modes,
            ADDED_DAMPING_RATIO,
            valve_delay_s,
            values['image_to_command_p50_s'],
            bias_filter.image_period_s,
            bias_filter.tip_deviation_m,
        )
        values['gain_margin'] = margins.gain
        values['phase_margin_deg'] = math.degrees(margins.phase_rad)
    if payload := bias_filter.payload_kg():
        values['payload_estimate_kg'], values['payload_deviation_kg'] = payload
    return values
