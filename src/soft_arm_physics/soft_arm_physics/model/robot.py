"""A robot file as bodies of a MuJoCo model: base, chain of segments, discs, ring and tip."""

from dataclasses import dataclass, replace

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_description.robot import Robot
from soft_arm_physics.model.chain import (
    BODY_COLOUR,
    GEOMS,
    HIDDEN_GROUP,
    Chain,
    Link,
    add_chain,
    add_shapes,
)
from soft_arm_physics.model.inertia import shape_volume_m3

_GEOM = mujoco.mjtGeom
EXCLUDED_RADII = 3.0  # links nearer along the robot than this many radii do not touch each other


@dataclass(frozen=True)
class RobotBodies:
    """Parts of a model that belong to one robot.

    The base is the body `<prefix>base`, the tip the site `<prefix>tip`.
    """

    name: str
    prefix: str
    robot: Robot
    chains: tuple[Chain, ...]

    @property
    def last_body(self) -> mujoco.MjsBody:
        """Body at the end of the last segment."""
        return self.chains[-1].links[-1].body

    @property
    def T_last_tip(self) -> np.ndarray:  # noqa: N802  # house style: a pose
        """Pose of the tip on the last body, (4, 4)."""
        T = np.eye(4)
        T[2, 3] = self.robot.segments[-1].rigid_length_m
        return T

    @property
    def seen_from_tip(self) -> 'Neighbours':
        """The links, for a robot that stands on the tip."""
        last = self.chains[-1].links[-1]
        tip_s_m = last.s_m + self.robot.segments[-1].rigid_length_m
        links = [
            replace(link, low_m=link.low_m - tip_s_m, high_m=link.high_m - tip_s_m)
            for chain in self.chains
            for link in chain.links
        ]
        return Neighbours(tuple(links))


@dataclass(frozen=True)
class Neighbours:
    """Links below a robot's base, at places along its axis; they may overlap its first links."""

    links: tuple[Link, ...] = ()


def add_robot(
    spec: mujoco.MjSpec,
    parent: mujoco.MjsBody,
    robot: Robot,
    name: str,
    *,
    T_parent_base: np.ndarray,
    medium_density_kg_m3: float = 0.0,
    shapes: bool = True,
    neighbours: Neighbours | None = None,
) -> RobotBodies:
    """Add a robot to a body of a model.

    Args:
        spec: The model.
        parent: The body on which the robot's base stands.
        robot: The robot file.
        name: Its name in the model; names of its bodies begin with `<name>/`.
        T_parent_base: Pose of the base on that body, shape (4, 4).
        medium_density_kg_m3: Density of what surrounds the robot [kg/m^3], for the buoyancy.
        shapes: Whether it has shapes that touch and are seen.
        neighbours: What it stands on.

    Raises:
        PhysicsError: If a bellows or tendon segment has `closing_twist: false`.
        MissingPhysicsError: If the robot file lacks a mass or stiffness that is needed.
    """
    prefix = f'{name}/'
    quat = Rotation.from_matrix(T_parent_base[:3, :3]).as_quat(scalar_first=True)
    body = parent.add_body(name=f'{prefix}base', pos=T_parent_base[:3, 3], quat=quat)
    base = Link(body, 0.0)
    chains: list[Chain] = []
    places: list[tuple[Link, float]] = []
    link, offset_m = base, 0.0
    for segment in robot.segments:
        places.append((link, offset_m))
        chains.append(add_chain(link, offset_m, segment, prefix))
        link, offset_m = chains[-1].links[-1], segment.rigid_length_m
    link.body.add_site(name=f'{prefix}tip', pos=[0.0, 0.0, offset_m], group=HIDDEN_GROUP)
    if robot.ring is not None:
        ring, at = robot.ring, (0.0, 0.0, offset_m)
        link.inertia.add_shape(ring.mass_kg, 'cylinder', (ring.radius_m, ring.height_m), at)
    _add_base_and_tip(base, link, offset_m, robot, shapes)
    if shapes:
        _add_flange(base, robot)
        for i, (chain, (parent_link, at_m)) in enumerate(zip(chains, places, strict=True)):
            add_shapes(
                parent_link,
                at_m,
                chain,
                is_first=i == 0,
                is_last=i == len(chains) - 1,
            )
        _add_discs(chains, robot, offset_m)
    links = [base, *(link for chain in chains for link in chain.links)]
    for link in links:
        link.inertia.assign(link.body, medium_density_kg_m3)
    if shapes:
        _exclude_neighbours(spec, links, neighbours.links if neighbours else ())
    return RobotBodies(name, prefix, robot, tuple(chains))


