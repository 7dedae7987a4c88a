"""Leak rates of simulated chambers, and of printed ones."""

import json

import numpy as np
import pytest
from scipy.signal import lfilter

from soft_arm_identification.cli.recording_leak import main
from soft_arm_identification.convert import convert
from soft_arm_identification.leak import find_leak
from soft_arm_identification.mapping import load_mapping
from soft_arm_identification.recording import Channels, Recording

TIME_S = np.arange(0, 120, 0.1)


def pressure(seed, rate_pa_s, correlation=0.0, noise_pa=100.0):
    """A chamber of 200 kPa with autocorrelated noise."""
    white = np.random.default_rng(seed).normal(0, noise_pa, len(TIME_S))
    noise = lfilter([1.0], [1.0, -correlation], white)
    return 200e3 + rate_pa_s * TIME_S + noise


@pytest.mark.parametrize('correlation', [0.0, 0.8])
def test_the_interval_covers_the_rate(correlation):
    errors = []
    for seed in range(200):
        found = find_leak(TIME_S, pressure(seed, -30.0, correlation))
        assert found.steps == ()
        errors.append((found.rate_pa_s + 30.0) / found.sd_pa_s)
    assert 0.9 < np.mean(np.abs(errors) < 1.96) < 0.99


def opened(pressure_pa, at_s):
    after = np.maximum(TIME_S - at_s, 0)
    return pressure_pa * np.exp(-after / 15)


def squeezed(pressure_pa, at_s):
    return pressure_pa - 20e3 * (at_s < TIME_S)


def filled(pressure_pa, at_s):
    return np.where(at_s > TIME_S, pressure_pa * TIME_S / at_s, pressure_pa)


@pytest.mark.parametrize(
    ('spoil', 'at_s', 'change_pa'),
    [(opened, 80.0, -180e3), (squeezed, 50.0, -20e3), (filled, 20.0, 0.0)],
)
def test_a_step_is_named_and_left_out(spoil, at_s, change_pa):
    found = find_leak(TIME_S, spoil(pressure(1, -30.0), at_s))
    assert found.rate_pa_s == pytest.approx(-30.0, abs=5 * found.sd_pa_s)
    assert found.to_s <= at_s or found.from_s >= at_s
    [step] = found.steps
    assert at_s - 4 < step.from_s < at_s + 1
    assert step.change_pa == pytest.approx(change_pa, abs=12e3)


def test_rates_are_printed(tmp_path, capsys):
    values = np.column_stack([pressure(1, -30.0), opened(pressure(2, -30.0), 60.0)])
    names = Channels(('a', 'b'), ('Pa', 'Pa'), values)
    nothing = Channels((), (), np.empty((len(TIME_S), 0)))
    empty = np.empty((len(TIME_S), 0, 3))
    Recording('day1', TIME_S, nothing, names, (), empty, empty, None).save(tmp_path / 'r.npz')
    assert main([str(tmp_path / 'r.npz')]) == 0
    first, second, step = capsys.readouterr().out.splitlines()
    assert first.startswith('day1 a: -1.798 +- 0.0') and second.startswith('day1 b: -1.')
    assert 'excluded step' in step and 'from 5' in step
    assert main([str(tmp_path / 'r.npz'), '--json']) == 0
    low, high = json.loads(capsys.readouterr().out)['day1 a']['interval_pa_s']
    assert low < -30 < high


def test_a_short_recording_is_refused():
    with pytest.raises(ValueError, match='at least 9 s'):
        find_leak(TIME_S[:50], TIME_S[:50])


def test_rates_of_printed_chambers(recordings_of_others):
    """Within a tenth of straight lines through all samples, [Pa/s]."""
    folder = recordings_of_others / 'leaking_chambers'
    rates = {'Aluminium': -23.5, 'Formlabs': -28.7, 'Ultimaker_006': -37.2, 'Ultimaker_010': -72.2}
    for name, rate_pa_s in rates.items():
        [recording] = convert(folder / f'{name}.csv', load_mapping('printed_chambers'))
        found = find_leak(recording.time_s, recording.measured.values[:, 0])
        assert found.rate_pa_s == pytest.approx(rate_pa_s, rel=0.1) and not found.steps
    [recording] = convert(folder / 'Ultimaker_015.csv', load_mapping('printed_chambers'))
    [step] = find_leak(recording.time_s, recording.measured.values[:, 0]).steps
    assert 4 < step.from_s < 7.4 and step.change_pa < -700e3
