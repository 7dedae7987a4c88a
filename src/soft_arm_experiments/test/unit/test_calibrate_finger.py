"""`softarm calibrate finger` on the virtual rig, and from records of pictures, clicks, bends."""

import json

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backend_bases import MouseEvent
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from soft_arm_calibration.cli.calibrate_finger import main
from soft_arm_calibration.finger_session import sweep_pa
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_kinematics.calibration.pressure_bend import with_calibrated_bends
from soft_arm_sim.cameras.finger_camera import FingerCamera
from soft_arm_sim.cameras.parameters import load_finger_camera_parameters
from soft_arm_vision.errors import VisionError
from soft_arm_vision.finger import records as finger_records
from soft_arm_vision.finger.angles import FingerEstimator
from soft_arm_vision.finger.clicking import LineClicks, click_records
from soft_arm_vision.intrinsics import Intrinsics
from system_testing.finger import arc_backbone

ROBOT = load_robot('four_piece_finger')
RIG = load_rig('virtual')
P = np.array([-90e3, -50e3, -20e3, 10e3, 40e3, 80e3, 120e3])


def nominal_rad(pressure_pa):
    return np.array(
        [
            np.polynomial.polynomial.polyval(pressure_pa / 1e5, s.theta_coefficients_rad)
            for s in ROBOT.segments
        ]
    )


@pytest.fixture(scope='module')
def pictures(tmp_path_factory):
    """A folder of picture records, its intrinsics, and the lines in each by its colour file."""
    parameters = load_finger_camera_parameters()
    i, folder = parameters.image, tmp_path_factory.mktemp('records')
    intrinsics = Intrinsics(
        i.width_px, i.height_px, i.fx_px, i.fy_px, i.cx_px, i.cy_px, parameters.distortion.opencv
    )
    camera = FingerCamera(ROBOT, parameters, 4)
    writer = finger_records.PictureWriter(folder, intrinsics, 'virtual')
    estimator, lines = FingerEstimator(ROBOT, intrinsics), {}
    for k, (pressure_pa, rising) in enumerate(
        [(p, True) for p in P] + [(p, False) for p in P[::-1]]
    ):
        angles_rad = nominal_rad(pressure_pa) + (-0.004 if rising else 0.004)
        frame = camera.capture(arc_backbone(ROBOT, angles_rad))
        writer.add(pressure_pa, rising, *frame)
        lines[f'{k:03d}_colour.png'] = estimator.update(*frame)
    camera.close()
    return writer.path, intrinsics, lines


def test_virtual_rig_ends_below_the_papers_error(tmp_path, capsys):
    out, plot, kept = tmp_path / 'b.yaml', tmp_path / 'b.png', tmp_path / 'kept'
    arguments = ['--plant-seed', '11', '--frames', '1', '--json', '--save-records', str(kept)]
    assert main([*arguments, '--output', str(out), '--plot', str(plot)]) == 0
    answer = json.loads(capsys.readouterr().out)
    for kpa, percent in {'-90': 2.3, '50': 0.8, '100': 1.5, '120': 3.4}.items():
        assert (
            answer['finger_error_percent'][kpa]
            == max(answer['tip_error_percent'][kpa].values())
            <= percent
        )
    assert (
        set(answer['family'].values()) == {'cubic'}
        and max(h['cubic'] for h in answer['held_out_rms_rad'].values()) < 6e-3
    )
    assert min(answer['hysteresis_max_rad'].values()) > 1e-3 and plot.read_bytes().startswith(
        b'\x89PNG'
    )
    content = yaml.safe_load(out.read_text())
    assert 'virtual finger 11' in content['measurement']['method']
    assert content['values']['tip_error_percent']['120'] < 3.4
    assert not any(s.nominal for s in with_calibrated_bends(ROBOT, RIG, out).segments)
    records = finger_records.read_pictures(kept / 'records.csv')
    assert len(records) == 86 and [r.rising for r in records] == [True] * 43 + [False] * 43
    assert np.diff([r.pressure_pa for r in records[:43]]) == pytest.approx(
        np.full(42, 5e3), abs=600
    )


def test_a_record_every_5_kpa_in_both_directions():
    sweep = sweep_pa(ROBOT)
    assert [p for p, up in sweep if up] == pytest.approx(np.arange(-90e3, 120.1e3, 5e3)) and [
        p for p, up in sweep if not up
    ] == [p for p, up in sweep if up][::-1]


