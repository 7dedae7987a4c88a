"""The model as URDF: another reader finds the same masses, joints and places."""

import xml.etree.ElementTree as ET

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_arm_description.assembly import Assembly, MountedRobot
from soft_arm_description.rigid_bodies import RigidBody
from soft_arm_description.robot import Robot, load_robot
from soft_arm_description.world import World
from soft_arm_physics import Simulation
from soft_arm_physics.cli.robot import main

CLOSED_MESH = 'v 0 0 0\nv .1 0 0\nv 0 .2 0\nv 0 0 .3\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n'


def with_hinges_beside_the_axis():
    content = load_robot('soft_finger').model_dump(mode='json')
    for i, hinge in enumerate(content['segments'][0]['hinges']):
        hinge['offset_m'] = [0.003, 0.002 * (i + 1), -0.001]
    content['base'] |= {'rpy_deg': [20.0, 90.0, 40.0]}
    return Robot.model_validate(content)


def numbers(element, key, default='0 0 0'):
    return np.array([float(word) for word in element.get(key, default).split()])


def origin(element):
    T, at = np.eye(4), element.find('origin')
    T[:3, :3] = Rotation.from_euler('xyz', numbers(at, 'rpy')).as_matrix()
    T[:3, 3] = numbers(at, 'xyz')
    return T


def motion(joint, q):
    T, kind = np.eye(4), joint.get('type')
    if kind == 'floating':
        T[:3, :3], T[:3, 3] = Rotation.from_quat(q[3:], scalar_first=True).as_matrix(), q[:3]
    elif kind == 'prismatic':
        T[:3, 3] = q[0] * numbers(joint.find('axis'), 'xyz')
    elif kind != 'fixed':
        turn = Rotation.from_rotvec(q[0] * numbers(joint.find('axis'), 'xyz'))
        T[:3, :3] = turn.as_matrix()
    return T


def places(robot, positions):
    """Poses of all links of a URDF file (4, 4) at joint positions by name."""
    found, joints = {'world': np.eye(4)}, list(robot.iter('joint'))
    for joint in joints:  # parents come first
        parent, child = joint.find('parent').get('link'), joint.find('child').get('link')
        T = np.eye(4) if joint.get('type') == 'floating' else found[parent] @ origin(joint)
        found[child] = T @ motion(joint, positions.get(joint.get('name')))
    assert len(found) == len(joints) + 1 == len(list(robot.iter('link')))
    return found


def moved(sim, seed):
    """Set a random configuration; return the joints' positions by their names in URDF."""
    model, data = sim.model, sim.data
    rng, positions = np.random.default_rng(seed), {}
    for joint in range(model.njnt):
        at, is_free = model.jnt_qposadr[joint], model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE
        is_slide = model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE
        q = rng.normal(size=7) if is_free else rng.uniform(-1, 1, 1) * (0.01 if is_slide else 0.6)
        if is_free:
            q[3:] /= np.linalg.norm(q[3:])
        data.qpos[at : at + len(q)] = q
        body = model.body(model.jnt_bodyid[joint]).name
        positions[f'{body}_free' if is_free else model.joint(joint).name] = q
    mujoco.mj_forward(model, data)
    return positions


@pytest.mark.parametrize(
    ('robot', 'world'),
    [
        ('two_module_arm', None),
        ('squid', 'sea'),
        ('hand', 'floor'),
        ('snake', 'floor'),
        (with_hinges_beside_the_axis(), None),
    ],
)
def test_urdf_has_the_masses_joints_and_places_of_the_model(robot, world):
    sim = Simulation(robot, world)
    urdf = ET.fromstring(sim.to_urdf())
    positions = moved(sim, 40)
    found = places(urdf, positions)
    assert {j.get('name') for j in urdf.iter('joint') if j.get('type') != 'fixed'} == set(positions)
    masses = {
        link.get('name'): float(link.find('inertial/mass').get('value'))
        for link in urdf.iter('link')
        if link.get('name') != 'world'
    }
    assert sum(masses.values()) == pytest.approx(sim.model.body_mass.sum(), rel=1e-12)
    for link in urdf.iter('link'):
        name = link.get('name')
        if name == 'world' or name.endswith('_link'):
            continue
        body = sim.data.body(name)
        T_com = found[name] @ origin(link.find('inertial'))
        assert T_com[:3, 3] == pytest.approx(body.xipos, abs=1e-9)
        assert found[name][:3, :3] == pytest.approx(body.xmat.reshape(3, 3), abs=1e-9)
        compare_shapes(sim, link, found[name])


