"""Robots, what they stand on and what surrounds them as one MuJoCo model."""

import logging
from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_description.assembly import Assembly, MountedRobot
from soft_arm_description.rigid_bodies import RigidBody
from soft_arm_description.world import Camera, Light, World
from soft_arm_physics.errors import PhysicsError
from soft_arm_physics.model.chain import Link
from soft_arm_physics.model.contact import add_pair, pair_shapes, set_friction
from soft_arm_physics.model.drag import DragPoint, body_drag, robot_drag
from soft_arm_physics.model.inertia import shape_volume_m3
from soft_arm_physics.model.mesh import add_surface, mesh_volume_m3
from soft_arm_physics.model.robot import Neighbours, RobotBodies, add_robot, add_simple_shape

# Without a handler, MuJoCo writes its warnings to a file in the working directory.
mujoco.set_mju_user_warning(logging.getLogger(__name__).warning)

MEMORY_BYTES = 64 << 20  # of MuJoCo's arena: its error for one that is full would end the process
# Bodies held by friction creep without these: docs/explanation/physics.md.
FRICTION_STIFFNESS = 10.0  # of contacts along over that across
NO_SLIP_ITERATIONS = 3  # in air: they cost a tenth of the speed of limbs in water
OBJECT_COLOUR = (0.35, 0.50, 0.70)
GROUND_COLOUR = [0.60, 0.60, 0.58, 1.0]
_GEOM = mujoco.mjtGeom


@dataclass(frozen=True)
class Built:
    """A model before it is compiled, and what of it belongs to the robots."""

    spec: mujoco.MjSpec
    robots: list[RobotBodies]
    drag: list[DragPoint]


def build(assembly: Assembly, world: World, time_step_s: float) -> Built:
    """Build the model of an assembly in a world.

    Raises:
        PhysicsError: If a name is used twice, a mesh is missing, a mesh that moves is not closed, a
            load, light or camera is at a robot that is not there, or a robot cannot be simulated.
        MissingPhysicsError: If a robot file lacks a mass or stiffness that is needed.
    """
    spec = _new_spec(world, time_step_s)
    density = world.medium.density_kg_m3 if world.medium else 0.0
    _check_names(assembly, world)
    for body in (*assembly.bodies, *world.objects):
        _add_body(spec, body, density)
    robots: dict[str, RobotBodies] = {}
    for mounted in assembly.robots:
        robots[mounted.name] = _add_mounted(spec, mounted, robots, density)
    if not assembly.self_contact:
        objects = {item.name for item in world.objects}
        for geom in spec.geoms:
            if geom.parent.name not in objects:
                geom.contype = 0  # `conaffinity` 1 is left: it touches what has `contype` 1
    if world.ground is not None:
        ground = spec.worldbody.add_geom(name='ground', type=_GEOM.mjGEOM_PLANE, size=[0, 0, 0.05])
        ground.pos = [0.0, 0.0, world.ground.height_m]
        ground.rgba = GROUND_COLOUR
        set_friction(ground, world.ground.friction)
        for bodies in robots.values():
            _add_anisotropic_friction(spec, ground, bodies)
    pair_shapes(spec)
    if not any(geom.contype for geom in spec.geoms):  # the search for contacts finds none
        spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    for light in world.lights:
        _add_light(spec, light, robots)
    for camera in world.cameras:
        _add_camera(spec, camera, robots)
    for load in world.loads:
        _robot_of('load', load.robot, robots)
    return Built(spec, list(robots.values()), _drag(assembly, world, list(robots.values())))


def _drag(assembly: Assembly, world: World, robots: list[RobotBodies]) -> list[DragPoint]:
    medium = world.medium
    if medium is None:
        return []
    moving = [item for item in (*assembly.bodies, *world.objects) if not item.fixed]
    carriers = {mounted.mount for mounted in assembly.robots}
    points = [body_drag(item, medium) for item in moving]
    for bodies in robots:
        points += robot_drag(bodies, medium, free_tip=bodies.name not in carriers)
    return points


def _new_spec(world: World, time_step_s: float) -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False  # limits of hinges are in rad
    spec.memory = MEMORY_BYTES
    option = spec.option
    option.timestep, option.gravity = time_step_s, world.gravity_m_s2
    option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    # In a medium contacts are few and joints many: PGS iterates over contacts and finds the same
    # forces three times as fast as Newton's method, which factors a matrix of all joints.
    solvers = mujoco.mjtSolver
    option.solver = solvers.mjSOL_PGS if world.medium else solvers.mjSOL_NEWTON
    option.cone, option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, FRICTION_STIFFNESS
    option.noslip_iterations = 0 if world.medium else NO_SLIP_ITERATIONS
    bits = mujoco.mjtDisableBit  # a body has too few shapes for a search tree over them
    option.disableflags |= int(bits.mjDSBL_AUTORESET | bits.mjDSBL_MIDPHASE)
    return spec


def pose(position_m: tuple[float, ...], rpy_deg: tuple[float, ...]) -> np.ndarray:
    """T (4, 4) of a position [m] and roll, pitch and yaw about fixed axes [deg]."""
    T = np.eye(4)
    T[:3, :3] = Rotation.from_euler('xyz', rpy_deg, degrees=True).as_matrix()
    T[:3, 3] = position_m
    return T


def _check_names(assembly: Assembly, world: World) -> None:
    names = [body.name for body in (*assembly.bodies, *world.objects)]
    names += [robot.name for robot in assembly.robots] + ['world', 'ground']
    for name in names:
        if names.count(name) > 1:
            raise PhysicsError(
                f'{name!r} is used twice in assembly {assembly.name} and world {world.name} '
                '(`ground` and `world` are taken): rename one'
            )


