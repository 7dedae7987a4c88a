import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tabletop import tabletop

from soft_arm_vision.cli import fit_cylinder
from soft_arm_vision.clouds import scene_cylinder, wall_shape
from soft_arm_vision.clouds.cloud_file import read_cloud
from soft_arm_vision.clouds.scene_cylinder import find_cylinder
from soft_arm_vision.clouds.scene_parts import without_planes
from soft_arm_vision.errors import VisionError

POINTS = np.array([[0.1, -0.2, 0.5], [1.5, 0.25, 2.0], [-3.0, 0.0, 0.125]])


def scene(rng, *, radius_m=0.04, sigma_m=3e-4, table=True, box=True):
    """Half of a standing cylinder's wall on a table, beside a box; points, centre, axis."""
    angle, height = rng.uniform(-1.3, 1.3, 6000), rng.uniform(0, 0.08, 6000)
    parts = [np.column_stack([radius_m * np.sin(angle), height, -radius_m * np.cos(angle)])]
    if table:
        parts.append(
            np.column_stack(
                [rng.uniform(-0.4, 0.4, 20000), np.zeros(20000), rng.uniform(-0.3, 0.3, 20000)]
            )
        )
    if box:
        side = rng.uniform(0, 0.1, (2, 4000))
        parts.append(np.column_stack([0.15 + side[0], side[1], np.full(4000, 0.05)]))
    points = np.concatenate(parts)
    turn = Rotation.from_euler('xyz', [25, 10, -15], degrees=True)
    points = turn.apply(points + rng.normal(0, sigma_m, points.shape)) + [0.05, 0.1, 0.8]
    return points, turn.apply([0, 0.04, 0]) + [0.05, 0.1, 0.8], turn.apply([0, 1, 0])


@pytest.mark.parametrize('radius_m', [None, 0.04])
@pytest.mark.parametrize('table', [True, False])
def test_cylinder_of_a_scene(radius_m, table):
    points, centre, axis = scene(np.random.default_rng(0), table=table, box=table)
    found = find_cylinder(points, radius_m=radius_m, seed=1)
    assert found.radius_m == pytest.approx(0.04, abs=3e-4)
    assert np.degrees(np.arccos(abs(found.axis @ axis))) < 0.5
    across = found.centre - centre - (found.centre - centre) @ axis * axis
    assert np.linalg.norm(across) < 4e-4
    assert abs((found.centre - centre) @ axis) < 6e-3  # the foot of the wall goes with the table
    assert (found.radius_std_m is None) == (radius_m is not None)


def test_covariance_of_a_scene_covers_the_error(monkeypatch):
    # No camera here errs by part of a pixel.
    monkeypatch.setattr(scene_cylinder, 'SYSTEMATIC_SPACINGS', 0.0)
    for size in ('CURVATURE', 'TAPER', 'BARREL', 'BEND'):
        monkeypatch.setattr(wall_shape, size, 1e-6)  # this body is round
    squared = []
    for seed in range(12):
        points, centre, axis = scene(np.random.default_rng(seed), table=False, box=False)
        found = find_cylinder(points, radius_m=0.04, seed=seed)
        e = found.centre - centre
        squared.append(e @ np.linalg.solve(found.covariance[:3, :3], e))
    assert 0.5 < np.mean(squared) < 9  # three degrees of freedom


def test_height_refuses_what_is_much_higher():
    points, _, _ = scene(np.random.default_rng(0))
    with pytest.raises(VisionError, match='no cylinder'):
        find_cylinder(points, radius_m=0.04, height_m=0.02)


def test_no_cylinder_on_an_empty_table():
    rng = np.random.default_rng(0)
    table = np.column_stack(
        [rng.uniform(-0.4, 0.4, 20000), rng.normal(0, 5e-4, 20000), rng.uniform(0.5, 1, 20000)]
    )
    with pytest.raises(VisionError, match='no cylinder'):
        find_cylinder(table)


@pytest.mark.parametrize('crop', ['whole', 'object'])
def test_cylinders_on_tables_seen_by_a_depth_camera(crop):
    offs, tilts, radii, squared, refused = [], [], [], [], 0
    for seed in range(500, 505):
        scene = tabletop(seed, crop=crop, noise=0.5)
        try:
            found = find_cylinder(scene.points, seed=seed)
        except VisionError:  # clutter may hide it; what is not refused must be right
            refused += 1
            continue
        offs.append(scene.off_axis_m(found))
        tilts.append(scene.tilt_rad(found))
        below_m = 0.0 if found.seen_from == 'outside' else 0.5 * scene.wall_m
        radii.append(abs(found.radius_m - scene.radius_m + below_m))
        squared.append((radii[-1] / found.radius_std_m) ** 2)
    assert refused <= 3
    assert np.median(offs) < 1.5e-3 and np.median(radii) < 1e-3
    assert np.median(tilts) < np.radians(1.0)
    assert np.median(squared) < 3.84  # 95 % of one degree of freedom