def compare_shapes(sim, link, T_world_link):
    """The middles of a body's shapes, and its inertia about the axes of the world."""
    index = sim.model.body(link.get('name')).id
    touching = (sim.model.geom_bodyid == index) & (sim.model.geom_contype > 0)
    middles = [(T_world_link @ origin(shape))[:3, 3] for shape in link.iter('collision')]
    for at_m in sim.data.geom_xpos[touching]:
        assert np.linalg.norm(np.array(middles) - at_m, axis=1).min() < 1e-9
    moments = {key: float(value) for key, value in link.find('inertial/inertia').items()}
    xx, xy, xz, yy, yz, zz = (moments[key] for key in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'))
    R = T_world_link[:3, :3]
    tensor = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    axes = sim.data.ximat[index].reshape(3, 3)
    expected = axes @ np.diag(sim.model.body_inertia[index]) @ axes.T
    joints = sim.model.body_jntnum[index]
    share = 1.0 - 1e-3 * max(joints - 1, 0)
    assert tensor == pytest.approx(expected * share, abs=1e-9 * np.trace(expected))


FLAT_MESH = 'v 0 0 0\nv .1 0 0\nv .1 .2 0\nv 0 .2 0\nf 1 2 3\nf 1 3 4\n'


@pytest.mark.parametrize('mesh', [CLOSED_MESH, FLAT_MESH])
def test_a_mesh_stands_where_it_stood(mesh, tmp_path):
    (tmp_path / 'body.obj').write_text(mesh)
    mesh = {'name': 'body', 'shape': 'mesh', 'mesh': str(tmp_path / 'body.obj'), 'fixed': True}
    body = RigidBody.model_validate({**mesh, 'position_m': [1, 0, 0], 'rpy_deg': [30, 40, 50]})
    robot = MountedRobot('finger', load_robot('soft_finger'), 'body', (0.0, 0.0, -0.3), (0, 0, 0))
    sim = Simulation(Assembly('meshed', '', (body,), (robot,)))
    link = ET.fromstring(sim.to_urdf()).find("link[@name='body']")
    shape = link.find('collision')
    assert shape.find('geometry/mesh').get('filename') == str(tmp_path / 'body.obj')
    assert origin(shape) == pytest.approx(np.eye(4), abs=1e-7)


def test_objects_of_the_world_stay_out_of_urdf():
    cube = {'name': 'cube', 'shape': 'box', 'size_m': [0.1] * 3, 'mass_kg': 1.0}
    content = {'schema_version': 1, 'name': 'one', 'description': ''}
    world = World.model_validate({**content, 'objects': [{**cube, 'position_m': [1, 1, 1]}]})
    assert 'cube' not in Simulation('soft_finger', world).to_urdf()


def test_the_command_writes_both_files_and_does_not_simulate(tmp_path, capsys):
    urdf, mjcf = tmp_path / 'arm.urdf', tmp_path / 'arm.xml'
    assert main(['two_module_arm', '--urdf', str(urdf), '--mjcf', str(mjcf)]) == 0
    assert capsys.readouterr().out == f'written: {mjcf}\nwritten: {urdf}\n'
    joints = {mujoco.MjModel.from_xml_path(str(file)).njnt for file in (urdf, mjcf)}
    assert joints == {62}
    assert 'stiffness' in urdf.read_text()
