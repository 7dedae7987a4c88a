"""The arm paper's table 5 as a plot: query time against table size, ours and the paper's."""

from pathlib import Path

import matplotlib

matplotlib.use('Agg')
from matplotlib import pyplot  # noqa: E402


def draw(rows: list[dict], path: Path) -> None:
    """Write the plot (PNG) of the rows that `inverse.table_5` returns."""
    figure, axes = pyplot.subplots(figsize=(7.0, 4.5), layout='constrained')
    for key, label, style in (
        ('paper_traversal_s', 'traversal, paper', 'C0o--'),
        ('traversal_s', 'traversal, NumPy here', 'C0s-'),
        ('paper_kd_tree_s', 'KD-tree, paper', 'C1o--'),
        ('kd_tree_s', 'KD-tree here', 'C1s-'),
    ):
        known = [row for row in rows if row[key] is not None]
        axes.plot(
            [row['points'] / 1e3 for row in known],
            [row[key] * 1e3 for row in known],
            style,
            label=label,
        )
    axes.set(
        xlabel='table size [thousand points]',
        ylabel='query time [ms]',
        yscale='log',
        title='Search for candidates (table 5)',
    )
    axes.grid(alpha=0.3, which='both')
    axes.legend()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
