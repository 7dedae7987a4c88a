"""Named QoS profiles: nodes say what a topic is for, never raw policies."""

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy


def _profile(
    depth: int,
    reliability: ReliabilityPolicy,
    durability: DurabilityPolicy = DurabilityPolicy.VOLATILE,
) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST, depth=depth, reliability=reliability, durability=durability
    )


SENSOR = _profile(1, ReliabilityPolicy.BEST_EFFORT)
"""Newest sample wins; matches every publisher. Subscriptions to images."""

IMAGE = _profile(1, ReliabilityPolicy.RELIABLE)
"""Publishers of images, as realsense2_camera's default."""

STATE = _profile(10, ReliabilityPolicy.RELIABLE)
"""Periodic state: measured pressures, configurations, poses."""

COMMAND = _profile(1, ReliabilityPolicy.RELIABLE)
"""Set points: only the newest counts, none may be lost silently."""

LATCHED = _profile(1, ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL)
"""Last value is kept for late subscribers."""
