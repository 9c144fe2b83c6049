"""A collection in a folder: the same as one in memory, whenever it is opened again."""

import gc
import json
import sqlite3
import subprocess
import sys
import warnings
import weakref

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kept import ASTAR, arrays, assert_same, filled, rows
from perchtree import (
    ClusterTree,
    Collection,
    CorruptFileError,
    FileInUseError,
    ReadOnlyError,
)
from perchtree.store import folder as folders
from perchtree.store import replay
from perchtree.store.folder import DATABASE

pytestmark = [pytest.mark.outer, pytest.mark.jit]


# What is kept

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 5)),
        st.tuples(st.just("remove"), st.integers(1, 3)),
        st.tuples(st.just("update"), st.integers(1, 3)),
        st.tuples(st.just("revise"), st.integers(1, 3)),
        st.tuples(st.just("pair"), st.booleans()),
        st.tuples(st.just("answer"), st.integers(1, 3)),
        st.tuples(st.just("refine"), st.integers(1, 2)),
        st.tuples(st.just("keep"), st.integers(0, 2)),
        st.tuples(st.sampled_from(["reopen", "snapshot", "compact", "refresh"]), st.just(0)),
    ),
    max_size=14,
)


@given(STEPS, st.integers(0, 10**6), st.sampled_from([None, 8]))
@settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_a_folder_is_what_memory_is(tmp_path_factory, steps, seed, max_leaves):
    path = tmp_path_factory.mktemp("kept") / "x.perchdb"
    chosen = ASTAR | ({"max_leaves": max_leaves} if max_leaves else {})
    memory = Collection(**chosen)
    kept = Collection.open(path, write=True, **chosen)
    reader = None
    random = np.random.default_rng(seed)
    for step, (kind, much) in enumerate(steps):
        keys = list(memory.keys)
        picked = random.permutation(keys)[:much].tolist() if keys else []
        new = random.integers(0, 4, (max(int(much), 1), 2)).astype(np.float32)
        both = (memory, kept)
        if kind == "add":
            names = [f"{step}-{i}" for i in range(much)]
            texts = [f"text {name}" for name in names]
            for each in both:
                each.add(new, keys=names, texts=texts)
        elif kind == "remove" and picked:
            for each in both:
                each.remove(picked)
        elif kind == "update" and picked:
            for each in both:
                each.update(picked, new[: len(picked)])
        elif kind == "revise" and picked:
            for each in both:
                each.update(picked, texts=[f"{step}"] * len(picked), classes=[step] * len(picked))
        elif kind == "pair" and len(keys) > 1:
            a, b = random.permutation(keys)[:2]
            for each in both:
                try:
                    (each.together if much else each.apart)(a, b)
                except ValueError:
                    each.take_back(*each.corrections[0][1:]) if each.corrections else None
        elif kind == "answer" and len(keys) > 1:
            pairs = [random.permutation(keys)[:2].tolist() for _ in range(much)]
            said = random.choice([True, False, None], much).tolist()
            known = memory.answers
            for each in both:
                each.answer(pairs, said)
                if known and step % 3 == 0:
                    each.take_back_answers([known[-1][:2]])
        elif kind == "refine" and keys:
            for each in both:
                each.refine(much)
        elif kind == "keep":
            for each in both:
                each.keep_clusters(distance=much)
        elif kind == "reopen":
            kept.close()
            kept = Collection.open(path, write=True)
        elif kind == "snapshot" and keys:
            kept.snapshot()
        elif kind == "compact":
            if reader is not None:
                reader.close()
                reader = None
            assert kept.compact()
        elif kind == "refresh":
            if reader is None:
                reader = Collection.open(path)
            reader.refresh()
            assert_same(memory, reader)
        assert_same(memory, kept)
    if reader is not None:
        reader.refresh()
        assert_same(memory, reader)
        reader.close()
    kept.verify()
    kept.close()
    with Collection.open(path) as again:
        assert_same(memory, again)
        again.verify()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_replay_alone_gives_the_same_tree(path, metric):
    X = np.random.default_rng(1).normal(size=(400, 5))
    memory = Collection(metric=metric)
    memory.add(X)
    with Collection.open(path, write=True, metric=metric) as kept:
        for part in np.array_split(X, 37):
            kept.add(part)
    assert not list(path.glob("snapshot-*"))
    with Collection.open(path) as again:
        assert_same(memory, again)