@pytest.mark.parametrize('body', ['sphere', 'box', 'none'])
def test_no_cylinder_where_something_else_stands(body):
    for seed in (500, 502):
        with pytest.raises(VisionError, match='no cylinder'):
            find_cylinder(tabletop(seed, body=body, clutter=False).points)


def test_belt_of_a_noisy_ball_is_no_wall():
    with pytest.raises(VisionError, match='no cylinder'):
        find_cylinder(tabletop(941, body='sphere', clutter=False, crop='object').points, seed=941)


def test_hollow_body_is_told_from_its_outside_and_its_inside():
    rng = np.random.default_rng(3)
    outside, inside = rng.uniform(-1.55, 1.55, 4000), rng.uniform(np.pi - 1.55, np.pi + 1.55, 3000)
    angle, radius = np.concatenate([outside, inside]), np.repeat([0.04, 0.036], [4000, 3000])
    height = np.concatenate([rng.uniform(0, 0.08, 4000), rng.uniform(0.04, 0.08, 3000)])
    points = np.column_stack(
        [radius * np.sin(angle), height, 0.7 - radius * np.cos(angle)]
    ) + rng.normal(0, 3e-4, (7000, 3))
    found = find_cylinder(points)
    assert found.thickness_m == pytest.approx(0.004, abs=3e-4)
    assert found.radius_m == pytest.approx(0.038, abs=2e-4)
    np.testing.assert_allclose(found.centre[[0, 2]], [0, 0.7], atol=2e-4)


@pytest.mark.parametrize('seed', range(4))
def test_strips_of_a_hollow_wall_are_not_taken_for_planes(seed):
    """A plane that touches the far wall or cuts both walls holds a large share of a tight crop."""
    rng = np.random.default_rng(seed)
    outside, inside = rng.uniform(-1.5, 1.5, 2500), rng.uniform(1.6, 4.6, 1500)
    angle, radius_m = np.concatenate([outside, inside]), np.repeat([0.04, 0.037], [2500, 1500])
    points = np.column_stack(
        [radius_m * np.sin(angle), rng.uniform(0, 0.09, 4000), -radius_m * np.cos(angle)]
    )
    points += rng.normal(0, 6e-4, points.shape)
    assert len(without_planes(points, rng, 0.003)) == len(points)
    flat = np.column_stack(
        [rng.uniform(0, 0.1, 4000), rng.uniform(0, 0.09, 4000), rng.normal(0, 1e-3, 4000)]
    )
    assert len(without_planes(flat, rng, 0.003)) < 0.02 * len(flat)
    assert len(without_planes(flat * [1, 1, 0], rng, 0.003)) == 0  # without any noise


@pytest.mark.parametrize(
    'place_m',
    [[-4.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 0.0, 65.0], [-3e3, 2e4, 1e5], [0.0, -1e9, 0.0]],
)
def test_strays_change_nothing(place_m):
    points, centre, axis = scene(np.random.default_rng(0))
    rng = np.random.default_rng(1)
    strays = np.array(place_m) * rng.uniform(0.5, 1, (60, 1)) + rng.normal(0, 0.3, (60, 3))
    found = find_cylinder(np.concatenate([strays, points]), seed=1)
    assert found.radius_m == pytest.approx(0.04, abs=3e-4)
    assert np.degrees(np.arccos(abs(found.axis @ axis))) < 0.5


