"""Clusters that are kept up to date: the same by whatever way one looks at them."""

import pickle
import threading

import numpy as np
import pytest

from in_threads import await_line, join, start
from perchtree import ClusterEvent, Collection, CorruptFileError, ReadOnlyError
from perchtree.clusters.following import Following
from perchtree.clusters.overlaps import Overlaps
from perchtree.store import events as stored_events
from perchtree.store import folder as folders
from perchtree.store.folder import DATABASE

pytestmark = [pytest.mark.outer, pytest.mark.jit]

ASTAR = {"search": "astar"}


def rows(n, seed=0):
    return np.random.default_rng(seed).integers(0, 30, (n, 2)).astype(np.float32)


def names(start, stop):
    return [f"k{i}" for i in range(start, stop)]


@pytest.fixture(params=["memory", "folder"])
def people(request, tmp_path):
    """A collection in memory, or in a folder."""
    if request.param == "memory":
        yield Collection(**ASTAR)
    else:
        with Collection.open(tmp_path / "x.perchdb", write=True, **ASTAR) as kept:
            yield kept


def mirrored(standing, mirror, since):
    """What a consumer knows who only reads events, and asks for the members of split clusters."""
    for event in standing.events(since):
        if event.kind in ("birth", "join", "move"):
            mirror.update(dict.fromkeys(event.keys, event.after[0]))
        elif event.kind in ("merge", "split"):
            for number in event.after:
                if number in standing.sizes():
                    mirror.update(dict.fromkeys(standing.members(number), number))
    return standing.last_event


def check_itself(people):
    """All answers agree with each other, and with a cut."""
    standing = people.standing
    labels = standing.labels
    assert [standing.cluster_of(key) for key in people.keys] == labels.tolist()
    known, sizes = np.unique(labels, return_counts=True)
    assert standing.sizes() == dict(zip(known.tolist(), sizes.tolist(), strict=True))
    assert len(standing) == len(known)
    for number in known.tolist():
        assert standing.members(number) == people.keys[labels == number].tolist()
    if len(people):
        cut = people.tree.cut(distance=standing.distance)
        assert len(np.unique(np.stack([cut, labels]), axis=1).T) == len(known) == cut.max() + 1


def test_follows_all_changes(people):
    people.add(rows(20), keys=names(0, 20))
    standing = people.keep_clusters(distance=5)
    assert standing.last_event == 0
    mirror = dict(zip(people.keys, standing.labels.tolist(), strict=True))
    since = 0
    for step in range(6):
        people.add(rows(5, step + 1), keys=names(20 + 5 * step, 25 + 5 * step))
        check_itself(people)
        people.remove(people.keys[[1, 3]])
        check_itself(people)
        people.update(people.keys[:2], rows(2, step + 50))
        check_itself(people)
        people.refine()
        check_itself(people)
        since = mirrored(standing, mirror, since)
        assert {key: mirror[key] for key in people.keys} == dict(
            zip(people.keys, standing.labels.tolist(), strict=True)
        )
    numbers = [event.number for event in standing.events()]
    assert numbers == list(range(1, since + 1))
    assert standing.events(since=3, most=4) == standing.events()[3:7]
    assert standing.events(since) == []


def test_events_tell_a_story(people):
    people.add([[0], [1], [10]], keys=["a", "b", "x"])
    standing = people.keep_clusters(distance=2)
    assert standing.sizes() == {0: 2, 1: 1}
    people.add([[11]], keys=["y"])
    people.add([[50]], keys=["z"])
    people.remove(["z"])
    people.remove(["y"])
    people.keep_clusters(distance=20)
    people.keep_clusters(distance=2)
    assert standing.events() == [
        ClusterEvent(1, "join", (), (1,), 2, ()),
        ClusterEvent(2, "birth", (), (2,), 1, ()),
        ClusterEvent(3, "end", (2,), (), 1, ()),
        ClusterEvent(4, "leave", (1,), (), 1, ()),
        ClusterEvent(5, "merge", (0, 1), (0,), 3, ()),
        ClusterEvent(6, "split", (0,), (0, 3), 3, ()),
    ]
    assert people.keep_clusters(distance=2).last_event == 6


