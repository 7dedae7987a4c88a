import json

import numpy as np
import pytest
import yaml

from soft_arm_description.robot import load_robot, shipped_robots
from soft_arm_kinematics.cli.calibrate_modal import main
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.limbs import Limbs
from soft_arm_kinematics.segments.modal import ModalModel


def test_all_four_limbs_have_their_joints_and_tips():
    limbs = Limbs()
    assert (
        len(limbs.joint_names) == len(set(limbs.joint_names)) == len(limbs.joint_values) == 6 * 32
    )
    limbs.bend([('camera_1', -1.0, 0.5, 0.59)])
    limbs.bend([('grasper_2', 1.2, 0.0, 0.295)])
    values = dict(zip(limbs.joint_names, limbs.joint_values, strict=True))
    assert values['squid_camera_camera_1_000_turn'] == 0.5 and values[
        'squid_camera_camera_1_001_bend'
    ] == pytest.approx(-0.1)
    assert (
        values['squid_grasper_grasper_2_001_bend'] == pytest.approx(0.12)
        and values['squid_grasper_grasper_1_001_bend'] == 0.0
    )
    tips = {child: T for _, child, T in limbs.tip_frames()}
    assert set(tips) == {'squid_camera_frame', 'squid_light_frame'}
    assert tips['squid_camera_frame'] == pytest.approx(limbs.arms[2].at([-1.0, 0.5, 0.59]).tip_pose)
    assert tips['squid_light_frame'][:2, 3] == pytest.approx([0.0, 0.0])
    assert {parent for parent, _, _ in limbs.base_frames()} == {'squid_body'}


@pytest.mark.parametrize(
    'arc, word',
    [
        (('tail', 0, 0, 0.3), 'tail'),
        (('grasper_1', 2.0, 0, 0.3), 'theta'),
        (('grasper_1', 1.0, 7.0, 0.3), 'phi'),
        (('camera_1', 0.5, 0.0, 0.3), 'ell'),
        (('camera_1', float('nan'), 0.0, 0.6), 'theta'),
    ],
)
def test_a_configuration_is_taken_whole_or_not_at_all(arc, word):
    limbs = Limbs()
    before = limbs.joint_values.copy()
    with pytest.raises(KinematicsError, match=word):
        limbs.bend([('light_1', 0.5, 0.2, 0.59), arc])
    assert np.array_equal(limbs.joint_values, before)


def test_limbs_are_tendon_segments_with_their_own_names():
    with pytest.raises(KinematicsError, match='bellows'):
        Limbs(['two_module_arm'])
    with pytest.raises(KinematicsError, match='camera_1'):
        Limbs(['squid_camera', 'squid_camera'])


def test_calibrate_modal_prints_a_segment(tmp_path, capsys):
    bellows = ModalModel.of_segment(load_robot('modal_bellows').segments[0])
    s = np.linspace(0.0, bellows.length_m, 10)
    rows = ['pressure_pa,x_m,z_m']
    for pressure_pa in (0.0, 40e3, 70e3, 100e3, 140e3):
        rows += [
            f'{pressure_pa},{x:.12f},{z:.12f}' for x, z in bellows.shape(pressure_pa, s)[0].tolist()
        ]
    (tmp_path / 'points.csv').write_text('\n'.join(rows))
    arguments = ['--data', str(tmp_path / 'points.csv'), '--orders', '3', '3']
    assert main([*arguments, '--output', str(tmp_path / 'keys.yaml')]) == 0
    assert 'worst point' in capsys.readouterr().out
    segment = load_robot('modal_bellows').segments[0]
    fitted = type(segment).model_validate(
        segment.model_dump() | yaml.safe_load((tmp_path / 'keys.yaml').read_text())
    )
    assert ModalModel.of_segment(fitted).tip(1e5) == pytest.approx(bellows.tip(1e5), abs=1e-4)
    assert main([*arguments, '--json']) == 0
    assert json.loads(capsys.readouterr().out)['rms_m'] < 1e-4
    (tmp_path / 'points.csv').write_text('pressure_pa,x_m\n1,2')
    for name, word in (('none.csv', 'none.csv'), ('points.csv', 'z_m')):
        assert main(['--data', str(tmp_path / name)]) == 2
        error = capsys.readouterr().err
        assert word in error and error.count('\n') == 1


def test_a_bend_that_the_sections_cannot_show_is_refused(tmp_path):
    content = yaml.safe_load(shipped_robots()['squid_camera'].read_text())
    content['segments'][0] |= {'sections': 1, 'theta_limits_deg': [-270.0, 270.0]}
    (tmp_path / 'limb.yaml').write_text(yaml.safe_dump(content))
    limbs = Limbs([str(tmp_path / 'limb.yaml')])
    with pytest.raises(KinematicsError, match='use more sections'):
        limbs.bend([('camera_1', 4.0, 0.0, 0.59)])
    limbs.bend([('camera_1', 1.0, 0.0, 0.59)])
    assert limbs.joint_values[1] == pytest.approx(0.5)
