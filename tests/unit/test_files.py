"""Files: the same tree again, or a clear error; and a crash never costs the old file."""

import dataclasses
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba.core import config

from in_threads import join, start
from perchtree import ClusterTree, Collection, CorruptFileError, Event, Perch, check_file
from perchtree._arrays import small_size
from perchtree._centres import node_boxes
from perchtree._kernels.numbering import box_node
from perchtree._kernels.schema import (
    BOX_ROWS,
    FREE_BOX,
    FREE_POINT,
    MAX_LEAVES,
    N_LEAVES,
    ROOT,
    SIZE,
    STATE,
)
from perchtree.clusters.tracking import Tracker
from perchtree.files.container import Section, write
from perchtree.files.contents import Contents
from perchtree.files.trees import load_tree, save_tree
from perchtree.settings import Settings
from strategies import grids

pytestmark = pytest.mark.outer

FROZEN = Path(__file__).parent.parent / "files"
MODES = [
    {"linkage": "box"},
    {},
    {"linkage": "box", "max_leaves": 7},
    {"max_leaves": 9, "search": "beam"},
]


def small_points(n=30):
    rng = np.random.default_rng(0)
    return rng.integers(0, 20, (n, 2)).astype(float)


def small_tree(**mode):
    tree = ClusterTree(2, **mode)
    tree.insert(small_points())
    return tree


