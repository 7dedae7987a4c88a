"""numba's `njit` with a cache that is valid as long as the sources of the machine code.

numba invalidates cached machine code when the file that holds the function changes. A compiled
function also contains functions and constants of other files. The names of the cache files here
contain a hash of the sources of all modules that the function's module refers to, directly or not,
and of the numbers in them.
"""

import functools
import hashlib
import inspect
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile

PACKAGES = 'soft_arm_'  # prefix of the packages whose sources are hashed
LONG_S = 2.0  # a longer compilation is logged

_log = logging.getLogger(__name__)


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable], Callable]:
    """Decorate like numba's `njit`; `cache` keeps machine code until one of its sources changes."""

    def compiled(function: Callable) -> Callable:
        dispatcher = numba.njit(**options)(function)  # noqa: TID251
        # NUMBA_DISABLE_JIT returns the plain function.
        if cache and hasattr(dispatcher, 'enable_caching'):
            with suppress(RuntimeError):  # no folder is writable: compile in each process
                dispatcher._cache = _SourcesCache(function)
        return dispatcher

    return compiled


def modules_of(name: str) -> list[str]:
    """Return a module and all modules of ours that its names come from, directly or not."""
    found, pending = set(), {name}
    while pending:
        found |= pending
        pending = {owner for module in pending for owner in _owners(sys.modules[module])} - found
    return sorted(found)


def _owners(module: ModuleType) -> Iterator[str]:
    for value in vars(module).values():
        name = getattr(value, '__name__' if inspect.ismodule(value) else '__module__', None)
        if isinstance(name, str) and name.startswith(PACKAGES) and name in sys.modules:
            yield name


@functools.cache
def _hash_of(name: str) -> str:
    digest = hashlib.sha256()
    for module in map(sys.modules.__getitem__, modules_of(name)):
        digest.update(Path(inspect.getfile(module)).read_bytes())
        for constant, value in sorted(vars(module).items()):
            if isinstance(value, int | float | tuple | np.ndarray | np.generic):
                with suppress(TypeError, ValueError):  # not numbers
                    digest.update(constant.encode() + np.asarray(value, float).tobytes())
    return digest.hexdigest()[:20]


class _SourcesCache(FunctionCache):
    """Cache with one pair of files for each signature.

    numba numbers the signatures of a function. Two processes that compile at the same time can
    choose the same number for different ones.
    """

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        self._module, self._base = function.__module__, self._impl.filename_base
        self._timer: threading.Timer | None = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return cached machine code; None starts a compilation."""
        self._select(sig)
        found = super().load_overload(sig, target_context)
        if found is None:
            name = f'{self._module}.{self._py_func.__name__}'
            text = 'compiling %s for this machine, once: this can take a minute'
            self._timer = threading.Timer(LONG_S, _log.warning, (text, name))
            self._timer.daemon = True
            self._timer.start()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store compiled code, and remove the code of other sources."""
        if self._timer:
            self._timer.cancel()
        self._select(sig)
        super().save_overload(sig, data)
        function = self._base.rpartition('-')[0]
        for path in Path(self._cache_path).glob(f'{function}-*.nb[ic]'):
            if f'.{_hash_of(self._module)}.' not in path.name:
                with suppress(OSError):  # another process removes it, or it is another user's
                    path.unlink()

    def _select(self, signature: Any) -> None:
        sources = _hash_of(self._module)
        digest = hashlib.sha256(str(signature).encode()).hexdigest()[:12]
        name = f'{self._base}.{sources}.{digest}'
        self._cache_file = IndexDataCacheFile(self._cache_path, name, sources)
