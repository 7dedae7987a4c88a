"""Mass, centre, inertia and displaced volume of a body that is made of pieces."""

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_physics.errors import PhysicsError

# Smaller moments about the centre of a body are raised to this one [kg m^2]: MuJoCo needs more than
# 1e-15. A thin rod's joints bend about axes away from that centre and do not notice it, only its
# twist is slower. A body that would notice is refused.
LEAST_KG_M2 = 2.0 * mujoco.mjMINVAL
Point = tuple[float, float, float]


class Inertia:
    """Sum of pieces whose axes are parallel to the body's.

    The body gets it by `assign`: inertia then does not depend on the shapes for contact.
    """

    def __init__(self) -> None:
        self._mass_kg = self._volume_m3 = 0.0
        self._moment_kg_m = np.zeros(3)
        self._about_origin = np.zeros((3, 3))

    def add_shape(self, mass_kg: float, shape: str, size_m: tuple[float, ...], at: Point) -> None:
        """Add a solid body, centred at a point [m]; shapes and sizes as in robot files."""
        if shape == 'box':
            squares = np.square(size_m)
            diagonal = (squares.sum() - squares) / 12.0
        elif shape == 'sphere':
            diagonal = np.full(3, 0.4 * size_m[0] ** 2)
        elif shape == 'cylinder':
            diagonal = _cylinder(*size_m)
        else:
            diagonal = _capsule(*size_m)
        self.add(mass_kg, diagonal * mass_kg, at)

    def add(self, mass_kg: float, diagonal_kg_m2: np.ndarray, at: Point) -> None:
        """Add a piece with the diagonal inertia (3,) [kg m^2] about its centre at a point [m]."""
        p = np.array(at)
        self._mass_kg += mass_kg
        self._moment_kg_m += mass_kg * p
        self._about_origin += np.diag(diagonal_kg_m2) + _steiner(mass_kg, p)

    def displace(self, volume_m3: float) -> None:
        """Add a volume [m^3] that displaces the medium."""
        self._volume_m3 += volume_m3

    def assign(self, body: mujoco.MjsBody, medium_density_kg_m3: float) -> None:
        """Give it to a body, with the buoyancy in a medium: it acts at the centre of mass.

        Raises:
            PhysicsError: If the body is too small for MuJoCo's numbers.
        """
        if self._mass_kg <= 0.0:
            return
        centre = self._moment_kg_m / self._mass_kg
        about_centre = self._about_origin - _steiner(self._mass_kg, centre)
        body.mass, body.ipos = self._mass_kg, centre
        about_joint_kg_m2 = np.linalg.eigvalsh(self._about_origin)[1]
        if about_joint_kg_m2 < mujoco.mjMINVAL:
            raise PhysicsError(
                f'{body.name}: its moment of inertia about its joint, {about_joint_kg_m2:.2g} '
                f'kg m^2, must be at least {mujoco.mjMINVAL:g} kg m^2: give the segment fewer '
                'sections, or a larger radius or density'
            )
        moments, axes = np.linalg.eigh(about_centre)
        body.inertia = np.maximum(moments, LEAST_KG_M2)
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        body.iquat = Rotation.from_matrix(axes).as_quat(scalar_first=True)
        body.explicitinertial = True
        body.gravcomp = medium_density_kg_m3 * self._volume_m3 / self._mass_kg


def shape_volume_m3(shape: str, size_m: tuple[float, ...]) -> float:
    """Volume of a shape [m^3]; shapes and sizes as in robot files."""
    if shape == 'box':
        return float(np.prod(size_m))
    radius_m = size_m[0]
    ball_m3 = 4.0 / 3.0 * np.pi * radius_m**3
    if shape == 'sphere':
        return float(ball_m3)
    straight_m = size_m[1] - (2.0 * radius_m if shape == 'capsule' else 0.0)
    return float(np.pi * radius_m**2 * straight_m + (ball_m3 if shape == 'capsule' else 0.0))


def _steiner(mass_kg: float, p: np.ndarray) -> np.ndarray:
    return mass_kg * (p @ p * np.eye(3) - np.outer(p, p))


def _cylinder(radius_m: float, length_m: float) -> np.ndarray:
    across = (3.0 * radius_m**2 + length_m**2) / 12.0
    return np.array([across, across, radius_m**2 / 2.0])


def _capsule(radius_m: float, length_m: float) -> np.ndarray:
    """Diagonal of the inertia per mass of a capsule whose length includes its round ends."""
    straight_m = length_m - 2.0 * radius_m
    ends = 4.0 * radius_m / (4.0 * radius_m + 3.0 * straight_m)  # share of the volume
    cylinder = _cylinder(radius_m, straight_m)
    # Of both half balls about the capsule's centre.
    away2 = straight_m**2 / 4.0 + 3.0 * straight_m * radius_m / 8.0
    balls = 0.4 * radius_m**2 + np.array([away2, away2, 0.0])
    return (1.0 - ends) * cylinder + ends * balls
