"""How kernels are compiled, and where the compiled code is kept.

Numba's own cache watches one file: an edited helper in another file would go unnoticed. Here
the cache folder is named after a hash of every kernel source, so that an edit never meets
stale code. Only this package's kernels use it; Numba's global settings stay as they are.
"""

import functools
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.misc.appdirs import AppDirs

F = TypeVar("F", bound=Callable[..., Any])

# Everything that lets sums be vectorised; not "nnan" and "ninf", which break isnan and isinf.
_FASTMATH = {"nsz", "arcp", "contract", "afn", "reassoc"}


# Kernels never allocate, so they run without Numba's reference counting: its atomic operations
# took a third of the time of a search. (Hence no kernel returns a view, unless it is inlined.)
_compile = functools.partial(
    numba.jit, nopython=True, nogil=True, fastmath=_FASTMATH, error_model="numpy", _nrt=False
)


def kernel(function: F) -> F:
    """Compile `function` when another kernel, or a test, first calls it."""
    return cast(F, _compile(function))


def inlined(function: F) -> F:
    """Compile `function` as a part of its caller; needed where it returns a view."""
    return cast(F, _compile(function, inline="always"))


def entry_point(function: F) -> F:
    """Compile a kernel that Python calls; the machine code is kept on disk between runs."""
    compiled: Any = kernel(function)
    if not config.DISABLE_JIT:
        compiled._cache = _SourceKeyedCache(compiled.py_func)
    return cast(F, compiled)


def specialise(function: F, **parts: Callable[..., Any]) -> F:
    """Return a copy of a plain function in which the module-level names `parts` are bound.

    This is how one piece of code serves several rules, with only those in use compiled. (Numba
    cannot cache functions that take other kernels as arguments or close over them.)
    """
    name = "-".join([function.__name__, *(part.__name__ for part in parts.values())])
    plain = cast(FunctionType, function)
    copy = FunctionType(plain.__code__, {**plain.__globals__, **parts}, name, plain.__defaults__)
    copy.__qualname__ = name
    return cast(F, copy)


@functools.cache
def cache_folder() -> Path | None:
    """Folder of the compiled code of exactly these sources; None if there can be none."""
    base = config.CACHE_DIR or AppDirs(appname="perchtree", appauthor=False).user_cache_dir
    try:
        digest = hashlib.sha256()
        for source in sorted(Path(__file__).parent.glob("*.py")):
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
        folder = Path(base) / f"perchtree-{digest.hexdigest()[:20]}"
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder


class _Locator(_CacheLocator):  # type: ignore[misc]
    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return ""  # the folder's name is the stamp

    def get_disambiguator(self) -> str:
        return ""


class _Implementation(CompileResultCacheImpl):  # type: ignore[misc]
    def __init__(self, py_func: FunctionType) -> None:
        self._locator = _Locator()
        self._lineno = py_func.__code__.co_firstlineno
        version = f"py{sys.version_info[0]}{sys.version_info[1]}"
        digest = hashlib.sha256(py_func.__qualname__.encode()).hexdigest()[:16]
        self._filename_base = f"{py_func.__code__.co_name}-{digest}.{version}"


class _SourceKeyedCache(FunctionCache):  # type: ignore[misc]
    """A cache that never fails: without it things are only slower."""

    _impl_class = _Implementation

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if cache_folder() is not None:
            try:
                found = super().load_overload(sig, target_context)
            except Exception:  # a damaged pickle can raise anything; then compile afresh
                found = None
            if found is not None:
                return found
        _announce()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if cache_folder() is None:
            return
        try:
            super().save_overload(sig, data)
        except Exception:  # disk full, or the index was damaged: start it again next time
            for file in Path(str(cache_folder())).glob(f"{self._impl.filename_base}.*"):
                file.unlink(missing_ok=True)


@functools.cache
def _announce() -> None:
    """Say once, if someone is watching, why the first call takes its time."""
    if sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        print("perchtree: compiling for this machine, once; some seconds ...", file=sys.stderr)
