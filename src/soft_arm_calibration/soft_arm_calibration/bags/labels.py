"""Labels of a recorded bag, which make it a test of the detector.

A labelled bag holds a folder `labels`: `labels.json` with what the detector proposed, and a picture
of each labelled frame in `ring` or `no_ring`. The pictures are what a person decides by: a frame
whose picture is deleted has no label, and one whose picture was moved to the other folder has the
other label.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
from pydantic import Field, FiniteFloat
from typing_extensions import TypedDict

from soft_arm_calibration.bags.accuracy import MATCHING_IOU, candidate_overlap
from soft_arm_calibration.bags.run_lengths import mask_of_runs, run_lengths
from soft_arm_io.yaml_file import YamlFileError, read_json
from soft_arm_vision.errors import VisionError
from soft_arm_vision.ring.detector import Detection

FOLDER, FILE = 'labels', 'labels.json'
RING, NO_RING = 'ring', 'no_ring'
# Limits of the test: least share of rings with a pose, largest mean distance from the labels.
MIN_FOUND_SHARE = 0.9
MAX_MOVED_M = 1e-3


class _RunLengths(TypedDict):
    size: Annotated[list[int], Field(min_length=2, max_length=2)]
    counts: str


class _Proposal(TypedDict):
    stamp_ns: int
    centre_m: Annotated[list[FiniteFloat], Field(min_length=3, max_length=3)]
    mask: _RunLengths


class _File(TypedDict):
    robot: str
    proposals: list[_Proposal]


@dataclass(frozen=True, eq=False)
class Label:
    """Label of one frame.

    Attributes:
        ring: Whether a ring is to be seen.
        centre_m: Its centre in the optical frame, shape (3,); None without a proposal.
        mask: Its visible pixels, shape (h, w); None without a proposal.
    """

    ring: bool
    centre_m: np.ndarray | None = None
    mask: np.ndarray | None = None


@dataclass(frozen=True)
class LabelledResult:
    """Detections of a labelled bag with its labels.

    Attributes:
        rings, found: Numbers of frames with a ring, and of these with a pose.
        masks_matching: Share of the proposed masks that the detector's masks match; None without.
        moved_mean_m, moved_max_m: Distance of the centres from the proposed ones; None without.
        ringless, false_poses: Numbers of frames without a ring, and of these with a pose.
    """

    rings: int
    found: int
    masks_matching: float | None
    moved_mean_m: float | None
    moved_max_m: float | None
    ringless: int
    false_poses: int

    @property
    def faults(self) -> list[str]:
        """Return what is worse than the labels allow, in words; empty if nothing is."""
        found = []
        if self.found < MIN_FOUND_SHARE * self.rings:
            found.append(
                f'poses for {self.found} of {self.rings} labelled rings, '
                f'{MIN_FOUND_SHARE:.0%} are needed'
            )
        if self.false_poses:
            found.append(f'poses in {self.false_poses} of {self.ringless} frames without a ring')
        if self.moved_mean_m is not None and self.moved_mean_m > MAX_MOVED_M:
            found.append(
                f'centres {1e3 * self.moved_mean_m:.2f} mm from the labelled ones on average, '
                f'{1e3 * MAX_MOVED_M:g} mm are allowed'
            )
        return found

    def as_lines(self) -> list[str]:
        """Return the comparison for people."""
        lines = [
            f'labels: poses for {self.found} of {self.rings} rings, {self.false_poses} poses in '
            f'{self.ringless} frames without a ring'
        ]
        if self.moved_mean_m is not None and self.moved_max_m is not None:
            lines.append(
                f'centres {1e3 * self.moved_mean_m:.3f} mm from the labelled ones on average, '
                f'{1e3 * self.moved_max_m:.3f} mm at most'
            )
        return lines if self.faults else [*lines, 'passed']


def write_labels(
    bag: Path, robot: str, frames: Iterable[tuple[int, np.ndarray, Detection]]
) -> tuple[int, int]:
    """Write the proposals for a bag; return the numbers of frames with and without a ring.

    Args:
        bag: Folder of the bag.
        robot: Name of the robot file.
        frames: Stamp [ns], picture for the person (h, w, 3) RGB, and detection of each frame.

    Raises:
        VisionError: If the bag has labels already, or they cannot be written.
    """
    folder = bag / FOLDER
    counts = {RING: 0, NO_RING: 0}
    proposals = []
    if folder.exists():
        raise VisionError(
            f'{folder} exists: to label the bag again, move it away first, so that '
            'no labels are lost'
        )
    try:
        for stamp_ns, picture, detection in frames:
            kind = NO_RING if detection.fit is None else RING
            counts[kind] += 1
            path = folder / kind / f'{stamp_ns}.png'
            path.parent.mkdir(parents=True, exist_ok=True)
            if not cv2.imwrite(str(path), picture[..., ::-1]):
                raise VisionError(f'{path} cannot be written: is the disk full?')
            if detection.fit is not None and detection.candidate is not None:
                mask = np.zeros(picture.shape[:2], bool)
                mask[detection.candidate.window] = detection.candidate.mask
                centre_m = detection.fit.centre.tolist()
                runs = run_lengths(mask)
                proposals.append({'stamp_ns': stamp_ns, 'centre_m': centre_m, 'mask': runs})
        content = {'robot': robot, 'proposals': proposals}
        (folder / FILE).write_text(json.dumps(content))
    except OSError as error:
        raise VisionError(f'{folder} cannot be written: {error.strerror}') from error
    return counts[RING], counts[NO_RING]


def read_labels(bag: Path) -> dict[int, Label] | None:
    """Return the labels of a bag by stamp [ns]; None if it has none.

    Raises:
        VisionError: If they cannot be read.
    """
    folder = bag / FOLDER
    if not folder.is_dir():
        return None
    try:
        proposals = {p['stamp_ns']: p for p in read_json(folder / FILE, _File)['proposals']}
        labels = {int(path.stem): Label(ring=False) for path in (folder / NO_RING).glob('*.png')}
        for path in (folder / RING).glob('*.png'):
            proposal = proposals.get(int(path.stem))
            if proposal is None:
                labels[int(path.stem)] = Label(ring=True)
                continue
            height, width = proposal['mask']['size']
            mask = mask_of_runs(dict(proposal['mask']), (height, width))
            labels[int(path.stem)] = Label(True, np.array(proposal['centre_m']), mask)
    except (OSError, YamlFileError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise VisionError(f'the labels in {folder} cannot be read: {reason}') from error
    return labels


def beside_labels(
    detections: Mapping[int, Detection], labels: Mapping[int, Label]
) -> LabelledResult:
    """Compare detections with labels, both by stamp [ns]."""
    known = [(detections[s], label) for s, label in labels.items() if s in detections]
    with_ring = [(d, label) for d, label in known if label.ring]
    without = [d for d, label in known if not label.ring]
    moved_m = [
        float(np.linalg.norm(d.fit.centre - label.centre_m))
        for d, label in with_ring
        if d.fit is not None and label.centre_m is not None
    ]
    matching = [
        d.candidate is not None and candidate_overlap(d.candidate, label.mask) > MATCHING_IOU
        for d, label in with_ring
        if label.mask is not None
    ]
    return LabelledResult(
        len(with_ring),
        sum(d.fit is not None for d, _ in with_ring),
        float(np.mean(matching)) if matching else None,
        float(np.mean(moved_m)) if moved_m else None,
        max(moved_m, default=None),
        len(without),
        sum(d.fit is not None for d in without),
    )
