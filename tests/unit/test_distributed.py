"""The same tree from tasks that read files, whatever the blocks, the order and what was lost."""

import contextlib
import gc
import shutil
import weakref
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clustered import Here, fit_here
from object_store import object_store
from perchtree import Collection
from perchtree._arrays import used_rows
from perchtree.collection.intake import Stop
from perchtree.distributed import holding, parts, tasks, worker
from perchtree.distributed.fitting import Asked, Fit
from perchtree.distributed.holding import Held
from perchtree.distributed.job import Input, cut
from perchtree.distributed.parts import MissingPartError, as_bytes, from_bytes, load_part, save_part
from perchtree.distributed.running import Run
from perchtree.distributed.worker import (
    CELLS,
    SEARCH,
    Missing,
    OtherMachineError,
    carry_out,
    check_folder,
    check_machine,
    opened,
)
from perchtree.inputs.batches import Columns, InputError

pytestmark = pytest.mark.outer

MODES = [{}, {"linkage": "box"}]


def assert_same(one, other):
    """Two collections are equal: every node, every vector, every record."""
    arrays = [dict(used_rows(c.tree._tree)) for c in (one, other)]
    for name, array in arrays[0].items():
        assert np.array_equal(array, arrays[1][name]), name
    assert one.records.row(one.ids) == other.records.row(other.ids)


def alone(path, columns=None, shuffle=None, encoder=None, skip_bad=True, **more):
    """The collection that one machine makes of an input."""
    from perchtree.collection.intake import Intake
    from perchtree.inputs.opening import open_input

    collection = Collection(encoder=encoder, **more)
    source = open_input(str(path), columns, shuffle=shuffle)
    Intake(collection, source, n_rows=100, skip_bad=skip_bad).run(Stop())
    return collection


def grid(n_rows, d=2, seed=0):
    """Rows among which there are many copies and ties."""
    return np.random.default_rng(seed).integers(-4, 5, (n_rows, d)).astype(np.float32)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("block_rows", [7, 64, None])
def test_the_same_tree(tmp_path, mode, block_rows):
    np.save(tmp_path / "x.npy", grid(300))
    found = fit_here(tmp_path / "x.npy", tmp_path / "work", block_rows=block_rows, **mode)
    assert_same(found, alone(tmp_path / "x.npy", **mode))
    assert found.tree.n_leaves < 100  # of which most have copies


@settings(max_examples=12)
@given(st.integers(1, 60), st.integers(1, 20), st.integers(0, 10**6), st.booleans())
def test_any_blocks_in_any_order(tmp_path_factory, n_rows, block_rows, seed, cosine):
    folder = tmp_path_factory.mktemp("any")
    X = grid(n_rows, 2, seed)
    X[(X == 0).all(axis=1)] = 1
    np.save(folder / "x.npy", X)
    more = {"metric": "cosine"} if cosine else {}
    workers = Here(seed)
    found = fit_here(
        folder / "x.npy", folder / "work", block_rows=block_rows, workers=workers, **more
    )
    assert_same(found, alone(folder / "x.npy", **more))


def test_reduced_vectors_and_all_features_find_the_same(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6)) @ rng.normal(size=(6, 160)) + rng.normal(size=(3000, 160)) / 50
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    workers = Here()
    found = fit_here(tmp_path / "x.npy", tmp_path / "work", block_rows=512, workers=workers)
    _, axes = load_part(workers._job.axes_path)
    assert len(axes["vectors"]) == 160
    assert_same(found, alone(tmp_path / "x.npy"))

    # A worker gives axes up if they were poor in a task of the usual size, not in the first ones.
    job = workers._job._replace(task_blocks=4)
    held = Held(job)
    monkeypatch.setattr(tasks, "is_poor", lambda *_: True)
    tasks.search_blocks(job, held, 0, range(1))
    assert held.axes is not None
    tasks.search_blocks(job, held, 3, range(4))
    assert held.axes is None

    # Nor does it wait for tasks that are larger than any of its job.
    job = job._replace(task_blocks=64)
    held = Held(job)
    tasks.search_blocks(job, held, 1, range(2))
    assert held.axes is not None
    tasks.search_blocks(job, held, 5, range(6))
    assert held.axes is None


