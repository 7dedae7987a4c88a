import pytest

from soft_arm_description.assembly import load_assembly, shipped_assemblies
from soft_arm_description.assembly_frames import robots_with_frames
from soft_arm_description.robot import load_robot
from soft_arm_description.urdf import joint_names


@pytest.mark.parametrize('name', shipped_assemblies())
def test_frames_and_joints_of_an_assembly_have_one_name_each(name):
    robots = robots_with_frames(load_assembly(name)).values()
    frames = [r.base.frame for r in robots] + [f for r in robots for f in r.tip_frames]
    joints = [joint for robot in robots for joint in joint_names(robot)]
    assert len(set(frames)) == len(frames) and len(set(joints)) == len(joints)


def test_the_squids_frames_are_those_of_its_limbs_files():
    for name, robot in robots_with_frames(load_assembly('squid')).items():
        own = load_robot(f'squid_{name}')
        assert (robot.base.frame, robot.base.parent_frame, robot.tip_frames) == (
            own.base.frame,
            own.base.parent_frame,
            own.tip_frames,
        )
        assert joint_names(robot) == joint_names(own)


WAGON = """
schema_version: 1
name: train
description: Two arms on each other.
robots:
  - {name: lower, robot: squid_camera}
  - {name: upper, robot: squid_camera, mount: lower, position_m: [0.0, 0.0, 0.02]}
"""


def test_a_robot_on_a_robot_stands_on_the_end_of_its_last_segment(tmp_path):
    path = tmp_path / 'train.yaml'
    path.write_text(WAGON)
    lower, upper = robots_with_frames(load_assembly(path)).values()
    assert lower.base.parent_frame == 'world'
    assert upper.base.parent_frame == 'train_lower_camera_1_tip'
    assert upper.base.position_m == (0.0, 0.0, 0.02)
    assert lower.tip_frames == upper.tip_frames == ()  # one file, so the name would be there twice
