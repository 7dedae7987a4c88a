import json

import pytest

from soft_arm_experiments.cli import bench_physics
from soft_arm_experiments.physics import cosserat, figures, speed


def test_every_promised_figure_is_measured(monkeypatch, capsys):
    """A small run of the whole command; what it reports on a busy machine is not judged here."""
    monkeypatch.setattr(figures, 'COARSE', 5)
    monkeypatch.setattr(figures, 'FINE', 10)
    monkeypatch.setattr(cosserat, 'REST_S', 0.8)
    monkeypatch.setattr(cosserat, 'ELEMENTS', 16)
    monkeypatch.setattr(speed, 'SIMULATED_S', 0.1)
    monkeypatch.setattr(speed, 'BATCH', 2)
    status = bench_physics.main(['--json'])
    measured = json.loads(capsys.readouterr().out)
    assert status in (0, 1) and set(bench_physics.PROMISES) <= set(measured)
    assert measured['somo_ratio'] is None and measured['somo_ball_ratio'] is None
    assert measured['cantilever_order'] == pytest.approx(4.0, abs=0.2)
    assert measured['twist_order'] == pytest.approx(4.0, abs=0.5)
    assert measured['cosserat_error_fraction'] < 0.02
    assert measured['blocked_force_error_fraction'] < 0.05
    assert measured['contacts_hand'] > 1.0


def test_a_figure_outside_its_limit_is_missed_and_somo_counts_with_a_checkout_only():
    kept = {key: limit for key, (limit, _) in bench_physics.PROMISES.items()}
    assert bench_physics.missed_bars(kept, with_somo=True) == []
    for key, (limit, at_least) in bench_physics.PROMISES.items():
        for bad in (limit * (0.9 if at_least else 1.1), float('nan'), None):
            assert bench_physics.missed_bars(kept | {key: bad}, with_somo=True) == [key]
    without = kept | dict.fromkeys(bench_physics.WITH_SOMO)
    assert bench_physics.missed_bars(without, with_somo=False) == []


def test_a_checkout_that_is_not_there_is_refused(capsys):
    assert bench_physics.main(['--somo', 'no/such/folder']) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
