"""Signs of life while a command starts or compiles, so that nobody wonders whether it hangs."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator

_SILENCE = 1.5
"""Seconds without output after which something is shown: imports alone take about that long."""
_LEAST = 0.3
"""Seconds that something must take to be worth a line, however long it was quiet before."""
COMPILING = "compiling for this machine (only the first time)"
"""The message where only that takes time."""
_heard = [time.monotonic()]
"""When the last sign of life ended, or else the process began."""


@contextlib.contextmanager
def patience(doing: str, *, quiet: bool = False) -> Iterator[None]:
    """Say on standard error what takes so long, and then a dot per second, as long as it does.

    On a terminal the line is rewritten with the seconds that have passed, and wiped at the end.
    """
    if quiet or sys.stderr is None or os.environ.get("PERCHTREE_QUIET"):
        yield
        return
    os.environ["PERCHTREE_QUIET"] = "1"  # the package need not say it as well
    ended = threading.Event()
    shown = _on_terminal if sys.stderr.isatty() else _on_pipe
    thread = threading.Thread(target=_guarded, args=(shown, doing, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.environ.pop("PERCHTREE_QUIET", None)
        ended.set()
        thread.join()


def _guarded(shown: object, doing: str, ended: threading.Event) -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody listens: that must not end a run
        start = time.monotonic()
        if not ended.wait(max(_LEAST, _heard[0] + _SILENCE - start)):
            shown(doing, ended, start)  # type: ignore[operator]
            _heard[0] = time.monotonic()


def _on_terminal(doing: str, ended: threading.Event, start: float) -> None:
    while True:
        sys.stderr.write(f"\r\x1b[2Kperch: {doing} ... {time.monotonic() - start:.0f} s")
        sys.stderr.flush()
        if ended.wait(0.5):
            break
    sys.stderr.write("\r\x1b[2K")
    sys.stderr.flush()


def _on_pipe(doing: str, ended: threading.Event, start: float) -> None:
    sys.stderr.write(f"perch: {doing} ...")
    sys.stderr.flush()
    while not ended.wait(1.0):
        sys.stderr.write(".")
        sys.stderr.flush()
    sys.stderr.write(f" {time.monotonic() - start:.0f} s\n")
    sys.stderr.flush()
