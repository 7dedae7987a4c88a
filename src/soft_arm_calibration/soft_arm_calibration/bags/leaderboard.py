"""Compare what estimates the tip: with the truth or the camera, and each with each other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from soft_arm_calibration.bags.detector_report import as_lines, as_plain
from soft_arm_calibration.bags.estimates import VISION, BagTracks
from soft_arm_calibration.bags.track import Track, distances_m
from softarm_cli.errors import BagError

TRUTH = 'truth'
_PANEL_IN = (10.0, 3.0)


@dataclass(frozen=True)
class Figures:
    """Number of distances, and their mean, 95th percentile and maximum [m]."""

    count: int
    mean_m: float
    p95_m: float
    max_m: float

    @classmethod
    def of(cls, apart_m: np.ndarray) -> 'Figures | None':
        """Return the figures of distances [m], shape (n,); None without any."""
        if not len(apart_m):
            return None
        p95_m = float(np.percentile(apart_m, 95))
        return cls(len(apart_m), float(apart_m.mean()), p95_m, float(apart_m.max()))


@dataclass(frozen=True)
class Pair:
    """Distance between two estimates, or an estimate and the truth, in all bags and in each.

    None: nothing to compare.
    """

    one: str
    other: str
    all_bags: Figures
    by_bag: tuple[Figures | None, ...]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several bags compared.

    Attributes:
        bags: The bags.
        reference: `truth` if every bag holds it, else `vision`; None if some bag holds neither.
        rows: Errors of an `other` against the reference, the best first.
        pairs: Distances of each two.
    """

    bags: tuple[BagTracks, ...]
    reference: str | None
    rows: tuple[Pair, ...]
    pairs: tuple[Pair, ...]


def compare(bags: Sequence[BagTracks]) -> Comparison:
    """Compare the estimates in one or more bags.

    In all bags together every distance counts once, so long bags count more.
    """
    every = [_with_truth(bag) for bag in bags]
    reference = next(
        (name for name in (TRUTH, VISION) if all(name in all_ for all_ in every)), None
    )
    names = [*dict.fromkeys(name for tracks in every for name in tracks)]
    pairs = []
    for one, other in combinations(names, 2):
        apart_m = [
            distances_m(tracks[one], tracks[other])[1]
            if one in tracks and other in tracks
            else np.empty(0)
            for tracks in every
        ]
        if (together := Figures.of(np.concatenate(apart_m))) is not None:
            pairs.append(Pair(one, other, together, tuple(map(Figures.of, apart_m))))
    rows = [
        pair if pair.one == reference else replace(pair, one=pair.other, other=pair.one)
        for pair in pairs
        if reference in (pair.one, pair.other) and (reference == TRUTH or pair.one != TRUTH)
    ]
    rows.sort(key=lambda row: row.all_bags.mean_m)
    return Comparison(tuple(bags), reference, tuple(rows), tuple(pairs))


