"""One segment as a chain of rigid links with joints at the midpoints of its sections.

A rod of N equal sections of length h bends, twists and stretches at the N midpoints; between them
are N - 1 links of length h, and half a link at each end. Such a chain converges to the rod with the
second power of h, in statics and in its frequencies. Two hinges at a midpoint form a universal
joint; the order of the two alternates from section to section, which cancels the twist that a chain
of universal joints builds up.

Names: bodies `<segment>_<i>`, i = 0..N, the last at the segment's end; joints `<segment>_x_<i>`,
`<segment>_y_<i>` (positive ones bend towards +x and +y), `<segment>_twist_<i>`,
`<segment>_slide_<i>` and, of the torque kind, `<segment>_<hinge>_<i>`; all after a prefix.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_description.segments import (
    BellowsSegment,
    ModalSegment,
    Segment,
    SingleBendSegment,
    TendonSegment,
    TorqueSegment,
)
from soft_arm_physics.errors import PhysicsError
from soft_arm_physics.model.contact import set_contact_time, set_friction
from soft_arm_physics.model.inertia import Inertia, shape_volume_m3

_Link = TypeVar('_Link')
_HINGE, _SLIDE = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
GEOMS = {
    'capsule': mujoco.mjtGeom.mjGEOM_CAPSULE,
    'cylinder': mujoco.mjtGeom.mjGEOM_CYLINDER,
    'sphere': mujoco.mjtGeom.mjGEOM_SPHERE,
    'box': mujoco.mjtGeom.mjGEOM_BOX,
}
TORQUE_DAMPING_TIME_S = 0.02  # damping / stiffness of hinges whose damping is not given
HIDDEN_GROUP = 5
BODY_COLOUR = [0.82, 0.80, 0.74, 1.0]

# MuJoCo scales the stiffness of limits and of dry friction with the inertia, which is too soft
# next to a stiff spring on a light link: the shortest time constant (MuJoCo raises it to two time
# steps) and the highest impedance.
_RIGID_REFERENCE = [1e-4, 1.0]
_RIGID_IMPEDANCE = [0.9999, 0.9999, 0.001, 0.5, 2.0]


@dataclass
class Link:
    """A body of a chain: its inertia, and its place along the straight robot for contacts."""

    body: mujoco.MjsBody
    s_m: float  # of the body's origin, from the robot's base
    inertia: Inertia = field(default_factory=Inertia)
    low_m: float = np.inf  # extent of its shapes along the robot, from the base
    high_m: float = -np.inf
    radius_m: float = 0.0

    def cover(self, low_m: float, high_m: float, radius_m: float) -> None:
        """Note that a shape covers low..high along the robot."""
        self.low_m, self.high_m = min(self.low_m, low_m), max(self.high_m, high_m)
        self.radius_m = max(self.radius_m, radius_m)


@dataclass(frozen=True)
class Chain:
    """The links of a segment after the one that it stands on, and their shapes for contact."""

    segment: Segment
    links: tuple[Link, ...]
    shapes: list[mujoco.MjsGeom] = field(default_factory=list)


def has_slides(segment: Segment) -> bool:
    """Return whether the segment's length changes."""
    if isinstance(segment, BellowsSegment):
        return True
    if isinstance(segment, TorqueSegment):
        return False
    return segment.kind == 'tendon' or segment.stiffness.axial_n is not None


def has_twist(segment: Segment) -> bool:
    """Return whether the segment twists."""
    if isinstance(segment, (BellowsSegment, TorqueSegment)):
        return False
    given = segment.stiffness.torsional_n_m2, segment.material.poisson_ratio
    return any(value is not None for value in given)


def add_chain(parent: Link, offset_m: float, segment: Segment, prefix: str) -> Chain:
    """Append a segment to a link, `offset_m` beyond its origin.

    Raises:
        PhysicsError: If a bellows or tendon segment has `closing_twist: false`.
        MissingPhysicsError: If the robot file lacks a stiffness that is needed.
    """
    n, h = segment.sections, segment.natural_length_m / segment.sections
    if not segment.closing_twist and segment.kind in ('bellows', 'tendon'):
        raise PhysicsError(
            f'segment {segment.name}: closing_twist is false, but nothing in a segment of kind '
            f'{segment.kind} twists it; set it to true'
        )
    links = [parent]
    for i in range(n + 1):
        before, step_m = links[-1], h / 2 if i in (0, n) else h
        z_m = step_m + (offset_m if i == 0 else 0.0)
        body = before.body.add_body(name=f'{prefix}{segment.name}_{i}', pos=[0.0, 0.0, z_m])
        links.append(Link(body, before.s_m + z_m))
        _add_joints(body, segment, prefix, i, h)
    _add_masses(links, offset_m, segment, h)
    if not segment.closing_twist and isinstance(segment, (SingleBendSegment, ModalSegment)):
        links[-1].body.quat = Rotation.from_euler('z', segment.phi_rad).as_quat(scalar_first=True)
    return Chain(segment, tuple(links[1:]))


