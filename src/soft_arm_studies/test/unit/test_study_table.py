"""Table of a study: wherever a kill cuts it off, no stored run is lost or there twice."""

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from soft_arm_studies.errors import StudyError
from soft_arm_studies.plan import make_plan
from soft_arm_studies.runs import Row
from soft_arm_studies.study_file import Study
from soft_arm_studies.table import Table

N_RUNS = 30


def make(n: int = N_RUNS):
    keys = {'schema_version': 1, 'name': 's', 'experiment': 'own:run', 'parameters': {'n': 0}}
    grid = {'parameters.n': list(range(n))}
    return make_plan(Study.model_validate(keys | {'vary': {'grid': grid}}), Path())


def row(run: int) -> Row:
    return Row(run, {'square': float(run * run)}, None, 0.01)


class Killed(BaseException):
    pass


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_kill_loses_or_doubles_a_run(tmp_path_factory, data):
    folder, plan, stored = tmp_path_factory.mktemp('study'), make(), set()
    calls = {'left': 10**9}

    def or_killed(function):
        def call(*arguments):
            calls['left'] -= 1
            if calls['left'] < 0:
                raise Killed
            return function(*arguments)

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, 'replace', or_killed(os.replace))
        patch.setattr(os, 'fsync', or_killed(os.fsync))
        patch.setattr(Path, 'unlink', or_killed(Path.unlink))
        for _ in range(data.draw(st.integers(1, 4))):
            calls['left'] = data.draw(st.integers(0, 25))
            table = None
            try:
                table = Table(folder, plan)
                assert table.done() >= stored
                waiting = [run for run in range(N_RUNS) if run not in table.done()]
                while waiting:
                    batch = [row(run) for run in waiting[: data.draw(st.integers(1, 7))]]
                    del waiting[: len(batch)]
                    table.add(batch)
                    stored |= {r.run for r in batch}
                table.merge()
            except Killed:
                pass
            finally:
                if table:
                    table._lock.close()
        calls['left'] = 10**9
        table = Table(folder, plan)
    rows = parquet.read_table(table.path)['run'].to_pylist() if table.path.exists() else []
    assert len(rows) == len(set(rows)) and set(rows) >= stored
    table.close()


def test_rows_hold_keys_results_and_errors(tmp_path):
    table = Table(tmp_path, make(3))
    table.add([Row(2, {'square': 4.0}, None, 0.1), Row(0, {}, 'ValueError: no', 0.2)])
    table.add([Row(1, {'square': 1.0, 'other': 7.0}, None, 0.1)])
    table.close()
    assert parquet.read_table(tmp_path / 'runs.parquet').to_pylist() == [
        {'run': i, 'parameters.n': i, 'square': s, 'run_s': t, 'error': e, 'other': o}
        for i, s, t, e, o in (
            (0, None, 0.2, 'ValueError: no', None),
            (1, 1.0, 0.1, None, 7.0),
            (2, 4.0, 0.1, None, None),
        )
    ]


def test_a_folder_belongs_to_one_study_and_one_process(tmp_path):
    table = Table(tmp_path, make(3))
    table.add([row(0)])
    with pytest.raises(StudyError, match='another process'):
        Table(tmp_path, make(3))
    table.close()
    with pytest.raises(StudyError, match='holds runs of another study'):
        Table(tmp_path, make(4))
    assert Table(tmp_path, make(4), overwrite=True).done() == set()


@pytest.mark.parametrize('kept', range(4))
def test_overwriting_leaves_no_run_to_another_study_wherever_it_is_killed(
    tmp_path, monkeypatch, kept
):
    table = Table(tmp_path, make(3))
    table.add([row(0)])
    table.merge()
    table.add([row(1)])
    table._lock.close()
    calls, unlink = [], Path.unlink

    def or_killed(path, **options):
        calls.append(path)
        if len(calls) > kept:
            raise Killed
        unlink(path, **options)

    with monkeypatch.context() as patch, contextlib.suppress(Killed):
        patch.setattr(Path, 'unlink', or_killed)
        Table(tmp_path, make(4), overwrite=True)
    with contextlib.suppress(StudyError):
        assert Table(tmp_path, make(4)).done() == set()


def test_a_damaged_folder_and_a_full_disk_are_one_line(tmp_path, monkeypatch):
    table = Table(tmp_path, make(3))

    def full(_):
        raise OSError(28, 'No space left on device')

    with monkeypatch.context() as patch:
        patch.setattr(os, 'fsync', full)
        with pytest.raises(StudyError, match='No space left .* are kept'):
            table.add([row(0)])
    assert table.done() == set()
    table.close()
    (tmp_path / 'study.json').write_text('')
    with pytest.raises(StudyError, match='damaged'):
        Table(tmp_path, make(3))
