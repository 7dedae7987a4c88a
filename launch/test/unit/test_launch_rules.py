"""Every node of the launch files has a rule for its end, and `report_ready` waits for it."""

import shutil
from pathlib import Path

import pytest
import yaml

from soft_arm_description.rig import load_rig
from softarm_cli.launching.description import describe
from softarm_cli.launching.packages import is_ours
from softarm_cli.launching.xml import LaunchError

LAUNCH = Path(__file__).parents[2]
END_THE_LAUNCH = {
    'pneumatic_driver',
    'pcu2v_driver',
    'abb_rws_bridge',
    'virtual_rig',
    'virtual_cell',
    'virtual_robots',
    'report_ready',
}
LAUNCHES = [
    ('sim', {}),
    ('sim', {'tip_source': 'none', 'control': 'false', 'namespace': 'left'}),
    ('sim', {'tip_source': 'pose'}),
    ('sim', {'rig': 'lab', 'tip_source': 'none', 'control': 'false'}),
    ('sim', {'bellows': 'true', 'squid': 'true'}),
    ('cell', {}),
    ('bellows', {}),
    ('squid', {}),
    ('squid', {'simulate': 'false'}),
]


@pytest.fixture(params=LAUNCHES, ids=lambda given: f'{given[0]} {" ".join(given[1])}')
def processes(request, tmp_path):
    file, given = request.param
    return describe(LAUNCH / f'{file}.launch.xml', given, tmp_path).processes


def test_each_node_has_one_rule(processes):
    for process in processes:
        if process.node.rpartition('/')[2] in END_THE_LAUNCH:
            assert process.shutdown_on_exit and not process.respawn, process.node
        else:
            assert process.respawn and not process.shutdown_on_exit, process.node
            assert 0 < process.respawn_max_retries <= 10 and process.respawn_delay_s >= 1.0, (
                process.node
            )


def test_every_node_is_waited_for(processes):
    reporters = [process for process in processes if process.node.endswith('/report_ready')]
    awaited = []
    for reporter in reporters:
        namespace = reporter.node.rpartition('/')[0]
        awaited += [
            name if name.startswith('/') else f'{namespace}/{name}'
            for name in reporter.parameters['nodes']
        ]
    assert sorted(awaited) == sorted(
        p.node for p in processes if is_ours(p.package) and p not in reporters
    )


@pytest.mark.parametrize('tip_source', ['fiducial', 'recorded'])
def test_a_replay_starts_nothing_that_can_command_and_ends_with_the_bag(tip_source, tmp_path):
    given = {'bag': 'out/a b', 'tip_source': tip_source, 'namespace': 'left'}
    *nodes, player = describe(LAUNCH / 'replay.launch.xml', given, tmp_path).processes
    names = {f'/left/{name}' for name in ('forward_kinematics', 'tip_estimator')}
    names |= {'/left/tip_tracker'} if tip_source != 'recorded' else set()
    attaching = {'/left/camera_frame'} if tip_source == 'recorded' else set()
    assert {process.node for process in nodes} == names | attaching
    assert all(process.parameters['use_sim_time'] and process.respawn for process in nodes)
    assert player.node is None and player.shutdown_on_exit
    assert player.command[:4] == ('softarm', 'bag', 'play', 'out/a b')
    waited_for = player.command[player.command.index('--wait-for') + 1 :]
    assert set(waited_for) == names and '--commands' not in player.command


@pytest.mark.parametrize(
    ('given', 'attached_by', 'published'),
    [
        ({}, 'tip_tracker', True),
        ({'tip_source': 'none'}, 'camera_frame', True),
        ({'tip_source': 'pose'}, 'camera_frame', True),
        ({'rig': 'lab', 'tip_source': 'none', 'control': 'false'}, None, False),
    ],
)
def test_the_camera_s_frames_are_attached_to_the_arm_or_left_out(
    given, attached_by, published, tmp_path
):
    processes = describe(LAUNCH / 'sim.launch.xml', given, tmp_path).processes
    attaching = [p for p in processes if 'camera_root_frame' in p.parameters]
    assert [p.node for p in attaching] == [f'/soft_arm/{attached_by}'] * (attached_by is not None)
    [rig] = [p for p in processes if p.node == '/soft_arm/virtual_rig']
    assert rig.parameters['camera_frames'] is published


