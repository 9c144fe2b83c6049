"""Machine code on disk, in a folder named after a hash of every kernel source.

Numba has no public interface for this: the private ones are used here only, and `jit` does
without this module where they are missing.
"""

import functools
import hashlib
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import platformdirs
from numba import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from .messages import NOT_KEPT, announce_compilation, warn_about_numba


@functools.cache
def cache_folder() -> Path | None:
    """Folder of the compiled code of exactly these sources; None if there can be none."""
    base = config.CACHE_DIR or platformdirs.user_cache_dir("perchtree", appauthor=False)
    try:
        digest = hashlib.sha256()
        for source in sorted(Path(__file__).parent.glob("*.py")):
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
        folder = Path(base) / f"perchtree-{digest.hexdigest()[:20]}"
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder


def _file_stem(py_func: FunctionType) -> str:
    version = f"py{sys.version_info[0]}{sys.version_info[1]}"
    digest = hashlib.sha256(py_func.__qualname__.encode()).hexdigest()[:16]
    return f"{py_func.__code__.co_name}-{digest}.{version}"


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
        self._filename_base = _file_stem(py_func)


class SourceKeyedCache(FunctionCache):  # type: ignore[misc]
    """A cache that never fails: without it things are only slower."""

    _impl_class = _Implementation

    def __init__(self, py_func: FunctionType) -> None:
        super().__init__(py_func)
        self._file_stem = _file_stem(py_func)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if cache_folder() is not None:
            try:
                found = super().load_overload(sig, target_context)
            except Exception:  # a damaged pickle can raise anything; then compile afresh
                found = None
            if found is not None:
                return found
        announce_compilation()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        folder = cache_folder()
        if folder is None:
            return
        try:
            try:
                super().save_overload(sig, data)
            except Exception:  # a damaged index is read before it is written: begin a new one
                self._remove_files(folder)
                super().save_overload(sig, data)
        except OSError:  # such as a full disk
            self._remove_files(folder)
        except Exception as error:
            warn_about_numba(NOT_KEPT, f"its cache fails with {type(error).__name__}")

    def _remove_files(self, folder: Path) -> None:
        for file in folder.glob(f"{self._file_stem}.*"):
            file.unlink(missing_ok=True)
