"""How a service ends: in bounded time, whatever it is doing, with everything acknowledged."""

import signal
import threading
import time

import hostile
import httpx
import load
import pytest
from fuzz import fill
from serving import Process

from perchtree import Collection

pytestmark = [pytest.mark.outer, pytest.mark.jit]

SOON = """
import functools, pathlib, sys, time
from perchtree.serve import service
from perchtree.serve.changes import Changes
from perchtree.serve.limits import Limits
service.Limits = functools.partial(Limits, closing_seconds=1)

def forever(*_):
    print("begun", file=sys.stderr, flush=True)
    time.sleep(10**6)
"""
ENDLESS_READS = SOON + "service.Service.clustering = forever"
ENDLESS_CHANGES = SOON + "Changes.add = forever"
SLOW_CHANGES = (
    SOON
    + """
add = Changes.add

def add_later(*given):
    print("begun", file=sys.stderr, flush=True)
    while not pathlib.Path({!r}).exists():
        time.sleep(0.01)
    return add(*given)

service.Limits = functools.partial(Limits, closing_seconds=20)
Changes.add = add_later
"""
)
RECORD = [{"key": "late", "vector": [1, 2]}]


class asking:  # noqa: N801
    """A request that is under way: the answer, if there was one, when it ends."""

    def __init__(self, process, method, path, **given):
        self.answer = None
        self._given = method, process.url + path, given
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()
        give_up = time.monotonic() + 60
        while "begun\n" not in process.errors:
            assert time.monotonic() < give_up
            time.sleep(0.01)

    def _ask(self):
        method, url, given = self._given
        try:
            self.answer = httpx.request(method, url, timeout=100, trust_env=False, **given)
        except httpx.TransportError as error:
            self.answer = error

    def end(self):
        self._thread.join(100)
        assert not self._thread.is_alive()
        return self.answer


@pytest.fixture
def folder(tmp_path):
    fill(tmp_path / "x.perchdb")
    return tmp_path / "x.perchdb"


def test_reads_that_do_not_end_do_not_keep_it(folder):
    with Process(folder, "-q", before=ENDLESS_READS) as process:
        question = asking(process, "GET", "/v1/clusters?k=2")
        assert process.stop() == 0
        question.end()
    assert "is whole" in load.check(folder)


def test_changes_that_do_not_end_do_not_keep_it(folder):
    with Process(folder, "-q", before=ENDLESS_CHANGES) as process:
        change = asking(process, "POST", "/v1/points", json=RECORD)
        assert process.stop() == 1
        assert not getattr(change.end(), "is_success", False)
    assert any("could not be closed in time" in line for line in process.errors)
    assert "is whole" in load.check(folder)


def test_changes_that_have_begun_are_finished_and_no_others_begin(folder, tmp_path):
    released = tmp_path / "released"
    with Process(folder, "-q", before=SLOW_CHANGES.format(str(released))) as process:
        kept = httpx.Client(base_url=process.url, timeout=100, trust_env=False)
        with kept, kept.stream("GET", "/v1/events", headers={"Accept": "text/event-stream"}) as on:
            change = asking(process, "POST", "/v1/points", json=RECORD)
            process.process.send_signal(signal.SIGTERM)
            assert on.read()  # a stream ends when the service begins to
            with pytest.raises(httpx.TransportError):
                httpx.post(process.url + "/v1/points", json=RECORD, trust_env=False)
            released.touch()
            assert change.end().json()["added"] == 1
        assert process.ended() == 0
    with Collection.open(folder) as collection:
        assert "late" in collection.keys


def test_half_a_body_does_not_keep_it(folder):
    with (
        Process(folder, "-q", before=SOON) as process,
        hostile.connect(process.port, hostile.POST.format(100) + "["),
    ):
        assert process.stop() == 0
    assert "is whole" in load.check(folder)