def same_tree(a, b):
    """Files keep what was done to a tree, but not how it was searched, which depends on batches."""
    searches = dict.fromkeys(("distances", "expansions", "products", "scanned"), 0)
    stats = [dataclasses.replace(tree.stats, **searches) for tree in (a, b)]
    return np.array_equal(a.children, b.children) and stats[0] == stats[1] and repr(a) == repr(b)


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("mode", MODES)
@given(X=grids(min_points=2, max_points=30), cut=st.integers(0, 30))
@settings(
    max_examples=max(5, settings.default.max_examples // 20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_loaded_tree_goes_on_as_if_never_saved(tmp_path, mode, mmap, X, cut):
    tree = ClusterTree(X.shape[1], **mode)
    if len(X[:cut]):
        tree.insert(X[:cut])
    path = tmp_path / "tree.perch"
    tree.save(path)
    check_file(path)
    loaded = ClusterTree.load(path, mmap=mmap)
    for each in (tree, loaded):
        if len(X[cut:]):
            each.insert(X[cut:])
    loaded.check()
    assert same_tree(loaded, tree)


def test_mmap_leaves_the_file_alone(tmp_path):
    path = tmp_path / "tree.perch"
    small_tree(max_leaves=7).save(path)
    before = path.read_bytes()
    tree = ClusterTree.load(path, mmap=True)
    tree.insert(small_points(200)[30:])
    assert path.read_bytes() == before


def test_saving_over_itself_while_mapped(tmp_path):
    path = tmp_path / "tree.perch"
    small_tree().save(path)
    tree = ClusterTree.load(path, mmap=True)
    tree.insert([[5.5, 5.5]])
    tree.save(path)
    assert same_tree(ClusterTree.load(path), tree)


@pytest.mark.parametrize("make", [small_tree, lambda: small_tree(linkage="ward", max_leaves=9)])
def test_every_flipped_bit_is_found(tmp_path, make):
    path = tmp_path / "tree.perch"
    make().save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    step = 7 if config.DISABLE_JIT else 1
    for place in range(0, len(whole), step):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        with pytest.raises(CorruptFileError, match=r"tree\.perch"):
            ClusterTree.load(path)


def test_every_truncation_is_found(tmp_path):
    path = tmp_path / "tree.perch"
    small_tree().save(path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 3):
        path.write_bytes(whole[:length])
        for mmap in (False, True):
            with pytest.raises(CorruptFileError):
                ClusterTree.load(path, mmap=mmap)
    path.write_bytes(whole + b"\0")
    with pytest.raises(CorruptFileError, match="longer than it should be"):
        ClusterTree.load(path)


def test_the_damaged_part_is_named(tmp_path):
    path = tmp_path / "tree.perch"
    small_tree().save(path)
    whole = bytearray(path.read_bytes())
    whole[-70] ^= 1
    path.write_bytes(whole)
    with pytest.raises(CorruptFileError, match=r"'tree', '\w+' does not match its checksum"):
        ClusterTree.load(path)
    path.write_text("something else")
    with pytest.raises(CorruptFileError, match="is not a perchtree file"):
        ClusterTree.load(path)
    with pytest.raises(FileNotFoundError):
        ClusterTree.load(tmp_path / "nothing.perch")


@pytest.mark.parametrize("mode", MODES)
@given(data=st.data())
@settings(
    max_examples=max(15, settings.default.max_examples // 2),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_altered_arrays_with_right_checksums(tmp_path, mode, data):
    """Someone else's file: either refused, or a tree that works. No crash, no hang."""
    path = tmp_path / "altered.perch"
    stored = stored_tree(tmp_path, mode)
    arrays = {name: array.copy() for name, array in stored.tree._asdict().items()}
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(sorted(name for name in arrays if arrays[name].size)))
        flat = arrays[name].reshape(-1)
        place = data.draw(st.integers(0, len(flat) - 1))
        if flat.dtype.kind == "i":
            near = [max(-(2**31), min(int(flat[place]) + by, 2**31 - 1)) for by in (-1, 1, 2)]
            far = [-2, -1, 0, 1, 50, 2**31 - 1, -(2**31)]
            flat[place] = data.draw(st.sampled_from(near + far))
        else:
            flat[place] = data.draw(st.sampled_from([np.nan, np.inf, -1.0, 0.0, 1e30, 7.5]))
    save_tree(path, stored._replace(tree=stored.tree._replace(**arrays)), {})
    try:
        tree = ClusterTree.load(path)
    except CorruptFileError:
        return
    tree.check()
    tree.insert(small_points(40) + 0.5)
    tree.check()
    tree.nearest(small_points(40))
    tree.cut(1)


def refused(tmp_path, tree, **arrays):
    """Save a tree with other arrays, with right checksums, and load it."""
    path = tmp_path / "crafted.perch"
    with tree.stored() as stored:
        save_tree(path, stored._replace(tree=stored.tree._replace(**arrays)), {})
    with pytest.raises(CorruptFileError, match="broken tree"):
        ClusterTree.load(path)


def test_crafted_files_that_kernels_would_not_survive(tmp_path):
    empty = ClusterTree(2)
    for counter in (FREE_POINT, FREE_BOX, ROOT, N_LEAVES):
        state = empty._tree.state.copy()
        state[counter] = 2_000_000_000
        refused(tmp_path, empty, state=state)
    tree = small_tree()
    for name in ("points", "boxes"):
        refused(tmp_path, tree, **{name: getattr(tree._tree, name) * np.float32(1e30)})
    # A leaf that is a box, and a row of points that is not used, without any collapsing.
    collapsed = small_tree(linkage="box", max_leaves=7)
    state = collapsed._tree.state.copy()
    state[MAX_LEAVES] = -1
    with collapsed.stored() as stored:
        unbounded = ClusterTree.from_stored(stored._replace(settings=Settings(linkage="box")))
    refused(tmp_path, unbounded, state=state)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["softmax", "tiny", "subnormal", "huge", "outlier"])
def test_unusual_numbers_come_back(tmp_path, mode, kind):
    """Every tree that can be made can be loaded, whatever its numbers."""
    rng = np.random.default_rng(0)
    z = 20 * rng.normal(size=(80, 3))
    X = {
        "softmax": np.exp(8 * (z - z.max(axis=1, keepdims=True))),
        "tiny": np.column_stack([rng.integers(1, 3, 80), rng.random(80) * 1e-25]),
        "subnormal": np.column_stack([rng.integers(1, 3, 80), rng.random(80) * 1e-40]),
        "huge": z * 1e16,
        "outlier": np.concatenate([[[1e8] * 3], z]),
    }[kind]
    tree = ClusterTree(X.shape[1], **mode)
    tree.insert(X)
    tree.save(tmp_path / "tree.perch")
    assert same_tree(ClusterTree.load(tmp_path / "tree.perch"), tree)


def test_saving_while_another_thread_adds(tmp_path):
    X = np.random.default_rng(0).random((200 if config.DISABLE_JIT else 4000, 3))
    model = Perch(n_clusters=2).fit(X[:50], keys=range(50))
    path = tmp_path / "model.perch"

    def add():
        for first in range(50, len(X), 10):
            model.partial_fit(X[first : first + 10], keys=range(first, min(first + 10, len(X))))

    thread = threading.Thread(target=add)
    thread.start()
    while thread.is_alive():
        _ = model.labels_
        model.save(path)
        loaded = Perch.load(path)
        assert len(loaded.keys_) == loaded.tree_.n_points
    thread.join()


def test_saving_while_another_thread_reads_labels(tmp_path):
    """Reading gives ids to new clusters: labels in a file are those that its tracker knows."""
    model = Perch(distance_threshold=5.0).fit([[0.0, 0.0], [1.0, 0.0]])
    assert model.labels_.tolist() == [0, 0]
    model.partial_fit([[50.0, 0.0]])
    stored, readers = Tracker.stored, []

    def stored_slowly(tracker):
        meta = stored(tracker)
        readers.extend(start(lambda: model.labels_))
        readers[0].join(0.2)  # it has to wait
        return meta

    with mock.patch.object(Tracker, "stored", stored_slowly):
        model.save(tmp_path / "model.perch")
    join(readers)
    loaded = Perch.load(tmp_path / "model.perch")
    assert loaded.all_labels_.tolist() == model.all_labels_.tolist() == [0, 0, 1]


def test_very_many_names_and_events(tmp_path):
    names = [f"a rather long name of a column, number {i}" for i in range(30_000)]
    model = Perch().fit(pd.DataFrame(np.eye(2, len(names)), columns=names))
    _ = model.labels_
    model._tracker.events = [Event("birth", (), (i,), 1, 2) for i in range(30_000)]
    model.save(tmp_path / "model.perch")
    loaded = Perch.load(tmp_path / "model.perch")
    assert loaded.feature_names_in_.tolist() == names
    assert loaded.events_ == model.events_


def stored_tree(tmp_path, mode):
    path = tmp_path / "stored.perch"
    if not path.exists():
        small_tree(**mode).save(path)
    return load_tree(path)[0]


def tree_section(stored):
    """The section of a tree, as `save_tree` makes it."""
    settings, tree, work, _ = stored
    state = dict(zip(STATE, tree.state.tolist(), strict=True))
    arrays = {name: array for name, array in tree._asdict().items() if name != "state"}
    return Section({"settings": settings.as_dict(), "state": state, "work": work}, arrays)


def test_headers_that_make_no_sense(tmp_path):
    path = tmp_path / "tree.perch"
    section = tree_section(stored_tree(tmp_path, {}))
    write(path, {"tree": section})
    assert same_tree(ClusterTree.load(path), small_tree())
    for name, wrong in (
        ("settings", 3),
        ("settings", {"masks": "published"}),
        ("settings", {"beam_width": 10**12}),
        ("settings", {"max_leaves": 7}),
        ("state", {}),
        ("state", section.meta["state"] | {"n_points": 30.0}),
        ("state", section.meta["state"] | {"point_rows": 2**40}),
        ("work", {"distances": "many"}),
        ("work", 5),
    ):
        write(path, {"tree": section._replace(meta=section.meta | {name: wrong})})
        with pytest.raises(CorruptFileError, match=r"tree\.perch holds no tree"):
            ClusterTree.load(path)
        meta = {key: value for key, value in section.meta.items() if key != name}
        write(path, {"tree": section._replace(meta=meta)})
        with pytest.raises(CorruptFileError, match=f"holds no tree: '{name}'"):
            ClusterTree.load(path)
    short = section.arrays | {"points": np.zeros((5, 2), np.float32)}
    write(path, {"tree": section._replace(arrays=short)})
    with pytest.raises(CorruptFileError, match="'points' has another shape"):
        ClusterTree.load(path)
    write(path, {"tree": Section(section.meta, {"something": np.arange(3)})})
    with pytest.raises(CorruptFileError, match=r"has no array '\w+' in section 'tree'"):
        ClusterTree.load(path)
    write(path, {})
    with pytest.raises(CorruptFileError, match="has no section 'tree'"):
        ClusterTree.load(path)


def test_counters_of_work_go_by_name(tmp_path):
    """A file may lack counters that came later, or have some that are gone."""
    path = tmp_path / "tree.perch"
    tree = small_tree()
    work = {"linkages": 5, "grafts": 2, "no_longer_counted": 9}
    with tree.stored() as stored:
        save_tree(path, stored._replace(work=work), {})
    loaded = ClusterTree.load(path)
    counted = dataclasses.asdict(loaded.stats)
    assert {name: count for name, count in counted.items() if count} == {
        "linkages": 5,
        "grafts": 2,
    }
    loaded.insert([[3.5, 3.5]])
    tree.insert([[3.5, 3.5]])
    assert np.array_equal(loaded.children, tree.children)
    assert loaded.stats.distances > 5


def test_columns_beside_a_tree(tmp_path):
    stored = stored_tree(tmp_path, {})
    path = tmp_path / "columns.perch"
    texts = ["", "zwölf", "a\0b", "<script>", "最後"]
    columns = {"keys": np.arange(5), "texts": texts, "none": [], "weights": np.array([0.5, 1.5])}
    columns["gaps"] = ["", None, "a"]
    save_tree(path, stored, {"records": Contents({"made": "by hand"}, columns)})
    loaded, others = load_tree(path)
    read = others["records"].columns
    assert others["records"].meta == {"made": "by hand"}
    assert read["texts"] == texts
    assert read["none"] == []
    assert read["gaps"] == ["", None, "a"]
    assert read["keys"].tolist() == [0, 1, 2, 3, 4]
    assert read["weights"].tolist() == [0.5, 1.5]
    assert np.array_equal(loaded.tree.nodes, stored.tree.nodes)
    half = Section({}, {"texts.ends": np.array([0])})
    write(path, {"tree": tree_section(stored), "records": half})
    with pytest.raises(CorruptFileError, match="only half of a column of texts: 'texts'"):
        load_tree(path)


@pytest.mark.parametrize("keys", [None, "strings", "numbers"])
def test_estimators(tmp_path, keys):
    X = small_points(60)
    given = {None: None, "strings": [f"r{i}" for i in range(60)], "numbers": np.arange(60) * 7}[
        keys
    ]
    model = Perch(n_clusters=np.int64(4), linkage="ward", metric="cosine")
    part = None if given is None else given[:40]
    model.partial_fit(X[:40] + 1, keys=part)
    _ = model.labels_
    path = tmp_path / "model.perch"
    model.save(path)
    check_file(path)
    loaded = Perch.load(path)
    assert loaded.get_params() == model.get_params()
    for each in (model, loaded):
        each.partial_fit(X[40:] + 1, keys=None if given is None else given[40:])
    assert np.array_equal(loaded.labels_, model.labels_)
    assert loaded.events_ == model.events_
    assert same_tree(loaded.tree_, model.tree_)
    assert same_tree(ClusterTree.load(path), ClusterTree.load(path, mmap=True))
    if keys:
        assert loaded.keys_.tolist() == model.keys_.tolist()


def test_an_estimator_around_the_file_of_a_collection(tmp_path):
    settings = {"linkage": "ward", "graft": 2, "max_leaves": 9, "n_jobs": 1}
    tree, collection = ClusterTree(3, **settings), Collection(**settings)
    X = np.random.default_rng(0).normal(size=(40, 3))
    tree.insert(X[:30])
    collection.add(X[:30], keys=[f"k{i}" for i in range(30)])
    collection.save(tmp_path / "records.perch")
    model = Perch.load(tmp_path / "records.perch")
    assert model.get_params()["linkage"] == "ward"
    assert model.keys_[3] == "k3"
    assert len(model.labels_) == 30
    model.partial_fit(X[30:], keys=[f"k{i}" for i in range(30, 40)])
    tree.insert(X[30:])
    assert same_tree(model.tree_, tree)
    model.save(tmp_path / "model.perch")
    assert Perch.load(tmp_path / "model.perch").n_leaves_ == 9


def test_an_estimator_around_the_file_of_a_tree(tmp_path):
    small_tree(linkage="ward").save(tmp_path / "tree.perch")
    model = Perch.load(tmp_path / "tree.perch").set_params(n_clusters=3)
    assert same_tree(model.tree_, small_tree(linkage="ward"))
    assert np.array_equal(model.labels_, model.tree_.cut(3))
    assert model.keys_.tolist() == list(range(30))


def test_estimators_that_make_no_sense(tmp_path):
    path = tmp_path / "model.perch"
    model = Perch(n_clusters=3).fit(small_points(), keys=range(30))
    _ = model.labels_
    model.save(path)
    stored, others = load_tree(path)
    estimator, records = others["estimator"], others["records"]
    meta, columns = estimator.meta, estimator.columns
    clusters = columns["clusters"]

    def tracker(**changes):
        return estimator._replace(meta=meta | {"tracker": meta["tracker"] | changes})

    def column(**changes):
        return estimator._replace(columns={**columns, **changes})

    for section, contents in (
        ("estimator", estimator._replace(meta=meta | {"parameters": {"k": 3}})),
        ("estimator", estimator._replace(meta=meta | {"tracker": {}})),
        ("estimator", estimator._replace(meta=meta | {"last": [5]})),
        ("estimator", tracker(next_id=1)),
        ("estimator", column(clusters=np.arange(7))),
        ("estimator", column(clusters=clusters.astype(float))),
        ("estimator", column(clusters=clusters - 1)),
        ("estimator", column(points=columns["points"][::-1].copy())),
        ("estimator", column(points=columns["points"] - 1)),
        ("estimator", column(events=["not JSON"])),
        ("records", records._replace(columns={"keys": np.arange(7)})),
        ("records", records._replace(columns={"keys": np.zeros(30, np.int64)})),
        ("records", records._replace(columns={"feature_names": ["a"]})),
    ):
        save_tree(path, stored, others | {section: contents})
        with pytest.raises(CorruptFileError, match=r"model\.perch"):
            Perch.load(path)
    save_tree(path, stored, others)
    assert np.array_equal(Perch.load(path).labels_, model.labels_)
    with pytest.raises(ValueError, match="cannot be saved"):
        model.set_params(verbose=[1]).save(path)


def test_nothing_is_lost_when_saving_fails(tmp_path):
    """A folder that is not there; one that cannot be written to; a full disk."""
    path = tmp_path / "tree.perch"
    tree = small_tree()
    tree.save(path)
    before = path.read_bytes()
    for wrong in (tmp_path / "no" / "tree.perch", path / "tree.perch", Path("/proc/tree.perch")):
        with pytest.raises(OSError, match=r"cannot save: .*tree\.perch") as error:
            tree.save(wrong)
        assert ".part" not in str(error.value)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, hard))
    try:
        with pytest.raises(OSError, match="cannot save"):
            tree.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["tree.perch"]


