"""Plot the losses of a training run."""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402


def draw_curves(progress: Any, path: Path) -> None:
    """Draw the losses of a `training.Progress` over the steps, as PNG; nothing without a report."""
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
