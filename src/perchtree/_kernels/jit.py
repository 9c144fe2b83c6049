"""How kernels are compiled, and where the compiled code is kept.

Numba's own cache watches one file: an edited helper in another file would go unnoticed. Here
the cache folder is named after a hash of every kernel source, so that an edit never meets
stale code. It is in NUMBA_CACHE_DIR, or else in the user's cache folder. Only this package's
kernels use it; Numba's global settings stay as they are.

Before the first compilation of a process one line on stderr says so. Set the environment
variable PERCHTREE_QUIET to anything but an empty string to leave it out.

Three private interfaces of Numba are used: its cache, compilation without reference counting, and
compilation without machine code (`inner`). Where a version of Numba lacks one, kernels are slower,
take longer to compile or are compiled in every run, with a warning.
"""

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
from numba import config

from .messages import NOT_KEPT, warn_about_numba

F = TypeVar("F", bound=Callable[..., Any])

# Everything that lets sums be vectorised; not "nnan" and "ninf", which break isnan and isinf.
_FASTMATH = {"nsz", "arcp", "contract", "afn", "reassoc"}


def _without_reference_counting() -> dict[str, bool]:
    """Return the option that turns off reference counting, where this Numba has it.

    Kernels never allocate, so they need none; its atomic operations took a third of the time of
    a search. (Hence no kernel returns a view, unless it is inlined.)
    """
    try:
        from numba.core.cpu import CPUTargetOptions as Options
    except ImportError:
        Options = None
    if hasattr(Options, "_nrt"):
        return {"_nrt": False}
    warn_about_numba("searches take about half as long again", "it has no option _nrt")
    return {}


_compile = functools.partial(
    numba.jit, nopython=True, nogil=True, fastmath=_FASTMATH, error_model="numpy",
    **_without_reference_counting(),
)  # fmt: skip


_compile_inner = functools.partial(_compile, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def kernel(function: F) -> F:
    """Compile `function` when another kernel first calls it. Python cannot call it.

    Leaving out what a call from Python needs, and what `inner` leaves out, halves the compile time.
    """
    if config.DISABLE_JIT:
        return function
    try:
        from .inner import InnerCompiler, use_plain_types

        compiled: Any = _compile_inner(function, pipeline_class=InnerCompiler)
        use_plain_types(compiled)
    except (ImportError, AttributeError, TypeError) as error:
        warn_about_numba("compiling takes longer", str(error))
        compiled = _compile_inner(function)
    return cast(F, compiled)


def inlined(function: F) -> F:
    """Compile `function` as a part of its caller; needed where it returns a view."""
    return cast(F, _compile_inner(function, inline="always"))


def entry_point(function: F) -> F:
    """Compile a kernel that Python calls; the machine code is kept on disk between runs."""
    compiled: Any = _compile(function)
    if not config.DISABLE_JIT:
        _keep_on_disk(compiled)
    return cast(F, compiled)


def _keep_on_disk(dispatcher: Any) -> None:
    """Give a dispatcher our cache, if this Numba allows for it."""
    try:
        from .disk_cache import SourceKeyedCache

        if not hasattr(dispatcher, "_cache"):  # then nothing would read ours
            raise AttributeError("its dispatchers have no _cache")
        dispatcher._cache = SourceKeyedCache(dispatcher.py_func)
    except (ImportError, AttributeError, TypeError) as error:
        warn_about_numba(NOT_KEPT, str(error))


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
