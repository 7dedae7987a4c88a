"""What a detector that works on pairs of images says of itself in /diagnostics."""

from soft_arm_node_kit import diagnostics
from soft_arm_vision.ros.newest_pair import NewestPair

SILENT_S = 0.5  # without a pair of images
COMPILING_S = 2.0  # at work on one pair: it is the first, and numba compiles


def detector_status(
    pair: NewestPair,
    frames: diagnostics.RateMeter,
    found: diagnostics.RateMeter,
    stale_s: float,
    what: str,
    trouble: str,
    logger,
):
    """Level, message and values.

    Args:
        pair: Where the images come from.
        frames, found: Ticked with every pair, and with every one in which it was found.
        stale_s: Age of the newest find that is an error [s].
        what: Is looked for, such as 'ring'.
        trouble: Why it was not found last.
        logger: Of the node.
    """
    if not pair.alive:
        raise RuntimeError('the detector thread has ended; its error stands above')
    age_s, busy_s = found.age_s, pair.busy_s
    values = {
        'detection_rate_hz': found.rate_hz,
        'frame_rate_hz': frames.rate_hz,
        'age_s': 'none' if age_s is None else age_s,
        'pairs_skipped': pair.skipped,
    }
    if busy_s > COMPILING_S:
        compiling = (
            f'compiling: the first {what} after an installation takes a minute or two, later '
            'ones do not'
        )
        logger.info(compiling, once=True)
        return diagnostics.WARN, f'{compiling}; {busy_s:.0f} s so far', values | {'ready': False}
    if frames.age_s is None or frames.age_s > SILENT_S:
        return (
            diagnostics.ERROR,
            pair.trouble or 'no pairs of colour and depth: is the camera running with align_depth?',
            values,
        )
    if age_s is None or age_s > stale_s:
        return diagnostics.ERROR, f'{what} lost: {trouble}', values
    return diagnostics.OK, f'{what} in view', values