def test_many_far_strays_are_not_taken_for_millimetres():
    points, _, _ = scene(np.random.default_rng(0))
    strays = np.random.default_rng(1).uniform(-300, 300, (len(points) // 5, 3))
    assert find_cylinder(np.concatenate([points, strays]), seed=1).radius_m == pytest.approx(
        0.04, abs=3e-4
    )


def test_pieces_of_a_pipe_seen_from_inside_are_refused():
    """Rivets and folds leave only patches of the wall, each of which makes some cylinder."""
    rng, patches = np.random.default_rng(0), []
    for turn in np.radians([0, 120, 240]):
        angle, height = turn + rng.uniform(-0.6, 0.6, 6000), rng.uniform(0.3, 0.5, 6000)
        radius_m = 0.188 + 0.02 * np.cos(3 * (angle - turn))
        patches.append(
            np.column_stack([radius_m * np.cos(angle), radius_m * np.sin(angle), height])
        )
    with pytest.raises(VisionError):
        find_cylinder(np.concatenate(patches) + rng.normal(0, 1e-3, (18000, 3)))


@pytest.mark.parametrize('radius_m', [0.188, 0.9])
def test_pipe_seen_from_inside_is_measured_and_a_patch_of_it_refused(radius_m):
    rng = np.random.default_rng(0)
    angle, along = rng.uniform(-np.pi, np.pi, 20000), rng.uniform(1, 4, 20000)
    bumps = 1 + 0.01 * np.cos(9 * angle) * np.cos(20 * along)
    points = radius_m * np.column_stack([bumps * np.cos(angle), bumps * np.sin(angle), along])
    points += rng.normal(0, 1e-3, points.shape)
    found = find_cylinder(points)
    assert found.radius_m == pytest.approx(radius_m, rel=0.01)
    assert found.seen_from == 'inside' and abs(found.axis[2]) > 0.999
    with pytest.raises(VisionError, match='no cylinder'):
        find_cylinder(points[(np.abs(angle) < 0.7) & (along < 2)])


@pytest.mark.parametrize('shape', ['cone', 'oval', 'egg'])
def test_bodies_that_are_nearly_cylinders_are_refused(shape):
    rng = np.random.default_rng(0)
    angle, along = rng.uniform(-np.pi, np.pi, 8000), rng.uniform(-1, 1, 8000)
    x, y, r = {
        'cone': (1.0, 1.0, 1 - 0.15 * along),
        'oval': (1.3, 1.0, np.ones(8000)),
        'egg': (1.0, 1.0, np.sqrt(1 - 0.5 * along**2)),
    }[shape]
    points = 0.04 * np.column_stack(
        [x * r * np.cos(angle), y * r * np.sin(angle), 15 + 1.5 * along]
    )
    with pytest.raises(VisionError, match='no cylinder'):
        find_cylinder(points + rng.normal(0, 3e-4, points.shape))


def test_wall_all_about_the_origin_is_found_without_a_viewpoint():
    rng = np.random.default_rng(0)
    angle, height = rng.uniform(-np.pi, np.pi, 8000), rng.uniform(-0.05, 0.05, 8000)
    points = np.column_stack([0.04 * np.cos(angle), 0.04 * np.sin(angle), height]) + rng.normal(
        0, 3e-4, (8000, 3)
    )
    assert find_cylinder(points).radius_m == pytest.approx(0.04, abs=3e-4)


@pytest.mark.parametrize('radius_m', [0.001, 5.0])
def test_radius_outside_the_limits_is_named_so(radius_m, capsys, tmp_path):
    points, path = scene(np.random.default_rng(0))[0], tmp_path / 'a.npy'
    with pytest.raises(VisionError, match=r'is outside \[0.005, 3\] m'):
        find_cylinder(points, radius_m=radius_m)
    np.save(path, points)
    assert fit_cylinder.main([str(path), '--radius-m', str(radius_m)]) == 2
    assert 'must be at' in capsys.readouterr().err


def test_known_radius_that_the_wall_contradicts_is_refused():
    points, _, _ = scene(np.random.default_rng(4))
    assert find_cylinder(points, radius_m=0.0405).radius_m == 0.0405
    with pytest.raises(VisionError, match='correct --radius-m'):
        find_cylinder(points, radius_m=0.048)


def test_few_points_are_named_so():
    points = scene(np.random.default_rng(0))[0]
    with pytest.raises(VisionError, match='has 60 points, at least 100 are needed'):
        find_cylinder(points[:60])
    apart = np.random.default_rng(0).uniform(0, 1, (400, 3))
    with pytest.raises(VisionError, match='do not gather'):
        find_cylinder(apart)


def test_cloud_in_millimetres_says_so():
    with pytest.raises(VisionError, match='give --unit mm'):
        find_cylinder(1e3 * scene(np.random.default_rng(0))[0])


def test_unit_of_the_command(capsys, tmp_path):
    path = tmp_path / 'a.npy'
    np.save(path, 1e3 * np.vstack([scene(np.random.default_rng(0))[0], np.zeros((500, 3))]))
    assert fit_cylinder.main([str(path), '--unit', 'mm', '--json']) == 0
    assert json.loads(capsys.readouterr().out)['radius_m'] == pytest.approx(0.04, abs=3e-4)


def test_reads_ply_pcd_and_npy(tmp_path):
    np.save(tmp_path / 'a.npy', np.vstack([POINTS, [np.nan, 0, 0]]))
    header = (
        'ply\nformat {} 1.0\nelement vertex 3\nproperty uchar red\nproperty float x\nproperty '
        'float y\nproperty float z\nend_header\n'
    )
    (tmp_path / 'a.ply').write_text(
        header.format('ascii') + '\n'.join(f'7 {x} {y} {z}' for x, y, z in POINTS)
    )
    table = np.zeros(3, np.dtype([('red', 'u1'), ('xyz', '<f4', (3,))]))
    table['xyz'] = POINTS
    (tmp_path / 'b.ply').write_bytes(
        header.format('binary_little_endian').encode() + table.tobytes()
    )
    pcd = (
        'VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 3\nHEIGHT '
        '1\nPOINTS 3\nDATA {}\n'
    )
    (tmp_path / 'a.pcd').write_text(
        pcd.format('ascii') + '\n'.join(f'{x} {y} {z}' for x, y, z in POINTS)
    )
    (tmp_path / 'b.pcd').write_bytes(pcd.format('binary').encode() + POINTS.astype('<f4').tobytes())
    columns = POINTS.T.astype('<f4').tobytes()
    packed = b''.join(
        bytes([len(columns[i : i + 32]) - 1]) + columns[i : i + 32]
        for i in range(0, len(columns), 32)
    )
    sizes = np.array([len(packed), len(columns)], '<u4').tobytes()
    (tmp_path / 'c.pcd').write_bytes(pcd.format('binary_compressed').encode() + sizes + packed)
    for name in ('a.npy', 'a.ply', 'b.ply', 'a.pcd', 'b.pcd', 'c.pcd'):
        np.testing.assert_allclose(read_cloud(tmp_path / name), POINTS, err_msg=name)


def test_padding_of_a_pcd_file_is_skipped(tmp_path):
    row = np.dtype([('x', '<f4'), ('y', '<f4'), ('z', '<f4'), ('p', 'u1', 4), ('i', '<f4')])
    table = np.zeros(len(POINTS), [*row.descr, ('q', 'u1', 10)])
    table['x'], table['y'], table['z'] = POINTS.T
    (tmp_path / 'a.pcd').write_bytes(
        b'FIELDS x y z _ intensity _\nSIZE 4 4 4 1 4 1\nTYPE F F F U F U\nCOUNT 1 1 1 4 1 10\n'
        + f'POINTS {len(POINTS)}\nDATA binary\n'.encode()
        + table.tobytes()
    )
    np.testing.assert_allclose(read_cloud(tmp_path / 'a.pcd'), POINTS)


def with_viewpoint(path, stated):
    rows = '\n'.join(f'{x} {y} {z}' for x, y, z in POINTS)
    path.write_text(
        f'FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nVIEWPOINT {stated}\nPOINTS {len(POINTS)}\n'
        f'DATA ascii\n{rows}\n'
    )
    return path


def test_points_of_a_turned_viewpoint_are_returned_as_stored(tmp_path):
    path = with_viewpoint(tmp_path / 'a.pcd', '0 0 0 0 1 0 0')
    np.testing.assert_allclose(read_cloud(path), POINTS)


def test_a_viewpoint_away_from_the_origin_needs_the_camera_s_position(tmp_path, capsys):
    path = with_viewpoint(tmp_path / 'a.pcd', '0.1 0 0.5 1 0 0 0')
    assert fit_cylinder.main([str(path)]) == 2
    error = capsys.readouterr().err
    assert 'VIEWPOINT 0.1 0 0.5 1 0 0 0' in error and '--viewpoint-m' in error
    np.testing.assert_allclose(read_cloud(path, any_viewpoint=True), POINTS)


_PCD = b'FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\n'


@pytest.mark.parametrize(
    ('name', 'content', 'message'),
    [
        ('a.xyz', b'', 'a cloud is read from'),
        ('a.pcd', b'not a cloud', 'damaged'),
        ('a.ply', b'ply\nend_header\n', 'damaged'),
        (
            'a.ply',
            b'ply\nformat ascii 1.0\nelement vertex 1\nproperty list uint float a\nend_header\n',
            'its vertices have a list, a',
        ),
        ('a.npy', b'\x93NUMPY', 'damaged'),
        ('a.pcd', _PCD + b'POINTS 3\nDATA ascii\n1 2 3\n1 2 4\n', 'damaged'),
        ('a.pcd', _PCD + b'VIEWPOINT 0 0 1\nPOINTS 1\nDATA ascii\n1 2 3\n', 'damaged'),
        ('a.pcd', _PCD + b'WIDTH 2\nHEIGHT 2\nPOINTS 1\nDATA ascii\n1 2 3\n', 'damaged'),
        (
            'a.ply',
            b'ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\n'
            b'property float z\nend_header\n1 2 3\n',
            'damaged',
        ),
    ],
)
def test_bad_clouds_are_one_line(tmp_path, capsys, name, content, message):
    (tmp_path / name).write_bytes(content)
    assert fit_cylinder.main([str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count('\n') == 1


def test_missing_cloud(capsys, tmp_path):
    assert fit_cylinder.main([str(tmp_path / 'none.pcd')]) == 2
    assert 'No such file' in capsys.readouterr().err
