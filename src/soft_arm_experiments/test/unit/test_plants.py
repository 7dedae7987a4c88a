import json

import pytest

from soft_arm_description.rig import load_rig
from soft_arm_experiments.arm import plants
from soft_arm_experiments.cli import experiment_plants

MEASURED = {
    7: {
        'errors_m': {'bend': [1e-4, 3e-4], 'deflection': [2e-3]},
        'unreachable_m': {'bend': [0.0, 0.0], 'deflection': [1.9e-3]},
        'settling': [1.1, None],
        'reach_m': [2e-4, 4e-2],
        'reach_s': [1.5, None],
        'swing_m': [1e-4, 3e-3],
        'problems': ['target 1: the tip was not measured'],
    },
    8: {
        'errors_m': {},
        'unreachable_m': {},
        'settling': [],
        'reach_m': [6e-4],
        'reach_s': [2.5],
        'swing_m': [2e-4],
        'problems': [],
    },
}


def test_random_targets_are_measured_on_a_plant(monkeypatch):
    monkeypatch.setattr(plants, 'EXPERIMENTS', ())
    rig = str(load_rig('virtual').folder)
    setup = plants.Setup(rig, 'two_module_arm', None, None, 'virtual', targets=2)
    found = plants.measure(setup, 3)
    assert len(found['reach_m']) == len(found['reach_s']) == len(found['swing_m']) == 2
    assert max(found['reach_m']) < 2e-3 and max(found['swing_m']) < 2e-3
    assert found['problems'] == [] and plants.measure(setup, 3) == found


def test_failures_count_with_the_error_that_they_leave():
    values = plants.summary(list(MEASURED.values()))
    assert values['steps'] == 3 and values['steps_unreachable'] == 1
    assert values['steps_beyond_1mm'] == pytest.approx(1 / 3)
    assert (values['responses'], values['responses_settled']) == (2, 1)
    assert values['settling_median'] == 1.1
    assert (values['targets'], values['targets_reached']) == (3, 2)
    assert values['targets_mean_m'] == pytest.approx((2e-4 + 4e-2 + 6e-4) / 3)
    assert values['time_median_s'] == 2.0 and values['swing_p95_m'] < 3e-4


def test_the_command_writes_a_table_a_plot_and_the_reasons(monkeypatch, tmp_path, capsys):
    asked = {}

    def measure_all(setup, seeds, workers, on_plant):
        asked.update(seeds=list(seeds), workers=workers)
        return MEASURED

    monkeypatch.setattr(plants, 'measure_all', measure_all)
    options = ['--seeds', '7..8', '--workers', '3', '--output', str(tmp_path)]
    assert experiment_plants.main(options) == 0
    assert asked == {'seeds': [7, 8], 'workers': 3}
    said = capsys.readouterr().out
    assert '| 7 | 0.80, 1.83 | 1 of 3 | 1 of 2 | 1.10, 1.10 | 1 of 2 |' in said
    assert '| 8 | -, - | 0 of 0 | 0 of 0 | -, - | 1 of 1 |' in said
    assert 'plant 7: target 1: the tip was not measured' in said
    assert (tmp_path / 'plants.png').stat().st_size > 1000
    assert json.loads((tmp_path / 'plants.json').read_text())['plants']['8']['targets'] == 1


@pytest.mark.parametrize('seeds', ['9..7', 'a..b', '1..99999', '-1..3'])
def test_wrong_seeds_are_refused(seeds, capsys):
    assert experiment_plants.main([f'--seeds={seeds}']) == 2
    assert 'seeds' in capsys.readouterr().err