def test_a_refinement_that_was_cut_short_is_done_again_as_far_as_it_came(path, monkeypatch):
    X = np.sort(np.random.default_rng(0).random((3000, 2)), axis=0)
    kept = Collection.open(path, write=True, **ASTAR)
    kept.add(X)
    kept.refine(5, time_limit=0.02)
    before = arrays(kept)
    kept.close()
    for snapshot in path.glob("snapshot-*"):
        snapshot.unlink()
    with Collection.open(path) as again:
        for name, array in arrays(again).items():
            np.testing.assert_array_equal(array, before[name])


def test_values_of_every_kind_come_back(path):
    texts = ["", "NUL \0 inside", "half \ud800 pair", None, "plain", "quote \" and ' and %"]
    classes = [1, 2.5, "x", None, 2**70, True]
    with Collection.open(path, write=True) as people:
        people.add(rows(6), keys=[-(2**63), -1, 0, 1, 5, 2**63 - 1], texts=texts, classes=classes)
        assert people.texts == texts
    with Collection.open(path) as people:
        assert people.texts == texts
        assert people.classes == [1, 2.5, "x", None, str(2**70), 1]
        assert people.ids_of([2**63 - 1, 0]).tolist() == [5, 2]


def test_an_encoder_and_what_it_learned_are_kept(path):
    with Collection.open(path, write=True, encoder="words") as titles:
        titles.add(texts=["red wool socks", "red woolen socks", "green tea"])
    with Collection.open(path, write=True) as titles:
        titles.add(texts=["black tea"])
        assert titles.nearest(texts=["black tea"])[0].tolist() == [[3]]
        assert titles.encoder.n_texts == 3


def test_settings_of_an_old_folder_are_its_own(path):
    filled(path, linkage="ward").close()
    with Collection.open(path, write=True, linkage="ward") as people:
        assert people.settings.linkage == "ward"
    with pytest.raises(ValueError, match="has linkage='ward'"):
        Collection.open(path, write=True, linkage="box")


# Search


def test_full_text_search_follows_every_change(path):
    people = filled(path)
    assert people.search("word7") == ["k7"]
    assert people.search('"k8"') == ["k8"]
    people.update(["k7"], texts=["another thing"])
    assert people.search("word7") == []
    assert people.search("another") == ["k7"]
    people.remove(["k7"])
    assert people.search("another") == []
    assert len(people.search("shared", n=100)) == 29
    with pytest.raises(ValueError, match="is not a query"):
        people.search('"')
    people.close()


# Readers and writers


def test_a_reader_stays_where_it_is_until_it_refreshes(path):
    people = filled(path)
    with Collection.open(path) as reader:
        people.remove(["k1"])
        people.update(["k2"], texts=["new"])
        assert len(reader) == 30
        assert reader.texts[1:3] == ["word1 shared", "word2 shared"]
        assert reader.refresh() == people.operation
        assert len(reader) == 29
        assert reader.texts[1] == "new"
        with pytest.raises(ReadOnlyError, match="open it with write=True"):
            reader.add(rows(1), keys=["x"])
    people.close()


def test_there_is_one_writer(path):
    people = filled(path)
    with pytest.raises(FileInUseError, match="another process"):
        Collection.open(path, write=True)
    people.close()
    Collection.open(path, write=True).close()
    with pytest.raises(ReadOnlyError, match="is closed"):
        people.add(rows(1), keys=["x"])
    with pytest.raises(ValueError, match="is closed: open it again"):
        _ = people.keys


def test_clusters_without_texts_have_no_keywords(path):
    with Collection.open(path, write=True) as plain:
        plain.add(rows(6), keys=list("abcdef"))
        assert list(plain.describe(plain.tree.cut(2)).columns) == ["size", "cohesion", "exemplar"]


