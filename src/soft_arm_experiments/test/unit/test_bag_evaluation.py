import json
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from soft_arm_calibration.bags.bag_cameras import cameras
from soft_arm_calibration.bags.bag_frames import read_frames, read_poses
from soft_arm_calibration.cli import bag_evaluate
from soft_arm_description.rig import RigCamera
from soft_arm_training.cli import vision_extract
from soft_arm_vision.calibration.camera_correction import CameraCorrection
from softarm_cli.bags.file import open_bag

CAMERA = RigCamera()
BAG = Path(__file__).parents[3] / 'soft_arm_calibration/test/data/virtual_rig_bag'


def test_bag_is_read_whole():
    with open_bag(BAG) as bag:
        frames = list(read_frames(bag, CAMERA))
        truth = read_poses(bag, '/virtual_rig/debug/tip_truth')
    assert [f.stamp_ns for f in frames] == truth.stamps_ns.tolist() and len(frames) == 6
    assert frames[0].rgb.shape == (240, 320, 3) and frames[0].depth_m.shape == (240, 320)
    assert 0.2 < np.median(frames[0].depth_m[frames[0].depth_m > 0]) < 2.0
    assert frames[0].intrinsics.fx == pytest.approx(607.3 / 2)
    np.testing.assert_allclose(truth.T[:, 3], np.tile([0, 0, 0, 1], (6, 1)))


def test_evaluation_finds_the_ring_and_is_the_same_again(capsys):
    answers = []
    for _ in range(2):
        assert bag_evaluate.main([str(BAG), '--json']) == 0
        answers.append(json.loads(capsys.readouterr().out))
    first, second = answers
    detector = first['bags'][0]['detector']
    assert detector['frames'] == 6 and detector['poses'] >= 5
    assert detector['errors']['centre_mean_m'] < 2e-3  # with the error of the rig's extrinsics
    assert first == second


def test_frames_are_corrected_as_the_rig_says():
    correction = CameraCorrection(depth_scale=1.1, focal_length_scale=0.9, radial=0.0)
    with open_bag(BAG) as bag:
        stated, true = (
            next(read_frames(bag, CAMERA)),
            next(read_frames(bag, CAMERA, None, correction)),
        )
    assert true.intrinsics.fx == pytest.approx(0.9 * stated.intrinsics.fx)
    np.testing.assert_allclose(true.depth_m, 1.1 * stated.depth_m, rtol=1e-6)


def test_depth_has_the_unit_that_is_given():
    with open_bag(BAG) as bag:
        usual, fine = (next(read_frames(bag, RigCamera(depth_unit_m=m))) for m in (1e-3, 1e-4))
    np.testing.assert_allclose(fine.depth_m, 0.1 * usual.depth_m, rtol=1e-6)


def test_no_bag(tmp_path, capsys):
    assert bag_evaluate.main([str(tmp_path / 'none')]) == 2
    error = capsys.readouterr().err
    assert 'No such file or folder' in error and error.count('\n') == 1


STORE = get_typestore(Stores.ROS2_JAZZY)


def written(path, messages):
    """A bag of (topic, type, bytes, stamp [ns]) messages."""
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        links = {}
        for topic, kind, raw, stamp_ns in messages:
            if topic not in links:
                links[topic] = writer.add_connection(topic, kind, typestore=STORE)
            writer.write(links[topic], stamp_ns, raw)
    return path


def renamed(names):
    """The messages of the short bag under other names; those without one are left out."""
    with Reader(BAG) as reader:
        for connection, stamp_ns, raw in reader.messages():
            name = next((new for old, new in names.items() if connection.topic.endswith(old)), None)
            if name is not None:
                yield name, connection.msgtype, raw, stamp_ns


@pytest.mark.parametrize(
    'names',
    [
        (
            '/cam/color/image_raw',
            '/cam/aligned_depth_to_color/image_raw',
            '/cam/color/camera_info',
            '/virtual_rig/debug/tip_truth',
        ),
        (
            '/lab/left/rgb/image_rect_color',
            '/lab/left/depth_registered/image_rect',
            '/lab/left/rgb/camera_info',
            '/a/debug/tip_truth',
        ),
        (
            '/color/image_raw',
            '/aligned_depth_to_color/image_raw',
            '/color/camera_info',
            '/b/virtual_rig/debug/tip_truth',
        ),
    ],
)
def test_topics_are_found_by_type_and_usual_names(tmp_path, names):
    olds = (
        '/color/image_raw',
        '/aligned_depth_to_color/image_raw',
        '/color/camera_info',
        '/debug/tip_truth',
    )
    others = (
        ('/finger/color/image_raw', 'std_msgs/msg/String', b'', 10**9),
        ('/other/tip_pose', 'std_msgs/msg/String', b'', 10**9),
    )
    path = written(tmp_path / 'bag', [*others, *renamed(dict(zip(olds, names, strict=True)))])
    with open_bag(path) as bag:
        found = cameras(bag)[0]
        assert len(list(read_frames(bag, CAMERA))) == 6
    assert (found.colour, found.depth, found.info) == names[:3]


