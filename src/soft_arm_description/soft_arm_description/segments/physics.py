"""Physics of a segment's body: material, stiffness, mass, damping, collision shape and friction.

Kinematics ignores these keys. The section is a full circle, whose radius changes linearly from
`body_radius_m` to `tip_radius_m`. Its stiffnesses follow beam theory: E I with I = pi r^4 / 4,
G J = E I / (1 + nu), and E A with A = pi r^2.
"""

import math
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import StrictBool, model_validator

from soft_arm_description.segments.values import (
    Count,
    Density,
    FrictionCoefficient,
    Length,
    LengthOrZero,
    Mass,
    MassOrZero,
    Name,
    Radius,
)
from soft_arm_io.fields import Strict, number

BendingStiffness = Annotated[float, number(1e-9, 1e6, 'N m^2')]
AxialStiffness = Annotated[float, number(1e-4, 1e9, 'N')]
DampingTime = Annotated[float, number(0.0, 10.0, 's')]
ContactTime = Annotated[float, number(1e-4, 1.0, 's')]
CollisionShape = Literal['capsule', 'cylinder', 'box', 'none']


class MissingPhysicsError(ValueError):
    """A segment lacks a key that a simulation needs; the message is one line with the remedy."""


class Disc(Strict):
    """Connecting disc at a segment's end; it lies inside the segment's length."""

    radius_m: Radius
    thickness_m: Length
    mass_kg: MassOrZero


class Material(Strict):
    """Material of a body; each key is needed only if a value is derived from it."""

    youngs_modulus_pa: Annotated[float, number(100.0, 1e12, 'Pa')] | None = None
    poisson_ratio: Annotated[float, number(0.0, 0.5, '')] | None = None
    density_kg_m3: Density | None = None


class Stiffness(Strict):
    """Measured stiffnesses at a body's base; each wins over the material's.

    `bending_n_m2` is E I, or E I of bends about the x axis and about the y axis.
    """

    bending_n_m2: BendingStiffness | tuple[BendingStiffness, BendingStiffness] | None = None
    torsional_n_m2: BendingStiffness | None = None
    axial_n: AxialStiffness | None = None


class Friction(Strict):
    """Coefficients of friction: along the body's axis, and across it where that differs."""

    sliding: FrictionCoefficient
    across: FrictionCoefficient | None = None


class NamedSegment(Strict):
    """Keys of every kind, and what holds where a kind does not say otherwise."""

    name: Name
    kind: str

    @property
    def chambers(self) -> tuple[str, ...]:
        """Pressurised chambers."""
        return ()

    @property
    def chamber_limits_pa(self) -> tuple[tuple[float, float], ...]:
        """Lowest and highest pressure of each chamber [Pa] gauge."""
        return ()

    @property
    def bending_planes_deg(self) -> set[float | None]:
        """Directions in which it bends [deg], in half a turn; None: any."""
        return {None}

    @property
    def natural_length_m(self) -> float:
        """Length without load [m]."""
        raise NotImplementedError

    @property
    def arc_length_limits_m(self) -> tuple[float, float]:
        """Shortest and longest centre line [m]."""
        return self.natural_length_m, self.natural_length_m


class ArcSegment(NamedSegment):
    """Keys of the kinds whose shape is an arc or a curve."""

    # True: the bend's rotation is Rz(phi) Ry(theta) Rz(-phi) (arm paper); False: without the last
    # factor (gripper paper)
    closing_twist: StrictBool
    sections: Count
    rigid_length_m: LengthOrZero
    body_mass_kg: Mass | None = None
    damping_time_s: DampingTime = 0.02  # damping over stiffness
    collision: CollisionShape = 'capsule'
    contact_time_s: ContactTime | None = None  # in which what has sunk into the body is pushed out
    friction: Friction | None = None


