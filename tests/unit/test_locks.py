"""The lock that threads get in the order in which they ask for it."""

import itertools
import threading
import time

import pytest

from perchtree._locks import FairLock

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


def test_a_thread_in_a_loop_does_not_starve_another():
    """Whoever lets go of the lock and takes it again at once comes after those who wait."""
    lock, order = FairLock(), []

    def ask():
        for _ in range(50):
            with lock:
                order.append("ask")

    (thread,) = threads = start(ask)
    while thread.is_alive():
        with lock:
            order.append("loop")
            await_line(lock, thread)
    join(threads)
    assert order.count("ask") == 50
    while order[-1] == "loop":
        order.pop()
    assert ("loop", "loop") not in itertools.pairwise(order)


def test_only_one_at_a_time():
    lock, inside, most = FairLock(), [0], []

    def enter():
        for _ in range(300):
            with lock:
                inside[0] += 1
                most.append(inside[0])
                inside[0] -= 1

    join(start(*[enter] * 4))
    assert len(most) == 1200
    assert set(most) == {1}


def test_reentrant_and_freed_by_errors():
    lock, entered = FairLock(), []

    def enter():
        with lock:
            entered.append(1)

    with lock:
        with lock:
            pass
        threads = start(enter)
        threads[0].join(0.05)
        assert not entered  # the inner exit did not let go
    join(threads)
    with pytest.raises(ZeroDivisionError), lock, lock:
        raise ZeroDivisionError
    join(start(enter))
    assert entered == [1, 1]
