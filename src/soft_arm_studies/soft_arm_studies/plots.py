"""Plots of a study: a value over two of its keys, as a contour plot or as a grid of cells."""

from collections.abc import Collection
from pathlib import Path

import matplotlib
import numpy as np
import pyarrow as pa

from soft_arm_studies.errors import StudyError

matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.cm import ScalarMappable  # noqa: E402

_MIN_FOR_CONTOURS = 3  # values of each key


def check_columns(table: pa.Table, *names: str) -> None:
    """Raise StudyError if a table lacks a column."""
    for name in names:
        if name not in table.column_names:
            known = ', '.join(c for c in table.column_names if c not in ('run', 'error'))
            raise StudyError(f'--plot: no column {name!r}; available: {known}')


def draw(
    table: pa.Table, x: str, y: str, value: str, path: Path, *, log: Collection[str] = ()
) -> None:
    """Write a picture of a value over two keys; runs at the same place are averaged.

    Keys that form a grid give cells with contour lines, other samples filled contours between the
    points. Keys with text are drawn as categories. Runs that failed are crosses.

    Args:
        table: Rows of a study.
        x, y, value: Names of columns.
        path: File of the picture.
        log: Keys whose axes are logarithmic.

    Raises:
        StudyError: If the table lacks a column, or no run has the value.
    """
    check_columns(table, x, y, value)
    values = np.array(table[value].to_pylist(), float)
    at_x, words_x = _places(table[x].to_pylist())
    at_y, words_y = _places(table[y].to_pylist())
    good = np.isfinite(values)
    if not good.any():
        raise StudyError(f'--plot: no run has a finite {value}')
    figure, axes = pyplot.subplots(figsize=(7.0, 5.0), layout='constrained')
    means, places, per_place = _means(np.column_stack([at_x, at_y])[good], values[good])
    drawn = _cells(axes, means, places) or _contours(axes, means, places)
    figure.colorbar(drawn, ax=axes, label=value)
    lost = ~good
    axes.plot(at_x[lost], at_y[lost], 'rx')
    if words_x:
        axes.set_xticks(range(len(words_x)), words_x)
    if words_y:
        axes.set_yticks(range(len(words_y)), words_y)
    axes.set(xscale='log' if x in log else 'linear', yscale='log' if y in log else 'linear')
    mean = f', mean of {per_place} runs' if per_place > 1 else ''
    crosses = f', x: {lost.sum()} runs without it' if lost.any() else ''
    axes.set(xlabel=x, ylabel=y, title=f'{value}{mean}{crosses}')
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _places(cells: list) -> tuple[np.ndarray, list[str]]:
    """Return the coordinates of cells on an axis, and the tick labels of cells of text."""
    if all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells):
        return np.array(cells, float), []
    words = list(dict.fromkeys(map(str, cells)))
    return np.array([words.index(str(cell)) for cell in cells], float), words


def _means(places: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return means (n,) at distinct places (n, 2), and the most runs at one of them."""
    distinct, index = np.unique(places, axis=0, return_inverse=True)
    counts = np.bincount(index.ravel())
    return np.bincount(index.ravel(), values) / counts, distinct, int(counts.max())


def _cells(axes: Axes, means: np.ndarray, places: np.ndarray) -> ScalarMappable | None:
    """Draw cells with contour lines; return None if the places do not form a grid."""
    xs, ys = np.unique(places[:, 0]), np.unique(places[:, 1])
    if 2 * len(places) < len(xs) * len(ys):  # more holes than cells: samples
        return None
    grid = np.full((len(ys), len(xs)), np.nan)
    grid[np.searchsorted(ys, places[:, 1]), np.searchsorted(xs, places[:, 0])] = means
    drawn = axes.pcolormesh(xs, ys, grid, shading='nearest')
    if min(len(xs), len(ys)) >= _MIN_FOR_CONTOURS and np.nanmin(grid) < np.nanmax(grid):
        lines = axes.contour(xs, ys, grid, colors='white', linewidths=0.8)
        axes.clabel(lines, fontsize=8)
    return drawn


def _contours(axes: Axes, means: np.ndarray, places: np.ndarray) -> ScalarMappable:
    """Draw filled contours between samples, and the samples."""
    x, y = places.T
    try:
        drawn = axes.tricontourf(x, y, means, levels=12)
    except (RuntimeError, ValueError):  # the samples lie on a line, or are fewer than three
        return axes.scatter(x, y, c=means)
    axes.plot(x, y, 'k.', markersize=2)
    return drawn
