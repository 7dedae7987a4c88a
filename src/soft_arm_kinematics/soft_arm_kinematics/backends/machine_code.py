"""Compiled functions whose cached machine code never outlives its source.

numba keeps machine code in files and asks only whether the file that holds the function has
changed. But a compiled function also contains functions and constants of other files. Here the name
of a cache file holds a hash of every source of ours that the function's module imports, directly or
not. Machine code of other sources is therefore never read, however the package was built or edited,
and is removed when new machine code is stored.

`njit` takes the place of numba's. Compiling that takes longer than
`LONG_S` is told as a warning to the log of this module, which Python prints on stderr where no log
is set up.
"""

import ast
import functools
import hashlib
import importlib.util
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

OURS = 'soft_arm_'  # names of the packages whose sources are hashed begin so
LONG_S = 2.0  # compiling that takes longer is told

_log = logging.getLogger(__name__)


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable], Callable]:
    """Decorate like numba's `njit`; `cache` keeps machine code until one of its sources changes."""

    def compiled(function: Callable) -> Callable:
        dispatcher = numba.njit(**options)(function)  # noqa: TID251
        # With NUMBA_DISABLE_JIT it is the plain function.
        if cache and hasattr(dispatcher, 'enable_caching'):
            dispatcher._cache = _SourcesCache(function)
        return dispatcher

    return compiled


def sources_of(module: str) -> dict[str, bytes]:
    """Return the sources of a module and of all our modules that it imports, directly or not."""
    found, open_ = {}, [module]
    while open_:
        name = open_.pop()
        if name not in found:
            found[name], imported = _read(name)
            open_ += imported
    return dict(sorted(found.items()))


@functools.cache
def _read(module: str) -> tuple[bytes, tuple[str, ...]]:
    """A module's source, and the modules of ours that it imports."""
    specification = importlib.util.find_spec(module)
    assert specification is not None and specification.origin is not None  # it is imported
    content = Path(specification.origin).read_bytes()
    names: list[str] = []
    for statement in _executed(ast.parse(content).body):
        if isinstance(statement, ast.Import):
            names += [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            name = '.' * statement.level + (statement.module or '')
            parent = importlib.util.resolve_name(name, specification.parent)
            names += [parent, *(f'{parent}.{alias.name}' for alias in statement.names)]
    return content, tuple(
        name for name in dict.fromkeys(names) if name.startswith(OURS) and _is_module(name)
    )


def _executed(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run on import; imports in functions cannot enter machine code."""
    for statement in statements:
        yield statement
        if isinstance(statement, ast.If) and 'TYPE_CHECKING' in ast.unparse(statement.test):
            continue
        if isinstance(statement, (ast.If, ast.Try, ast.With)):
            for part in ('body', 'orelse', 'finalbody'):
                yield from _executed(getattr(statement, part, []))
            for handler in getattr(statement, 'handlers', []):
                yield from _executed(handler.body)


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is a module and no package: the name is a value
        return False


@functools.cache
def _sources_hash(module: str) -> str:
    digest = hashlib.sha256()
    for name, content in sources_of(module).items():
        digest.update(f'{name} {len(content)}\n'.encode() + content)
    return digest.hexdigest()[:20]


class _SourcesCache(FunctionCache):
    """numba's cache with the hashes of all sources and of the signature in the names of its files.

    numba numbers the signatures of a function. Processes that compile for two of them at once can
    choose the same number, and a third would run machine code for arrays of another layout.
    """

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        self._hash, self._base = _sources_hash(function.__module__), self._impl.filename_base
        self._function = f'{function.__module__}.{function.__name__}'
        self._clock: _Clock | None = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Machine code from the file; None where it has to be compiled, which begins then."""
        self._cache_file = self._file_of(sig)
        found = super().load_overload(sig, target_context)
        if found is None:
            self._clock = _Clock(self._function)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store what has been compiled, and remove what was compiled from other sources."""
        self._cache_file = self._file_of(sig)
        super().save_overload(sig, data)
        if self._clock:
            self._clock.stop()
        name = self._base.rpartition('-')[0]  # without line and version of Python
        for path in Path(self._cache_path).glob('*.nb[ic]'):
            if path.name.startswith(f'{name}-') and f'.{self._hash}.' not in path.name:
                with suppress(OSError):  # another process removes it too, or it is another user's
                    path.unlink()

    def _file_of(self, signature: Any) -> IndexDataCacheFile:
        digest = hashlib.sha256(str(signature).encode()).hexdigest()[:12]
        return IndexDataCacheFile(
            self._cache_path, f'{self._base}.{self._hash}.{digest}', self._hash
        )


class _Clock:
    """Log when compiling takes long, and when it ends; of nested functions, the outermost."""

    _outermost: '_Clock | None' = None

    def __init__(self, function: str):
        self._function, self._start_s, self._told = function, time.monotonic(), False
        self._timer = threading.Timer(LONG_S, self._tell)
        self._timer.daemon = True
        if _Clock._outermost is None:
            _Clock._outermost = self
            self._timer.start()

    def _tell(self) -> None:
        self._told = True
        _log.warning('compiling %s for this machine, once: this can take a minute', self._function)

    def stop(self) -> None:
        """End the clock: compiling has ended."""
        self._timer.cancel()
        if _Clock._outermost is self:
            _Clock._outermost = None
        if self._told:
            _log.warning('compiled %s in %.0f s', self._function, time.monotonic() - self._start_s)
