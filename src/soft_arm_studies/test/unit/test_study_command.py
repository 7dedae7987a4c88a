"""`softarm study` as a user meets it: other processes, failures, kills, a cluster by hand."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from pyarrow import parquet

FUNCTIONS = """
import os
import time

def divide(keys):
    a, b = keys['parameters']['a'], keys['parameters']['b']
    if (a, b) == (2, 2):
        os.kill(os.getpid(), 9)
    return {'ratio': a / b, 'seed_given': keys['seed']}

def wait(keys):
    time.sleep(0.02)
    while keys['parameters']['a'] >= 100 and not os.path.exists('gate'):
        time.sleep(0.01)
    with open(keys['parameters']['log'], 'a') as log:
        log.write(f"{keys['parameters']['a']}\\n")
    return {'twice': 2 * keys['parameters']['a']}
"""
STUDY = """
schema_version: 1
name: {name}
experiment: own_runs:{name}
parameters: {parameters}
vary: {vary}
"""


@pytest.fixture
def study(tmp_path):
    """Write a study file beside its function; return its path."""
    (tmp_path / 'own_runs.py').write_text(FUNCTIONS)

    def write(name: str, parameters: dict, vary: dict) -> Path:
        file = tmp_path / f'{name}.yaml'
        values = {'parameters': json.dumps(parameters), 'vary': json.dumps(vary)}
        file.write_text(STUDY.format(name=name, **values))
        return file

    return write


def command(*arguments) -> list[str]:
    return [sys.executable, '-m', 'softarm_cli.softarm', 'study', *map(str, arguments)]


def softarm_study(*arguments, cwd: Path, code: int = 0) -> subprocess.CompletedProcess:
    done = subprocess.run(command(*arguments), capture_output=True, text=True, cwd=cwd, timeout=200)
    assert done.returncode == code, done.stderr
    return done


def rows_of(folder: Path) -> list[dict]:
    return parquet.read_table(folder / 'runs.parquet').to_pylist()


def test_failures_and_dead_workers_are_rows_and_the_rest_is_drawn(study, tmp_path):
    grid = {'parameters.a': [0, 1, 2, 3], 'parameters.b': [0, 1, 2, 4]}
    file = study('divide', {'a': 0, 'b': 0}, {'grid': grid})
    axes = ['parameters.a', 'parameters.b', 'ratio']
    done = softarm_study(file, '--workers', 2, '--json', '--plot', *axes, cwd=tmp_path)
    summary = json.loads(done.stdout)
    assert (summary['runs'], summary['failed'], summary['cores']) == (16, 5, 2)
    assert '16/16' in done.stderr, 'the progress bar'
    assert Path(tmp_path, summary['plots'][0]).stat().st_size > 10_000
    rows = rows_of(tmp_path / 'out' / 'divide')
    assert [row['run'] for row in rows] == list(range(16))
    for row in rows:
        a, b = row['parameters.a'], row['parameters.b']
        if b == 0:
            assert row['error'].startswith('ZeroDivisionError') and row['ratio'] is None
        elif (a, b) == (2, 2):
            assert 'worker died' in row['error']
        else:
            assert row['error'] is None and row['ratio'] == a / b and row['seed_given'] == 0
    again = softarm_study(file, '--json', cwd=tmp_path)
    assert json.loads(again.stdout)['done_now'] == 0


@pytest.mark.parametrize('workers', [1, 2])
def test_a_worker_that_dies_in_the_last_run_is_counted_as_a_core(study, tmp_path, workers):
    file = study('divide', {'a': 2, 'b': 0}, {'grid': {'parameters.b': [2]}})
    done = softarm_study(file, '--workers', workers, '--json', cwd=tmp_path, code=1)
    summary = json.loads(done.stdout)
    assert (summary['runs'], summary['failed'], summary['cores']) == (1, 1, workers)


def test_a_killed_study_goes_on_where_it_was(study, tmp_path):
    n_runs, log = 200, tmp_path / 'log'
    grid = {'parameters.a': {'low': 0, 'high': n_runs - 1, 'count': n_runs, 'whole': True}}
    file = study('wait', {'a': 0, 'log': str(log)}, {'grid': grid})
    parts = tmp_path / 'out' / 'wait' / 'parts'
    with subprocess.Popen(
        command(file, '--workers', 2), cwd=tmp_path, stderr=subprocess.DEVNULL
    ) as process:
        _wait_until(lambda: len(list(parts.glob('*.parquet'))) > 4)
        process.kill()
    stored = {r for part in parts.glob('*.parquet') for r in _runs(part)}
    assert 0 < len(stored) < n_runs
    _wait_until(lambda: _is_unlocked(tmp_path / 'out' / 'wait'))
    (tmp_path / 'gate').touch()
    before = Counter(log.read_text().split())
    summary = json.loads(softarm_study(file, '--workers', 2, '--json', cwd=tmp_path).stdout)
    assert summary['done_before'] == len(stored) and summary['failed'] == 0
    rows = rows_of(tmp_path / 'out' / 'wait')
    assert [(row['run'], row['twice']) for row in rows] == [(i, 2.0 * i) for i in range(n_runs)]
    now = Counter(log.read_text().split()) - before
    assert not {str(run) for run in stored} & now.keys(), 'a stored run was done again'


def test_it_runs_on_a_scheduler_and_workers_started_by_hand(study, tmp_path):
    grid = {'parameters.a': list(range(1, 25)), 'parameters.b': [1, 4]}
    file = study('divide', {'a': 0, 'b': 0}, {'grid': grid})
    dask = [sys.executable, '-m', 'dask']
    elsewhere = tmp_path / 'elsewhere'  # the study's own module is not there
    elsewhere.mkdir()
    processes = []

    def start(*words: str) -> subprocess.Popen:
        processes.append(
            subprocess.Popen([*dask, *words], cwd=elsewhere, stderr=subprocess.PIPE, text=True)
        )
        return processes[-1]

    try:
        scheduler = start('scheduler', '--host', '127.0.0.1', '--port', '0', '--no-dashboard')
        address = next(
            found[0] for line in scheduler.stderr if (found := re.search(r'tcp://[\d.]+:\d+', line))
        )
        for _ in range(2):
            start('worker', address, '--nthreads', '1', '--no-dashboard', '--no-nanny')
        done = softarm_study(file, '--scheduler', address, '--json', cwd=tmp_path)
    finally:
        for process in reversed(processes):
            process.kill()
        for process in processes:
            process.communicate(timeout=30)
    summary = json.loads(done.stdout)
    assert (summary['cores'], summary['failed'], summary['done_now']) == (2, 0, 48)
    for row in rows_of(tmp_path / 'out' / 'divide'):
        assert row['ratio'] == row['parameters.a'] / row['parameters.b']


@pytest.mark.parametrize(
    'arguments, message',
    [
        (['no.yaml'], 'no.yaml'),
        (['divide.yaml', '--workers', '0'], 'at least 1'),
        (['divide.yaml', '--workers', '1', '--scheduler', 'tcp://127.0.0.1:1'], 'both given'),
        (['divide.yaml', '--plot', 'parameters.c', 'parameters.a', 'ratio'], 'is not varied'),
        (['missing.yaml'], 'experiment own_runs:missing'),
    ],
)
def test_bad_input_is_one_line_and_makes_no_folder(study, tmp_path, arguments, message):
    for name in ('divide', 'missing'):
        study(name, {'a': 0, 'b': 1}, {'grid': {'parameters.a': [1, 2]}})
    done = softarm_study(*arguments, cwd=tmp_path, code=2)
    assert message in done.stderr and done.stderr.count('\n') == 1 and done.stdout == ''
    assert not (tmp_path / 'out').exists()


def _runs(part: Path) -> list[int]:
    return parquet.read_table(part)['run'].to_pylist()


def _is_unlocked(folder: Path) -> bool:
    import fcntl

    with (folder / 'lock').open('a') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _wait_until(condition, limit_s: float = 120.0) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, 'waited too long'
        os.sched_yield()
        signal.sigtimedwait([], 0.05)