def test_folders_of_either_kind_and_shuffled(tmp_path):
    X = grid(100, 3)
    for kind in ("npy", "parquet"):
        (tmp_path / kind).mkdir()
    for part in range(4):
        rows = X[25 * part : 25 * part + 25]
        np.save(tmp_path / f"npy/{part}.npy", rows)
        table = pa.table(
            {"v": list(rows), "name": [f"r{i}" for i in range(25 * part, 25 * part + 25)]}
        )
        pq.write_table(table, tmp_path / f"parquet/{part}.parquet", row_group_size=10)
    whole = fit_here(tmp_path / "npy", tmp_path / "w1", block_rows=13)
    assert_same(whole, alone(tmp_path / "npy"))
    mixed = fit_here(tmp_path / "npy", tmp_path / "w2", block_rows=13, shuffle=5)
    assert_same(mixed, alone(tmp_path / "npy", shuffle=5))
    np.save(tmp_path / "x.npy", X)
    assert_same(mixed, alone(tmp_path / "x.npy", shuffle=5))
    columns = Columns(keys="name")
    named = fit_here(tmp_path / "parquet", tmp_path / "w3", block_rows=13, columns=columns)
    assert_same(named, alone(tmp_path / "parquet", columns))
    address = (tmp_path / "parquet").as_uri()  # as object stores are named
    stored = fit_here(address, tmp_path / "w4", block_rows=13, columns=columns)
    assert_same(named, stored)
    with pytest.raises(InputError, match="there is no such file or folder"):
        alone(address + "/nothing")
    assert named.keys.tolist() == [f"r{i}" for i in range(100)]


def test_object_stores(tmp_path, monkeypatch):
    """By pyarrow's own client, as from S3."""
    pytest.importorskip("pyarrow.fs", reason="no file systems in this pyarrow")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    X = grid(100, 3)
    (tmp_path / "in/v").mkdir(parents=True)
    for part in range(4):
        rows = X[25 * part : 25 * part + 25]
        pq.write_table(pa.table({"v": list(rows)}), tmp_path / f"in/v/{part}.parquet")
    with object_store(tmp_path / "in") as (address, requests):
        found = fit_here(address("v"), tmp_path / "work", block_rows=13)
        assert {key for _, key, _ in requests} >= {f"v/{part}.parquet" for part in range(4)}
        assert_same(found, alone(tmp_path / "in/v"))
        with pytest.raises(InputError, match="there is no such file or folder"):
            fit_here(address("w"), tmp_path / "work")


def test_the_driver_holds_few_blocks(tmp_path, monkeypatch):
    """Beside the tree: others are files."""
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(200, 3)))
    refs, most = [], 0

    def noting(read):
        def rows(run, block):
            nonlocal most
            part = read(run, block)
            refs.append(weakref.ref(part["rows"]))
            gc.collect()
            most = max(most, sum(ref() is not None for ref in refs))
            return part

        return rows

    monkeypatch.setattr(Run, "rows", noting(Run.rows))
    found = fit_here(tmp_path / "x.npy", tmp_path / "work", block_rows=10)
    assert len(found) == 200
    assert len(refs) == 20
    assert most <= 2


def test_what_a_worker_keeps_in_a_container(tmp_path, monkeypatch):
    memory = holding.memory_of_machine()
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(holding, "_LIMITS", (str(tmp_path / "none"), str(limit)))
    for told, expected in (("max", memory), (f"{2**50}", memory), ("1000000", 1_000_000)):
        limit.write_text(told + "\n")
        assert holding.memory_of_machine() == expected
    assert holding.kept_by_worker() < 500_000


def test_axes_are_found_without_all_rows_in_memory(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(4000, 3)))
    workers = Here()
    fit_here(tmp_path / "x.npy", tmp_path / "work", block_rows=200, workers=workers)
    monkeypatch.setattr(tasks, "SAMPLE", 400)  # a tenth of the rows
    refs, most = [], 0

    def load(path, names=None):
        nonlocal most
        meta, arrays = load_part(path, names)
        refs.append(weakref.ref(arrays["rows"]))
        gc.collect()
        most = max(most, sum(ref() is not None for ref in refs))
        return meta, arrays

    monkeypatch.setattr(tasks, "load_part", load)
    tasks.find_shared_axes(workers._job)
    assert len(refs) == 20
    assert most <= 2


