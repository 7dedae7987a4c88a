"""A KD-tree of points in space, compiled; it is kept in plain arrays and stored with its points.

The points are put in tree order: node k of a level covers an even share of the rows, split at the
median of its longest side. Children of node k are 2k + 1 and 2k + 2; the leaves hold the rows
themselves.
"""

import numpy as np
from numba import prange

from soft_arm_kinematics.backends.machine_code import njit

LEAF_ROWS = 24


def levels_of(rows: int) -> int:
    """Levels of splits of a tree of so many rows."""
    return max(0, int(np.ceil(np.log2(max(rows, 1) / LEAF_ROWS))))


@njit(cache=True)
def _split(points, order, low, high, middle, axis):
    """Order the rows low..high so that those before `middle` are the smaller along the axis."""
    while high - low > 1:
        a = points[order[low], axis]
        b = points[order[(low + high) // 2], axis]
        c = points[order[high - 1], axis]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high - 1
        while i <= j:
            while points[order[i], axis] < pivot:
                i += 1
            while points[order[j], axis] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i, j = i + 1, j - 1
        if middle <= j:
            high = j + 1
        elif middle >= i:
            low = i
        else:
            return


@njit(cache=True, parallel=True)
def _build(points, order, levels, axes, values):
    rows = order.size
    for level in range(levels):
        nodes = 1 << level
        for k in prange(nodes):
            low, high = rows * k // nodes, rows * (k + 1) // nodes
            middle = rows * (2 * k + 1) // (2 * nodes)
            axis, longest = 0, -1.0
            for a in range(3):
                least, most = np.inf, -np.inf
                for i in range(low, high):
                    least, most = min(least, points[order[i], a]), max(most, points[order[i], a])
                if most - least > longest:
                    axis, longest = a, most - least
            _split(points, order, low, high, middle, axis)
            axes[nodes - 1 + k], values[nodes - 1 + k] = axis, points[order[middle], axis]


def build(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tree order of points (m, 3).

    Returns:
        order (m,): rows of `points` in tree order; split axes and split values of the nodes.
    """
    levels = levels_of(len(points))
    order, nodes = np.arange(len(points)), (1 << levels) - 1
    axes, values = np.zeros(nodes, dtype=np.int8), np.zeros(nodes, dtype=points.dtype)
    _build(points, order, levels, axes, values)
    return order, axes, values


@njit(cache=True)
def _within(points, axes, values, target, radius, found):
    """Write the rows within the radius into `found` (as many as fit); return how many there are."""
    rows, nodes, count = points.shape[0], axes.size, 0
    x, y, z = target[0], target[1], target[2]
    stack, depth = np.empty(64, dtype=np.int64), 1
    stack[0] = 0
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if node < nodes:
            offset = target[axes[node]] - values[node]
            if offset >= -radius:
                stack[depth], depth = 2 * node + 2, depth + 1
            if offset <= radius:
                stack[depth], depth = 2 * node + 1, depth + 1
        else:
            leaf, leaves = node - nodes, nodes + 1
            for i in range(rows * leaf // leaves, rows * (leaf + 1) // leaves):
                dx, dy, dz = points[i, 0] - x, points[i, 1] - y, points[i, 2] - z
                if dx * dx + dy * dy + dz * dz <= radius * radius:
                    if count < found.size:
                        found[count] = i
                    count += 1
    return count


@njit(cache=True)
def near(points, axes, values, target, radius, at_least, found):
    """Rows of `points` (m, 3), which are in tree order, near a target.

    Args:
        points, axes, values: The tree.
        target: (3,).
        radius: All rows within it are wanted.
        at_least: The radius, greater than 0, grows until so many are found, or all.
        found: (k,) int64, receives the rows; of more than k, the first k in tree order.

    Returns:
        How many were written, and the radius that held them.
    """
    at_least = min(at_least, points.shape[0])
    count = _within(points, axes, values, target, radius, found)
    while count < at_least:
        radius *= 1.3
        count = _within(points, axes, values, target, radius, found)
    return min(count, found.size), radius
