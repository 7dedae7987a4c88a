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
    """What is wrong with how the loader takes the content; nothing where all is well."""
    path = folder / loader.name
    path.write_bytes(content)
    began_s = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('error', RuntimeWarning)  # NumPy's
            loader.read(path)
        told = ''
    except loader.errors as error:
        told = str(error).replace(str(folder), '')
    except Exception:  # noqa: BLE001  whatever else it raises is what is looked for
        return traceback.format_exc()
    spent_s = time.process_time() - began_s
    if spent_s > 1.0:
        return f'took {spent_s:.1f} s'
    if len(told) > 300 or '\n' in told or not told.isprintable():
        return f'{len(told)} characters: {told!r}'
    python = [phrase for phrase in PHRASES_OF_PYTHON if phrase in told]
    return f'speaks of Python: {told}' if python else ''


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
        told = complaint(loader, content, folder)
        if told:
            wrong[trap] = told
    assert not wrong, '\n'.join(f'{trap}: {told}' for trap, told in wrong.items())
