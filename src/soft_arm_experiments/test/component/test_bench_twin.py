"""The benchmark of the twin finds every figure, in a fraction of its time."""

import json

from soft_arm_experiments.cli import bench_twin
from soft_arm_experiments.twin import measurements


def test_every_figure_is_found(monkeypatch, capsys, ros_domain):
    monkeypatch.setattr(measurements, 'SETTLE_S', 0.1)
    monkeypatch.setattr(measurements, 'DRAW_S', 0.5)
    monkeypatch.setattr(bench_twin, 'MOST', {})  # a figure of a busy machine says nothing
    status = bench_twin.main(['--tries', '3', '--domain', str(ros_domain), '--json'])
    found = json.loads(capsys.readouterr().out)
    assert status == 0
    for name in ('joints_to_page', 'pressures_to_page', 'vent_to_driver'):
        assert 0 < found[f'{name}_p50_ms'] <= found[f'{name}_p99_ms']
    assert found['cpu_1_page_percent'] > 0
    assert found['frames_hz'] > 0
    assert found['scene_bytes'] < found['first_load_bytes']