def _add_body(spec: mujoco.MjSpec, item: RigidBody, density: float) -> None:
    """Add a body of an assembly or an object of a world."""
    quat = Rotation.from_euler('xyz', item.rpy_deg, degrees=True).as_quat(scalar_first=True)
    body = spec.worldbody.add_body(name=item.name, pos=item.position_m, quat=quat)
    volume_m3 = 0.0
    if item.mesh is not None:
        if item.fixed:
            add_surface(spec, item.name, item.mesh)
        else:
            volume_m3 = mesh_volume_m3(item.mesh)
            spec.add_mesh(name=item.name, file=item.mesh)
        geom = body.add_geom(type=_GEOM.mjGEOM_MESH, meshname=item.name)
    else:
        size_m = item.size_m or ()  # the schema has checked that it is given
        volume_m3 = shape_volume_m3(item.shape, size_m)
        geom = add_simple_shape(body, item.shape, size_m)
    geom.mass = item.mass_kg or 0.0
    geom.rgba = [*(item.colour_rgb or OBJECT_COLOUR), 1.0]
    set_friction(geom, item.friction)
    if item.fixed:
        return
    body.add_freejoint()
    if item.mass_kg is not None and density > 0.0:
        body.gravcomp = density * (item.volume_m3 or volume_m3) / item.mass_kg


def _add_mounted(
    spec: mujoco.MjSpec, mounted: MountedRobot, robots: dict[str, RobotBodies], density: float
) -> RobotBodies:
    T, neighbours = pose(mounted.position_m, mounted.rpy_deg), Neighbours()
    if mounted.mount is None:
        parent = spec.worldbody
    elif mounted.mount in robots:
        under = robots[mounted.mount]
        T = under.T_last_tip @ T
        parent, neighbours = under.last_body, under.seen_from_tip
    else:
        parent = spec.body(mounted.mount)
        neighbours = Neighbours((Link(parent, 0.0, low_m=0.0, high_m=0.0),))
    return add_robot(
        spec,
        parent,
        mounted.robot,
        mounted.name,
        T_parent_base=T,
        medium_density_kg_m3=density,
        neighbours=neighbours,
    )


def _add_anisotropic_friction(
    spec: mujoco.MjSpec, ground: mujoco.MjsGeom, bodies: RobotBodies
) -> None:
    """Let capsules whose friction differs along and across slide so on the ground.

    MuJoCo turns the contact frame of a capsule on a plane so that its first tangent is the
    capsule's axis.
    """
    for chain in bodies.chains:
        friction = chain.segment.friction
        if friction is None or friction.across is None:
            continue
        if chain.segment.collision != 'capsule':
            raise PhysicsError(
                f'segment {chain.segment.name}: friction.across needs shapes with an axis, but '
                f'collision is {chain.segment.collision}; make it capsule'
            )
        for geom in chain.shapes:
            add_pair(spec, ground, geom, friction.sliding, friction.across)


def _add_light(spec: mujoco.MjSpec, light: Light, robots: dict[str, RobotBodies]) -> None:
    body, T = _place(spec, 'light', light.attach, robots)
    added = body.add_light(name=light.name, castshadow=False)
    added.pos = (T @ [*light.position_m, 1.0])[:3]
    added.dir = T[:3, :3] @ light.direction
    added.diffuse = [0.7, 0.7, 0.7]
    if light.spot_deg is not None:
        added.type, added.cutoff = mujoco.mjtLightType.mjLIGHT_SPOT, light.spot_deg
    elif light.attach is None:
        added.type = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
    else:
        added.type = mujoco.mjtLightType.mjLIGHT_POINT


def _add_camera(spec: mujoco.MjSpec, camera: Camera, robots: dict[str, RobotBodies]) -> None:
    body, T = _place(spec, 'camera', camera.attach, robots)
    position = (T @ [*camera.position_m, 1.0])[:3]
    if camera.look_at_m is not None:
        ahead = np.array(camera.look_at_m) - position
        ahead /= np.linalg.norm(ahead)
        up = np.array([0.0, 0.0, 1.0]) if abs(ahead[2]) < 0.999 else np.array([0.0, 1.0, 0.0])
        right = np.cross(ahead, up)
        right /= np.linalg.norm(right)
        rotation = np.stack([right, np.cross(right, ahead), -ahead], axis=1)
    else:
        rotation = T[:3, :3] @ np.diag([1.0, -1.0, -1.0])  # MuJoCo's cameras look along -z
    quat = Rotation.from_matrix(rotation).as_quat(scalar_first=True)
    added = body.add_camera(name=camera.name, pos=position, quat=quat, fovy=camera.fovy_deg)
    added.resolution = [camera.width_px, camera.height_px]


def _place(
    spec: mujoco.MjSpec, what: str, attach: str | None, robots: dict[str, RobotBodies]
) -> tuple[mujoco.MjsBody, np.ndarray]:
    """Body to which something belongs, and the frame on it in which its place is given."""
    if attach is None:
        return spec.worldbody, np.eye(4)
    bodies = _robot_of(what, attach, robots)
    return bodies.last_body, bodies.T_last_tip


def _robot_of(what: str, name: str, robots: dict[str, RobotBodies]) -> RobotBodies:
    if name not in robots:
        raise PhysicsError(
            f'a {what} of the world is at robot {name!r}, which is not there: give one of '
            f'{", ".join(robots)}'
        )
    return robots[name]
