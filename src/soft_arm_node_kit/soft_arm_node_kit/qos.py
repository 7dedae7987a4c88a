"""Named QoS profiles by the purpose of a topic; nodes use no raw policies.

Nodes of `soft_arm_node_kit.node` let parameters override the policies of these profiles:
`qos_overrides.<topic>.<publisher or subscription>.<depth, reliability, deadline or lifespan>`.
"""

import copy
from typing import Any

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

_OVERRIDABLE = (
    QoSPolicyKind.DEPTH,
    QoSPolicyKind.RELIABILITY,
    QoSPolicyKind.DEADLINE,
    QoSPolicyKind.LIFESPAN,
)


class NamedProfile(QoSProfile):
    """One of the profiles below."""

    def overridable(self) -> dict[str, Any]:
        """Return the arguments of a topic whose policies parameters may override."""
        return {
            'qos_profile': copy.copy(self),  # rclpy writes the overrides into the profile
            'qos_overriding_options': QoSOverridingOptions(_OVERRIDABLE),
        }


def _profile(depth: int, reliability: ReliabilityPolicy, **policies: object) -> NamedProfile:
    return NamedProfile(
        history=HistoryPolicy.KEEP_LAST, depth=depth, reliability=reliability, **policies
    )


SENSOR = _profile(5, ReliabilityPolicy.BEST_EFFORT)
"""Subscriptions to streams of measurements and images (REP 2003): they match every publisher."""

STATE = _profile(10, ReliabilityPolicy.RELIABLE)
"""Publishers of measurements and estimates; both ends of reports such as /diagnostics."""

IMAGE = _profile(1, ReliabilityPolicy.RELIABLE)
"""Publishers of images; the default of realsense2_camera."""

COMMAND = _profile(
    1, ReliabilityPolicy.RELIABLE, deadline=Duration(seconds=0.1), lifespan=Duration(seconds=0.5)
)
"""Publishers of set points, which send at 10 Hz or more.

A set point expires after 0.5 s, the command time-out of the drivers.
"""

ANY_COMMAND = _profile(1, ReliabilityPolicy.RELIABLE)
"""Subscriptions to set points: the newest counts.

They request no deadline, so that they match every publisher.
"""

ANSWERS = _profile(100, ReliabilityPolicy.RELIABLE)
"""Both ends of /clock_answers, the publisher of /clock, and subscriptions in simulated time.

None may be lost.
"""

LATCHED = _profile(1, ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""The last message is kept for late subscribers."""
