import importlib
import logging
import os
import sys

import numpy as np
import pytest
from numba.core.caching import CacheImpl, IndexDataCacheFile

from soft_arm_kinematics.backends import compiled_solver, machine_code

CALLER = """
from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_probe.middle import scaled
@njit(cache=True)
def answer(x):
    return scaled(x)
"""
MIDDLE = """
from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_probe.constants import FACTOR
@njit()
def scaled(x):
    return FACTOR * x
"""


@pytest.fixture
def probe(tmp_path, monkeypatch):
    """Import a package of three files with a constant, as a new process would.

    Return its compiled function and the cache files.
    """
    folder = tmp_path / 'soft_arm_probe'
    folder.mkdir()
    (folder / '__init__.py').write_text('')
    (folder / 'caller.py').write_text(CALLER)
    (folder / 'middle.py').write_text(MIDDLE)
    monkeypatch.syspath_prepend(tmp_path)

    def load(factor):
        (folder / 'constants.py').write_text(f'FACTOR = {factor}\n')
        os.utime(folder / 'constants.py', (1e9, 1e9))  # neither size nor time says that it changed
        for name in [name for name in sys.modules if name.startswith('soft_arm_probe')]:
            del sys.modules[name]
        importlib.invalidate_caches()
        machine_code._hash_of.cache_clear()
        monkeypatch.setattr(sys, 'dont_write_bytecode', True)
        function = importlib.import_module('soft_arm_probe.caller').answer
        return function, folder / '__pycache__'

    yield load
    for name in [name for name in sys.modules if name.startswith('soft_arm_probe')]:
        del sys.modules[name]


def test_machine_code_does_not_outlive_a_constant_of_another_file(probe):
    first, folder = probe(2.0)
    assert first(1.0) == 2.0
    again, _ = probe(2.0)
    assert again(1.0) == 2.0 and sum(again.stats.cache_hits.values()) == 1
    old = {path.name for path in folder.glob('*.nb?')}
    changed, _ = probe(3.0)
    assert changed(1.0) == 3.0
    new = {path.name for path in folder.glob('*.nb?')}
    assert len(new) == len(old) == 2 and not new & old, 'old machine code is removed'


def test_processes_that_compile_two_signatures_at_once_do_not_mix_them(probe, monkeypatch):
    close, every_other = np.arange(3.0), np.arange(6.0)[::2]
    slow, _ = probe(2.0)
    quick, _ = probe(2.0)
    save = IndexDataCacheFile._save_data

    def while_the_quick_one_compiles(file, name, data):
        with monkeypatch.context() as patch:
            patch.setattr(IndexDataCacheFile, '_save_data', save)
            # it has looked before the slow one wrote
            patch.setattr(IndexDataCacheFile, '_load_index', lambda file: {})
            quick(every_other)
        save(file, name, data)

    monkeypatch.setattr(IndexDataCacheFile, '_save_data', while_the_quick_one_compiles)
    slow(close)
    later, _ = probe(2.0)
    np.testing.assert_array_equal(later(every_other), 2.0 * every_other)
    np.testing.assert_array_equal(later(close), 2.0 * close)


def test_modules_are_those_that_enter_the_machine_code():
    package = 'soft_arm_kinematics.'
    modules = machine_code.modules_of(compiled_solver.__name__)
    backends = ('compiled_solver', 'compiled_batch', 'compiled_scores', 'compiled_steps', 'vectors')
    needed = {*(f'backends.{name}' for name in backends), 'segments.formulas'}
    assert {package + name for name in needed} <= set(modules)
    assert package + 'arm' not in modules, 'an annotation is not part of machine code'


def test_without_a_writable_folder_functions_are_compiled_in_each_process(probe, monkeypatch):
    monkeypatch.setattr(CacheImpl, '_locator_classes', [])
    function, _ = probe(2.0)
    assert function(1.0) == 2.0 and not function.stats.cache_hits


def test_a_long_compilation_is_logged_once(probe, monkeypatch, caplog):
    monkeypatch.setattr(machine_code, 'LONG_S', 0.0)
    function, _ = probe(5.0)
    with caplog.at_level(logging.WARNING):
        function(1.0)
    assert caplog.messages[0].startswith('compiling soft_arm_probe.caller.answer')
    caplog.clear()
    probe(5.0)[0](1.0)
    assert not caplog.records
