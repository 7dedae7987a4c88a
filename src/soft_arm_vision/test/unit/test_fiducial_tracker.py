"""Markers drawn by warping their pictures, which shares no code with the virtual camera."""

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soft_arm_description.depth_sensor import D435I
from soft_arm_description.fiducial import PLATE, Fiducial
from soft_arm_description.robot import load_robot
from soft_arm_vision.calibration.mounting import Mounting
from soft_arm_vision.errors import VisionError
from soft_arm_vision.fiducial_tracker import FiducialTracker, MarkersSeen, fiducial_of
from soft_arm_vision.intrinsics import Intrinsics
from soft_arm_vision.tip_sources import make_tracker

CAMERA = Intrinsics(640, 480, 607.0, 607.0, 321.0, 239.0)
SENSOR = D435I.model_copy(update={'bias_m': 0.0, 'edge_sd_px': 0.3})
FINER = 3  # pixels of the drawing in one of the picture, along each side
APOTHEM_M, SIZE_M = 0.05, 0.04


def prism(sides=6, size_m=SIZE_M):
    markers = []
    for i in range(sides):
        turn_deg = 360.0 * i / sides
        x, y = APOTHEM_M * np.cos(np.deg2rad(turn_deg)), APOTHEM_M * np.sin(np.deg2rad(turn_deg))
        yaw_deg = (turn_deg + 270.0) % 360.0 - 180.0
        markers.append({'id': i, 'position_m': (x, y, 0.0), 'rpy_deg': (90.0, 0.0, yaw_deg)})
    return Fiducial(
        dictionary='DICT_APRILTAG_36h11', printed_from='opencv', size_m=size_m, markers=markers
    )


def mounting():
    T = np.eye(4)
    T[:3, :3] = Rotation.from_euler('xyz', (80, -10, 30), degrees=True).as_matrix()
    T[:3, 3] = 0.3, -0.4, 0.2
    return Mounting(T, 'base', 'camera', np.zeros(3), np.zeros((6, 6)), 1.0)


def drawn(fiducial, T_camera_tip, rng):
    """Return colour and depth of the markers that face the camera, before a grey wall."""
    dictionary = cv2.aruco.getPredefinedDictionary(getattr(cv2.aruco, fiducial.dictionary))
    size = CAMERA.width * FINER, CAMERA.height * FINER
    picture = np.full(size[::-1], 120, np.uint8)
    depth_m = np.full((CAMERA.height, CAMERA.width), 1.2)
    for marker in fiducial.markers:
        corners_m = fiducial.corners_m[marker.id] @ T_camera_tip[:3, :3].T + T_camera_tip[:3, 3]
        middle_m = corners_m.mean(axis=0)
        normal = np.cross(corners_m[1] - corners_m[0], corners_m[3] - corners_m[0])
        if normal @ middle_m < 0.2 * np.linalg.norm(normal) * np.linalg.norm(middle_m):
            continue
        plate = middle_m + PLATE * (corners_m - middle_m)
        at = (CAMERA.pixels(plate[:, :2] / plate[:, 2:]) + 0.5) * FINER
        side, border = 400, round(200 * (PLATE - 1))
        image = cv2.copyMakeBorder(
            dictionary.generateImageMarker(marker.id, side),
            *[border] * 4,
            cv2.BORDER_CONSTANT,
            value=255,
        )
        n = len(image)
        square = np.array([[0, 0], [n, 0], [n, n], [0, n]], np.float32)
        H = cv2.getPerspectiveTransform(square, at.astype(np.float32))
        shift = np.array([[1, 0, -0.5], [0, 1, -0.5], [0, 0, 1.0]])
        H = shift @ H @ np.linalg.inv(shift)
        patch = cv2.warpPerspective(image, H, size)
        inside = cv2.warpPerspective(np.full_like(image, 255), H, size) > 127
        picture[inside] = patch[inside]
        small = inside[::FINER, ::FINER]
        rays = np.dstack([CAMERA.ray_grid(), np.ones(small.shape)])
        depth_m[small] = (middle_m @ normal / (rays @ normal))[small]
    grey = cv2.resize(picture, (CAMERA.width, CAMERA.height), interpolation=cv2.INTER_AREA)
    noisy = np.clip(grey + rng.normal(0, 2.5, grey.shape), 0, 255).astype(np.uint8)
    return np.dstack([noisy] * 3), (depth_m + rng.normal(0, 1e-3, depth_m.shape)).astype(np.float32)


def pose(rng):
    T = np.eye(4)
    # The tip's z axis within 60 deg of the picture's vertical.
    tilt = Rotation.from_euler('xz', rng.uniform(-60, 60, 2), degrees=True)
    T[:3, :3] = (
        tilt
        * Rotation.from_euler('xy', (90, 0), degrees=True)
        * Rotation.from_euler('z', rng.uniform(-180, 180), degrees=True)
    ).as_matrix()
    T[:3, 3] = rng.uniform((-0.12, -0.08, 0.4), (0.12, 0.08, 0.6))
    return T


