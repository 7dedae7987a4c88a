"""The gallery, in short form: the snake advances, the cube turns, the ball flies."""

import re
import runpy
import sys
from pathlib import Path

import cv2
import pytest

GALLERY = Path(__file__).resolve().parents[4] / 'examples' / 'gallery'
RUNS = {  # short form, and the range of each number in the output
    'blocked_force.py': ('3', [(r'100 kPa: (\S+) N', 0.735, 0.765)]),
    'hand_turns_cube.py': ('1', [(r'turned by (\S+) deg', -90, -30), (r'hangs (\S+) mm', 75, 105)]),
    'starfish_walks.py': ('1.2', [(r'walked (\S+) mm', 20, 200), (r'and (\S+) mm aside', -10, 10)]),
    'snake_crawls.py': ('2', [(r'crawled (\S+) mm', 80, 600)]),
    'arm_throws_ball.py': ('10', [(r'rose to (\S+) m', 0.62, 0.70), (r'x = (\S+) m', 2.9, 3.1)]),
    'pinch_region.py': ('3', [(r'from (\S+) of', 0.1, 0.5)]),
}


@pytest.mark.parametrize('name', RUNS)
def test_it_does_what_it_is_named_for(name, tmp_path, monkeypatch, capsys):
    short, wanted = RUNS[name]
    monkeypatch.setattr(sys, 'argv', [name, str(tmp_path), short])
    runpy.run_path(str(GALLERY / name), run_name='__main__')
    said = capsys.readouterr().out
    for pattern, low, high in wanted:
        found = re.search(pattern, said)
        assert found and low <= float(found[1]) <= high, said
    (made,) = tmp_path.iterdir()
    assert made.stem == name.removesuffix('.py')
    if made.suffix == '.png':
        assert made.stat().st_size > 10_000
        return
    video = cv2.VideoCapture(str(made))
    frames = [video.read()[1] for _ in range(int(video.get(cv2.CAP_PROP_FRAME_COUNT)))]
    assert len(frames) > 9
    assert (abs(frames[-1].astype(int) - frames[0]).max(axis=2) > 40).mean() > 0.002


def test_every_example_is_here_and_short():
    scripts = sorted(GALLERY.glob('*.py'))
    assert [script.name for script in scripts] == sorted(RUNS)
    assert all(len(script.read_text().splitlines()) <= 60 for script in scripts)


@pytest.mark.parametrize('package', ['soft_arm_physics', 'soft_arm_kinematics'])
def test_pip_installs_what_examples_and_public_names_import(package, monkeypatch):
    given = {}
    monkeypatch.setattr('setuptools.setup', lambda **arguments: given.update(arguments))
    root = GALLERY.parents[1] / 'src' / package
    monkeypatch.chdir(root)
    runpy.run_path(str(root / 'setup.py'))
    names = {re.match(r'\w+', requirement)[0] for requirement in given['install_requires']}
    assert names >= ({'gymnasium', 'matplotlib'} if 'physics' in package else {'matplotlib'})
