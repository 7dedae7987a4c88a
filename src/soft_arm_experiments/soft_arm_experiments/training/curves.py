"""Picture of a training run."""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402


def draw_curves(progress, path: Path) -> None:
    """Losses over the steps of a `training.Progress`, as PNG; nothing if nothing was reported yet."""
    if not progress.rows:
        return
    rows = np.array(progress.rows)
    figure, axes = pyplot.subplots(figsize=(7, 4), layout='constrained')
    for k, name in enumerate(progress.HEADER[2:], start=2):
        axes.plot(rows[:, 0], rows[:, k], label=name, linewidth=2 if name == 'total' else 1)
    axes.set(yscale='log', xlabel='step', ylabel='loss, weighted', title='YOLACT training')
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