def test_a_reader_that_blocks_erasure_is_reported(path):
    people = filled(path)
    reader = Collection.open(path)
    people.remove(["k1"])
    with pytest.warns(UserWarning, match="a reader holds on"):
        assert not people.compact()
    reader.close()
    assert people.compact()
    people.close()


def test_a_sweep_that_a_reader_has_blocked_is_made_up_for_by_opening(path):
    people = filled(path)
    people.remove(["k7"])
    with Collection.open(path):
        with pytest.warns(UserWarning, match="a reader holds on"):
            assert not people.compact()
        people._store.close()  # as if it were killed
        assert b"word7" in bytes_of(path)
    Collection.open(path, write=True).close()
    assert b"word7" not in bytes_of(path)
    assert b"word8" in bytes_of(path)


def test_file_systems_that_cannot_share_a_database_are_refused(path, monkeypatch):
    """SQLite locks by files of their own here, without memory that processes share."""
    connect = sqlite3.connect

    def connect_by_dotfiles(name, **options):
        return connect(f"{name}&vfs=unix-dotfile", **options)

    monkeypatch.setattr(sqlite3, "connect", connect_by_dotfiles)
    with pytest.raises(OSError, match="cannot share a database between processes"):
        Collection.open(path, write=True)


def test_memory_does_not_keep_what_is_on_disk(path):
    class Text(str):  # of which one can tell whether it is still there
        __slots__ = ("__weakref__",)

    people = filled(path)
    texts = [Text(f"a text of its own {i}") for i in range(50)]
    still_there = weakref.WeakSet(texts)
    people.add(rows(50, 1), keys=[f"new{i}" for i in range(50)], texts=texts)
    assert len(still_there) == 50
    del texts
    gc.collect()
    assert not still_there
    assert people.search('"own 7"') == ["new7"]
    people.close()


def test_missing_folders_are_not_made_by_readers(path, tmp_path):
    with pytest.raises(FileNotFoundError, match="no collection"):
        Collection.open(path)
    (tmp_path / "other").mkdir()
    with pytest.raises(FileNotFoundError, match="no collection"):
        Collection.open(tmp_path / "other")
    assert not path.exists()


# Erasure


def bytes_of(path):
    return b"".join(file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file())


def test_after_compaction_nothing_of_a_removed_record_is_in_any_file(path):
    people = Collection.open(path, write=True, **ASTAR)
    people.keep_clusters(distance=2)  # whose events name records
    secret = np.random.default_rng(5).normal(size=(20, 16)).astype(np.float32)
    people.add(rows(400, d=16), keys=[f"k{i}" for i in range(400)], texts=["usual words"] * 400)
    people.add(
        secret,
        keys=[f"secretkey{i}" for i in range(20)],
        texts=[f"confidential{i} matter" for i in range(20)],
        classes=[f"hiddenclass{i}" for i in range(20)],
    )
    people.snapshot()
    people.update(["secretkey3"], secret[:1] + 1, texts=["otherconfidence"])
    people.remove([f"secretkey{i}" for i in range(20)])
    words = [b"secretkey", b"confiden", b"hiddenclass", b"otherconf"]
    vectors = [row.tobytes()[:8] for row in (*secret, secret[0] + 1)]
    found = bytes_of(path)
    assert any(word in found for word in words)
    assert any(vector in found for vector in vectors)
    assert people.compact()
    for _ in range(2):  # open, and closed
        found = bytes_of(path)
        assert not [word for word in words if word in found]
        assert not [vector for vector in vectors if vector in found]
        people.close()
    with Collection.open(path) as again:
        assert len(again) == 400


def test_many_removals_compact_by_themselves(path, monkeypatch):
    monkeypatch.setattr(folders, "_COMPACT_ROWS", 10)
    people = filled(path)
    people.remove([f"k{i}" for i in range(15)])
    assert b"word3" not in bytes_of(path)
    people.close()