def by_kind(left_out=0):
    """The short bag, all colour images before all depth images; the last of these are left out."""
    names = '/color/camera_info', '/color/image_raw', '/aligned_depth_to_color/image_raw'
    held = list(renamed({name: f'/cam{name}' for name in names}))
    kinds = [[row for row in held if row[0] == f'/cam{name}'] for name in names]
    kinds[2] = kinds[2][: len(kinds[2]) - left_out]
    rows = [row for kind in kinds for row in kind]
    return [(*row[:3], 10**9 + number) for number, row in enumerate(rows)]


def test_a_bag_whose_recorder_stalled_gives_every_pair(tmp_path, capsys):
    with open_bag(written(tmp_path / 'bag', by_kind())) as bag:
        assert len(list(read_frames(bag, CAMERA))) == 6
    assert capsys.readouterr().err == ''


def test_images_without_the_other_half_are_counted(tmp_path, capsys):
    with open_bag(written(tmp_path / 'bag', by_kind(left_out=2))) as bag:
        assert len(list(read_frames(bag, CAMERA))) == 4
    assert '2 colour and 0 depth images are left out' in capsys.readouterr().err


def beside(path, *, link=True, info=True, w=1.0):
    """The short bag with depth as the depth camera sees it, 50 mm beside the colour camera."""
    types, messages = STORE.types, []
    kinds = {'image': 'sensor_msgs/msg/Image', 'info': 'sensor_msgs/msg/CameraInfo'}
    frame = 'camera_depth_optical_frame'
    for topic, kind, raw, stamp_ns in renamed(
        {
            '/color/image_raw': '/cam/color/image_raw',
            '/color/camera_info': '/cam/color/camera_info',
            '/aligned_depth_to_color/image_raw': '/cam/depth/image_rect_raw',
        }
    ):
        message = STORE.deserialize_cdr(raw, kind)
        if 'depth' in topic:
            message.header.frame_id = frame
        elif kind == kinds['info'] and info:
            message.header.frame_id = frame
            stated = message.k, message.p
            message.k, message.p = 1.01 * message.k, 1.01 * message.p
            other = STORE.serialize_cdr(message, kind)
            messages.append(('/cam/depth/camera_info', kind, other, stamp_ns))
            message.header.frame_id = 'camera_color_optical_frame'
            message.k, message.p = stated
        messages.append((topic, kind, STORE.serialize_cdr(message, kind), stamp_ns))
    if link:
        vector, turn = types['geometry_msgs/msg/Vector3'], types['geometry_msgs/msg/Quaternion']
        header = types['std_msgs/msg/Header'](types['builtin_interfaces/msg/Time'](0, 0), 'link')
        kind, still = 'geometry_msgs/msg/TransformStamped', turn(0.0, 0.0, 0.0, w)
        links = [
            types[kind](header, child, types['geometry_msgs/msg/Transform'](vector(*at), still))
            for child, at in (
                ('camera_color_optical_frame', (0.02, 0.0, 0.0)),
                (frame, (-0.03, 0.0, 0.0)),
            )
        ]
        kind = 'tf2_msgs/msg/TFMessage'
        messages.append(('/tf_static', kind, STORE.serialize_cdr(types[kind](links), kind), 10**9))
    return written(path, messages)


def test_depth_that_is_not_aligned_is_aligned_by_tf(tmp_path):
    with open_bag(BAG) as bag:
        seen = next(read_frames(bag, CAMERA))
    with open_bag(beside(tmp_path / 'bag')) as bag:
        found = next(read_frames(bag, CAMERA))
    columns, depths_m = [], []
    for frame in (seen, found):
        near = (frame.depth_m > 0) & (frame.depth_m < 0.6)  # the arm
        columns.append(np.median(np.nonzero(near)[1]))
        depths_m.append(np.median(frame.depth_m[near]))
    assert depths_m[1] == pytest.approx(depths_m[0], abs=2e-3)
    moved_px = -0.05 * seen.intrinsics.fx / depths_m[0]
    assert columns[1] - columns[0] == pytest.approx(moved_px, abs=3)


@pytest.mark.parametrize(
    ('lacking', 'words'), [('link', '/tf_static'), ('info', 'no usable camera info')]
)
def test_depth_that_cannot_be_aligned_is_refused(tmp_path, capsys, lacking, words):
    bag = beside(tmp_path / 'bag', **{lacking: False})
    assert bag_evaluate.main([str(bag)]) == 2
    error = capsys.readouterr().err
    assert 'not aligned' in error and words in error and error.count('\n') == 1


