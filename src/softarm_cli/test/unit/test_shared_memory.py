import fcntl
import os

import pytest

from softarm_cli.shared_memory import remove_stale, stale_files


@pytest.fixture
def segment(tmp_path):
    """Makes the files of a segment, old enough to be judged."""

    def make(name, age_s=60.0):
        for file in (name, f'{name}_el', f'sem.{name}_mutex'):
            (tmp_path / file).write_bytes(b'x' * 100)
            made_ns = (tmp_path / file).stat().st_mtime_ns - round(age_s * 1e9)
            os.utime(tmp_path / file, ns=(made_ns, made_ns))
        return tmp_path / f'{name}_el'

    return make


def test_dead_segments_are_removed_and_living_ones_kept(tmp_path, segment):
    segment('fastrtps_dead')
    with segment('fastrtps_alive').open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (tmp_path / 'of_somebody_else').touch()
        assert remove_stale(tmp_path) == 300
        assert sorted(p.name for p in tmp_path.iterdir()) == [
            'fastrtps_alive',
            'fastrtps_alive_el',
            'of_somebody_else',
            'sem.fastrtps_alive_mutex',
        ]
    assert len(stale_files(tmp_path)) == 3


def test_a_node_that_is_just_starting_is_left_alone(tmp_path, segment):
    segment('fastrtps_new', age_s=0.0)
    assert stale_files(tmp_path) == []


def test_a_port_read_by_somebody_is_in_use(tmp_path, segment):
    lock = segment('fastrtps_port7400').rename(tmp_path / 'fastrtps_port7400_sl')
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        assert stale_files(tmp_path) == []


def test_data_without_a_lock_is_left_alone(tmp_path, segment):
    segment('fastrtps_unknown').unlink()
    assert stale_files(tmp_path) == []
