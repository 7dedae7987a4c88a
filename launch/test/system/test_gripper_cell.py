"""The gripper cell on its virtual devices; the tests run in this order on one launch."""

import math
from pathlib import Path

import numpy as np
import pytest
import rclpy
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from soft_arm_msgs.action import Grasp, MoveJoints, Release
from soft_arm_msgs.msg import ChamberPressures, GripperState
from soft_arm_msgs.srv import PlaceObject
from soft_arm_node_kit.messages import seconds
from system_testing.launched_graph import LAUNCH, LaunchedGraph
from system_testing.pages import name_of, pages_of, run
from system_testing.probe import DEADLINE_S
from system_testing.processes import free_port

pytestmark = pytest.mark.watchdogs

NODES = {
    '/virtual_cell',
    '/finger_camera/finger_camera',
    '/abb/abb_rws_bridge',
    '/gripper/pcu2v_driver',
    '/gripper/finger_kinematics',
    '/gripper/finger_detector',
    '/gripper/gripper_controller',
    '/gripper/report_ready',
}
OTHERWISE_NAMED = {'/finger_camera/finger_camera', '/gripper/finger_kinematics'}
EXECUTABLES = {name.rpartition('/')[2] for name in NODES - OTHERWISE_NAMED} | {'forward_kinematics'}
TRUTH, ANGLES_TRUTH = '/virtual_cell/debug/gripper_truth', '/virtual_cell/debug/piece_angles_truth'
STREAMS = {
    '/abb/joint_states': JointState,
    '/gripper/pressures': ChamberPressures,
    '/gripper/state': GripperState,
    '/gripper/piece_angles': JointState,
    TRUTH: GripperState,
    ANGLES_TRUTH: JointState,
}
FRAMES = 'abb_base_link', 'soft_gripper_piece_4_tip', 'finger_camera_color_optical_frame'
FRESH_S = 1.5  # the slowest stream has 15 Hz; margin for a busy machine
GOALS = 3
SMALL_MOVE_RAD = np.array([0.10, -0.08, 0.06, 0.10, 0.40, -0.10])


class Cell(LaunchedGraph):
    def __init__(self, log: Path):
        ports = [f'rws_port:={free_port()}', f'modbus_port:={free_port()}']
        super().__init__(log, [str(LAUNCH / 'cell.launch.xml'), *ports], STREAMS)

    def now_s(self):
        return self.get_clock().now().nanoseconds * 1e-9

    def age_s(self, name):
        return self.now_s() - seconds(self.latest[name].header.stamp)

    def place_object(self, gap_m):
        assert self.call(
            PlaceObject, '/virtual_cell/place_object', PlaceObject.Request(gap_m=gap_m)
        ).success

    def grip(self, kind, name, **goal):
        """Return the result of a goal; repeat it if a stall of the machine tripped the watchdog."""
        for _ in range(GOALS):
            self.wait(lambda: self.active('gripper/pcu2v_driver'), 'the driver is active')
            result = self.act(kind, f'/gripper/{name}', kind.Goal(**goal))
            if result.error_code != Grasp.Result.DRIVER_LOST:
                break
            self.latest.pop('gripper/pcu2v_driver', None)
        return result

    def active(self, name):
        status = self.latest.get(name)
        return (
            status is not None and {v.key: v.value for v in status.values}.get('state') == 'active'
        )


@pytest.fixture(scope='module')
def cell(tmp_path_factory, ros_domain):
    with Cell(tmp_path_factory.mktemp('cell') / 'launch.txt') as cell:
        cell.wait_for_streams()
        yield cell


def test_every_node_runs(cell):
    cell.wait(lambda: cell.node_names() >= NODES or cell.deaths(), f'{sorted(NODES)} run')
    assert cell.node_names() >= NODES, cell.output()
    cell.wait(
        lambda: cell.active('abb/abb_rws_bridge') and cell.active('gripper/pcu2v_driver'),
        'both drivers are active',
    )


