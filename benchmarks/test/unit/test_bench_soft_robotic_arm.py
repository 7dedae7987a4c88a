import json
import sys
from pathlib import Path

import numpy as np
import pytest

from soft_arm_benchmarks import bench_soft_robotic_arm
from soft_arm_identification.models import model as models

sys.path.append(str(Path(sys.prefix) / 'clients'))  # where CI puts it

pytest.importorskip('soft_robotic_arm', reason='it is in requirements/clients.in')


def test_the_fitted_model_predicts_the_plant_and_its_law_tracks_the_circle(monkeypatch, capsys):
    monkeypatch.setattr(models, 'importable_models', lambda: ([bench_soft_robotic_arm.MODEL], {}))
    assert bench_soft_robotic_arm.main(['--json', '--runs', '2', '--seconds', '20']) == 0
    figures = json.loads(capsys.readouterr().out)
    fitted = figures[bench_soft_robotic_arm.MODEL]
    assert fitted['lateral_rmse_m'] < 1e-3 and fitted['axial_rmse_m'] < 1e-3
    assert figures['tracking']['rmse_m'] < 0.4 * figures['tracking']['baseline_rmse_m']


def test_the_reference_is_extrapolated_by_the_delay():
    from soft_arm_benchmarks.outside_plant import plant, tracking

    law = tracking.ModelInverse(model=None, start_psi=np.zeros(3), ahead_s=0.5)
    turns = 2 * np.pi * 0.1 * np.arange(30) / plant.HZ
    for turn in turns:
        law._references_m.append(np.array([np.cos(turn), np.sin(turn)]))
    ahead = turns[-1] + 2 * np.pi * 0.1 * 0.5
    np.testing.assert_allclose(law._extrapolated_m(), [np.cos(ahead), np.sin(ahead)], atol=0.01)
