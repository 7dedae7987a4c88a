"""Whatever the arguments, a command works or refuses them in one line, and soon."""

import io
import random
import sys
import time
import traceback

import pytest

from fuzzing.bad_files import PHRASES_OF_PYTHON
from fuzzing.commands import commands, refused
from soft_arm_io.command_line import LINE_LIMIT
from softarm_cli import softarm

COMMANDS = {' '.join(command.words): command for command in commands()}
SEEDS = range(12)


def run(argv: list[str], capsys, monkeypatch) -> tuple[int | None, str, str, float]:
    """Exit code (None: traceback), both streams and processor time [s] of `softarm ARGV`."""
    monkeypatch.setattr(sys, 'stdin', io.StringIO('[[0.1]]\n'))
    capsys.readouterr()
    began_s = time.process_time()
    try:
        code = softarm._dispatch('softarm', 'softarm.commands', argv, softarm._GROUPS)
    except SystemExit as end:
        code = end.code
    except Exception:  # noqa: BLE001  what is looked for
        code = None
        traceback.print_exc()
    spent_s = time.process_time() - began_s
    return code, *capsys.readouterr(), spent_s


def complaint(code: int | None, out: str, error: str, spent_s: float) -> str:
    """Return the defect of a refusal, or ''."""
    if code != 2 or out:
        return f'exit code {code}: {out[:200]} {error[-600:]}'
    if error.count('\n') != 1 or len(error) > LINE_LIMIT + 1 or not error[:-1].isprintable():
        return f'no line: {error!r}'
    if spent_s > 1.0:
        return f'took {spent_s:.1f} s: {error}'
    python = [phrase for phrase in PHRASES_OF_PYTHON if phrase in error]
    return f'mentions Python: {error}' if python else ''


@pytest.mark.parametrize('name', COMMANDS)
def test_bad_arguments_are_refused_in_one_line(name, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run([*COMMANDS[name].words, '--help'], capsys, monkeypatch)  # it is imported
    wrong = {}
    for seed in SEEDS:
        argv = refused(COMMANDS[name], random.Random(seed))
        message = complaint(*run(argv, capsys, monkeypatch))
        if message:
            wrong[seed] = f'{str(argv)[:300]}: {message}'
    assert not wrong, '\n'.join(f'seed {seed}: {message}' for seed, message in wrong.items())
    assert not list(tmp_path.iterdir())  # and nothing is left behind
