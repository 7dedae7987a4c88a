import json

import pytest

from soft_arm_benchmarks import bench_physics
from soft_arm_benchmarks.physics import cosserat, figures, speed


def test_every_figure_with_a_limit_is_measured(monkeypatch, capsys):
    """A small run of the whole command; its figures depend on the load of the machine."""
    monkeypatch.setattr(figures, 'COARSE', 5)
    monkeypatch.setattr(figures, 'FINE', 10)
    monkeypatch.setattr(cosserat, 'REST_S', 0.8)
    monkeypatch.setattr(cosserat, 'ELEMENTS', 16)
    monkeypatch.setattr(speed, 'SIMULATED_S', 0.1)
    monkeypatch.setattr(speed, 'BATCH', 2)
    status = bench_physics.main(['--json'])
    measured = json.loads(capsys.readouterr().out)
    assert status in (0, 1) and set(bench_physics.LIMITS) <= set(measured)
    assert measured['cantilever_order'] == pytest.approx(4.0, abs=0.2)
    assert measured['twist_order'] == pytest.approx(4.0, abs=0.5)
    assert measured['cosserat_error_fraction'] < 0.02
    assert measured['blocked_force_error_fraction'] < 0.05
    assert measured['contacts_hand'] > 1.0