def test_snapshots_are_made_by_themselves_and_two_are_kept(path, monkeypatch):
    monkeypatch.setattr(folders, "_SNAPSHOT_ROWS", 10)
    monkeypatch.setattr(folders, "_CLOSING_ROWS", 1)
    people = filled(path)
    for i in range(20):
        people.add(rows(9, i), keys=[f"{i}-{j}" for j in range(9)])
    people.close()
    assert len(list(path.glob("snapshot-*.perch"))) == 2
    with Collection.open(path) as again:
        assert again.operation == 21
        again.verify()


# Versions, interruptions


def test_another_version_keeps_the_stored_tree_and_says_so(path, monkeypatch):
    people = filled(path)
    people.snapshot()
    people.add(rows(2, 3), keys=["x", "y"])
    people.close()
    monkeypatch.setattr(folders, "made_by", lambda: "perchtree 99")
    with pytest.warns(UserWarning, match=r"its tree of operation 1 counts, and 1 operations"):
        people = Collection.open(path, write=True)
    assert len(people) == 32
    people.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Collection.open(path).close()


def test_a_newer_schema_is_refused(path):
    filled(path).close()
    with sqlite3.connect(path / DATABASE) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(CorruptFileError, match="update perchtree"):
        Collection.open(path)


def test_bad_rows_change_nothing(path):
    people = filled(path)
    before = people.operation
    for wrong in (
        lambda: people.add([[np.nan] * 3], keys=["x"]),
        lambda: people.add(rows(1), keys=["k1"]),
        lambda: people.add(rows(1)),
        lambda: people.remove(["nobody"]),
        lambda: people.update(["nobody"], rows(1)),
    ):
        with pytest.raises(ValueError, match=r"key|NaN"):
            wrong()
    assert people.operation == before
    people.verify()
    people.close()


def test_ctrl_c_leaves_a_prefix_that_is_recorded(path, monkeypatch):
    from perchtree.tree import ClusterTree

    people = Collection.open(path, write=True, **ASTAR)
    insert_part, n_parts = ClusterTree._insert_part, []

    def interrupted(tree, arrays, part):
        n_parts.append(part)
        if len(n_parts) == 3:
            raise KeyboardInterrupt
        insert_part(tree, arrays, part)

    monkeypatch.setattr("perchtree.tree.LARGEST_ROWS", 200)
    monkeypatch.setattr("perchtree.collection.keeping.LARGEST_ROWS", 500)
    monkeypatch.setattr(ClusterTree, "_insert_part", interrupted)
    with pytest.raises(KeyboardInterrupt, match=r"of 2,000 rows are in"):
        people.add(np.random.default_rng(0).normal(size=(2000, 3)))
    monkeypatch.undo()
    n_points = len(people)
    assert 0 < n_points < 2000
    expected = arrays(people)
    people.close()
    with Collection.open(path) as again:
        assert len(again) == n_points
        for name, array in arrays(again).items():
            np.testing.assert_array_equal(array, expected[name])


# Conversion


def test_files_and_folders_turn_into_each_other(path, tmp_path):
    people = filled(path)
    people.together("k1", "k2")
    people.save(tmp_path / "people.perch")
    with Collection.open(tmp_path / "people.perch") as single:
        assert_same(people, single)
        single.notes["made"] = "by hand"
        single.save(tmp_path / "again.perchdb")
    with Collection.open(tmp_path / "again.perchdb", write=True) as again:
        assert_same(people, again)
        assert again.notes == {"made": "by hand"}
        again.add(rows(1), keys=["one more"])
        assert again.search("word5") == ["k5"]
        again.verify()
    with pytest.raises(FileExistsError, match="remove the folder first"):
        people.save(tmp_path / "again.perchdb")
    people.close()


def test_a_copy_is_in_memory(path):
    people = filled(path)
    twin = people.copy()
    twin.add(rows(1), keys=["x"])
    assert len(twin) == 31
    assert len(people) == 30
    both = people.merge(twin, update=True)
    assert len(both) == 31
    people.close()
    json.dumps(twin.notes)


