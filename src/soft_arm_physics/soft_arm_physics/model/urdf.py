"""The compiled model as URDF, for other engines."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

NO_LIMIT = 1e3  # m, m/s, rad/s, N, N m: URDF wants a number where the model has no limit
# Engines drop or refuse moving links without mass: a link between two joints of one body carries
# this share of the body's mass.
MASS_SHARE = 1e-3
_COMMENT = f"""
Robots and the bodies that carry them, in SI units, from soft_arm_physics. URDF has no key for:
stiffness of joints: a comment in each joint gives its spring; set it in the engine;
what drives the robot, buoyancy and drag, and the objects and the ground of the world;
links that do not touch each other: neighbours along a chain overlap, so turn off self-collision or
exclude them.
Where several joints move a body, links between them carry {MASS_SHARE:g} of its mass each.
Limits of {NO_LIMIT:g} stand for none. Floating joints are read by few engines.
"""
_JOINT, _GEOM = mujoco.mjtJoint, mujoco.mjtGeom


def write_urdf(
    model: mujoco.MjModel, name: str, left_out: frozenset[str], meshes: Mapping[str, str]
) -> str:
    """Return a model as URDF, at its start pose.

    The root link is `world`; links have the names of the bodies. The frame of a link is its
    body's, moved to the anchor of the body's last joint.

    Args:
        model: The model.
        name: Name of the robot in the file.
        left_out: Names of bodies on the world that do not belong to it.
        meshes: Mesh files by the name of the body.
    """
    robot = ET.Element('robot', name=name)
    robot.append(ET.Comment(_COMMENT))
    ET.SubElement(robot, 'link', name='world')
    for body in range(1, model.nbody):
        if model.body(model.body_rootid[body]).name not in left_out:
            _add_body(robot, model, body, meshes)
    ET.indent(robot)
    return ET.tostring(robot, encoding='unicode', xml_declaration=True) + '\n'


def _add_body(
    robot: ET.Element, model: mujoco.MjModel, body: int, meshes: Mapping[str, str]
) -> None:
    """Add a body's joints, the links between them, and its link."""
    name, parent = model.body(body).name, int(model.body_parentid[body])
    joints = range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body])
    T = _pose(-_anchor_m(model, parent)) @ _pose(model.body_pos[body], model.body_quat[body])
    before, at_m = model.body(parent).name, np.zeros(3)
    if not joints:
        _add_joint(robot, f'{name}_fixed', 'fixed', before, name, T)
    for joint in joints:
        is_last = joint == joints[-1]
        link = name if is_last else f'{model.joint(joint).name}_link'
        T = T @ _pose(model.jnt_pos[joint] - at_m)
        _add_moving_joint(robot, model, joint, before, link, T)
        before, at_m, T = link, model.jnt_pos[joint], np.eye(4)
        if not is_last:
            between = ET.SubElement(robot, 'link', name=link)
            _add_inertia(between, model, body, at_m, MASS_SHARE)
    link_element = ET.SubElement(robot, 'link', name=name)
    share = 1.0 - MASS_SHARE * max(len(joints) - 1, 0)
    _add_inertia(link_element, model, body, at_m, share)
    for geom in range(
        model.body_geomadr[body], model.body_geomadr[body] + model.body_geomnum[body]
    ):
        if model.geom_contype[geom] or model.geom_conaffinity[geom]:
            _add_shape(link_element, model, geom, at_m, meshes)


def _anchor_m(model: mujoco.MjModel, body: int) -> np.ndarray:
    """Origin of a body's link, in the body's frame (3,)."""
    if model.body_jntnum[body] == 0:
        return np.zeros(3)
    last = model.body_jntadr[body] + model.body_jntnum[body] - 1
    return np.array(model.jnt_pos[last])