def test_a_static_transform_that_is_none_is_named(tmp_path, capsys):
    assert bag_evaluate.main([str(beside(tmp_path / 'bag', w=0.0))]) == 2
    error = capsys.readouterr().err
    assert "from 'link' to 'camera_color_optical_frame'" in error and 'quaternion' in error
    assert error.count('\n') == 1


def recorded(path, offset_m=(0.0, 0.0, 0.0), truth=True, variance=1e-6):
    """A default recording of a virtual rig, without images.

    It holds poses of the ring at 30 Hz and true poses every 10 ms that move along x.
    """
    types, messages = STORE.types, []

    def header(stamp_ns):
        return types['std_msgs/msg/Header'](
            types['builtin_interfaces/msg/Time'](stamp_ns // 10**9, stamp_ns % 10**9),
            'soft_arm_base_link',
        )

    def pose(stamp_ns, off=(0.0, 0.0, 0.0)):
        place = types['geometry_msgs/msg/Point'](0.1e-9 * stamp_ns + off[0], off[1], 0.3 + off[2])
        return types['geometry_msgs/msg/Pose'](
            place, types['geometry_msgs/msg/Quaternion'](0.0, 0.0, 0.0, 1.0)
        )

    for stamp_ns in range(0, 10**9, 10**7) if truth else ():
        said = types['geometry_msgs/msg/PoseStamped'](header(stamp_ns), pose(stamp_ns))
        messages.append(
            (
                '/virtual_rig/debug/tip_truth',
                said.__msgtype__,
                STORE.serialize_cdr(said, said.__msgtype__),
                stamp_ns,
            )
        )
    for stamp_ns in range(5 * 10**6, 9 * 10**8, 33_333_333):
        with_covariance = types['geometry_msgs/msg/PoseWithCovariance'](
            pose(stamp_ns, offset_m), variance * np.eye(6).ravel()
        )
        said = types['geometry_msgs/msg/PoseWithCovarianceStamped'](
            header(stamp_ns), with_covariance
        )
        messages.append(
            (
                '/soft_arm/tip_pose',
                said.__msgtype__,
                STORE.serialize_cdr(said, said.__msgtype__),
                stamp_ns,
            )
        )
    return written(path, messages)


def test_default_recording_without_images_is_evaluated_by_its_poses(tmp_path, capsys):
    bag, plot = recorded(tmp_path / 'bag', (0.0, 0.001, 0.0)), tmp_path / 'errors.png'
    assert bag_evaluate.main([str(bag), '--json', '--plot', str(plot)]) == 0
    (found,) = json.loads(capsys.readouterr().out)['bags']
    assert found['topics'] == {
        'tip_pose': '/soft_arm/tip_pose',
        'truth': '/virtual_rig/debug/tip_truth',
    }
    assert found['detector']['frames'] == found['detector']['poses'] == 27
    # The truth is taken at the pose's stamp.
    errors = found['detector']['errors']
    assert errors['centre_mean_m'] == pytest.approx(0.001, abs=1e-6)
    assert plot.read_bytes().startswith(b'\x89PNG')
    assert bag_evaluate.main([str(bag)]) == 0
    assert 'tip_pose /soft_arm/tip_pose' in capsys.readouterr().out


def test_poses_without_a_covariance_have_no_normalised_error(tmp_path, capsys):
    bag = recorded(tmp_path / 'bag', (0.0, 0.001, 0.0), variance=0.0)
    assert bag_evaluate.main([str(bag), '--json']) == 0
    errors = json.loads(capsys.readouterr().out)['bags'][0]['detector']['errors']
    assert errors['centre_mean_m'] == pytest.approx(0.001, abs=1e-6)
    assert errors['normalised_mean'] is None and errors['pose_chi2_p'] is None
    assert bag_evaluate.main([str(bag)]) == 0
    assert 'covariance' in capsys.readouterr().out


def test_what_a_bag_lacks_is_named_with_the_command_that_records_it(tmp_path, capsys):
    nothing = written(tmp_path / 'nothing', [('/chatter', 'std_msgs/msg/String', b'', 10**9)])
    no_truth = recorded(tmp_path / 'no_truth', truth=False)
    for command, arguments, words in (
        (bag_evaluate, [str(nothing)], 'softarm bag record --images -o FOLDER'),
        (
            vision_extract,
            [str(no_truth), str(tmp_path / 'set')],
            'softarm bag record --images -o FOLDER',
        ),
    ):
        assert command.main(arguments) == 2
        error = capsys.readouterr().err
        assert words in error and error.count('\n') == 1
