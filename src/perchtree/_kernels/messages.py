"""Messages about compilation, each printed once per process."""

import contextlib
import functools
import os
import sys
import warnings

import numba

NOT_KEPT = "compiled code is not kept, so every run compiles again"


@functools.cache
def announce_compilation() -> None:
    """Print to stderr why the first call takes long, unless PERCHTREE_QUIET is set."""
    if sys.stderr is None or os.environ.get("PERCHTREE_QUIET"):
        return
    with contextlib.suppress(OSError, ValueError):  # nobody listens: that must not end a run
        print("perchtree: compiling for this machine, once; some seconds ...", file=sys.stderr)


@functools.cache
def warn_about_numba(what_follows: str, cause: str) -> None:
    """Warn that a private interface of Numba is not as expected, and what follows from that."""
    warnings.warn(
        f"perchtree does not fit Numba {numba.__version__} ({cause}): {what_follows}; "
        f"install a newer perchtree, or Numba 0.62 to 0.68",
        RuntimeWarning,
        stacklevel=2,
    )
