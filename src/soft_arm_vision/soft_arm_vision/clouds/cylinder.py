"""Cylinders, points relative to them, and their robust least-squares fit (Gauss-Newton)."""

# mypy: disable-error-code="no-untyped-def"
# Numba infers the types of the compiled functions.

from dataclasses import dataclass

import numpy as np

from soft_arm_kinematics.backends.machine_code import njit

NOWHERE = np.full(3, np.nan)  # viewpoint of points seen from all sides
EVEN_NOISE = np.empty(0)
MAX_SHIFT_M, MAX_TILT_RAD = 0.02, 0.5  # of one step


@dataclass(frozen=True)
class Cylinders:
    """K infinite cylinders: a point on each axis [m] (K, 3), unit axes (K, 3), radii [m] (K,)."""

    point: np.ndarray
    axis: np.ndarray
    radius: np.ndarray

    def __getitem__(self, which) -> 'Cylinders':
        return Cylinders(self.point[which], self.axis[which], self.radius[which])


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
def surface_frame(points, point, axis, radius):
    """Return points (n, 3) relative to a cylinder.

    Returns:
        Axial coordinates [m] (n,), outward unit normals (n, 3), signed distances from the surface
        [m] (n,).
    """
    axial, normal, distance = (
        np.empty(len(points)),
        np.empty((len(points), 3)),
        np.empty(len(points)),
    )
    for i in range(len(points)):
        axial[i], normal[i, 0], normal[i, 1], normal[i, 2], distance[i] = relative_to(
            points[i], point, axis, radius
        )
    return axial, normal, distance


def optimise(
    points: np.ndarray,
    cylinders: Cylinders,
    *,
    cut_m: float,
    iterations: int,
    viewpoint: np.ndarray | None,
    free_radius: bool = False,
) -> Cylinders:
    """Fit the axis, the lateral position and, if free, the radius of each cylinder.

    Args:
        points: Shape (n, 3) [m].
        cylinders: Starts.
        cut_m: Residual from which a point has no weight (Tukey's biweight) [m].
        iterations: Number of Gauss-Newton steps.
        viewpoint: Camera position [m], from which only the near side of a wall is visible. None:
            points on all sides count.
        free_radius: Estimate the radius too.
    """
    points = np.ascontiguousarray(points, float)
    view = NOWHERE if viewpoint is None else np.asarray(viewpoint, float)
    fits = [
        _gauss_newton(points, point, axis, radius, free_radius, cut_m, iterations, view)
        for point, axis, radius in zip(
            cylinders.point, cylinders.axis, cylinders.radius, strict=True
        )
    ]
    point, axis, radius = (np.array(part) for part in zip(*fits, strict=True))
    return Cylinders(point, axis, radius)


@njit(cache=True, nogil=True)
def _gauss_newton(points, point, axis, radius, free_radius, cut_m, iterations, viewpoint):
    """Return point, axis and radius after steps from a first guess."""
    for _ in range(iterations):
        e1, e2 = perpendiculars_of_one(axis)
        _, _, weight, _, matrix, gradient, middle = normal_equations(
            points, point, e1, e2, axis, radius, 0.0, viewpoint, EVEN_NOISE, cut_m, 0.0, np.inf,
        )  # fmt: skip
        damping = 1e-9 * max(np.trace(matrix), 1e-12)
        if not free_radius:
            matrix[4], matrix[:, 4], gradient[4] = 0.0, 0.0, 0.0
            matrix[4, 4] = 1.0
        step = np.linalg.solve(matrix + damping * np.eye(5), gradient)
        shift = step[:2] + middle * step[2:4]  # of the axis beside the points
        shift = np.minimum(np.maximum(shift, -MAX_SHIFT_M), MAX_SHIFT_M)
        tilt = np.minimum(np.maximum(step[2:4], -MAX_TILT_RAD), MAX_TILT_RAD)
        point = point + middle * axis + shift[0] * e1 + shift[1] * e2
        axis = axis + tilt[0] * e1 + tilt[1] * e2
        axis = axis / np.sqrt(axis @ axis)
        radius = max(radius + step[4], 1e-4)
    return point, axis, radius


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

    The unknowns are two shifts along e1 and e2, two tilts of the axis towards e1 and e2, and the
    outer radius. The inside of the wall is visible on the side away from the camera.

    Args:
        points: Shape (n, 3) [m].
        point, e1, e2, axis: Point on the axis [m] and an orthonormal frame, (3,) each.
        radius, thickness: Of the wall [m]; points that show the inside of a wall of thickness 0
            have no weight.
        viewpoint: Camera position [m]; NaN if all points show the outside.
        spread: Noise of a point along its viewing ray, in any unit (n,); empty if the noise of all
            points across the wall is 1 m.
        cut: Residual over noise from which a point has no weight.
        min_incidence: Cosine of incidence up to which a point has no weight.
        reach_m: Axial coordinate from which a point has no weight.

    Returns:
        Derivatives of the residuals (n, 5), residuals [m], weights and noise (n,) each, normal
        matrix (5, 5), gradient (5,), and the weighted mean of the axial coordinates [m].
    """
    count = len(points)
    rows, residual, noise = np.empty((count, 5)), np.empty(count), np.ones(count)
    weight, matrix, gradient = np.zeros(count), np.zeros((5, 5)), np.zeros(5)
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
        rows[i, 4] = 1.0
        within = 1 - (residual[i] / (noise[i] * cut)) ** 2
        grazing, hidden = abs(incidence) <= min_incidence, inside and thickness == 0
        if within > 0 and abs(axial) < reach_m and not grazing and not hidden:
            weight[i] = within * within
            information = weight[i] / noise[i] ** 2
            total += weight[i]
            middle += weight[i] * axial
            for a in range(5):
                gradient[a] += information * rows[i, a] * residual[i]
                for b in range(5):
                    matrix[a, b] += information * rows[i, a] * rows[i, b]
    return rows, residual, weight, noise, matrix, gradient, middle / max(total, 1e-9)
