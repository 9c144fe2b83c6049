"""Ctrl-C, SIGTERM and SIGHUP as requests to stop."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

from ..collection.intake import Stop

_SIGNALS = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]


class Heard(Stop):
    """A stop that knows which signal has asked for it first."""

    signal: int = signal.SIGINT

    def hear(self, number: int, _frame: Any) -> None:
        if not self.asked:
            self.signal = number
        self.ask()


@contextlib.contextmanager
def listening() -> Iterator[Heard]:
    """Hear Ctrl-C, SIGTERM and SIGHUP, those of them that are not ignored already."""
    stop = Heard()
    if threading.current_thread() is not threading.main_thread():  # only that one can
        yield stop
        return
    heard = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, stop.hear) for number in heard}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
