"""Rigs by name and by path, and what their files must say."""

import pytest

from soft_arm_description.cli import rig_folder
from soft_arm_description.rig import RigCamera, RigError, load_rig, rig_folders


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Folder of a real rig called mine, in the user's folder of rigs."""
    monkeypatch.setenv('SOFT_ARM_RIGS', str(tmp_path))
    (tmp_path / 'mine').mkdir()
    (tmp_path / 'mine' / 'rig.yaml').write_text('devices: real\nrobot: two_module_arm\n')
    return tmp_path / 'mine'


def test_the_templates(monkeypatch, tmp_path):
    monkeypatch.setenv('SOFT_ARM_RIGS', str(tmp_path / 'none'))
    assert set(rig_folders()) == {'lab', 'virtual'}
    lab, virtual = load_rig('lab'), load_rig('virtual')
    assert (lab.devices, virtual.devices) == ('real', 'virtual')
    assert lab.is_template and virtual.is_template
    assert virtual.calibration_file('dynamics').is_file()


def test_a_rig_is_given_by_name_or_by_path(mine, capsys):
    assert load_rig('mine') == load_rig(mine) and load_rig('mine').folder == mine
    assert not load_rig('mine').is_template
    assert rig_folder([str(mine)]) == 0 and capsys.readouterr().out == str(mine)


def test_a_template_s_name_always_means_the_template(mine):
    mine.rename(mine.parent / 'virtual')
    assert load_rig('virtual').is_template
    assert load_rig(mine.parent / 'virtual').devices == 'real'


def test_a_template_given_by_its_path_is_a_template():
    assert load_rig(load_rig('virtual').folder).is_template


def test_the_robot_may_lie_in_the_rig_s_folder(mine):
    (mine / 'rig.yaml').write_text('devices: real\nrobot: arm.yaml\n')
    with pytest.raises(RigError, match=r'mine/rig.yaml: robot file .*mine/arm.yaml'):
        load_rig('mine')
    shipped = load_rig('lab').folder.parents[1] / 'robots' / 'two_module_arm.yaml'
    (mine / 'arm.yaml').write_text(shipped.read_text())
    assert load_rig('mine').robot == str(mine / 'arm.yaml')


def test_a_rig_says_how_its_cameras_publish_depth(mine):
    assert load_rig('mine').camera == RigCamera(depth_unit_m=1e-3, align_depth=False)
    with (mine / 'rig.yaml').open('a') as file:
        file.write('camera: {align_depth: true}\nfinger_camera: {depth_unit_m: 1.0e-4}\n')
    rig = load_rig('mine')
    assert rig.camera == RigCamera(depth_unit_m=1e-3, align_depth=True)
    assert rig.finger_camera == RigCamera(depth_unit_m=1e-4, align_depth=False)


@pytest.mark.parametrize('name', ['moon', '', '..', 'mine/../moon', 'a\0b', '/'])
def test_an_unknown_rig_is_refused_in_one_line(mine, name):
    with pytest.raises(RigError, match='softarm rig new NAME|rig.yaml') as caught:
        load_rig(name)
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        ('devices: emulated\nrobot: two_module_arm', "'virtual' or 'real'"),
        ('devices: [real]\nrobot: two_module_arm', "'virtual' or 'real'"),
        ('robot: two_module_arm', 'devices: key is missing'),
        ('devices: real\nrobot: two_module_arm\ncolour: red', 'colour: unknown key'),
        ('devices: real\nrobot: two_module_arm\ncamera: {depth_unit_m: 1}', 'depth_unit_m'),
        ('- 1', 'keys with values'),
        ('', 'is empty'),
        ('[', 'line'),
        (None, 'write `devices: real`'),
    ],
)
def test_a_rig_file_that_cannot_be_used_is_refused_in_one_line(mine, content, words):
    (mine / 'rig.yaml').unlink()
    if content is not None:
        (mine / 'rig.yaml').write_text(content)
    with pytest.raises(RigError, match=words) as caught:
        load_rig('mine')
    assert str(mine / 'rig.yaml') in str(caught.value) and '\n' not in str(caught.value)
