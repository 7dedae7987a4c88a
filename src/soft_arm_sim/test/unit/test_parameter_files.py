import pytest
import yaml

from soft_arm_physics.actuation.pneumatics import load_pneumatics
from soft_arm_physics.errors import PhysicsError
from soft_arm_physics.pneumatic_arm import SHIPPED
from soft_arm_sim.cameras.parameters import (
    CONFIG,
    load_calibration_jig,
    load_camera_parameters,
    load_finger_camera_parameters,
)
from soft_arm_sim.motion_capture import load_motion_capture

PNEUMATICS = 'two_module_arm.pneumatics.yaml'
LOADERS = {
    PNEUMATICS: load_pneumatics,
    'virtual_camera.yaml': load_camera_parameters,
    'calibration_jig.yaml': load_calibration_jig,
    'motion_capture.yaml': load_motion_capture,
    'finger_camera.yaml': load_finger_camera_parameters,
    'stereo_camera.yaml': load_camera_parameters,
}


def without(content, path):
    *groups, key = path.split('.')
    for group in groups:
        content = content[group]
    del content[key]


def put(content, path, value):
    *groups, key = path.split('.')
    for group in groups:
        content = content[group]
    content[key] = value


@pytest.mark.parametrize(
    'name, path, value, words',
    [
        (PNEUMATICS, 'valve.lag_s', None, ['valve.lag_s', 'missing']),
        (PNEUMATICS, 'valve.lag', 0.2, ['valve.lag', 'unknown']),
        (
            PNEUMATICS,
            'valve.lag_s',
            0.0,
            ['valve.lag_s', 'greater than 0', '0.0'],
        ),
        (PNEUMATICS, 'valve.lag_s', float('nan'), ['valve.lag_s', 'finite']),
        (
            PNEUMATICS,
            'hysteresis.weights',
            [0.5, 0.4, 0.2],
            ['hysteresis', '1.100', 'below 1'],
        ),
        (
            PNEUMATICS,
            'hysteresis.weights',
            [0.5],
            ['hysteresis', '3 thresholds_pa', '1 weights'],
        ),
        ('finger_camera.yaml', 'distortion.k3', None, ['distortion.k3', 'missing']),
        ('virtual_camera.yaml', 'image.width_px', 10, ['image.width_px', '64']),
        ('virtual_camera.yaml', 'noise.flying_pixel_share', 1.5, ['flying_pixel_share', '1.5']),
        ('calibration_jig.yaml', 'pegs_m', [[0.0, 0.0, 0.2]], ['pegs_m', '3']),
    ],
)
def test_a_bad_value_is_one_line_with_file_key_and_value(tmp_path, name, path, value, words):
    content = yaml.safe_load((SHIPPED if name == SHIPPED.name else CONFIG / name).read_text())
    without(content, path) if value is None else put(content, path, value)
    file = tmp_path / name
    file.write_text(yaml.safe_dump(content))
    with pytest.raises(PhysicsError) as caught:
        LOADERS[name](file)
    message = str(caught.value)
    assert all(word in message for word in [*words, file.name]) and '\n' not in message


@pytest.mark.parametrize(
    'text, words', [(None, ['No such file']), ('a: [', ['not YAML']), ('', ['file'])]
)
def test_an_unreadable_file_is_one_line(tmp_path, text, words):
    file = tmp_path / 'x.yaml'
    if text is not None:
        file.write_text(text)
    with pytest.raises(PhysicsError) as caught:
        load_pneumatics(file)
    assert all(word in str(caught.value) for word in [*words, file.name]) and '\n' not in str(
        caught.value
    )
