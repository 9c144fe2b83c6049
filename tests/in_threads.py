"""Threads that tests start, and what to wait for without a clock."""

import threading
import time

PATIENCE = 20
"""Seconds until a test that hangs is given up; none that passes waits for it."""


def start(*targets):
    threads = [threading.Thread(target=target, daemon=True) for target in targets]
    for thread in threads:
        thread.start()
    return threads


def join(threads):
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def await_line(lock, thread):
    """Wait until a thread stands in line for the lock, or has ended."""
    give_up = time.monotonic() + PATIENCE
    while not lock._turnstile.locked() and thread.is_alive():
        assert time.monotonic() < give_up
        time.sleep(0)
