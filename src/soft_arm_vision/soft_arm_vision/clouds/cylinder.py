"""Points relative to cylinders, and the normal equations of their robust least-squares fit."""

# mypy: disable-error-code="no-untyped-def"
# Numba infers the types of the compiled functions.

import numpy as np

from soft_arm_kinematics.backends.machine_code import njit

EVEN_NOISE = np.empty(0)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross product over the last axis; `numpy.cross` costs ten times as much on small arrays."""
    ax, ay, az, bx, by, bz = a[..., 0], a[..., 1], a[..., 2], b[..., 0], b[..., 1], b[..., 2]
    return np.stack((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx), axis=-1)


def perpendiculars(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two unit vectors that make a right-handed frame with an axis, shape (3,) each."""
    return perpendiculars_of_one(np.ascontiguousarray(axis, float))


@njit(cache=True, nogil=True)
def perpendiculars_of_one(axis):
    """As `perpendiculars`, to be called from compiled functions."""
    other = np.zeros(3)
    other[np.argmin(np.abs(axis))] = 1.0
    e1 = np.cross(axis, other)
    e1 /= np.sqrt(e1 @ e1)
    return e1, np.cross(axis, e1)


def tukey(residual: np.ndarray, cut: float | np.ndarray) -> np.ndarray:
    """Tukey's biweight: 1 at zero, 0 from |residual| = cut on."""
    return np.square(np.clip(1 - np.square(residual / cut), 0, None))


@njit(cache=True, nogil=True, forceinline=True)
def relative_to(place, point, axis, radius):
    """Return axial coordinate, outward unit normal x, y, z and signed distance of one point."""
    x, y, z = place[0] - point[0], place[1] - point[1], place[2] - point[2]
    axial = x * axis[0] + y * axis[1] + z * axis[2]
    x, y, z = x - axial * axis[0], y - axial * axis[1], z - axial * axis[2]
    distance = np.sqrt(x * x + y * y + z * z)
    safe = max(distance, 1e-9)
    return axial, x / safe, y / safe, z / safe, distance - radius


@njit(cache=True, nogil=True)
def truncated_costs(points, point, axis, radius, threshold_m):
    """Return the mean squared distance of points from each of K cylinders, truncated (MSAC).

    Args:
        points: Shape (n, 3) [m].
        point, axis, radius: Points on the axes [m] (K, 3), unit axes (K, 3), radii [m] (K,).
        threshold_m: Distance from which a point is an outlier [m].

    Returns:
        Costs in units of the squared threshold, 0 best, 1 worst, shape (K,).
    """
    cost = np.zeros(len(radius))
    for k in range(len(radius)):
        for i in range(len(points)):
            _, _, _, _, residual = relative_to(points[i], point[k], axis[k], radius[k])
            cost[k] += min((residual / threshold_m) ** 2, 1.0)
    return cost / len(points)


@njit(cache=True, nogil=True)
def normal_equations(
    points,
    point,
    e1,
    e2,
    axis,
    radius,
    thickness,
    viewpoint,
    spread,
    cut,
    min_incidence,
    reach_m,
):
    """Linearise the distances of points from a cylinder's wall and weigh them (Tukey's biweight).

    The unknowns are two shifts along e1 and e2, two tilts of the axis towards e1 and e2, the outer
    radius and the thickness. The camera sees the inside of the wall on the side away from it.

    Args:
        points: Shape (n, 3) [m].
        point, e1, e2, axis: Point on the axis [m] and an orthonormal frame, (3,) each.
        radius, thickness: Outer radius and thickness of the wall [m].
        viewpoint: Camera position [m].
        spread: Noise of a point along its viewing ray, in any unit (n,); empty if the noise of all
            points across the wall is 1 m.
        cut: Residual over noise from which a point has no weight.
        min_incidence: Cosine of incidence up to which a point has no weight.
        reach_m: Axial coordinate from which a point has no weight.

    Returns:
        Derivatives of the residuals (n, 6), residuals [m], weights and noise (n,) each, normal
        matrix (6, 6), gradient (6,), and the weighted mean of the axial coordinates [m].
    """
    count = len(points)
    rows, residual, noise = np.empty((count, 6)), np.empty(count), np.ones(count)
    weight, matrix, gradient = np.zeros(count), np.zeros((6, 6)), np.zeros(6)
    total, middle = 0.0, 0.0
    for i in range(count):
        axial, x, y, z, residual[i] = relative_to(points[i], point, axis, radius)
        u = viewpoint[0] - points[i, 0]
        v = viewpoint[1] - points[i, 1]
        w = viewpoint[2] - points[i, 2]
        incidence = (x * u + y * v + z * w) / np.sqrt(u * u + v * v + w * w)
        inside = incidence < 0
        if inside:
            residual[i] += thickness
        if len(spread):
            noise[i] = spread[i] * max(abs(incidence), min_incidence)
        rows[i, 0] = x * e1[0] + y * e1[1] + z * e1[2]
        rows[i, 1] = x * e2[0] + y * e2[1] + z * e2[2]
        rows[i, 2], rows[i, 3] = axial * rows[i, 0], axial * rows[i, 1]
        rows[i, 4], rows[i, 5] = 1.0, -1.0 if inside else 0.0
        within = 1 - (residual[i] / (noise[i] * cut)) ** 2
        if within > 0 and abs(axial) < reach_m and abs(incidence) > min_incidence:
            weight[i] = within * within
            information = weight[i] / noise[i] ** 2
            total += weight[i]
            middle += weight[i] * axial
            for a in range(6):
                gradient[a] += information * rows[i, a] * residual[i]
                for b in range(6):
                    matrix[a, b] += information * rows[i, a] * rows[i, b]
    return rows, residual, weight, noise, matrix, gradient, middle / max(total, 1e-9)