def _add_joints(body: mujoco.MjsBody, segment: Segment, prefix: str, i: int, h: float) -> None:
    """Add the joints of body i; the last body has a slide of bellows at most."""
    name = f'{prefix}{segment.name}'
    if isinstance(segment, BellowsSegment):
        _add_slide(body, f'{name}_slide_{i}')
    if i == segment.sections:
        return
    if isinstance(segment, TorqueSegment):
        _add_torque_hinge(body, segment, name, i)
    elif isinstance(segment, BellowsSegment):
        _add_hinges(body, name, i)
    else:
        middle, time_s = np.array((i + 0.5) / segment.sections), segment.damping_time_s
        # Slide and twist before and after the bend by turns: on average they stretch and turn both
        # half sections.
        if i % 2 == 0:
            _add_axial_joints(body, segment, name, i, h)
        about_x, about_y = segment.bending_stiffness_n_m2(middle) / h
        for hinge, stiffness in zip(_add_hinges(body, name, i), (about_y, about_x), strict=True):
            _set_spring(hinge, stiffness, time_s)
        if i % 2 == 1:
            _add_axial_joints(body, segment, name, i, h)


def _add_axial_joints(
    body: mujoco.MjsBody,
    segment: SingleBendSegment | ModalSegment | TendonSegment,
    name: str,
    i: int,
    h: float,
) -> None:
    """Add slide and twist of section i, where its segment has them."""
    middle, time_s = np.array((i + 0.5) / segment.sections), segment.damping_time_s
    if has_slides(segment):
        slide = _add_slide(body, f'{name}_slide_{i}')
        _set_spring(slide, float(segment.axial_stiffness_n(middle)) / h, time_s)
    if has_twist(segment):
        twist = body.add_joint(name=f'{name}_twist_{i}', type=_HINGE, axis=[0, 0, 1])
        _set_spring(twist, float(segment.torsional_stiffness_n_m2(middle)) / h, time_s)


def _add_slide(body: mujoco.MjsBody, name: str) -> mujoco.MjsJoint:
    return body.add_joint(name=name, type=_SLIDE, axis=[0, 0, 1])


def _add_hinges(body: mujoco.MjsBody, name: str, i: int) -> tuple[mujoco.MjsJoint, ...]:
    """Add the universal joint of section i; return its hinges x and y."""
    axes = {'x': [0, 1, 0], 'y': [-1, 0, 0]}
    found = {
        letter: body.add_joint(name=f'{name}_{letter}_{i}', type=_HINGE, axis=axes[letter])
        for letter in ('xy' if i % 2 == 0 else 'yx')
    }
    return found['x'], found['y']


def _add_torque_hinge(body: mujoco.MjsBody, segment: TorqueSegment, name: str, i: int) -> None:
    hinge = segment.section_hinges[i]
    if hinge.stiffness_n_m_rad is None:
        return
    joint = body.add_joint(name=f'{name}_{hinge.name}_{i}', type=_HINGE, axis=hinge.unit_axis)
    joint.pos = hinge.offset_m
    _set_spring(joint, hinge.stiffness_n_m_rad, TORQUE_DAMPING_TIME_S)
    if hinge.damping_n_m_s_rad is not None:
        joint.damping = [hinge.damping_n_m_s_rad, 0.0, 0.0]
    joint.springref = hinge.neutral_rad
    joint.frictionloss = hinge.friction_torque_n_m
    joint.solref_limit = joint.solref_friction = _RIGID_REFERENCE
    joint.solimp_limit = joint.solimp_friction = _RIGID_IMPEDANCE
    if hinge.limits_rad is not None:
        joint.limited, joint.range = mujoco.mjtLimited.mjLIMITED_TRUE, hinge.limits_rad


def _set_spring(joint: mujoco.MjsJoint, stiffness: float, damping_time_s: float) -> None:
    joint.stiffness = [stiffness, 0.0, 0.0]
    joint.damping = [stiffness * damping_time_s, 0.0, 0.0]


def pieces(
    links: Sequence[_Link], offset_m: float, segment: Segment, h: float
) -> list[tuple[_Link, float, float, float, float]]:
    """Return the links' pieces between joints: link, ends z on it [m], ends as shares of the rod.

    The first half link belongs to the link that the segment stands on.
    """
    n = segment.sections
    found = [(links[0], offset_m, offset_m + h / 2, 0.0, 0.5 / n)]
    for i in range(n - 1):
        found.append((links[i + 1], 0.0, h, (i + 0.5) / n, (i + 1.5) / n))
    found.append((links[n], 0.0, h / 2, 1.0 - 0.5 / n, 1.0))
    return found