def blurred(colour, gamma):
    """Return what a lens that blurs and a camera that codes by a power make of a picture."""
    light = cv2.GaussianBlur(colour / 255, (0, 0), 0.8)
    return np.rint(255 * light ** (1 / gamma)).astype(np.uint8)


@pytest.mark.parametrize('gamma, least_found', [(1.0, 15), (2.2, 14)])
def test_the_pose_is_found_and_its_covariance_is_true(gamma, least_found):
    rng, fiducial, where = np.random.default_rng(41), prism(), mounting()
    sensor = SENSOR.model_copy(update={'pixel_gamma': gamma})
    tracker, errors_m, squares = FiducialTracker(fiducial, where, sensor), [], []
    for _ in range(15):
        T = pose(rng)
        colour, depth = drawn(fiducial, T, rng)
        sight = tracker.track(blurred(colour, gamma), depth, CAMERA)
        if sight.T_base_tip is None:
            continue
        true = where.T_base_camera @ T
        turn = Rotation.from_matrix(sight.T_base_tip[:3, :3] @ true[:3, :3].T).as_rotvec()
        error = np.append(sight.T_base_tip[:3, 3] - true[:3, 3], turn)
        errors_m.append(np.linalg.norm(error[:3]))
        squares.append(error @ np.linalg.solve(sight.covariance, error))
    assert len(errors_m) >= least_found
    assert np.mean(errors_m) < 0.6e-3 and np.max(errors_m) < 2.5e-3
    assert np.mean(squares) < 12  # 6 is right


