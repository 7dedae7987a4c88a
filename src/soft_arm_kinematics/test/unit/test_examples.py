"""Every example runs and says what it promises; so do the cells of the notebook in order."""

import ast
import json
import re
import runpy
import sys
import tempfile
from pathlib import Path

import matplotlib
import pytest

EXAMPLES = Path(__file__).resolve().parents[4] / 'examples'
SCRIPTS = sorted(p.name for p in EXAMPLES.glob('*.py'))
SAYS = {  # a pattern of the output, and the range of the number in it
    '01_forward_and_inverse_kinematics.py': (r'misses the target by (\S+) um', 0.0, 1.0),
    '02_own_robot.py': (r'three_module_arm: tip at .* (\S+)\] mm', 290.0, 300.0),
    '03_workspace_picture.py': (r'reaches (\S+) \+-', 95.0, 103.0),
    '04_calibration_from_csv.py': (r'tip at 20 kPa: (\S+) mm', 0.0, 1.0),
    '05_contact_estimation.py': (r'contact at (\S+) mm', 70.5, 71.5),
}


@pytest.mark.parametrize('name', SCRIPTS)
def test_script_says_what_it_promises(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    monkeypatch.setattr(sys, 'argv', [name])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / name), run_name='__main__')
    pattern, low, high = SAYS[name]
    found = re.search(pattern, capsys.readouterr().out)
    assert low <= float(found[1]) <= high
    if 'picture' in name:
        assert next(tmp_path.rglob('*.png')).stat().st_size > 20_000


def test_notebook_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    matplotlib.use('Agg')
    monkeypatch.chdir(tmp_path)
    cells = json.loads((EXAMPLES / 'soft_arm_tour.ipynb').read_text())['cells']
    names: dict = {}
    for cell in cells:
        if cell['cell_type'] == 'code':
            assert cell['outputs'] == [] and cell['execution_count'] is None, 'strip the outputs'
            assert len(cell['source']) < 10
            exec(''.join(cell['source']), names)
    matplotlib.pyplot.close('all')
    assert len(names['result'].solutions) > 10 and 'solutions; the best' in capsys.readouterr().out


def test_examples_need_only_the_two_packages():
    allowed = {'matplotlib', 'numpy', 'soft_arm_description', 'soft_arm_kinematics'}
    for name in SCRIPTS:
        tree = ast.parse((EXAMPLES / name).read_text())
        imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        imported |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        roots = {module.split('.')[0] for module in imported}
        assert roots <= allowed | set(sys.stdlib_module_names)
