"""An arm that is not shipped, through the whole chain: board, map, camera, calibration, control."""

from pathlib import Path

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped

from soft_arm_description.robot import load_robot
from soft_arm_kinematics.arm import make_arm
from soft_arm_msgs.action import MoveTip
from soft_arm_msgs.msg import ChamberPressures
from system_testing.launched_graph import LAUNCH, LaunchedGraph, tip_goal
from system_testing.processes import free_port

ROBOT = Path(__file__).parents[1] / 'robots' / 'one_lying.yaml'
TRUTH = '/soft_arm/virtual_rig/debug/tip_truth'


@pytest.fixture
def rig(tmp_path, ros_domain):
    command = [str(LAUNCH / 'sim.launch.xml'), f'robot:={ROBOT}', f'modbus_port:={free_port()}']
    command += ['plant_seed:=23', 'use_sim_time:=true']
    streams = {TRUTH: PoseStamped, '/soft_arm/pressures': ChamberPressures}
    with LaunchedGraph(tmp_path / 'launch.txt', command, streams) as rig:
        rig.wait_for_streams()
        yield rig


def test_a_lying_arm_with_three_bellows_reaches_a_target(rig):
    robot = load_robot(ROBOT)
    rig.wait(lambda: 'ready: soft_arm' in rig.output() or rig.deaths(), 'the launch is ready')
    assert len(rig.latest['/soft_arm/pressures'].pressures_pa) == len(robot.chambers) == 3
    arm = make_arm(robot)
    low_m, high_m = arm.length_limits_m
    target_m = arm.at(low_m + (high_m - low_m) * [0.2, 0.3, 0.4]).tip_m
    result = rig.act(MoveTip, '/soft_arm/move_tip', tip_goal(target_m))
    assert (result.error_code, result.error_msg) == (MoveTip.Result.NONE, '')

    def truth_m():
        point = rig.latest[TRUTH].pose.position
        return np.array([point.x, point.y, point.z])

    rig.wait(
        lambda: np.linalg.norm(truth_m() - target_m) < 0.002,
        'the true tip is within 2 mm of its target',
    )
