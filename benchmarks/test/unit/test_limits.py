"""Limits of benchmark figures."""

import json

import pytest

from soft_arm_benchmarks.limits import at_least, at_most, report

LIMITS = {'rate': at_least(60.0), 'error.50': at_most(0.8), 'leaks': at_most(0)}
KEPT = {'rate': 60.0, 'error': {'50': 0.8}, 'leaks': [], 'other': None}


def test_figures_at_their_limits_are_kept(capsys):
    assert report(KEPT, LIMITS, as_json=True) == 0
    assert json.loads(capsys.readouterr().out) == KEPT | {'missed': []}


@pytest.mark.parametrize(
    ('missed', 'change'),
    [
        ('rate', {'rate': 59.0}),
        ('rate', {'rate': None}),
        ('rate', {'rate': float('nan')}),
        ('error.50', {'error': {'50': 0.9}}),
        ('leaks', {'leaks': ['a thread']}),
    ],
)
def test_a_missed_limit_is_named_and_exit_status_1(capsys, missed, change):
    assert report(KEPT | change, LIMITS, as_json=True) == 1
    assert json.loads(capsys.readouterr().out)['missed'] == [missed]
    assert report(KEPT | change, LIMITS, as_json=False) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if 'missed' in line]
    assert len(lines) == 1 and lines[0].startswith(missed) and str(LIMITS[missed]) in lines[0]