def test_recorded_pictures_give_the_curves_back(pictures, tmp_path, capsys):
    path, _, _ = pictures
    assert main(['--records', str(path), '--output', str(tmp_path / 'b.yaml')]) == 0
    assert 'piece_4' in (text := capsys.readouterr().out) and 'paper' not in text
    for segment in yaml.safe_load((tmp_path / 'b.yaml').read_text())['values']['segments'].values():
        up, down = (segment[way] for way in ('up', 'down'))
        loop = [
            np.polynomial.polynomial.polyval(P / b['pressure_unit_pa'], b['coefficients'])
            for b in (up, down)
        ]
        assert np.mean(loop[1] - loop[0]) == pytest.approx(0.008, abs=0.003)
    robot = with_calibrated_bends(ROBOT, RIG, tmp_path / 'b.yaml')
    fitted = [
        np.polynomial.polynomial.polyval(P / s.pressure_unit_pa, s.theta_coefficients_rad)
        for s in robot.segments
    ]
    assert np.transpose(fitted) == pytest.approx(
        np.array([nominal_rad(p) for p in P]), abs=np.deg2rad(0.4)
    )


def test_clicks_are_used_where_they_are_given(pictures, tmp_path, capsys):
    """Clicks two degrees off at the tip change their picture only, with the reference of `all`."""
    path, _, lines = pictures
    (first, own), clicks = next(iter(lines.items())), tmp_path / 'clicks.csv'
    finger_records.append_clicks(clicks, ROBOT, first, own)
    text = clicks.read_text().replace(f'{first},reference', 'all,reference')
    clicks.write_text(text)
    given = finger_records.read_clicks(clicks, ROBOT)
    assert list(given) == [first] and given[first] == pytest.approx(own, abs=0.01)
    answers = []
    for clicked in (
        own,
        own + np.array([0.0, 2.0]) * (np.arange(5) == 4)[:, None, None] * [[1], [-1]],
    ):
        clicks.unlink()
        finger_records.append_clicks(clicks, ROBOT, first, clicked)
        arguments = ['--records', str(path), '--clicks', str(clicks), '--json']
        assert main([*arguments, '--output', str(tmp_path / 'b.yaml')]) == 0
        answers.append(json.loads(capsys.readouterr().out)['residual_max_rad'])
    assert answers[1]['piece_4'] > answers[0]['piece_4'] + 0.01 and answers[1][
        'piece_2'
    ] == pytest.approx(answers[0]['piece_2'], abs=1e-4)


def test_pictures_of_a_virtual_finger_calibrate_no_real_one(pictures, tmp_path, capsys):
    assert (
        main(['--records', str(pictures[0]), '--rig', 'lab', '--output', str(tmp_path / 'b.yaml')])
        == 2
    )
    assert (
        'measured on virtual devices' in capsys.readouterr().err
        and not (tmp_path / 'b.yaml').exists()
    )


def test_pictures_survive_the_disk(pictures):
    path, intrinsics, lines = pictures
    assert finger_records.read_camera(path.parent / 'camera.yaml') == intrinsics
    records = finger_records.read_pictures(path)
    assert [r.pressure_pa for r in records] == [*P, *P[::-1]] and [r.rising for r in records] == [
        True
    ] * 7 + [False] * 7
    estimator = FingerEstimator(ROBOT, intrinsics)
    assert np.array_equal(estimator.update(*records[3].images()), lines['003_colour.png'])


@pytest.mark.parametrize('coefficients', [0, 4, 5, 8, 12, 14])
def test_any_lens_survives_the_disk(tmp_path, coefficients):
    lens = tuple(1e-3 * (k + 1) for k in range(coefficients))
    camera = Intrinsics(640, 480, 607.0, 606.0, 321.0, 239.0, lens)
    finger_records.PictureWriter(tmp_path, camera, 'real')
    read = finger_records.read_camera(tmp_path / 'camera.yaml')
    corners = np.array([[0.0, 0.0], [639.0, 0.0], [639.0, 479.0], [320.0, 240.0]])
    np.testing.assert_allclose(read.rays(corners), camera.rays(corners), atol=1e-9)


@given(st.lists(st.floats(0.0, 600.0), min_size=20, max_size=20))
def test_clicks_survive_the_disk(tmp_path_factory, values):
    lines = np.array(values).reshape(5, 2, 2)
    lines[:, 1] += np.where(np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1) < 3, 10.0, 0.0)[
        :, None
    ]
    path = tmp_path_factory.mktemp('clicks') / 'clicks.csv'
    finger_records.append_clicks(path, ROBOT, 'a.png', lines)
    finger_records.append_clicks(path, ROBOT, 'b.png', lines[::-1])
    read = finger_records.read_clicks(path, ROBOT)
    assert read['a.png'] == pytest.approx(lines, abs=0.006) and read['b.png'] == pytest.approx(
        lines[::-1], abs=0.006
    )