def moved(colour, length_px, along):
    """Return what a picture becomes when the target moves so far while the shutter is open."""
    kernel = np.zeros((length_px, length_px), np.float32)
    if along == 'both':
        np.fill_diagonal(kernel, 1.0)
    else:
        kernel[length_px // 2] = 1.0
    kernel = kernel.T if along == 'v' else kernel
    return cv2.filter2D(colour, -1, kernel / length_px)


@pytest.mark.parametrize('along', ['u', 'v', 'both'])
def test_markers_that_motion_blurs_give_no_wrong_pose_but_a_reason(along):
    rng, fiducial, where = np.random.default_rng(41), prism(), mounting()
    tracker, reasons = FiducialTracker(fiducial, where, SENSOR), []
    for _ in range(12):
        T = pose(rng)
        colour, depth = drawn(fiducial, T, rng)
        sight = tracker.track(moved(blurred(colour, 1.0), 9, along), depth, CAMERA)
        reasons.append(sight.trouble)
        if sight.T_base_tip is not None:
            error_m = sight.T_base_tip[:3, 3] - (where.T_base_camera @ T)[:3, 3]
            assert error_m @ np.linalg.solve(sight.covariance[:3, :3], error_m) < 25
    assert any('blurred' in reason for reason in reasons) and reasons.count('') <= 1


def test_one_flat_marker_gives_its_place_and_says_that_its_tilt_is_doubtful():
    rng, where = np.random.default_rng(5), mounting()
    alone = Fiducial(
        dictionary='DICT_4X4_50',
        size_m=0.03,
        markers=({'id': 7, 'position_m': (0.0, 0.0, 0.0), 'rpy_deg': (0.0, 0.0, 0.0)},),
    )
    tracker = FiducialTracker(alone, where, SENSOR)
    for _ in range(6):
        T = np.eye(4)
        tilt_deg = rng.uniform(-15, 15, 2)
        T[:3, :3] = Rotation.from_euler('xyz', (180, *tilt_deg), degrees=True).as_matrix()
        T[:3, 3] = rng.uniform((-0.1, -0.1, 0.45), (0.1, 0.1, 0.6))
        sight = tracker.track(*drawn(alone, T, rng), CAMERA)
        true = where.T_base_camera @ T
        error_m = sight.T_base_tip[:3, 3] - true[:3, 3]
        turn = Rotation.from_matrix(sight.T_base_tip[:3, :3] @ true[:3, :3].T).as_rotvec()
        assert np.linalg.norm(error_m) < 5e-3
        assert turn @ np.linalg.solve(sight.covariance[3:, 3:], turn) < 25


@pytest.mark.parametrize(('depth_sd_m', 'measured'), [(2e-3, 9), (np.inf, 8)])
def test_noise_twice_as_large_as_the_sensors_has_four_times_the_excess(depth_sd_m, measured):
    """One marker has eight coordinates of corners and one depth, if it is known."""
    rng, excess = np.random.default_rng(8), []
    alone = prism(1)
    tracker = FiducialTracker(alone, mounting(), SENSOR)
    turn = Rotation.from_euler('xyz', (100, 25, 5), degrees=True)
    places_m = turn.apply(alone.corners_m[0]) + [0.02, 0.01, 0.5]
    for _ in range(150):
        pixels = CAMERA.pixels(places_m[:, :2] / places_m[:, 2:])
        pixels += rng.normal(0, 2 * SENSOR.edge_sd_px, pixels.shape)
        depth_m = places_m[:, 2].mean() + (np.isfinite(depth_sd_m) * rng.normal(0, 4e-3))
        seen = MarkersSeen(
            alone.corners_m[0][None], pixels[None], np.array([depth_m]), np.array([depth_sd_m])
        )
        assert seen.freedom == measured - 6
        excess.append(min(s.misfit for s in tracker.solutions(seen, CAMERA)) / seen.freedom)
    assert np.mean(excess) == pytest.approx(4.0, rel=0.25)


def test_what_cannot_be_used_gives_no_pose_but_a_reason():
    rng, where, fiducial = np.random.default_rng(6), mounting(), prism()
    colour, depth = drawn(fiducial, pose(rng), rng)
    nothing = FiducialTracker(fiducial, where, SENSOR).track(0 * colour, depth, CAMERA)
    assert nothing.T_base_tip is None and 'no marker' in nothing.trouble
    misplaced = [
        m.model_copy(update={'position_m': (0.0, 0.0, 0.02 * m.id)}) for m in fiducial.markers
    ]
    other = FiducialTracker(
        fiducial.model_copy(update={'markers': tuple(misplaced)}), where, SENSOR
    )
    wrong = other.track(colour, depth, CAMERA)
    assert wrong.T_base_tip is None and 'do not fit together' in wrong.trouble
    with pytest.raises(VisionError, match='add the key fiducial'):
        fiducial_of(load_robot('two_module_arm'))


# Rows of bits from the upper left: codes of the AprilTag project, version 2, and bytes of the ArUco
# dictionary DICT_4X4_50.
PRINTED = [
    ('DICT_APRILTAG_16h5', 'apriltag', 0, 0x231B, 4),
    ('DICT_APRILTAG_25h9', 'apriltag', 0, 0x155CBF1, 5),
    ('DICT_APRILTAG_36h11', 'apriltag', 0, 0xD5D628584, 6),
    ('DICT_APRILTAG_36h11', 'apriltag', 1, 0xD97F18B49, 6),
    ('DICT_4X4_50', None, 0, 0xB532, 4),
]


@pytest.mark.parametrize(('dictionary', 'printed_from', 'number', 'code', 'bits'), PRINTED)
@pytest.mark.parametrize('turned', [False, True])
def test_a_marker_of_known_bits_has_its_upper_edge_up(
    dictionary, printed_from, number, code, bits, turned
):
    """The marker is upright in front of the camera, and the tip 30 mm below its middle."""
    if turned and printed_from is None:
        return
    fiducial = Fiducial(
        dictionary=dictionary,
        printed_from='opencv' if turned else printed_from,
        size_m=0.04,
        markers=[{'id': number, 'position_m': (0.0, 0.03, 0.0), 'rpy_deg': (0.0, 0.0, 0.0)}],
    )
    where = Mounting(np.eye(4), 'base', 'camera', np.zeros(3), np.zeros((6, 6)), 1.0)
    cells = np.array([*f'{code:0{bits * bits}b}'], float).reshape(bits, bits)
    plate = np.kron(np.pad(np.pad(cells, 1), 1, constant_values=1.0), np.ones((12, 12)))
    if turned:
        plate = plate[::-1, ::-1]
    side_px = len(plate)
    colour = np.full((480, 640), 120, np.uint8)
    colour[240 - side_px // 2 :, 320 - side_px // 2 :][:side_px, :side_px] = 15 + 220 * plate
    at_m = 0.04 * CAMERA.fx / (12 * (bits + 2))
    depth = np.full(colour.shape, at_m, np.float32)
    sight = FiducialTracker(fiducial, where, SENSOR).track(np.dstack([colour] * 3), depth, CAMERA)
    T = sight.T_base_tip
    np.testing.assert_allclose(T[:3, :3], np.diag([1.0, -1.0, -1.0]), atol=0.05)
    np.testing.assert_allclose(T[:3, 3], [0.0, 0.03, at_m], atol=3e-3)


def test_a_network_is_refused(tmp_path):
    robot = load_robot('two_module_arm')
    with pytest.raises(VisionError, match="mine.onnx: 'fiducial' uses none"):
        make_tracker('fiducial', robot, mounting(), SENSOR, tmp_path / 'mine.onnx')