def _add_moving_joint(
    robot: ET.Element, model: mujoco.MjModel, joint: int, parent: str, child: str, T: np.ndarray
) -> None:
    kind = model.jnt_type[joint]
    if kind == _JOINT.mjJNT_FREE:
        _add_joint(robot, f'{child}_free', 'floating', parent, child, T)
        return
    is_limited, is_slide = bool(model.jnt_limited[joint]), kind == _JOINT.mjJNT_SLIDE
    urdf_kind = 'prismatic' if is_slide else 'revolute' if is_limited else 'continuous'
    element = _add_joint(robot, model.joint(joint).name, urdf_kind, parent, child, T)
    low, high = model.jnt_range[joint] if is_limited else (-NO_LIMIT, NO_LIMIT)
    limit = {'effort': _text(NO_LIMIT), 'velocity': _text(NO_LIMIT)}
    if urdf_kind != 'continuous':
        limit |= {'lower': _text(low), 'upper': _text(high)}
    dof, unit = model.jnt_dofadr[joint], 'm' if is_slide else 'rad'
    ET.SubElement(element, 'axis', xyz=_text(*model.jnt_axis[joint]))
    ET.SubElement(element, 'limit', limit)
    ET.SubElement(
        element,
        'dynamics',
        damping=_text(model.dof_damping[dof]),
        friction=_text(model.dof_frictionloss[dof]),
    )
    stiffness, rest = model.jnt_stiffness[joint], model.qpos_spring[model.jnt_qposadr[joint]]
    unit_of = 'N/m' if is_slide else 'N m/rad'
    element.append(
        ET.Comment(f' stiffness {stiffness:.9g} {unit_of}, at rest at {rest:.9g} {unit} ')
    )


def _add_joint(
    robot: ET.Element, name: str, kind: str, parent: str, child: str, T: np.ndarray
) -> ET.Element:
    joint = ET.SubElement(robot, 'joint', name=name, type=kind)
    _add_origin(joint, T)
    ET.SubElement(joint, 'parent', link=parent)
    ET.SubElement(joint, 'child', link=child)
    return joint


def _add_inertia(
    link: ET.Element, model: mujoco.MjModel, body: int, anchor_m: np.ndarray, share: float
) -> None:
    inertial = ET.SubElement(link, 'inertial')
    _add_origin(inertial, _pose(model.body_ipos[body] - anchor_m))
    ET.SubElement(inertial, 'mass', value=_text(model.body_mass[body] * share))
    axes = Rotation.from_quat(model.body_iquat[body], scalar_first=True).as_matrix()
    tensor = axes @ np.diag(model.body_inertia[body] * share) @ axes.T
    keys = {f'i{"xyz"[i]}{"xyz"[j]}': _text(tensor[i, j]) for i in range(3) for j in range(i, 3)}
    ET.SubElement(inertial, 'inertia', keys)


def _add_shape(
    link: ET.Element,
    model: mujoco.MjModel,
    geom: int,
    anchor_m: np.ndarray,
    meshes: Mapping[str, str],
) -> None:
    """Add a shape for contact, which is also seen; a capsule as a cylinder and two spheres."""
    kind, (a, b, c) = model.geom_type[geom], model.geom_size[geom]
    T = _pose(model.geom_pos[geom] - anchor_m, model.geom_quat[geom])
    if kind == _GEOM.mjGEOM_BOX:
        pieces = [(T, 'box', {'size': _text(2 * a, 2 * b, 2 * c)})]
    elif kind == _GEOM.mjGEOM_SPHERE:
        pieces = [(T, 'sphere', {'radius': _text(a)})]
    elif kind == _GEOM.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]  # MuJoCo has moved its corners to its centre of mass
        T = T @ np.linalg.inv(_pose(model.mesh_pos[mesh], model.mesh_quat[mesh]))
        path = Path(meshes[model.mesh(mesh).name]).resolve()
        pieces = [(T, 'mesh', {'filename': str(path)})]
    else:
        pieces = [(T, 'cylinder', {'radius': _text(a), 'length': _text(2 * b)})]
        if kind == _GEOM.mjGEOM_CAPSULE:
            ends = [T @ _pose(np.array([0.0, 0.0, z_m])) for z_m in (-b, b)]
            pieces += [(end, 'sphere', {'radius': _text(a)}) for end in ends]
    for at, shape, size in pieces:
        for use in ('collision', 'visual'):
            element = ET.SubElement(link, use)
            _add_origin(element, at)
            ET.SubElement(ET.SubElement(element, 'geometry'), shape, size)


def _add_origin(element: ET.Element, T: np.ndarray) -> None:
    R = T[:3, :3]
    yaw = np.arctan2(R[1, 0], R[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    pitch = np.arctan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    # From what the yaw leaves: exact at a pitch of 90 degrees too, where the yaw is arbitrary.
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    ET.SubElement(element, 'origin', xyz=_text(*T[:3, 3]), rpy=_text(roll, pitch, yaw))


def _pose(position_m: np.ndarray, quat: np.ndarray | None = None) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = position_m
    if quat is not None:
        T[:3, :3] = Rotation.from_quat(quat, scalar_first=True).as_matrix()
    return T


def _text(*values: float) -> str:
    return ' '.join(f'{value:.15g}' for value in values)
