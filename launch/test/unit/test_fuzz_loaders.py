"""Whatever a file holds, its loader takes it or says what is wrong in one line, and soon."""

import random
import time
import traceback
import warnings

import pytest

from fuzzing.bad_files import PHRASES_OF_PYTHON, YAML_TRAPS
from fuzzing.loaders import loaders

LOADERS = loaders()
SEEDS = range(25)


def complaint(loader, content: bytes, folder) -> str:
    """Return the defect of the loader's reaction, or ''."""
    path = folder / loader.name
    path.write_bytes(content)
    began_s = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('error', RuntimeWarning)  # NumPy's
            loader.read(path)
        message = ''
    except loader.errors as error:
        message = str(error).replace(str(folder), '')
    except Exception:  # noqa: BLE001  whatever else it raises is what is looked for
        return traceback.format_exc()
    spent_s = time.process_time() - began_s
    if spent_s > 1.0:
        return f'took {spent_s:.1f} s'
    if len(message) > 300 or '\n' in message or not message.isprintable():
        return f'{len(message)} characters: {message!r}'
    python = [phrase for phrase in PHRASES_OF_PYTHON if phrase in message]
    return f'mentions Python: {message}' if python else ''


@pytest.mark.parametrize('name', LOADERS)
def test_valid_file_is_taken(name, tmp_path):
    path = tmp_path / LOADERS[name].name
    path.write_bytes(LOADERS[name].valid)
    if name != 'bag metadata':  # the bag itself is not there
        LOADERS[name].read(path)


@pytest.mark.parametrize('name', LOADERS)
def test_bad_files_are_refused_in_one_line(name, tmp_path):
    loader = LOADERS[name]
    complaint(loader, loader.valid, tmp_path)  # whatever is compiled or imported is, then
    bad = dict(YAML_TRAPS)
    for seed in SEEDS:
        bad[f'seed {seed}'] = loader.change(loader.valid, random.Random(seed))
    wrong = {}
    for number, (trap, content) in enumerate(bad.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        message = complaint(loader, content, folder)
        if message:
            wrong[trap] = message
    assert not wrong, '\n'.join(f'{trap}: {message}' for trap, message in wrong.items())
