import csv

import numpy as np
import pytest

from soft_arm_experiments.arm.experiments import experiment
from soft_arm_experiments.arm.report import settling_table, table, write_report
from soft_arm_experiments.arm.results import Lap, Result, Run, StepResponse

KEYS = {
    'open_loop_mean_m',
    'open_loop_p95_m',
    'closed_loop_mean_m',
    'closed_loop_p95_m',
    'unreachable_mean_m',
    'settle_s',
    'valve_limit_s',
    'clock',
    'laps',
    'plant_seed',
    'rates_hz',
    'latency_ms',
    'problems',
    'steps',
}


@pytest.fixture
def result(arm):
    e = experiment(arm, 'bend', 5)

    def run(offset_m):
        ends_m = e.points_m + [[offset_m, 0, 0]] * 5
        return Run(
            np.arange(5.0),
            ends_m,
            ends_m,
            np.array([0.0, 0.0, 0.0, 0.0003, 0.002]),
            ('step 3: no ring seen',) if offset_m < 0.001 else (),
        )

    response = StepResponse(
        90.0, 1.23, 0.95, 0.066, np.arange(0, 2, 0.1), np.linspace(0.066, 0.0005, 20)
    )
    return Result(
        e, 7, 'wall', run(0.008), run(0.0004), (response,), (), {'camera': 30.0}, {'p50': 41.0}
    )


def test_json_has_exactly_the_agreed_keys(result):
    values = result.as_json()
    assert set(values) == KEYS
    assert values['open_loop_mean_m'] == pytest.approx(0.008)
    assert values['closed_loop_p95_m'] == pytest.approx(0.0004)
    assert values['settle_s'] == {'90_deg': 1.23}
    assert values['valve_limit_s'] == {'90_deg': 0.95} and values['clock'] == 'wall'
    assert values['unreachable_mean_m'] == pytest.approx(0.00046)
    assert values['steps'][3]['unreachable_m'] == 0.0003
    assert values['problems'] == {'open_loop': [], 'closed_loop': ['step 3: no ring seen']}
    assert len(values['steps']) == 5
    assert values['steps'][2]['closed_loop_error_m'] == pytest.approx(0.0004)


def test_tables_stand_beside_the_paper(result):
    assert '| bend | 8.00 (8.00) mm | 0.40 (0.40) mm | 8.77 mm | 2.03 mm |' in table([result])
    assert '| 0 to 90 deg | 1.23 s | 0.95 s | 1.58 s |' in settling_table(result)


def test_report_has_table_plots_csv_and_problems(result, tmp_path):
    text = write_report(result, tmp_path).read_text()
    assert '2 of the targets are out of reach' in text and 'up to 2.00 mm' in text
    assert 'closed loop: step 3: no ring seen' in text and 'p50 41 ms' in text
    for name in ('trajectory', 'errors', 'step_responses'):
        assert f'({name}.png)' in text and (tmp_path / f'{name}.png').stat().st_size > 5000
    rows = list(csv.DictReader((tmp_path / 'steps.csv').open()))
    assert len(rows) == 5 and float(rows[0]['open_loop_error_m']) == pytest.approx(0.008)


def test_deflection_report_states_the_turn(arm, tmp_path):
    e = experiment(arm, 'deflection', 5)
    run = Run(np.arange(5.0), e.points_m, e.points_m, np.zeros(5), ())
    lap = Lap(0.52, 0.519, 0.02, 0.0012, 0.003, 0.3)
    result = Result(e, None, 'wall', run, run, (), (lap,), {}, {})
    text = write_report(result, tmp_path).read_text()
    assert '0.52 rad/s (standard deviation 0.02)' in text and 'a running rig' in text
    assert 'out of reach' not in text
    assert "30% of the valves' largest rate" in text
    values = result.as_json()
    assert values['settle_s'] is None and values['laps'][0]['error_mean_m'] == 0.0012