class RoundSegment(ArcSegment):
    """A body of one material with a round section, which may taper.

    A subclass has `body_radius_m` and `natural_length_m`.
    """

    body_radius_m: Radius
    tip_radius_m: Radius | None = None
    material: Material = Material()
    stiffness: Stiffness = Stiffness()

    @model_validator(mode='after')
    def _check_mass(self) -> Self:
        if self.body_mass_kg is None and self.material.density_kg_m3 is None:
            raise ValueError('body_mass_kg is missing: add it, or material.density_kg_m3')
        return self

    @property
    def mass_kg(self) -> float:
        """Mass of the body without the disc [kg], given or from the density."""
        if self.body_mass_kg is not None:
            return self.body_mass_kg
        base, tip = (float(r) for r in self.radius_m(np.array([0.0, 1.0])))
        volume_m3 = math.pi / 3 * self.natural_length_m * (base**2 + base * tip + tip**2)
        return volume_m3 * (self.material.density_kg_m3 or 0.0)

    def radius_m(self, share: ArrayLike) -> np.ndarray:
        """Outer radius [m] at shares of the length, 0 at the base and 1 at the end, shape (...)."""
        tip = self.body_radius_m if self.tip_radius_m is None else self.tip_radius_m
        return self.body_radius_m + np.asarray(share, dtype=float) * (tip - self.body_radius_m)

    def bending_stiffness_n_m2(self, share: ArrayLike) -> np.ndarray:
        """E I of bends about x and about y [N m^2] at shares of the length, shape (..., 2).

        A value given by `stiffness` holds at the base and tapers with the fourth power of the
        radius.

        Raises:
            MissingPhysicsError: If neither the stiffness nor Young's modulus is given.
        """
        at_base = self.stiffness.bending_n_m2
        if at_base is None:
            at_base = self._youngs_modulus_pa('bending_n_m2') * self._inertia_m4
        return self._slimmer(share, 4)[..., None] * np.broadcast_to(at_base, 2)

    def torsional_stiffness_n_m2(self, share: ArrayLike) -> np.ndarray:
        """G J [N m^2] at shares of the length, shape (...); tapers and raises as the bending.

        It follows from Poisson's ratio and, without Young's modulus, from the mean of the given
        bending stiffnesses.
        """
        at_base = self.stiffness.torsional_n_m2
        if at_base is None:
            poisson_ratio = self.material.poisson_ratio
            if poisson_ratio is None:
                raise self._missing('torsional_n_m2', 'material.poisson_ratio')
            bending_n_m2 = self.stiffness.bending_n_m2
            if bending_n_m2 is not None and self.material.youngs_modulus_pa is None:
                at_base = float(np.mean(bending_n_m2)) / (1.0 + poisson_ratio)
            else:
                modulus_pa = self._youngs_modulus_pa('torsional_n_m2')
                at_base = modulus_pa * self._inertia_m4 / (1.0 + poisson_ratio)
        return self._slimmer(share, 4) * at_base

    def axial_stiffness_n(self, share: ArrayLike) -> np.ndarray:
        """E A [N] at shares of the length, shape (...).

        It tapers with the square of the radius, and raises as the bending.
        """
        at_base = self.stiffness.axial_n
        if at_base is None:
            at_base = self._youngs_modulus_pa('axial_n') * math.pi * self.body_radius_m**2
        return self._slimmer(share, 2) * at_base

    @property
    def _inertia_m4(self) -> float:
        return math.pi / 4 * self.body_radius_m**4

    def _slimmer(self, share: ArrayLike, power: int) -> np.ndarray:
        return (self.radius_m(share) / self.body_radius_m) ** power

    def _youngs_modulus_pa(self, key: str) -> float:
        if self.material.youngs_modulus_pa is None:
            raise self._missing(key, 'material.youngs_modulus_pa')
        return self.material.youngs_modulus_pa

    def _missing(self, key: str, source: str) -> MissingPhysicsError:
        return MissingPhysicsError(
            f'segment {self.name} ({self.kind}): stiffness.{key} is missing: add it, or {source}, '
            'to the robot file'
        )


PHYSICS_KEYS = frozenset(RoundSegment.model_fields) - {
    'name',
    'kind',
    'closing_twist',
    'sections',
    'rigid_length_m',
}
"""Keys of a segment of which no pose depends."""