@pytest.mark.parametrize("mode", MODES)
def test_cells(tmp_path, mode):
    """Renewals at 4,096, 5,120, 6,400 and 8,000 points, copies among the rows."""
    X = np.random.default_rng(2).normal(size=(9000, 3)).astype(np.float32)
    X[7000:7300] = X[:300]
    X[8900:] = X[8800:8900]
    np.save(tmp_path / "x.npy", X)
    for part in (X, X[4500:]):
        np.save(tmp_path / "x.npy", part)
        trees = [Collection(search="cells", **mode) for _ in range(2)]
        if len(part) < len(X):
            for tree in trees:
                tree.add(X[:4500])
        workers = Here()
        fit_here(tmp_path / "x.npy", tmp_path / "work", collection=trees[0], workers=workers)
        looked = [range(a.start, a.stop) for kind, (a, *_) in workers.done if kind == CELLS]
        assert len(looked) > 3
        rows = [row for part_ in looked for row in part_]
        assert len(rows) == len(set(rows))  # each is looked for once
        trees[1].add(part)
        assert_same(*trees)
        stats = [tree.tree.stats for tree in trees]
        assert stats[0].cells_found == stats[1].cells_found
        assert stats[0].renewals == stats[1].renewals


def test_cells_where_rows_are_left_out(tmp_path):
    X = np.random.default_rng(2).normal(size=(9000, 3)).astype(np.float32)
    X[np.random.default_rng(3).choice(9000, 300, replace=False)] = np.nan
    np.save(tmp_path / "x.npy", X)
    more = {"search": "cells", "linkage": "box", "skip_bad": True}
    found = fit_here(tmp_path / "x.npy", tmp_path / "work", **more)
    assert len(found) == 8700
    assert_same(found, alone(tmp_path / "x.npy", **more))