def test_every_stream_is_fresh_and_every_frame_is_in_the_world(cell):
    for name in STREAMS:
        cell.wait(
            lambda name=name: name in cell.latest and -0.1 < cell.age_s(name) < FRESH_S,
            f'{name} is younger than {FRESH_S} s',
        )
    for frame in FRAMES:
        cell.wait(
            lambda frame=frame: cell.buffer.can_transform('world', frame, rclpy.time.Time()),
            f'{frame} is known in the world',
        )


def test_the_camera_sees_the_true_bends(cell):
    def error_rad():
        return np.abs(
            np.subtract(
                cell.latest['/gripper/piece_angles'].position, cell.latest[ANGLES_TRUTH].position
            )
        ).max()

    cell.wait(
        lambda: error_rad() < math.radians(3), 'each piece is seen within 3 deg of its true bend'
    )


def test_the_robot_moves_to_joint_angles(cell):
    cell.wait(lambda: cell.active('abb/abb_rws_bridge'), 'the bridge is active')
    assert cell.call(SetBool, '/abb/set_motors', SetBool.Request(data=True)).success
    joints = cell.latest['/abb/joint_states']
    goal = MoveJoints.Goal(names=list(joints.name), position_rad=SMALL_MOVE_RAD.tolist())
    result = cell.act(MoveJoints, '/abb/move_joints', goal)
    assert (result.error_code, result.error_msg) == (MoveJoints.Result.NONE, '')
    cell.wait(
        lambda: np.allclose(cell.latest['/abb/joint_states'].position, SMALL_MOVE_RAD, atol=0.01),
        'the joints are there',
    )


def test_a_grasp_holds_what_it_touches(cell):
    cell.place_object(0.010)
    result = cell.grip(Grasp, 'grasp', squeeze_pa=15e3)
    assert (result.error_code, result.error_msg, result.contact) == (Grasp.Result.NONE, '', True)
    assert result.seen_by in (Grasp.Goal.PRESSURE, Grasp.Goal.SHAPE, Grasp.Goal.BOTH)
    assert 20e3 < result.contact_pa < 80e3
    assert result.end_state == Grasp.Result.HOLDING
    cell.wait(
        lambda: (
            cell.latest[TRUTH].positive_trigger
            and cell.latest[TRUTH].true_pressure_pa > result.contact_pa
        ),
        'it holds',
    )


def test_a_release_opens_by_vacuum(cell):
    result = cell.grip(Release, 'release', stay_open=True)
    assert (result.error_code, result.error_msg, result.end_state) == (0, '', Release.Result.OPEN)
    cell.wait(
        lambda: cell.latest[TRUTH].negative_trigger and cell.latest[TRUTH].true_pressure_pa < -50e3,
        'the vacuum stays',
    )


def test_readiness_is_reported_without_errors(cell):
    cell.wait(
        lambda: 'ready: the gripper cell on the virtual cell, 6 nodes' in cell.output(),
        'the launch is ready',
    )
    assert not [
        line for line in cell.output().splitlines() if 'ERROR' in line or 'Traceback' in line
    ]


@pytest.mark.parametrize('page', pages_of('cell'), ids=name_of)
def test_the_blocks_of_the_pages_run(cell, page, tmp_path):
    assert run(page, {'cell'}, tmp_path) > 0
    assert not cell.deaths(), cell.output()


def test_a_killed_driver_ends_the_launch(cell):
    pids = cell.pids()
    assert set(pids) == EXECUTABLES
    cell.kill('pcu2v_driver')
    assert cell.launch.wait(DEADLINE_S) == 1
    assert not any(Path(f'/proc/{pid}').exists() for pid in pids.values())
    assert cell.deaths() == cell.killed, cell.output()
    last = cell.output().splitlines()[-1]
    assert last.endswith(
        'ended because /gripper/pcu2v_driver, which the others need, was killed by SIGKILL'
    )