def test_begins_with_nothing(people):
    standing = people.keep_clusters(distance=1)
    assert (len(standing), standing.sizes(), standing.events()) == (0, {}, [])
    people.add([[0], [5]], keys=["a", "b"])
    assert [(e.kind, e.after, e.keys) for e in standing.events()] == [
        ("birth", (0,), ("a",)),
        ("birth", (1,), ("b",)),
    ]
    people.remove(["a", "b"])
    assert (len(standing), standing.sizes()) == (0, {})
    people.add([[0]], keys=["c"])
    assert standing.cluster_of("c") == 2


def test_wrong_questions(people):
    with pytest.raises(ValueError, match="at least 0"):
        people.keep_clusters(distance=-1)
    with pytest.raises(ValueError, match="at least 0"):
        people.keep_clusters(distance=float("nan"))
    assert people.standing is None
    standing = people.keep_clusters(distance=1)
    people.add([[0]], keys=["a"])
    with pytest.raises(ValueError, match="no point with the key 'b'"):
        standing.cluster_of("b")
    with pytest.raises(ValueError, match="no cluster 7"):
        standing.members(7)
    with pytest.raises(ValueError, match="since"):
        standing.events(since=-1)


def test_can_be_dropped(people):
    people.add(rows(9), keys=names(0, 9))
    people.keep_clusters(distance=3)
    people.add(rows(3, 1), keys=names(9, 12))
    standing = people.standing
    people.drop_clusters()
    assert people.standing is None
    with pytest.raises(ValueError, match="any more"):
        standing.sizes()
    people.add(rows(3, 2), keys=names(12, 15))
    assert people.keep_clusters(distance=3).events() == []
    check_itself(people)


def same(one, other):
    return (
        one.sizes() == other.sizes()
        and one.events() == other.events()
        and one.labels.tolist() == other.labels.tolist()
        and (one.distance, one.last_event) == (other.distance, other.last_event)
    )


def grown(people):
    people.add(rows(30), keys=names(0, 30))
    people.keep_clusters(distance=4)
    people.add(rows(10, 1), keys=names(30, 40))
    people.remove(names(3, 12))
    return people


def test_copies_and_files_keep_it(people, tmp_path):
    grown(people)
    folder, file = tmp_path / "other.perchdb", tmp_path / "x.perch"
    people.save(file)
    people.save(folder)
    for twin in (
        people.copy(),
        pickle.loads(pickle.dumps(people)),
        Collection.open(file),
        Collection.open(folder, write=True),
    ):
        assert same(people.standing, twin.standing)
        twin.add(rows(4, 7), keys=names(50, 54))
        check_itself(twin)
        assert twin.standing.last_event > people.standing.last_event
        twin.close()


def test_numbers_survive_restarts(tmp_path):
    path, memory = tmp_path / "x.perchdb", grown(Collection(**ASTAR))
    with Collection.open(path, write=True, **ASTAR) as kept:
        grown(kept)
        assert same(memory.standing, kept.standing)
    for turn in range(4):
        for people in (memory, Collection.open(path, write=True)):
            with people:
                people.add(rows(3, turn), keys=names(100 + 3 * turn, 103 + 3 * turn))
                people.remove(people.keys[[turn]])
                if people.is_kept and turn == 2:
                    people.compact()
        with Collection.open(path) as reader:
            assert same(memory.standing, reader.standing)
            check_itself(reader)
            reader.verify()