@pytest.mark.parametrize('tip_source', ['none', 'yolact'])
def test_a_real_camera_of_unknown_pose_publishes_no_frames(tip_source, scratch, install):
    install('realsense2_camera', 'realsense2_camera_node')
    given = {'tip_source': tip_source, 'control': 'false'}
    processes = describe(LAUNCH / 'rig.launch.xml', given, scratch).processes
    [camera] = [p for p in processes if p.package == 'realsense2_camera']
    assert camera.parameters['publish_tf'] is (tip_source != 'none')
    assert '/tf_static:=/tf_static' in camera.command


def test_frames_by_which_depth_is_aligned_make_no_second_root(scratch, install, tmp_path):
    install('realsense2_camera', 'realsense2_camera_node')
    rig = shutil.copytree(load_rig('lab').folder, tmp_path / 'bench')
    with (rig / 'rig.yaml').open('a') as file:
        file.write('camera: {align_depth: true}\n')
    given = {'rig': str(rig), 'tip_source': 'none', 'control': 'false', 'camera_name': 'left'}
    processes = describe(LAUNCH / 'rig.launch.xml', given, scratch).processes
    [camera] = [p for p in processes if p.package == 'realsense2_camera']
    assert camera.parameters['publish_tf'] is True
    assert '/tf_static:=/camera/left/tf_static' in camera.command
    processes = describe(LAUNCH / 'sim.launch.xml', given, scratch).processes
    [virtual] = [p for p in processes if p.node == '/soft_arm/virtual_rig']
    assert virtual.parameters['camera_frames'] is False


@pytest.mark.parametrize('file', ['sim', 'cell', 'squid'])
def test_robot_state_publisher_runs_where_it_is_installed(file, scratch, install):
    install('robot_state_publisher', 'robot_state_publisher')
    processes = describe(LAUNCH / f'{file}.launch.xml', {}, scratch).processes
    [publisher] = [p for p in processes if p.package == 'robot_state_publisher']
    assert publisher.parameters['robot_description'].startswith('<?xml') and publisher.respawn


@pytest.mark.parametrize(
    'given', [{'camera_name': 'my camera'}, {'camera_name': 'cam#1'}, {'namespace': 'left arm'}]
)
def test_names_that_are_no_ros_names_are_refused_where_they_are_given(given, scratch):
    with pytest.raises(LaunchError, match=f'{next(iter(given.values()))}.* is not valid in ROS'):
        describe(LAUNCH / 'replay.launch.xml', {'bag': 'out/bag', **given}, scratch)


@pytest.mark.parametrize('path', ['out/a b', 'out/a #1', "it's", 'a"b', 'run: 3', '$(var x)', '01'])
def test_paths_of_bags_and_robots_arrive_as_written(path, scratch):
    given = {'bag': path, 'robot': path, 'rig': path}
    *nodes, player = describe(LAUNCH / 'replay.launch.xml', given, scratch).processes
    assert player.command[:4] == ('softarm', 'bag', 'play', path)
    for node in nodes:
        assert (node.parameters['robot'], node.parameters['rig']) == (path, path)
        files = [a for a in node.command if a.endswith('.yaml')]
        written = [yaml.safe_load(Path(file).read_text()) for file in files]
        assert sum(path in str(content) for content in written) >= 2


@pytest.mark.parametrize('name', ["it's", 'my rigs/lab #2', 'a $HOME', 'a `true`', 'a\\b'])
def test_a_rig_in_a_folder_of_any_name_is_found(name, scratch, tmp_path):
    folder = tmp_path / name
    shutil.copytree(load_rig('virtual').folder, folder)
    processes = describe(LAUNCH / 'cell.launch.xml', {'rig': str(folder)}, scratch).processes
    [driver] = [p for p in processes if p.package == 'pneumatic_driver']
    assert str(folder / 'parameters/pcu2v_driver.yaml') in driver.command


def test_a_rig_whose_path_cannot_be_quoted_is_refused(scratch):
    with pytest.raises(LaunchError, match='a"b'):
        describe(LAUNCH / 'cell.launch.xml', {'rig': 'a"b'}, scratch)
