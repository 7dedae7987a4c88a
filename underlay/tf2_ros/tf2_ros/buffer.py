"""The tree of frames and its recent history."""

import bisect
import math
import threading
from dataclasses import dataclass, field

from geometry_msgs.msg import TransformStamped
from rclpy.duration import Duration
from rclpy.logging import get_logger
from rclpy.time import Time
from tf2_ros.exceptions import (
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
    TransformException,
)
from tf2_ros.rigid import IDENTITY, compose, interpolate, inverse

_LOGGER = get_logger('tf2_buffer')


@dataclass
class _Edge:
    """One frame in its parent: T_parent_child at increasing stamps, or one static value."""

    parent: str
    static: bool
    stamps_ns: list[int] = field(default_factory=list)
    values: list = field(default_factory=list)

    def at(self, stamp_ns, child):
        if self.static:
            return self.values[-1]
        i = bisect.bisect_left(self.stamps_ns, stamp_ns)
        if i < len(self.stamps_ns) and self.stamps_ns[i] == stamp_ns:
            return self.values[i]
        if i == 0 or i == len(self.stamps_ns):
            side, edge, known = (
                ('past', 'earliest', self.stamps_ns[0])
                if i == 0
                else ('future', 'latest', self.stamps_ns[-1])
            )
            raise ExtrapolationException(
                f'Lookup would require extrapolation into the {side}. '
                f'Requested time {stamp_ns / 1e9:.6f} but the {edge} data is at '
                f'time {known / 1e9:.6f}, when looking up frame [{child}] in [{self.parent}]'
            )
        before, after = self.stamps_ns[i - 1], self.stamps_ns[i]
        return interpolate(
            self.values[i - 1], self.values[i], (stamp_ns - before) / (after - before)
        )


