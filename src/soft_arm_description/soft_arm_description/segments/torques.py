"""Segments of rigid links between hinges that carry springs and torques (SoMo)."""

import math
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, StrictBool, model_validator

from soft_arm_description.segments.physics import Disc, Friction, NamedSegment
from soft_arm_description.segments.values import (
    Coordinate,
    Count,
    Direction,
    Length,
    LengthOrZero,
    Mass,
    MassOrZero,
    Name,
    Radius,
    check_bend,
    check_direction,
    check_limits,
)
from soft_arm_io.fields import Strict, number

Offset = Annotated[float, number(-1.0, 1.0, 'm')]
Angle = Annotated[float, number(-20 * math.pi, 20 * math.pi, 'rad')]
Torque = Annotated[float, number(-1e5, 1e5, 'N m')]
TorqueOrZero = Annotated[float, number(0.0, 1e5, 'N m')]
SectionShape = Literal['box', 'cylinder', 'capsule', 'sphere']


class Hinge(Strict):
    """One kind of hinge; it stands at every so many-th section.

    Without load it stands at neutral_rad + torque / stiffness_n_m_rad, within limits_rad. Without
    stiffness_n_m_rad it is rigid. Hinges of one name share one torque.
    """

    name: Name
    axis: Direction
    offset_m: tuple[Offset, Offset, Offset] = (0.0, 0.0, 0.0)  # from the middle of its section
    stiffness_n_m_rad: Annotated[float, number(1e-7, 1e6, 'N m/rad')] | None = None
    neutral_rad: Angle = 0.0
    limits_rad: tuple[Angle, Angle] | None = None
    damping_n_m_s_rad: Annotated[float, number(0.0, 1e5, 'N m s/rad')] | None = None
    friction_torque_n_m: TorqueOrZero = 0.0
    actuated: StrictBool = True
    torque_limits_n_m: tuple[Torque, Torque] | None = None

    @model_validator(mode='after')
    def _check(self) -> Self:
        check_direction('axis', self.axis)
        if self.actuated != (self.torque_limits_n_m is not None):
            raise ValueError(
                'torque_limits_n_m is missing: add it, or `actuated: false`'
                if self.actuated
                else 'torque_limits_n_m is given, but the hinge is not actuated: remove one'
            )
        if self.stiffness_n_m_rad is None and (self.actuated or self.neutral_rad):
            raise ValueError(
                'stiffness_n_m_rad is missing: add it, or make the hinge rigid with `actuated: '
                'false` and no neutral_rad'
            )
        check_limits(
            self,
            *(k for k in ('limits_rad', 'torque_limits_n_m') if getattr(self, k) is not None),
        )
        return self

    @property
    def unit_axis(self) -> np.ndarray:
        """Axis of length 1 in the segment's frame, shape (3,)."""
        axis = np.array(self.axis)
        return axis / np.linalg.norm(axis)

    @property
    def bend_range_rad(self) -> tuple[float, float]:
        """Smallest and largest angle [rad] that the torques reach without load."""
        if self.stiffness_n_m_rad is None:
            return 0.0, 0.0
        stiffness, torques_n_m = self.stiffness_n_m_rad, self.torque_limits_n_m or (0.0, 0.0)
        low, high = self.limits_rad or (-math.inf, math.inf)
        angles = (self.neutral_rad + torque / stiffness for torque in torques_n_m)
        smallest, largest = (min(max(angle, low), high) for angle in angles)
        return smallest, largest