def test_cells_go_on_where_they_were_lost(tmp_path):
    X = np.random.default_rng(2).normal(size=(7000, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    more = {"search": "cells", "linkage": "box", "seconds": 1e-9}
    done = []
    for lost_after in (10, 1, 1, None):
        workers = Here() if lost_after is None else Losing(lost_after)
        with contextlib.nullcontext() if lost_after is None else pytest.raises(LostError):
            found = fit_here(tmp_path / "x.npy", tmp_path / "work", workers=workers, **more)
        done += workers.done
    assert len(done) == len(set(map(str, done)))
    assert sum(kind == CELLS for kind, _ in done) > 3
    assert_same(found, alone(tmp_path / "x.npy", search="cells", linkage="box"))


@pytest.fixture
def persons(tmp_path):
    """Rows of which some cannot be used: NaN, ids that were there before, ids that are missing."""
    rng = np.random.default_rng(1)
    X = grid(120, 2, 3)
    names = [f"p{i}" for i in rng.integers(0, 90, 120)]
    names[17] = None
    table = {"a": X[:, 0].astype(float), "b": X[:, 1].astype(float), "name": names}
    table |= {"kind": rng.integers(0, 4, 120), "about": [f"text {i % 7}" for i in range(120)]}
    table["a"][[3, 40]] = np.nan
    pq.write_table(pa.table(table), tmp_path / "p.parquet", row_group_size=50)
    columns = Columns(keys="name", classes="kind", texts="about")
    return tmp_path / "p.parquet", columns


def test_rows_that_are_left_out(tmp_path, persons):
    path, columns = persons
    expected = alone(path, columns)
    assert 60 < len(expected) < 90
    for block_rows in (9, 50):
        found = fit_here(
            path, tmp_path / "work", columns=columns, skip_bad=True, block_rows=block_rows
        )
        assert_same(found, expected)


def test_a_bad_row_is_named(tmp_path, persons):
    path, columns = persons
    with pytest.raises(InputError, match="row 3 contains NaN"):
        fit_here(path, tmp_path / "work", columns=columns, block_rows=20)


def test_texts_are_encoded_by_workers(tmp_path):
    texts = [f"{a} {b} street" for a in ("high", "low", "main") for b in range(30)]
    pq.write_table(pa.table({"t": texts}), tmp_path / "t.parquet")
    columns = Columns(texts="t", only_texts=True)
    from perchtree.encode import Words

    encoder = Words(64).learned(texts)
    found = fit_here(
        tmp_path / "t.parquet", tmp_path / "work", columns=columns, encoder=encoder, block_rows=16
    )
    assert_same(found, alone(tmp_path / "t.parquet", columns, encoder=encoder))


def test_adding_to_a_tree_with_copies_and_gaps(tmp_path):
    X = grid(400, 2, 8)
    np.save(tmp_path / "x.npy", X[200:])
    trees = [Collection(), Collection()]
    for tree in trees:
        tree.add(X[:200])
        tree.remove(np.arange(0, 200, 3))
    fit_here(tmp_path / "x.npy", tmp_path / "work", collection=trees[0], block_rows=32)
    trees[1].add(X[200:])
    assert_same(*trees)


# Interruptions


class LostError(Exception):
    """The driver is gone."""


class Losing(Here):
    """Workers of a driver that is lost after so many tasks."""

    def __init__(self, n_tasks):
        super().__init__()
        self._left = n_tasks

    def wait(self, handles, seconds):
        self._left -= 1
        if self._left < 0:
            raise LostError
        return super().wait(handles, seconds)


@pytest.mark.parametrize("kept", [False, True])
def test_it_goes_on_wherever_it_was_lost(tmp_path, persons, kept):
    path, columns = persons
    expected = alone(path, columns)
    n_tasks = 30
    asked = Asked(
        Input(str(path), columns), tmp_path / "work", block_rows=20, skip_bad=True, seconds=1e-9,
        name="persons",
    )  # fmt: skip
    for lost_after in range(1, n_tasks, 4):
        shutil.rmtree(tmp_path / "work", ignore_errors=True)
        shutil.rmtree(tmp_path / "c.perchdb", ignore_errors=True)
        done = []
        for attempt in range(100):
            collection = Collection()
            if kept:
                collection = Collection.open(tmp_path / "c.perchdb", write=True)
            workers = Losing(lost_after) if attempt < 2 else Here()
            begun = None
            if kept:
                from perchtree.collection.resuming import next_row

                begun = next_row(collection.progress, "persons", collection.next_id)
            with collection:
                try:
                    Fit(collection, asked._replace(begun=begun), workers).run(Stop())
                except LostError:
                    continue
                finally:
                    done += workers.done
                assert_same(collection, expected)
                break
        assert len(done) == len(set(map(str, done)))  # nothing was done twice


@pytest.mark.parametrize("n_before", [0, 50])
def test_the_same_call_goes_on_after_an_interruption(tmp_path, n_before):
    """With the collection that has some of the rows, or with one as it was before."""
    X = grid(200)
    np.save(tmp_path / "x.npy", X[n_before:])

    def collection():
        collection = Collection()
        if n_before:
            collection.add(X[:n_before])
        return collection

    class Interrupting(Losing):
        def wait(self, handles, seconds):
            try:
                return super().wait(handles[:1], seconds)
            except LostError:
                raise KeyboardInterrupt from None

    def run(into, workers):
        stop = Stop()
        asked = Asked(Input(str(tmp_path / "x.npy"), Columns()), tmp_path / "work", block_rows=10)
        fit = Fit(into, asked, workers)
        fit.run(stop)
        assert stop.asked == (type(workers) is Interrupting)
        return fit.n_resumed

    first, again, expected = collection(), collection(), Collection()
    run(first, Interrupting((200 - n_before) // 6))  # of some more tasks, in order
    n_points = len(first)
    assert n_before < n_points < 200
    assert run(again, Here()) == n_points - n_before
    assert run(first, Here()) == 0
    expected.add(X)
    assert_same(first, expected)
    assert_same(again, expected)


def test_parts_may_be_damaged_or_removed_at_any_time(tmp_path):
    np.save(tmp_path / "x.npy", grid(200))
    work = tmp_path / "work"

    class Vandal(Here):
        """Damages or removes some part after every task."""

        n_damaged = 0

        def wait(self, handles, seconds):
            done = super().wait(handles, seconds)
            parts = sorted(
                p for p in work.rglob("*") if p.is_file() and p.suffix == "" and p.name[0] != "."
            )
            parts = [p for p in parts if p.name != "job.json"]
            if self._random.random() < 0.3 and self.n_damaged < 40:
                part = self._random.choice(parts)
                self.n_damaged += 1
                if self._random.random() < 0.5:
                    part.unlink()
                else:
                    part.write_bytes(part.read_bytes()[:-70] + b"x" * 70)
            return done

    vandal = Vandal(3)
    found = fit_here(tmp_path / "x.npy", work, block_rows=40, workers=vandal)
    assert vandal.n_damaged > 3
    assert_same(found, alone(tmp_path / "x.npy"))


class Remover(Here):
    """Removes the work folder now and then: its parts, or whatever is in it."""

    n_removed = 0

    def wait(self, handles, seconds):
        done = super().wait(handles, seconds)
        if self._random.random() < 0.3 and self.n_removed < 20:
            folder = Path(self._job.folder)
            folder = self._random.choice([folder, self._job.path(), *folder.glob("*/*/")])
            self.n_removed += folder.exists()
            shutil.rmtree(folder, ignore_errors=True)
        return done


@pytest.mark.parametrize("search", ["auto", "cells"])
@pytest.mark.parametrize("seed", range(3))
def test_the_work_folder_may_be_removed_at_any_time(tmp_path, search, seed):
    """Also what only the driver can make: points that were there before, and cells."""
    n_rows, n_before, block_rows = (8000, 4300, 1024) if search == "cells" else (400, 150, 20)
    X = np.random.default_rng(seed).normal(size=(n_rows, 3)).astype(np.float32)
    X[-50:] = X[:50]
    np.save(tmp_path / "x.npy", X[n_before:])
    trees = [Collection(linkage="box", search=search) for _ in range(2)]
    for tree in trees:
        tree.add(X[:n_before])
    workers = Remover(seed)
    fit_here(
        tmp_path / "x.npy", tmp_path / "work", collection=trees[0], workers=workers,
        block_rows=block_rows, seconds=1e-9,
    )  # fmt: skip
    trees[1].add(np.load(tmp_path / "x.npy"))
    assert workers.n_removed > 2
    assert_same(*trees)


def test_several_workers_notice_that_the_folder_was_removed(tmp_path):
    """Only once it was made anew does it mean that they cannot see it."""
    np.save(tmp_path / "x.npy", grid(200))

    class Eager(Here):
        """Tasks are carried out when they are given."""

        n_noticed = 0

        def submit(self, kind, *about):
            handle = super().submit(kind, *about)
            if handle[0] == 30:
                shutil.rmtree(self._job.folder)
            missing = carry_out(self._job, self._encoder, kind, *about)
            self.n_noticed += missing is not None and missing.path == self._job.mark_path
            return handle, missing

        def wait(self, handles, seconds):
            chosen = self._random.choice(handles)
            return [(chosen, chosen[1])]

    workers = Eager()
    found = fit_here(tmp_path / "x.npy", tmp_path / "work", block_rows=10, workers=workers)
    assert workers.n_noticed > 1
    assert_same(found, alone(tmp_path / "x.npy"))


def test_parts_of_another_job_are_not_taken(tmp_path):
    """A worker of an earlier fit in the same work folder comes late."""
    work = tmp_path / "work"
    np.save(tmp_path / "x.npy", grid(100))
    late = Losing(8)
    with pytest.raises(LostError):
        fit_here(tmp_path / "x.npy", work, block_rows=20, workers=late)
    np.save(tmp_path / "y.npy", grid(100, seed=5))
    n_late = 0

    class Late(Here):
        """Before each task, the other worker writes the parts of its job."""

        def wait(self, handles, seconds):
            nonlocal n_late
            for block in range(5):
                tasks.read_blocks(late._job, opened(late._job), None, range(block, block + 1))
                part = late._job.found_path(block, range(block + 1))
                save_part(part, {"near": near, "numbers": numbers}, n_pairs=0, computed=0)
                n_late += 1
            return super().wait(handles, seconds)

    near, numbers = np.zeros((20, 5), np.float32), np.zeros((20, 5), np.int32)
    found = fit_here(tmp_path / "y.npy", work, block_rows=20, workers=Late())
    assert n_late > 30
    assert_same(found, alone(tmp_path / "y.npy"))


def test_a_fit_that_ends_leaves_the_work_of_another_one(tmp_path):
    work = tmp_path / "work"
    for name in ("x", "y"):
        np.save(tmp_path / f"{name}.npy", grid(60))
    fits = [
        Fit(Collection(), Asked(Input(str(tmp_path / f"{name}.npy"), Columns()), work), Here())
        for name in ("x", "y")
    ]
    fits[0].run(Stop())
    with fits[1]._folder.locked():
        fits[1]._begin()
        fits[0].done()
        assert fits[1]._run.job.mark_path.exists()
    fits[1].run(Stop())
    fits[1].done()
    assert not work.exists()


def test_another_input_begins_anew(tmp_path):
    work = tmp_path / "work"
    np.save(tmp_path / "x.npy", grid(100))
    with pytest.raises(LostError):
        fit_here(tmp_path / "x.npy", work, block_rows=20, workers=Losing(8))
    np.save(tmp_path / "x.npy", grid(120, seed=5))
    assert_same(fit_here(tmp_path / "x.npy", work, block_rows=20), alone(tmp_path / "x.npy"))


def test_parts_that_came_after_the_folder_was_removed(tmp_path):
    work = tmp_path / "work"
    np.save(tmp_path / "x.npy", grid(100))
    with pytest.raises(LostError):
        fit_here(tmp_path / "x.npy", work, block_rows=20, workers=Losing(10))
    (work / "job.json").unlink()
    (work / ".axes.0123456789ab.part").touch()
    assert_same(fit_here(tmp_path / "x.npy", work, block_rows=20), alone(tmp_path / "x.npy"))


def test_a_work_folder_that_is_none(tmp_path):
    np.save(tmp_path / "x.npy", grid(10))
    with pytest.raises(FileExistsError, match="not of an earlier fit"):
        fit_here(tmp_path / "x.npy", tmp_path)


def test_what_only_one_machine_can_do(tmp_path):
    np.save(tmp_path / "x.npy", grid(10))
    for settings_ in ({"search": "beam"}, {"max_leaves": 9}):
        with pytest.raises(ValueError, match="only one machine can do that"):
            fit_here(tmp_path / "x.npy", tmp_path / "work", **settings_)
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"a cluster reads \.npy and Parquet files"):
        fit_here(tmp_path / "x.csv", tmp_path / "work")


# Pieces


def test_tasks_are_balanced_and_cover_every_pair(tmp_path):
    np.save(tmp_path / "x.npy", grid(200))
    workers = Here()
    fit_here(tmp_path / "x.npy", tmp_path / "work", block_rows=10, workers=workers)
    job = workers._job._replace(task_blocks=3, n_base=2)
    for block in range(job.n_blocks):
        spans = job.spans(block)
        assert [other for span in spans for other in span] == list(range(-2, block + 1))
        assert max(map(len, spans)) <= 3
        assert max(map(len, spans)) - min(map(len, spans)) <= 1
    assert sum(kind == SEARCH for kind, _ in workers.done) == 20


def test_tasks_are_thought_of_when_they_are_due(tmp_path, monkeypatch):
    """Of a billion rows there would be millions."""
    np.save(tmp_path / "x.npy", grid(400))
    thought_of, most, usual = set(), 0, Run._search_task

    def noting(run, block, span):
        nonlocal most
        task = usual(run, block, span)
        thought_of.add(task.path)
        most = max(most, len(thought_of) - sum(kind == SEARCH for kind, _ in workers.done))
        return task

    monkeypatch.setattr(Run, "_search_task", noting)
    workers = Here()
    found = fit_here(tmp_path / "x.npy", tmp_path / "work", block_rows=4, workers=workers)
    assert len(thought_of) == 100  # for each block one
    assert most <= 20
    assert_same(found, alone(tmp_path / "x.npy"))


def test_blocks_follow_from_the_input():
    assert cut(1000, 8, None) == (1024, 64)
    rows, others = cut(10**7, 384, None)
    assert rows == 2**15
    assert 1 <= others <= 64
    assert cut(10**6, 10**6, None)[0] == 16  # wide rows
    assert all(cut(n_rows, 8, None)[1] >= 16 for n_rows in (1000, 10**5, 10**6, 10**7, 10**9))


def test_other_machines_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", grid(10))
    workers = Here()
    fit_here(tmp_path / "x.npy", tmp_path / "work", workers=workers)
    job = workers._job
    check_machine(job)
    with pytest.raises(
        OtherMachineError, match=r"has numba .*, this one has 0\.1: install the same"
    ):
        check_machine(job._replace(versions=job.versions | {"numba": "0.1"}))
    with pytest.raises(OtherMachineError, match="set NUMBA_CPU_NAME"):
        check_machine(job._replace(versions=job.versions | {"processor": "z80"}))
    check_folder(job)
    for folder in ("/nowhere", str(tmp_path)):  # such as an empty mount point
        with pytest.raises(OtherMachineError, match=f"cannot see {folder}: put it on a path"):
            check_folder(job._replace(folder=folder))
    (tmp_path / "empty").mkdir()  # the input is a folder, of which this machine has no file
    folder = job.input._replace(name=str(tmp_path / "empty"))
    check_machine(job._replace(input=folder))
    size = (tmp_path / "x.npy").stat().st_size
    for file in (job.file._replace(name=str(tmp_path / "empty/x.npy")),
                 job.file._replace(n_bytes=size + 1)):  # fmt: skip
        with pytest.raises(OtherMachineError, match="empty: put it on a path that all machines"):
            check_machine(job._replace(input=folder, file=file))


def test_a_worker_opens_the_input_once(tmp_path, monkeypatch):
    """A folder may have thousands of files, and an order of all rows has to be drawn."""
    np.save(tmp_path / "x.npy", grid(300))
    opened_by, usual = [], Input.open
    monkeypatch.setattr(Input, "open", lambda input: opened_by.append(input) or usual(input))
    found = fit_here(tmp_path / "x.npy", tmp_path / "work", block_rows=10, shuffle=3)
    assert len(opened_by) == 2  # by the driver, too
    assert len(worker._held) == 1  # searching needs room for something else
    assert_same(found, alone(tmp_path / "x.npy", shuffle=3))


def test_files_that_are_not_those_of_the_driver(tmp_path):
    """Rows would have other numbers."""
    (tmp_path / "v").mkdir()
    for name in "ab":
        np.save(tmp_path / f"v/{name}.npy", grid(30))
    (tmp_path / "v/notes.txt").write_text("of no concern")

    class Changing(Here):
        """Something happens to the files of the input once some of it is read."""

        def __init__(self, change):
            super().__init__()
            self._change = change

        def wait(self, handles, seconds):
            if len(self.done) == 1:
                self._change()
            return super().wait(handles, seconds)

    def fit(work, change):
        workers = Changing(change)
        return fit_here(tmp_path / "v", tmp_path / work, block_rows=10, workers=workers)

    assert len(fit("w1", (tmp_path / "v/notes.txt").unlink)) == 60
    with pytest.raises(OtherMachineError, match=r"sees other files at .*v than this one did"):
        fit("w2", lambda: np.save(tmp_path / "v/aa.npy", grid(30)))
    with pytest.raises(OtherMachineError, match="sees other files"):
        fit("w3", (tmp_path / "v/b.npy").unlink)


def test_a_machine_without_the_files_of_an_address(tmp_path):
    """Their folder alone may be an empty mount point, of any file system."""
    (tmp_path / "v").mkdir()
    pq.write_table(pa.table({"v": list(grid(30))}), tmp_path / "v/a.parquet")
    workers = Here()
    fit_here((tmp_path / "v").as_uri(), tmp_path / "work", workers=workers)
    check_machine(workers._job)
    (tmp_path / "v/a.parquet").unlink()
    with pytest.raises(OtherMachineError, match="v: put it on a path that all machines share"):
        check_machine(workers._job)


def test_a_machine_that_does_not_see_the_work_folder(tmp_path):
    """It came later, or its mount is gone: parts are not made for it for ever."""
    np.save(tmp_path / "x.npy", grid(100))

    class Blind(Here):
        def wait(self, handles, seconds):
            if len(self.done) < 8:
                return super().wait(handles, seconds)
            return [(handles[0], Missing(self._job.mark_path, "m7"))]

    with pytest.raises(OtherMachineError, match=r"machine m7 cannot see .*work: put it on a path"):
        fit_here(tmp_path / "x.npy", tmp_path / "work", block_rows=20, workers=Blind())


def test_parts(tmp_path, monkeypatch):
    def refuse(path, _sections):
        raise PermissionError(13, "Permission denied", str(path))

    path = tmp_path / "deep" / "part"
    values = {"a": [1, None, "x", 2.5, True, "\ud800"]}
    save_part(path, {"x": np.arange(3), "y": as_bytes(values)}, n=3)
    meta, arrays = load_part(path)
    assert meta == {"n": 3}
    assert from_bytes(arrays["y"]) == values
    path.write_bytes(path.read_bytes()[:-65] + b"?" * 65)
    with pytest.raises(MissingPartError):
        load_part(path)
    with pytest.raises(MissingPartError):
        load_part(tmp_path / "none")
    with monkeypatch.context() as patched:  # of another user: to make it again would not help
        patched.setattr(parts.container, "Reader", refuse)
        with pytest.raises(PermissionError):
            load_part(path)