class Buffer:
    """Transforms of the last `cache_time` (default 10 s), interpolated; thread-safe."""

    def __init__(
        self, cache_time=None, node=None
    ):  # node: as in tf2_ros, where it adds a debug service; none here
        self._cache_ns = (
            Duration(seconds=10).nanoseconds if cache_time is None else cache_time.nanoseconds
        )
        self._edges: dict[str, _Edge] = {}
        self._changed = threading.Condition()

    def set_transform(self, transform, authority):
        """Add the transform of a moving frame; too old ones and known stamps are ignored."""
        self._set(transform, authority, static=False)

    def set_transform_static(self, transform, authority):
        """Add a TransformStamped that holds for all times."""
        self._set(transform, authority, static=True)

    def clear(self):
        """Forget every moving frame; static ones stay, since they are sent only once."""
        with self._changed:
            self._edges = {child: edge for child, edge in self._edges.items() if edge.static}

    def can_transform(
        self, target_frame, source_frame, time, timeout=None, return_debug_tuple=False
    ):
        """Return whether `lookup_transform` succeeds within `timeout`.

        Another thread must spin the node meanwhile.
        """
        error = ''
        with self._changed:
            if timeout is not None and timeout.nanoseconds > 0:
                self._changed.wait_for(
                    lambda: self._why_not(target_frame, source_frame, time) is None,
                    timeout.nanoseconds / 1e9,
                )
            error = self._why_not(target_frame, source_frame, time)
        return (error is None, str(error or '')) if return_debug_tuple else error is None

    def lookup_transform(self, target_frame, source_frame, time, timeout=None):
        """Return `source_frame` in `target_frame` at `time`; zero: the latest common stamp."""
        self.can_transform(target_frame, source_frame, time, timeout)
        with self._changed:
            stamp_ns, (position, rotation) = self._lookup(
                target_frame, source_frame, time.nanoseconds
            )
        answer = TransformStamped(child_frame_id=source_frame)
        answer.header.frame_id = target_frame
        answer.header.stamp = Time(nanoseconds=stamp_ns).to_msg()
        translation, quaternion = answer.transform.translation, answer.transform.rotation
        translation.x, translation.y, translation.z = position
        quaternion.x, quaternion.y, quaternion.z, quaternion.w = rotation
        return answer

    def _set(self, transform, authority, static):
        child, parent = transform.child_frame_id.lstrip('/'), transform.header.frame_id.lstrip('/')
        translation, rotation = transform.transform.translation, transform.transform.rotation
        value = (
            (translation.x, translation.y, translation.z),
            (rotation.x, rotation.y, rotation.z, rotation.w),
        )
        # As tf2 does, what cannot be used is reported and dropped: one bad sender must not end
        # every listener.
        if not child or not parent or child == parent:
            _LOGGER.error(
                f'Ignoring transform from [{parent}] to [{child}] of "{authority}": '
                'both frames must be named, and differ'
            )
            return
        if (
            not all(map(math.isfinite, value[0] + value[1]))
            or abs(math.hypot(*value[1]) - 1.0) > 1e-3
        ):
            _LOGGER.error(
                f'Ignoring transform from [{parent}] to [{child}] of "{authority}", '
                f'no rigid motion: xyz {value[0]}, xyzw {value[1]}'
            )
            return
        stamp_ns = Time.from_msg(transform.header.stamp).nanoseconds
        with self._changed:
            edge = self._edges.get(child)
            if edge is None or edge.static != static or edge.parent != parent:
                edge = self._edges[child] = _Edge(parent, static)
            if static:
                edge.values = [value]
            else:
                self._insert(edge, stamp_ns, value)
            self._changed.notify_all()

    def _insert(self, edge, stamp_ns, value):
        i = bisect.bisect_left(edge.stamps_ns, stamp_ns)
        repeated = i < len(edge.stamps_ns) and edge.stamps_ns[i] == stamp_ns
        if repeated or (edge.stamps_ns and stamp_ns < edge.stamps_ns[-1] - self._cache_ns):
            return
        edge.stamps_ns.insert(i, stamp_ns)
        edge.values.insert(i, value)
        old = bisect.bisect_left(edge.stamps_ns, edge.stamps_ns[-1] - self._cache_ns)
        del edge.stamps_ns[:old], edge.values[:old]

    def _why_not(self, target, source, time):
        try:
            self._lookup(target, source, time.nanoseconds)
        except TransformException as error:
            return error
        return None

    def _lookup(self, target, source, stamp_ns):
        up_from_source, up_from_target = self._path_between(source, target)
        moving = [
            edge
            for edge in (self._edges[child] for child in up_from_source + up_from_target)
            if not edge.static
        ]
        if stamp_ns == 0 and moving:
            stamp_ns = min(edge.stamps_ns[-1] for edge in moving)
        return stamp_ns, compose(
            inverse(self._climb(up_from_target, stamp_ns)), self._climb(up_from_source, stamp_ns)
        )

    def _climb(self, children, stamp_ns):
        total = IDENTITY
        for child in children:
            total = compose(self._edges[child].at(stamp_ns, child), total)
        return total

    def _path_between(self, source, target):
        """Return the frames from each side up to the nearest common ancestor, without it."""
        parents = {edge.parent for edge in self._edges.values()}
        for role, frame in (('target_frame', target), ('source_frame', source)):
            if not frame:
                raise InvalidArgumentException(
                    f'Invalid argument passed to lookupTransform argument {role}: '
                    'frame_ids cannot be empty'
                )
            if frame not in self._edges and frame not in parents:
                raise LookupException(
                    f'"{frame}" passed to lookupTransform argument {role} does not exist.'
                )
        from_source, from_target = self._to_root(source), self._to_root(target)
        common = next((frame for frame in from_source if frame in from_target), None)
        if common is None:
            raise ConnectivityException(
                f'Could not find a connection between [{target}] and [{source}] '
                'because they are not part of the same tree. '
                'Tf has two or more unconnected trees.'
            )
        return from_source[: from_source.index(common)], from_target[: from_target.index(common)]

    def _to_root(self, frame):
        path = [frame]
        while path[-1] in self._edges:
            parent = self._edges[path[-1]].parent
            if parent in path:
                raise LookupException(
                    'The tf tree is invalid because it contains a loop: '
                    f'{" -> ".join([*path, parent])}'
                )
            path.append(parent)
        return path
