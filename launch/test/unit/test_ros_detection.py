"""ROS is found wherever it is installed, and the wheels in a virtual environment are not it."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    'rclpy, virtual, found',
    [(True, False, True), (True, True, False), (False, False, False)],
    ids=['ros', 'wheels', 'overlay without rclpy'],
)
def test_ros_is_detected_by_its_prefix(tmp_path, rclpy, virtual, found):
    prefix = tmp_path / 'opt/my ros'
    index = prefix / 'share/ament_index/resource_index/packages'
    index.mkdir(parents=True)
    (index / ('rclpy' if rclpy else 'demo')).touch()
    if virtual:
        (prefix / 'pyvenv.cfg').touch()
    # ROS_DISTRO says nothing: env.sh sets it for the wheels, too
    environment = {'PATH': '/usr/bin:/bin', 'ROS_DISTRO': 'jazzy'}
    environment['AMENT_PREFIX_PATH'] = f'{tmp_path}/overlay:{prefix}'
    has_ros = subprocess.run([ROOT / 'requirements/has_ros.sh'], env=environment)
    assert (has_ros.returncode == 0) == found

    shown = ['bash', '-c', f'. {ROOT}/env.sh; echo "$FASTRTPS_DEFAULT_PROFILES_FILE"']
    (venv := tmp_path / 'venv/share/rclpy').mkdir(parents=True)
    environment['SOFT_ARM_VENV'] = str(venv.parents[1])
    profile = subprocess.run(shown, env=environment, capture_output=True, text=True, check=True)
    wanted = 'network_shm.xml' if found else 'loopback_shm.xml'
    assert Path(profile.stdout.strip()).name == wanted
