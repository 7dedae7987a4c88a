"""Parts of robots and bodies: closed surfaces that follow what they show. About 3 s."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soft_arm_description import load_robot, shipped_robots
from soft_arm_description.rigid_bodies import RigidBody
from soft_arm_kinematics import make_arm
from soft_arm_twin.parts.bodies import body_part, ground_part, pose
from soft_arm_twin.parts.marks import SIGMAS, ellipsoid_frame, ellipsoid_part
from soft_arm_twin.parts.robot import ghost_parts, robot_frame_count, robot_frames, robot_parts
from soft_arm_twin.parts.shapes import shape_surface, tube
from soft_arm_twin.scene import Scene
from twin_testing import drawn

ROBOTS = sorted(shipped_robots())


def volume_m3(vertices_m, triangles):
    return np.linalg.det(vertices_m[triangles]).sum() / 6.0


def is_closed(vertices_m, triangles):
    _, same = np.unique(np.round(vertices_m, 9), axis=0, return_inverse=True)
    corners = same.ravel()[triangles]
    edges = np.concatenate([corners[:, [i, (i + 1) % 3]] for i in range(3)])
    edges = edges[edges[:, 0] != edges[:, 1]]
    return {tuple(e) for e in edges} == {tuple(e) for e in edges[:, ::-1]}


@pytest.mark.parametrize(
    ('shape', 'size_m', 'wanted_m3'),
    [
        ('box', (0.1, 0.2, 0.3), 0.006),
        ('sphere', (0.1,), 4 / 3 * np.pi * 1e-3),
        ('cylinder', (0.1, 0.4), np.pi * 4e-3),
        ('capsule', (0.1, 0.5), np.pi * 3e-3 + 4 / 3 * np.pi * 1e-3),
    ],
)
def test_a_shape_has_its_volume_and_its_outside_outside(shape, size_m, wanted_m3):
    vertices_m, triangles = shape_surface(shape, size_m)
    assert is_closed(vertices_m, triangles)
    assert 0.96 * wanted_m3 < volume_m3(vertices_m, triangles) <= 1.001 * wanted_m3


def test_a_ring_is_hollow():
    vertices_m, triangles = tube(0.05, 0.01, 0.02)
    assert is_closed(vertices_m, triangles)
    wanted_m3 = np.pi * (0.05**2 - 0.04**2) * 0.02
    assert volume_m3(vertices_m, triangles) == pytest.approx(wanted_m3, rel=0.02)


@pytest.mark.parametrize('name', ROBOTS)
def test_a_bent_robot_keeps_its_thickness_and_ends_at_its_tip(name):
    robot = load_robot(name)
    arm = make_arm(robot)
    low, high = arm.q_limits
    share = np.random.default_rng(3).uniform(0.3, 0.7, arm.n_actuators)
    shape = arm.at(low + share * (high - low))
    T_world_base = pose((0.3, -0.2, 0.1), (20.0, 130.0, -70.0))
    frames = robot_frames(robot, T_world_base @ shape.section_poses)
    assert frames.shape == (robot_frame_count(robot), 3, 4)
    np.testing.assert_allclose(frames[-1], (T_world_base @ shape.tip_pose)[:3], atol=1e-12)
    line_m = shape.section_poses[:, :3, 3] @ T_world_base[:3, :3].T + T_world_base[:3, 3]
    parts = robot_parts(robot, name, 0)
    Scene(tuple(parts), len(frames))
    of_segments = tuple(f'{name} {segment.name}' for segment in robot.segments)
    for part in parts:
        if not part.name.startswith(of_segments):
            continue
        vertices_m = drawn(part, frames)
        away_m = np.linalg.norm(vertices_m[:, None] - line_m, axis=2).min(axis=1)
        step_m = np.linalg.norm(np.diff(line_m, axis=0), axis=1).max()
        outermost_m = np.linalg.norm(part.local_a_m[:, :2], axis=1).max()
        assert away_m.max() < np.hypot(outermost_m, step_m)


@pytest.mark.parametrize('phi_deg', [0.0, 12.0, 90.0, -150.0])
def test_a_skin_is_not_wrung_where_a_segment_has_no_closing_twist(phi_deg):
    robot = load_robot('four_piece_finger')
    segments = tuple(s.model_copy(update={'phi_deg': phi_deg}) for s in robot.segments)
    robot = robot.model_copy(update={'segments': segments})
    shape = make_arm(robot).at(np.array([60e3]))
    frames = robot_frames(robot, shape.section_poses)
    for part in robot_parts(robot, 'finger', 0):
        if part.name == 'finger piece_2':
            surface = drawn(part, frames), part.triangles
            straight = part.local_a_m + part.frame_a[:, None] * [0, 0, 0.014 / 4], part.triangles
            assert volume_m3(*surface) == pytest.approx(volume_m3(*straight), rel=0.03)


def test_a_ghost_has_the_frames_of_its_robot():
    robot = load_robot('two_module_arm')
    ghosts = ghost_parts(robot, 'best', 5, 'ghosts', (0.0, 0.6, 0.4), 0.4)
    real = [p for p in robot_parts(robot, 'arm', 5) if 'bellows 1' in p.name]
    for ghost, part in zip(ghosts, real, strict=True):
        assert ghost.opacity == 0.4
        assert (ghost.frame_a.min(), ghost.frame_b.max()) == (
            part.frame_a.min(),
            part.frame_b.max(),
        )


def test_bodies_stand_where_their_frames_are():
    ball = RigidBody(name='ball', shape='sphere', size_m=(0.1,), fixed=True)
    vertices_m = drawn(body_part(ball, 0), pose((1.0, 2.0, 3.0))[None, :3])
    assert np.allclose(np.linalg.norm(vertices_m - [1.0, 2.0, 3.0], axis=1), 0.1)
    ground = drawn(ground_part(0.25, 2.0, 0), np.eye(4)[None, :3])
    assert ground[:, 2].max() == pytest.approx(0.25) and np.ptp(ground[:, 0]) == pytest.approx(2.0)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-0.05, 0.05), min_size=9, max_size=9))
def test_an_ellipsoid_is_the_surface_of_two_standard_deviations(numbers):
    half = np.reshape(numbers, (3, 3)) + 0.06 * np.eye(3)
    covariance_m2, centre_m = half @ half.T + 1e-6 * np.eye(3), np.array([0.1, 0.2, 0.3])
    frame = ellipsoid_frame(centre_m, covariance_m2)
    assert np.linalg.det(frame[:, :3]) > 0.0
    away = drawn(ellipsoid_part('tip', 0, (0, 0, 1)), frame[None]) - centre_m
    distance = np.sqrt(np.einsum('ni,ij,nj->n', away, np.linalg.inv(covariance_m2), away))
    np.testing.assert_allclose(distance, SIGMAS, rtol=2e-3)