def test_a_reader_of_a_folder_that_was_never_begun(path):
    path.mkdir()
    (path / DATABASE).write_bytes(b"")
    with pytest.raises(FileNotFoundError, match="never begun"):
        Collection.open(path)
    # As SQLite leaves it, if the process is killed before the database has a log.
    script = f"""
import os, sqlite3
made = sqlite3.connect({str(path / DATABASE)!r}, isolation_level=None)
made.execute("PRAGMA cache_size = 1")
made.execute("BEGIN")
made.execute("CREATE TABLE t (x)")
made.executemany("INSERT INTO t VALUES (?)", [("x" * 1000,)] * 100)
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    assert (path / f"{DATABASE}-journal").stat().st_size
    with pytest.raises(FileNotFoundError, match="never begun"):
        Collection.open(path)
    with Collection.open(path, write=True, **ASTAR) as people:
        people.add([[1.0]])
    with Collection.open(path) as people:
        assert len(people) == 1


def test_corrections_from_answers_are_kept(path):
    with filled(path) as people:
        pairs = [("k0", "k1"), ("k1", "k2"), ("k0", "k2"), ("k3", "k4")]
        refused = people.correct_by(pairs, [True, True, False, None])
        assert [tuple(correction) for correction in refused] == [("apart", "k0", "k2")]
        said = people.corrections
        assert len(said) == 2
    with Collection.open(path) as again:
        assert again.corrections == said
        again.verify()


def test_answers_are_operations(path):
    people = filled(path)
    before = people.operation
    people.answer([("k0", "k1"), ("k2", "k3"), ("k4", "k5")], [True, False, None])
    assert people.operation == before + 1
    people.answer([("k1", "k0")], [True])  # nothing new
    assert people.operation == before + 1
    people.answer([("k0", "k1")], [False])  # the last counts
    people.take_back_answers([("k2", "k3")])
    assert people.operation == before + 3
    people.update(["k4"], rows(1, seed=5))
    said = [("k4", "k5", None), ("k0", "k1", False)]
    assert [(*sorted(answer[:2]), answer[2]) for answer in people.answers] == said
    people._store.close()  # as if it were killed
    with Collection.open(path, write=True) as again:
        assert [(*sorted(answer[:2]), answer[2]) for answer in again.answers] == said
        reader = Collection.open(path)
        again.remove(["k5"])
        reader.refresh()
        assert reader.answers == again.answers == [("k0", "k1", False)]
        reader.close()
        assert again.compact()
        again.verify()
    stored = sqlite3.connect(path / DATABASE)
    assert stored.execute("SELECT a, b, same FROM answers").fetchall() == [(0, 1, 0)]
    assert stored.execute("SELECT count(*) FROM operations").fetchone() == (0,)
    stored.close()


def test_answers_that_make_no_sense_change_nothing(path):
    with filled(path) as people:
        before = people.operation
        for pairs, same, message in (
            ([("k0", "k0")], [True], "paired with itself"),
            ([("k0", "k1"), ("k2", "nobody")], [True, True], "no point with the key"),
            ([("k0", "k1")], ["perhaps"], "an answer is true, false or None"),
            ([("k0", "k1")], [True, False], "1 pairs and 2 answers"),
        ):
            with pytest.raises(ValueError, match=message):
                people.answer(pairs, same)
        assert people.answers == []
        assert people.operation == before


def test_replay_frees_arrays_as_soon_as_they_have_moved(path, monkeypatch):
    """Otherwise opening a large folder needs memory for two trees."""
    with Collection.open(path, write=True) as kept:
        kept.add(np.eye(40))
        kept.snapshot()
        kept.add(2 * np.eye(40))
    loaded, freed = [], []
    load, insert = replay.load_snapshot, ClusterTree.insert_checked

    def loading(snapshot):
        found = load(snapshot)
        loaded.append(weakref.ref(found[1].tree.points))
        return found

    def inserting(*given, **options):
        insert(*given, **options)
        freed.append(loaded[0]() is None)

    monkeypatch.setattr(replay, "load_snapshot", loading)
    monkeypatch.setattr(ClusterTree, "insert_checked", inserting)
    with Collection.open(path):
        assert freed == [True]