def test_permissions_and_links_stay(tmp_path):
    real, link = tmp_path / "real.perch", tmp_path / "link.perch"
    tree = small_tree()
    tree.save(real)
    mask = os.umask(0)
    os.umask(mask)
    assert real.stat().st_mode & 0o777 == 0o666 & ~mask
    real.chmod(0o640)
    link.symlink_to(real)
    tree.insert([[1.5, 1.5]])
    tree.save(link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert ClusterTree.load(real).n_points == 31


KILLED = """
import sys
import numpy as np
from perchtree import ClusterTree
trees = []
for seed in (1, 2):
    tree = ClusterTree(40)
    tree.insert(np.random.default_rng(seed).random((3000, 40)))
    trees.append(tree)
print("ready", flush=True)
while True:
    for tree in trees:
        tree.save(sys.argv[1])
"""


@pytest.mark.jit
def test_a_crash_while_saving_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "tree.perch"
    rng = np.random.default_rng(0)
    for _ in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout.readline() == b"ready\n"
            while not path.exists():
                time.sleep(0.001)
            time.sleep(rng.uniform(0, 0.05))
            process.kill()
        assert ClusterTree.load(path).n_points == 3000
    small_tree().save(path)
    assert os.listdir(tmp_path) == ["tree.perch"]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_frozen_files(version):
    """Written by the release that introduced each format; tests/files/README.md says how."""
    path = FROZEN / f"tree-format-{version}.perch"
    assert same_tree(ClusterTree.load(path), small_tree(linkage="box"))
    assert same_tree(Collection.open(path).tree, small_tree(linkage="box"))
    assert same_tree(Perch.load(path).tree_, small_tree(linkage="box"))
    path = FROZEN / f"collapsed-format-{version}.perch"
    assert same_tree(ClusterTree.load(path), small_tree(linkage="average", max_leaves=9))
    path = FROZEN / f"estimator-format-{version}.perch"
    model, expected = Perch.load(path), frozen_estimator()
    assert np.array_equal(model.all_labels_, expected.all_labels_)
    assert model.keys_.tolist() == expected.keys_.tolist()
    assert model.get_params() == expected.get_params()
    assert model.events_ == expected.events_
    assert same_tree(ClusterTree.load(path), expected.tree_)
    collection = Collection.open(path)
    assert collection.keys.tolist() == expected.keys_.tolist()
    assert same_tree(collection.tree, expected.tree_)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("kind", ["tree", "collapsed", "estimator"])
def test_frozen_files_go_on(tmp_path, version, kind):
    """They grow, and are written again in the format of today."""
    model = Perch.load(FROZEN / f"{kind}-format-{version}.perch")
    expected = {
        "tree": lambda: small_tree(linkage="box"),
        "collapsed": lambda: small_tree(linkage="average", max_leaves=9),
        "estimator": lambda: frozen_estimator().tree_,
    }[kind]()
    more = small_points(45)[30:] + 0.5
    model.partial_fit(more, keys=[f"s{i}" for i in range(15)] if kind == "estimator" else None)
    expected.insert(more)
    assert same_tree(model.tree_, expected)
    model.save(tmp_path / "again.perch")
    again = Perch.load(tmp_path / "again.perch")
    assert same_tree(again.tree_, expected)
    assert np.array_equal(again.keys_, model.keys_)


@pytest.mark.parametrize("version", [2, 3])
def test_a_frozen_collection(version):
    path, expected = FROZEN / f"collection-format-{version}.perch", frozen_records()
    collection = Collection.open(path)
    assert same_tree(collection.tree, expected.tree)
    for name in ("keys", "texts", "classes"):
        assert list(getattr(collection, name)) == list(getattr(expected, name))
    assert collection.feature_names == ["width", "height"]
    assert collection.notes == {"source": "made by hand"}


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("version", [1, 2])
def test_of_older_files_few_features_stay(tmp_path, version, mmap):
    """Small nodes had features, too; what is left is what the same tree has today."""
    tree = ClusterTree.load(FROZEN / f"tree-format-{version}.perch", mmap=mmap)
    tree.check()
    expected = small_tree(linkage="box")._tree
    nodes = box_node(np.arange(int(expected.state[BOX_ROWS])))
    large = np.count_nonzero(expected.nodes[nodes, SIZE] > small_size(2, None))
    assert 0 < len(tree._tree.boxes) == large < len(nodes)
    assert np.array_equal(node_boxes(tree._tree, nodes), node_boxes(expected, nodes))
    tree.save(tmp_path / "again.perch")
    assert same_tree(ClusterTree.load(tmp_path / "again.perch"), small_tree(linkage="box"))


def frozen_estimator():
    model = Perch(n_clusters=4)
    for part in (slice(0, 20), slice(20, 30)):
        model.partial_fit(small_points()[part], keys=[f"r{i}" for i in range(30)][part])
        _ = model.labels_
    return model


def frozen_records():
    """Keys, texts with gaps, and classes of which some are unknown."""
    collection = Collection(linkage="ward", metric="cosine")
    collection.add(
        small_points() + 1,
        keys=[f"r{i}" for i in range(30)],
        texts=["", None, "zwölf"] * 10,
        classes=[0, 1, None, 2, 1] * 6,
    )
    collection.feature_names = ["width", "height"]
    collection.notes = {"source": "made by hand"}
    return collection