class TorqueSegment(NamedSegment):
    """A rod of `sections` equal sections with one hinge in the middle of each.

    Section i has `hinges[i % len(hinges)]`; so the rod begins and ends with half a link. The torque
    of one kind of hinge acts at every hinge of that kind.

    The mass is spread evenly; or the half links have `end_link_mass_kg` each, and the whole links
    share the rest. A link's shape and centre of mass are in its middle, or `link_offset_m` off it.
    """

    kind: Literal['torque']
    length_m: Length
    sections: Count
    rigid_length_m: LengthOrZero = 0.0
    section_shape: SectionShape
    section_size_m: Annotated[tuple[Radius, ...], Field(min_length=1, max_length=2)]
    body_mass_kg: Mass
    end_link_mass_kg: MassOrZero | None = None
    link_offset_m: tuple[Offset, Offset, Offset] = (0.0, 0.0, 0.0)
    friction: Friction | None = None
    hinges: Annotated[tuple[Hinge, ...], Field(min_length=1, max_length=200)]
    disc: Disc | None = None

    @model_validator(mode='after')
    def _check(self) -> Self:
        wanted = 2 if self.section_shape == 'box' else 1
        if len(self.section_size_m) != wanted:
            raise ValueError(
                f'section_size_m {list(self.section_size_m)}: give a box its widths [x, y], and '
                'any other shape its [radius]'
            )
        torques = {hinge.name: hinge.torque_limits_n_m for hinge in self.hinges}
        for hinge in self.hinges:
            if hinge.torque_limits_n_m != torques[hinge.name]:
                raise ValueError(
                    f'hinge name {hinge.name!r} has two torque_limits_n_m: give each hinge its own '
                    'name, or make the limits equal'
                )
        if not math.isclose(sum(self.link_masses_kg), self.body_mass_kg, rel_tol=1e-6):
            raise ValueError(
                f'end_link_mass_kg {self.end_link_mass_kg:g} twice, and {self.sections - 1} whole '
                f'links, do not make body_mass_kg {self.body_mass_kg:g}: correct one'
            )
        if len(self.hinges) > self.sections:
            raise ValueError(
                f'{len(self.hinges)} hinges, but {self.sections} sections with one hinge each: '
                'give more sections or fewer hinges'
            )
        check_bend(sum(max(np.abs(hinge.bend_range_rad)) for hinge in self.section_hinges))
        return self

    @property
    def closing_twist(self) -> bool:
        """True: the hinges alone set the orientation."""
        return True

    @property
    def section_hinges(self) -> tuple[Hinge, ...]:
        """The hinge of each section, base to tip."""
        return tuple(self.hinges[i % len(self.hinges)] for i in range(self.sections))

    @property
    def link_masses_kg(self) -> tuple[float, ...]:
        """Mass of each link, base to tip, shape (sections + 1,); the first and last are halves."""
        whole, end = self.body_mass_kg / self.sections, self.end_link_mass_kg
        if end is not None and self.sections > 1:
            whole = max(self.body_mass_kg - 2.0 * end, 0.0) / (self.sections - 1)
        ends = whole / 2.0 if end is None else end
        return (ends, *(whole,) * (self.sections - 1), ends)

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The torque of each actuated kind of hinge [N m]."""
        torques = {hinge.name: hinge.torque_limits_n_m for hinge in self.hinges}
        return tuple(
            Coordinate(f'{self.name}_{name}', 'N m', *limits)
            for name, limits in torques.items()
            if limits is not None
        )

    @property
    def rest_q(self) -> tuple[float, ...]:
        """No torques [N m]."""
        return (0.0,) * len(self.coordinates)

    @property
    def bending_planes_deg(self) -> set[float | None]:
        """Directions in which free hinges bend it [deg], in half a turn; None: any."""
        axes = [hinge.axis for hinge in self.hinges if hinge.stiffness_n_m_rad is not None]
        return {
            None if z else round(math.degrees(math.atan2(-x, y)) % 180.0, 6) for x, y, z in axes
        }

    @property
    def natural_length_m(self) -> float:
        """Length without load [m]."""
        return self.length_m

    @property
    def body_radius_m(self) -> float:
        """Radius [m], of a box half its larger width."""
        return max(self.section_size_m) / (2.0 if self.section_shape == 'box' else 1.0)

    @property
    def collision(self) -> SectionShape:
        """Collision shape of a link."""
        return self.section_shape

    @property
    def mass_kg(self) -> float:
        """Mass of the body without the disc [kg]."""
        return self.body_mass_kg

    def radius_m(self, share: ArrayLike) -> np.ndarray:
        """Radius [m] at shares of the length, shape (...): everywhere the same."""
        return np.full(np.shape(share), self.body_radius_m)

    @property
    def layout(self) -> tuple:
        """Everything that poses depend on."""
        return (
            self.name,
            self.kind,
            self.length_m,
            self.sections,
            self.rigid_length_m,
            *(
                (
                    hinge.name,
                    hinge.axis,
                    hinge.offset_m,
                    hinge.stiffness_n_m_rad,
                    hinge.neutral_rad,
                    hinge.limits_rad,
                    hinge.torque_limits_n_m,
                )
                for hinge in self.hinges
            ),
        )
