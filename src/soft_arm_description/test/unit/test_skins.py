"""Skins of segments: surfaces of the right size and sense, whose vertices lie between section ends.

About 1 s.
"""

import numpy as np
import pytest

from soft_arm_description import load_robot, shipped_robots
from soft_arm_description.skins import plain_skin, segment_skins

SKINS = [
    (name, i, segment)
    for name in sorted(shipped_robots())
    for i, segment in enumerate(load_robot(name).segments)
]


@pytest.mark.parametrize(('name', 'number', 'segment'), SKINS)
def test_vertices_lie_between_the_section_ends_that_they_follow(name, number, segment):
    robot = load_robot(name)
    step_m = segment.natural_length_m / segment.sections
    for skin in [*segment_skins(robot, number), plain_skin(robot, number)]:
        assert skin.triangles.min() == 0 and skin.triangles.max() < len(skin.vertices_m)
        assert skin.below.min() == 0 and skin.below.max() == segment.sections - 1
        z_m = (skin.below + skin.above_share) * step_m
        np.testing.assert_allclose(z_m, skin.vertices_m[:, 2], atol=1e-12)


@pytest.mark.parametrize('name', ['soft_finger', 'squid_camera', 'modal_bellows'])
def test_a_segment_alone_has_a_closed_surface_whose_outside_is_outside(name):
    robot = load_robot(name)
    (segment,) = robot.segments
    (skin,) = segment_skins(robot, 0)
    edges = np.concatenate([skin.triangles[:, [i, (i + 1) % 3]] for i in range(3)])
    assert {tuple(edge) for edge in edges} == {tuple(edge) for edge in edges[:, ::-1]}
    volume_m3 = np.linalg.det(skin.vertices_m[skin.triangles]).sum() / 6.0
    r = segment.radius_m(np.linspace(0.0, 1.0, 201))
    around_m3 = np.pi * np.mean(r**2) * segment.natural_length_m
    assert 0.5 * around_m3 < volume_m3 < 1.01 * around_m3


def test_each_bellows_has_a_skin_of_its_own():
    robot = load_robot('two_module_arm')
    actuators = robot.segments[0].actuators
    skins = segment_skins(robot, 0)
    assert len(skins) == len(actuators.names)
    for skin, angle_rad in zip(skins, actuators.angles_rad, strict=True):
        middle_m = skin.vertices_m.mean(axis=0)[:2]
        wanted_m = actuators.centre_radius_m * np.array([np.cos(angle_rad), np.sin(angle_rad)])
        np.testing.assert_allclose(middle_m, wanted_m, atol=1e-6)