def test_readers_see_events_when_they_refresh(tmp_path):
    path = tmp_path / "x.perchdb"
    with Collection.open(path, write=True, **ASTAR) as kept, Collection.open(path) as reader:
        kept.keep_clusters(distance=3)
        assert reader.standing is None
        kept.add(rows(5), keys=names(0, 5))
        reader.refresh()
        assert same(kept.standing, reader.standing)
        before = reader.standing.last_event
        kept.add(rows(5, 1), keys=names(5, 10))
        assert reader.standing.last_event == before
        assert kept.standing.last_event > before
        standing = reader.standing
        reader.refresh()
        assert same(kept.standing, reader.standing)
        assert standing.last_event == kept.standing.last_event
        with pytest.raises(ReadOnlyError):
            reader.keep_clusters(distance=9)


def test_compaction_erases_removed_records_from_events(tmp_path):
    path = tmp_path / "x.perchdb"
    with Collection.open(path, write=True, **ASTAR) as kept:
        kept.keep_clusters(distance=3)
        kept.add(rows(20), keys=names(0, 20))
        gone = kept.ids_of(names(4, 12))
        kept.remove(names(4, 12))
        ids = np.concatenate([change.ids for change in kept._store.events.since(0)])
        assert np.isin(gone, ids).all()
        shown = kept.standing.events()
        assert kept.compact()
        ids = np.concatenate([change.ids for change in kept._store.events.since(0)])
        assert not np.isin(gone, ids).any()
        assert kept.standing.events() == shown


def test_compaction_looks_at_no_event_twice_that_names_nobody(tmp_path, monkeypatch):
    looked_at, checked = [], stored_events._checked

    def watched(row):
        looked_at.append(row[0])
        return checked(row)

    with Collection.open(tmp_path / "x.perchdb", write=True, **ASTAR) as kept:
        kept.keep_clusters(distance=3)
        for turn in range(5):
            kept.add(rows(20, turn), keys=names(20 * turn, 20 * turn + 20))
            kept.remove(names(20 * turn, 20 * turn + 19))
        kept.compact()
        told = kept.standing.events()
        monkeypatch.setattr(stored_events, "_checked", watched)
        kept.compact()
        assert {event.number for event in told if event.keys} == set(looked_at)
        assert 1 <= len(looked_at) < len(told)


def test_compaction_by_itself_waits_for_a_share_of_all_events(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "_COMPACT_ROWS", 2)
    monkeypatch.setattr(folders, "_COMPACT_EVENTS", 3)
    path = tmp_path / "x.perchdb"
    with Collection.open(path, write=True, **ASTAR) as kept:
        kept.keep_clusters(distance=0)
        apart = np.arange(60, dtype=np.float32).reshape(30, 2)
        kept.add(apart, keys=names(0, 30))
        for n_removed in range(1, 17):  # each is the end of a cluster; there were 30 births
            kept.remove([f"k{n_removed}"])
            assert kept.standing.last_event == 30 + n_removed
            counted = kept._store.connection.execute("SELECT count(*) FROM operations")
            is_compacted = counted.fetchone()[0] == 0
            assert is_compacted == (n_removed == 16)


def test_damage_is_found(tmp_path):
    import sqlite3

    path = tmp_path / "x.perchdb"
    with Collection.open(path, write=True, **ASTAR) as kept:
        grown(kept)
    for statement in (
        "UPDATE events SET about = '[[], [1], 3]' WHERE number = 2",
        "DELETE FROM events WHERE number = 2",
        "UPDATE clusters SET anchor = 1 WHERE number = (SELECT max(number) FROM clusters)",
    ):
        connection = sqlite3.connect(path / DATABASE)
        connection.execute("BEGIN")
        connection.execute(statement)
        connection.execute("COMMIT")
        connection.close()
        with pytest.raises(CorruptFileError), Collection.open(path) as reader:
            reader.standing.events()


def test_another_tree_is_numbered_anew(tmp_path, monkeypatch):
    path = tmp_path / "x.perchdb"
    with Collection.open(path, write=True, **ASTAR) as kept:
        grown(kept)
        before = kept.standing.sizes(), kept.standing.last_event
    monkeypatch.setattr(Following, "restore", lambda self, *given: False)
    with pytest.warns(UserWarning, match="numbered anew"):
        kept = Collection.open(path, write=True)
    monkeypatch.undo()
    with kept:
        check_itself(kept)
        assert not set(kept.standing.sizes()) & set(before[0])
        assert kept.standing.last_event > before[1]
        last = kept.standing.last_event
    with Collection.open(path) as again:
        assert again.standing.last_event == last
        check_itself(again)