def _add_base_and_tip(base: Link, last: Link, tip_m: float, robot: Robot, shapes: bool) -> None:
    """Add the mass of the flange, and the rigid body at the tip."""
    flange_m = robot.base.flange_m
    if robot.base.mass_kg is not None:
        base.inertia.add_shape(robot.base.mass_kg, 'box', flange_m, (0.0, 0.0, -flange_m[2] / 2))
        base.inertia.displace(shape_volume_m3('box', flange_m))
    if robot.tip is None:
        return
    tip = robot.tip
    x, y, z = tip.position_m
    at = (x, y, z + tip_m)
    last.inertia.add_shape(tip.mass_kg, tip.shape, tip.size_m, at)
    last.inertia.displace(shape_volume_m3(tip.shape, tip.size_m))
    if shapes:
        geom = add_simple_shape(last.body, tip.shape, tip.size_m)
        geom.pos, geom.rgba, geom.group = at, BODY_COLOUR, 1
        half_m = tip.size_m[-1] / (1.0 if tip.shape == 'sphere' else 2.0)
        centre_m = last.s_m + at[2]
        last.cover(centre_m - half_m, centre_m + half_m, max(tip.size_m[0], last.radius_m))


def add_simple_shape(body: mujoco.MjsBody, shape: str, size_m: tuple[float, ...]) -> mujoco.MjsGeom:
    """Add a massless shape of a robot, assembly or world file to a body."""
    if shape == 'box':
        size = [edge_m / 2 for edge_m in size_m]
    elif shape == 'sphere':
        size = [size_m[0], 0.0, 0.0]
    else:
        straight_m = size_m[1] - (2.0 * size_m[0] if shape == 'capsule' else 0.0)
        size = [size_m[0], straight_m / 2, 0.0]
    return body.add_geom(type=GEOMS[shape], size=size, mass=0.0)


def _add_flange(base: Link, robot: Robot) -> None:
    flange = np.array(robot.base.flange_m)
    geom = base.body.add_geom(
        type=_GEOM.mjGEOM_BOX, size=flange / 2, pos=[0.0, 0.0, -flange[2] / 2], mass=0.0
    )
    geom.rgba, geom.group = [0.62, 0.63, 0.65, 1.0], 1
    base.cover(-flange[2], 0.0, 0.0)


def _add_discs(chains: list[Chain], robot: Robot, tip_m: float) -> None:
    """Add the discs at the segments' ends and the ring about the tip."""
    discs = [
        (chain.links[-1], d.radius_m, d.thickness_m, -d.thickness_m / 2, BODY_COLOUR)
        for chain in chains
        if (d := getattr(chain.segment, 'disc', None)) is not None
    ]
    if robot.ring is not None:
        ring = robot.ring
        colour = [*ring.colour_rgb, 1.0]
        discs.append((chains[-1].links[-1], ring.radius_m, ring.height_m, tip_m, colour))
    for link, radius_m, height_m, z_m, colour in discs:
        geom = link.body.add_geom(
            type=_GEOM.mjGEOM_CYLINDER,
            size=[radius_m, height_m / 2, 0.0],
            pos=[0.0, 0.0, z_m],
            mass=0.0,
        )
        geom.rgba, geom.group = colour, 1
        link.cover(link.s_m + z_m - height_m / 2, link.s_m + z_m + height_m / 2, radius_m)


def _exclude_neighbours(spec: mujoco.MjSpec, links: list[Link], under: tuple[Link, ...]) -> None:
    """Let links not touch that overlap where the robot is straight or little bent."""
    everything = [*under, *links]
    for i, link in enumerate(everything):
        for other in everything[max(i + 1, len(under)) :]:
            reach_m = EXCLUDED_RADII * max(link.radius_m, other.radius_m)
            if other.low_m - link.high_m < reach_m and np.isfinite([link.low_m, other.low_m]).all():
                spec.add_exclude(bodyname1=link.body.name, bodyname2=other.body.name)