def _add_masses(links: list[Link], offset_m: float, segment: Segment, h: float) -> None:
    if segment.disc is not None:
        disc = segment.disc
        links[-1].inertia.add_shape(
            disc.mass_kg,
            'cylinder',
            (disc.radius_m, disc.thickness_m),
            (0.0, 0.0, -disc.thickness_m / 2),
        )
    if isinstance(segment, BellowsSegment):
        # Bellows are hollow: their mass is distributed over cells about the joints, on the circle
        # of their centres.
        bellows = segment.actuators
        for link in links[1:-1]:
            mass_kg = segment.mass_kg / segment.sections
            link.inertia.add_shape(
                mass_kg, 'cylinder', (bellows.centre_radius_m, h), (0.0, 0.0, 0.0)
            )
            link.inertia.displace(len(bellows.names) * np.pi * bellows.radius_m**2 * h)
        return
    if isinstance(segment, TorqueSegment):
        x, y, z = segment.link_offset_m
        masses_kg = segment.link_masses_kg
        for piece, mass_kg in zip(pieces(links, offset_m, segment, h), masses_kg, strict=True):
            link, low, high = piece[:3]
            shape, size_m = _link_shape(segment, high - low)
            link.inertia.add_shape(mass_kg, shape, size_m, (x, y, (low + high) / 2 + z))
            link.inertia.displace(shape_volume_m3(shape, size_m))
        return
    volumes = np.array(
        [
            _frustum_m3(segment.radius_m(np.array([a, b])), high - low)
            for _, low, high, a, b in pieces(links, offset_m, segment, h)
        ]
    )
    for (link, low, high, a, b), volume in zip(
        pieces(links, offset_m, segment, h), volumes, strict=True
    ):
        mass_kg, at = segment.mass_kg * volume / volumes.sum(), (0.0, 0.0, (low + high) / 2)
        radius_m = float(segment.radius_m(np.array((a + b) / 2)))
        link.inertia.add_shape(mass_kg, 'cylinder', (radius_m, high - low), at)
        link.inertia.displace(volume)


def _link_shape(segment: TorqueSegment, length_m: float) -> tuple[str, tuple[float, ...]]:
    """Shape and size of a link of this length; a capsule too short for its ends is a sphere."""
    shape, size_m = segment.section_shape, segment.section_size_m
    if shape == 'sphere' or (shape == 'capsule' and length_m <= 2.0 * size_m[0]):
        return 'sphere', (size_m[0],)
    return shape, (*size_m, length_m)


def _frustum_m3(radii_m: np.ndarray, height_m: float) -> float:
    base_m, tip_m = radii_m
    return float(np.pi / 3 * height_m * (base_m**2 + base_m * tip_m + tip_m**2))


def add_shapes(
    parent: Link, offset_m: float, chain: Chain, *, is_first: bool, is_last: bool
) -> None:
    """Add a segment's shapes for contact; a capsule's caps stay within the robot's ends."""
    segment = chain.segment
    h = segment.natural_length_m / segment.sections
    links, base_s_m = [parent, *chain.links], parent.s_m + offset_m
    end_s_m = base_s_m + segment.natural_length_m
    for link, low, high, a, b in pieces(links, offset_m, segment, h):
        radius_m = float(segment.radius_m(np.array((a + b) / 2)))
        shape, at = segment.collision, np.zeros(3)
        if shape == 'none':
            continue
        if shape in ('capsule', 'sphere'):
            first = base_s_m + radius_m if is_first else -np.inf
            last = end_s_m - radius_m if is_last else np.inf
            ends_m = np.clip([link.s_m + low, link.s_m + high], first, max(first, last))
            low, high = ends_m - link.s_m
        half_m = max((high - low) / 2, 1e-6)
        size = [radius_m, half_m, 0.0] if shape != 'box' else [radius_m, radius_m, half_m]
        if isinstance(segment, TorqueSegment):
            at = np.array(segment.link_offset_m)
            if shape == 'box':
                size[:2] = [width_m / 2 for width_m in segment.section_size_m]
        geom = link.body.add_geom(
            type=GEOMS[shape], size=size, pos=at + [0.0, 0.0, (low + high) / 2], mass=0.0
        )
        geom.name = f'{link.body.name}/{segment.name}'
        geom.rgba, geom.group = BODY_COLOUR, 1
        set_friction(geom, segment.friction.sliding if segment.friction else None)
        set_contact_time(geom, getattr(segment, 'contact_time_s', None))
        chain.shapes.append(geom)
        link.cover(link.s_m + low, link.s_m + high, radius_m)
