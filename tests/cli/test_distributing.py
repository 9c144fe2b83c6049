"""What `--ray` says while it works."""

import pytest

from perchtree.cli import distributing
from perchtree.distributed.running import Figures

READING = Figures("reading", 2, 50, 30, 0, 0, 0, 400)
SEARCHING = Figures("searching", 2, 50, 50, 20, 15, 100, 400)


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when they are told to."""

    class Clock:
        now = 0.0

    monkeypatch.setattr(distributing.time, "monotonic", lambda: Clock.now)
    return Clock


def test_progress_of_an_exact_search(clock):
    told = distributing._Told(1000, 50_000)
    assert told.share(READING, 1000) == 0
    assert told.line(READING, 1000) == "30 of 50 blocks read, 2 workers"
    assert told.left(READING, 1000) == ""
    begun = SEARCHING._replace(searched=0, inserted=0, tasks_done=0)
    assert told.line(begun, 1000).startswith("0 of 50 blocks searched, 0 inserted, 0 rows/s")
    assert told.left(begun, 1000) == ""
    clock.now = 30.0
    expected = "20 of 50 blocks searched, 15 inserted, 500 rows/s, 2 workers"
    assert told.line(SEARCHING, 16_000) == expected
    assert told.share(SEARCHING, 16_000) == 0.25  # of all comparisons
    assert told.left(SEARCHING, 16_000) == ", about 90 seconds left"


def test_progress_where_inserting_takes_longer(clock):
    told = distributing._Told(0, 50_000)
    told.left(SEARCHING._replace(tasks_done=0), 0)
    clock.now = 60.0
    searched = SEARCHING._replace(searched=50, tasks_done=400)
    assert told.share(searched, 15_000) == 0.3
    assert told.left(searched, 15_000) == ", about 2 minutes left"


def test_progress_in_cells_and_after_an_interruption(clock):
    told = distributing._Told(0, 50_000)
    begun = SEARCHING._replace(n_tasks=0, tasks_done=0, searched=0, inserted=10)
    told.line(begun, 10_000), told.left(begun, 10_000)
    clock.now = 10.0
    later = begun._replace(inserted=20)
    assert told.line(later, 20_000) == "20 of 50 blocks inserted, 1,000 rows/s, 2 workers"
    assert told.left(later, 20_000) == ", about 30 seconds left"


def test_lines_come_now_and_then(clock, capsys):
    with distributing._shown(distributing._Told(0, 50_000), quiet=False) as show:
        for second in range(0, 35, 5):
            clock.now = float(second)
            show(READING, 0)
    assert capsys.readouterr().err == "perch: reading: 30 of 50 blocks read, 2 workers\n" * 3
    with distributing._shown(distributing._Told(0, 50_000), quiet=True) as show:
        clock.now = 100.0
        show(READING, 0)
    assert capsys.readouterr().err == ""


def test_the_first_line_knows_when_searching_began(clock, capsys):
    with distributing._shown(distributing._Told(0, 50_000), quiet=False) as show:
        show(SEARCHING._replace(searched=0, inserted=0, tasks_done=0), 0)
        clock.now = 10.0
        show(SEARCHING, 12_500)
    told = "searching: 20 of 50 blocks searched, 15 inserted, 1,250 rows/s, 2 workers"
    assert capsys.readouterr().err == f"perch: {told}, about 30 seconds left\n"