def click(figure, axes, at_px, button=1):
    x, y = axes.transData.transform(at_px)
    event = MouseEvent('button_press_event', figure.canvas, x, y, button)
    figure.canvas.callbacks.process('button_press_event', event)


def test_clicks_in_a_window(pictures, monkeypatch):
    """Click the reference first, then base to tip; right button undoes; outside is ignored."""
    path, _, lines = pictures
    figure = Figure(figsize=(8, 6))
    FigureCanvasAgg(figure)
    ended = []
    monkeypatch.setattr(figure.canvas, 'stop_event_loop', lambda: ended.append(True))
    picture, _ = finger_records.read_pictures(path)[0].images()
    session = LineClicks(figure, picture, 'first', ROBOT)
    axes, wanted = figure.axes[0], lines['000_colour.png'].reshape(-1, 2)
    assert 'reference' in axes.get_title()
    click(figure, axes, (-500.0, 10.0))
    for at_px in wanted[:3]:
        click(figure, axes, at_px)
    assert 'piece_1' in axes.get_title()
    click(figure, axes, (10.0, 10.0))
    click(figure, axes, (0.0, 0.0), button=3)
    for at_px in wanted[3:]:
        assert session.lines_px is None and not ended
        click(figure, axes, at_px)
    assert ended and session.lines_px == pytest.approx(wanted.reshape(5, 2, 2), abs=1e-6)


def test_clicking_needs_a_display(pictures, tmp_path, monkeypatch):
    from matplotlib import pyplot

    monkeypatch.setattr(pyplot, 'get_backend', lambda: 'agg')
    with pytest.raises(VisionError, match='display'):
        click_records(finger_records.read_pictures(pictures[0]), set(), tmp_path / 'c.csv', ROBOT)


@pytest.mark.parametrize(
    'arguments, words',
    [
        (['--rig', 'lab'], '--use-running'),
        (['--records', __file__, '--use-running'], '--use-running'),
        (['--plant-seed', '-1'], '-1'),
        (['--click', '--records', __file__], '--clicks'),
        (['--clicks', 'x.csv'], '--records'),
        (['--records', 'nowhere.csv'], 'nowhere.csv'),
        (['--robot', 'modal_bellows'], 'not a finger'),
        (['--robot', 'nobody'], 'nobody'),
    ],
)
def test_bad_arguments_are_one_line(arguments, words, tmp_path, capsys):
    assert main([*arguments, '--output', str(tmp_path / 'b.yaml')]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count('\n') == 1 and not (tmp_path / 'b.yaml').exists()


CLICKS = 'colour,line,u1_px,v1_px,u2_px,v2_px\n000_colour.png,'


@pytest.mark.parametrize(
    'name, text, words',
    [
        ('records.csv', 'pressure_pa,branch,colour\n0,up,a.png', "column 'depth' is missing"),
        ('records.csv', 'pressure_pa,branch,colour,depth\n0,left,a.png,b.png', "'left'"),
        ('records.csv', 'pressure_pa,branch,colour,depth\nnan,up,a.png,b.png', 'pressure_pa'),
        ('records.csv', 'pressure_pa,branch,colour,depth\n0,up,a.png,b.png', 'a.png'),
        ('clicks.csv', f'{CLICKS}piece_9,0,0,9,9', 'piece_9'),
        ('clicks.csv', f'{CLICKS}piece_1,0,0,9,9', 'lacks clicks on reference'),
        ('clicks.csv', f'{CLICKS}piece_1,0,0,1,1', 'at least 2 px apart'),
        ('camera.yaml', 'image: {width_px: 640}', 'height_px'),
    ],
)
def test_bad_files_are_one_line(pictures, tmp_path, capsys, name, text, words):
    path = pictures[0]
    (tmp_path / name).write_text(text)
    files = {'records.csv': path, 'camera.yaml': path.parent / 'camera.yaml'}
    files[name] = tmp_path / name
    given = [word for key, file in files.items() for word in (f'--{key.split(".")[0]}', file)]
    assert main([*map(str, given), '--output', str(tmp_path / 'b.yaml')]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert words in error and not (tmp_path / 'b.yaml').exists()
