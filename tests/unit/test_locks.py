"""The lock that threads get in the order in which they ask for it."""

import itertools
import threading

import pytest

from in_threads import await_line, join, start
from perchtree._locks import FairLock, Lead

pytestmark = pytest.mark.outer


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


def test_who_is_done_does_not_wait_for_the_next_lead():
    lead, done, second_leads, end = Lead(), set(), threading.Event(), threading.Event()
    told = []

    def follow():
        with lead.take(lambda: "follower" in done) as mine:
            told.append(mine)

    def lead_next():
        with lead.take() as mine:
            assert mine
            second_leads.set()
            end.wait(10)

    with lead.take() as mine:
        assert mine
        follower, other = (threading.Thread(target=work) for work in (follow, lead_next))
        other.start()
        follower.start()
        follower.join(0.05)
        assert follower.is_alive()
        done.add("follower")
    assert second_leads.wait(10)
    follower.join(10)  # though another has the lead by now
    assert told == [False]
    end.set()
    other.join(10)


def test_what_was_done_just_before_one_has_the_lead_is_done():
    looks = iter([False, True])
    lead = Lead()
    with lead.take(lambda: next(looks)) as mine:
        assert not mine
    with lead.take() as mine:
        assert mine


def test_a_lead_is_given_up_after_an_error():
    lead = Lead()
    with pytest.raises(KeyError), lead.take():
        raise KeyError
    with lead.take() as mine:
        assert mine


def test_a_lead_that_was_lost_on_the_way_is_taken_by_others(monkeypatch):
    """Ctrl-C may strike while the lead is being given up."""
    lead = Lead()
    give_up = Lead._give_up

    def interrupted(self, own):
        monkeypatch.setattr(Lead, "_give_up", give_up)
        raise KeyboardInterrupt

    monkeypatch.setattr(Lead, "_give_up", interrupted)
    kept = []
    try:
        with lead.take():
            pass
    except KeyboardInterrupt as error:
        kept.append(error)  # as an interactive session keeps it, with all its frames
    with lead.take() as mine:
        assert mine
    told = []

    def take():
        with lead.take() as mine:
            told.append(mine)

    kept.clear()
    thread = threading.Thread(target=take)
    thread.start()
    thread.join(10)
    assert told == [True]