def _with_truth(bag: BagTracks) -> dict[str, Track]:
    return ({} if bag.truth is None else {TRUTH: bag.truth}) | bag.tracks


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return the figures as plain values; the bags are numbered in the order of `bags`."""

    def plain(of: Pair) -> dict[str, Any]:
        return {**vars(of.all_bags), 'by_bag': [f and vars(f) for f in of.by_bag]}

    return {
        'reference': comparison.reference,
        'leaderboard': [{'estimate': row.other, **plain(row)} for row in comparison.rows],
        'pairs': [{'one': p.one, 'other': p.other, **plain(p)} for p in comparison.pairs],
        'bags': [
            {
                'bag': bag.name,
                'is_cut': bag.is_cut,
                'duration_s': bag.duration_s,
                'topics': bag.topics,
                'samples': {name: len(track.stamps_ns) for name, track in bag.tracks.items()},
                'left_out': bag.left_out,
                'detector': None if bag.detector is None else as_plain(bag.detector),
            }
            for bag in comparison.bags
        ],
    }


def as_text(comparison: Comparison) -> str:
    """Return the leaderboard, and the distances of each two estimates, as lines."""
    lines = [
        f'bag {number}: {bag.name}, {bag.duration_s:.1f} s{", cut" if bag.is_cut else ""}; '
        + ', '.join(f'{role} {topic}' for role, topic in bag.topics.items())
        for number, bag in enumerate(comparison.bags, 1)
    ]
    lines += [
        f'bag {number}: no {name}: {why}'
        for number, bag in enumerate(comparison.bags, 1)
        for name, why in bag.left_out.items()
    ]
    for number, bag in enumerate(comparison.bags, 1):
        if bag.detector is not None:
            first, *others = as_lines(bag.detector)
            lines += [f'bag {number}: {first}', *(f'  {line}' for line in others)]
    if not comparison.pairs:
        return '\n'.join(lines)
    if comparison.reference is None:
        lines.append('no leaderboard: some bag holds neither the true tip nor a seen one')
    else:
        several = len(comparison.bags) > 1
        heads = ['all bags', *(f'bag {n}' for n in range(1, len(comparison.bags) + 1) if several)]
        lines += ['', f'distance from {comparison.reference} [mm], mean / p95 (samples)']
        lines.append(' ' * 28 + ''.join(f'{head:>24s}' for head in heads))
        for row in comparison.rows:
            cells = [row.all_bags, *(row.by_bag if several else ())]
            lines.append(f'  {row.other:26s}' + ''.join(map(_cell, cells)))
    lines += ['', 'distance between each two [mm], all bags, mean / p95 (samples)']
    lines += [f'  {f"{p.one} - {p.other}":50s}{_cell(p.all_bags)}' for p in comparison.pairs]
    return '\n'.join(lines)


def _cell(figures: Figures | None) -> str:
    if figures is None:
        return f'{"-":>24s}'
    mean_mm, p95_mm = 1e3 * figures.mean_m, 1e3 * figures.p95_m
    return f'{f"{mean_mm:.3f} / {p95_mm:.3f} ({figures.count})":>24s}'


def draw(comparison: Comparison, path: Path) -> None:
    """Plot the distances from the reference over time, one panel for each bag, to a file.

    Raises:
        BagError: If there is no reference, or the file cannot be written.
    """
    from matplotlib.figure import Figure  # takes a second

    reference, rows = comparison.reference, comparison.rows
    if reference is None or not rows:
        raise BagError(
            'nothing to draw: some bag holds neither the true tip nor a seen one; give --truth, or '
            'leave that bag out'
        )
    size = (_PANEL_IN[0], _PANEL_IN[1] * len(comparison.bags))
    figure = Figure(figsize=size, layout='constrained')
    axes = figure.subplots(len(comparison.bags), 1, squeeze=False)[:, 0]
    for number, (axis, bag) in enumerate(zip(axes, comparison.bags, strict=True)):
        tracks = _with_truth(bag)
        first_ns = min(int(track.stamps_ns[0]) for track in tracks.values())
        for colour, row in enumerate(rows):
            if (figures := row.by_bag[number]) is None:
                continue
            stamps_ns, apart_m = distances_m(tracks[row.other], tracks[reference])
            axis.plot(
                (stamps_ns - first_ns) * 1e-9,
                1e3 * apart_m,
                color=f'C{colour}',
                linewidth=1.0,
                label=f'{row.other}: {1e3 * figures.mean_m:.2f} mm mean',
            )
        axis.set_title(f'{Path(bag.name).name}{" (cut)" if bag.is_cut else ""}', loc='left')
        axis.set(xlabel='time [s]', ylabel=f'distance from {reference} [mm]', ylim=(0, None))
        axis.grid(alpha=0.3)
        axis.legend(fontsize='x-small', loc='center left', bbox_to_anchor=(1.0, 0.5))
    try:
        figure.savefig(path, dpi=120)
    except OSError as error:
        raise BagError(f'cannot write {path}: {error.strerror}') from error
