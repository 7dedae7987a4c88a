"""Make recordings of the bags of `softarm bag record`."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from soft_arm_description.poses import PoseError, tracked_pose
from soft_arm_identification.errors import RecordingError
from soft_arm_identification.recording import Channels, Dropped, Recording
from softarm_cli.bags.file import Bag, open_bag
from softarm_cli.bags.plot import COMMANDS, PRESSURES, TRUTH, VISION

_PRESSURES = 'soft_arm_msgs/msg/ChamberPressures'
_POSES = 'geometry_msgs/msg/PoseStamped', 'geometry_msgs/msg/PoseWithCovarianceStamped'
_TIPS = f'/{TRUTH}', f'/{VISION}'  # in order of preference


@dataclass(frozen=True)
class BagTopics:
    """Full names of topics; None: found by type and name."""

    commands: str | None = None
    measured: str | None = None
    tip: str | None = None


def read_bag(path: Path, topics: BagTopics) -> Recording:
    """Return the recording of a bag, sampled at the poses of the tip.

    A command holds until the next one; measured pressures are interpolated.

    Args:
        path: The bag.
        topics: Topics to read.

    Raises:
        BagError: If the bag is missing or damaged, or lacks a topic.
        RecordingError: If it holds no pressures or no poses, or several topics of them.
    """
    with open_bag(path) as bag:
        tip = _topic(bag, topics.tip, _POSES, _TIPS)
        if tip is None:
            raise RecordingError(f'{path} holds no {" or ".join(_TIPS)}: name one with --tip-topic')
        stamps_ns, poses, lost = _poses(bag, tip)
        command = _topic(bag, topics.commands, (_PRESSURES,), (f'/{COMMANDS}',))
        sensors = _topic(bag, topics.measured, (_PRESSURES,), (f'/{PRESSURES}',))
        commands, measured = _pressures(bag, command), _pressures(bag, sensors)
    names, command_ns, commanded_pa = commands
    measured_names, measured_ns, table_pa = measured
    held = np.searchsorted(command_ns, stamps_ns, 'right') - 1
    early = (held < 0) & bool(names)
    outside = np.zeros(len(stamps_ns), bool)
    if measured_names:
        outside = (stamps_ns < measured_ns[0]) | (stamps_ns > measured_ns[-1])
    keep = ~early & ~outside
    if not keep.any() or not (names or measured_names):
        raise RecordingError(f'{path} holds no pressures at the times of {tip}')
    stamps_ns, poses, held = stamps_ns[keep], poses[keep], held[keep]
    inputs_pa = commanded_pa[held] if names else np.empty((len(held), 0))
    measured_pa = np.empty((len(held), len(measured_names)))
    for place in range(len(measured_names)):
        measured_pa[:, place] = np.interp(stamps_ns, measured_ns, table_pa[:, place])
    dropped = [
        Dropped('before the first command', int(early.sum()), ()),
        Dropped('outside the time of the measured pressures', int((outside & ~early).sum()), ()),
        Dropped('tip lost: no pose', lost, ()),
    ]
    return Recording(
        path.stem,
        (stamps_ns - stamps_ns[0]) * 1e-9,
        Channels(names, ('Pa',) * len(names), inputs_pa),
        Channels(measured_names, ('Pa',) * len(measured_names), measured_pa),
        ('tip',),
        poses[:, None, :3],
        poses[:, None, 3:],
        None,
        tuple(part for part in dropped if part.samples),
    )


def _topic(
    bag: Bag, given: str | None, kinds: tuple[str, ...], ends: tuple[str, ...]
) -> str | None:
    """Return the topic that was given, or the only one with messages and such an end."""
    held = [c.topic for c in bag.connections if c.msgtype in kinds and c.msgcount]
    if given is not None:
        if given not in held:
            raise bag.missing(given)
        return given
    for end in ends:
        found = [topic for topic in held if topic.endswith(end)]
        if len(found) > 1:
            raise RecordingError(f'{bag.path} holds {", ".join(found)}: name the topics')
        if found:
            return found[0]
    return None


def _stamp_ns(message: Any) -> int:
    return int(message.header.stamp.sec) * 1_000_000_000 + int(message.header.stamp.nanosec)


def _poses(bag: Bag, topic: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Return stamps [ns] (n,), positions and quaternions (n, 7), and the number of lost poses."""
    found: dict[int, list[float]] = {}
    lost, frames = 0, set()
    for _, _, message in bag.decoded([c for c in bag.connections if c.topic == topic]):
        pose = getattr(message.pose, 'pose', message.pose)
        try:
            tracked_pose(pose)
        except PoseError:
            lost += 1
            continue
        frames.add(message.header.frame_id)
        p, q = pose.position, pose.orientation
        found[_stamp_ns(message)] = [p.x, p.y, p.z, q.x, q.y, q.z, q.w]
    if len(frames) > 1:
        raise RecordingError(
            f'{topic} in {bag.path} is in the frames {", ".join(sorted(frames))}: record one'
        )
    if len(found) < 2:
        raise RecordingError(f'{topic} in {bag.path} holds {len(found)} poses: 2 are needed')
    stamps_ns = np.array(sorted(found), np.int64)
    return stamps_ns, np.array([found[stamp] for stamp in stamps_ns.tolist()]), lost


def _pressures(bag: Bag, topic: str | None) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Return names of the chambers, stamps [ns] (n,) and pressures [Pa] (n, k); none: no topic."""
    names: tuple[str, ...] = ()
    found: dict[int, np.ndarray] = {}
    others = 0
    for _, _, message in bag.decoded([c for c in bag.connections if c.topic == topic]):
        given = tuple(message.names)
        names = names or given
        pressures_pa = np.asarray(message.pressures_pa, float)
        if given != names or len(pressures_pa) != len(names) or not np.isfinite(pressures_pa).all():
            others += 1
            continue
        found[_stamp_ns(message)] = pressures_pa
    if others:
        sys.stderr.write(
            f'{bag.path}: {others} messages of {topic} are left out: other chambers than the first '
            'one, or values that are no numbers\n'
        )
    names = names if found else ()
    stamps_ns = np.array(sorted(found), np.int64)
    table = np.array([found[stamp] for stamp in stamps_ns.tolist()], float)
    return names, stamps_ns, table.reshape(len(found), len(names))