def test_a_change_of_the_tree_itself_is_noticed():
    people = Collection(**ASTAR)
    people.add(rows(10))
    people.keep_clusters(distance=0)
    people.tree.remove([1, 2, 3])
    people.add(rows(2, 1))
    check_itself(people)


def test_is_asked_while_others_add(people):
    people.add(rows(50), keys=names(0, 50))
    standing = people.keep_clusters(distance=3)
    done, wrong = threading.Event(), []

    def ask():
        while not done.is_set():
            sizes = standing.sizes()
            labels = standing.labels
            if labels.max() >= 0 and not sizes:
                wrong.append(sizes)
            for number in list(sizes)[:3]:
                try:
                    standing.members(number)
                except ValueError as error:
                    if "no cluster" not in str(error):
                        wrong.append(error)
            standing.cluster_of("k1")

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        for step in range(10):
            people.add(rows(40, step), keys=names(50 + 40 * step, 90 + 40 * step))
    finally:
        done.set()
        thread.join()
    assert not wrong
    check_itself(people)


@pytest.mark.parametrize("folder", [False, True])
def test_corrections_count(tmp_path, folder):
    path = tmp_path / "x.perchdb"
    people = Collection.open(path, write=True, **ASTAR) if folder else Collection(**ASTAR)
    people.add([[0.0], [1.0], [8.0], [9.0]], keys=["ann", "anna", "bob", "rob"])
    standing = people.keep_clusters(distance=2)
    assert standing.sizes() == {0: 2, 1: 2}
    people.together("anna", "bob")
    assert standing.sizes() == {0: 4}
    assert standing.members(0) == ["ann", "anna", "bob", "rob"]
    people.apart("ann", "rob")
    assert standing.cluster_of("anna") == standing.cluster_of("bob")
    assert standing.cluster_of("ann") != standing.cluster_of("rob")
    people.add([[8.2]], keys=["robert"])
    labels = people.corrected(people.tree.cut(distance=2)).labels
    pairs = set(zip(labels.tolist(), standing.labels.tolist(), strict=True))
    assert len(pairs) == len(standing) == len(set(labels.tolist()))
    kinds = [event.kind for event in standing.events()]
    assert kinds[:2] == ["merge", "split"]
    if folder:
        before = standing.labels.tolist(), standing.events()
        people.close()
        people = Collection.open(path, write=True)
        standing = people.standing
        assert (standing.labels.tolist(), standing.events()) == before
    people.remove(["anna"])  # with what was said about it
    people.take_back("ann", "rob")
    assert sorted(standing.sizes().values()) == [1, 3]
    assert standing.cluster_of("bob") == standing.cluster_of("rob")
    if folder:
        people.verify()
        people.close()


def test_others_read_what_stands_until_it_is_replaced(people, monkeypatch):
    people.add(rows(50), keys=names(0, 50))
    people.keep_clusters(3.0)
    before, seen, late = people.standing.sizes(), {}, []
    tell, settle = Overlaps.events, Following._settle

    def read(when):
        seen[when] = people.standing.sizes()

    def read_while_matching(self, *given):
        join(start(lambda: read("while matching")))
        return tell(self, *given)

    def ask_while_replacing(self, *given):
        late.extend(start(lambda: read("when replaced")))
        await_line(people.tree._lock, late[0])
        assert "when replaced" not in seen
        return settle(self, *given)

    monkeypatch.setattr(Overlaps, "events", read_while_matching)
    monkeypatch.setattr(Following, "_settle", ask_while_replacing)
    people.add(rows(50, seed=1), keys=names(50, 100))
    join(late)
    assert seen["while matching"] == before
    assert seen["when replaced"] == people.standing.sizes() != before
