"""Records that are removed, replaced and merged."""

import pickle
import signal
import threading
from unittest import mock

import numpy as np
import pandas as pd
import pytest

from perchtree import ClusterTree, Collection, Perch
from perchtree._kernels.schema import NONE
from reference import clades_of

RNG = np.random.default_rng(7)
X = RNG.normal(size=(40, 3)).astype(np.float32)
KEYS = [f"key-{number}" for number in range(40)]
TEXTS = [f"text-{number}" for number in range(40)]
CLASSES = [f"class-{number}" for number in range(40)]


def made(**settings):
    collection = Collection(**settings)
    collection.add(X, keys=KEYS, texts=TEXTS, classes=CLASSES)
    return collection


def known(collection):
    return collection.keys.tolist(), collection.texts, collection.classes


# Trees


def test_remove_says_what_is_missing_and_changes_nothing():
    tree = ClusterTree(3)
    tree.insert(X)
    tree.remove([3, 5])
    before = tree.changes
    for ids, message in (
        ([0, 3], "there is no point with the id 3; nothing has changed"),
        ([40, 41, 42, 43, 44], "the id 40, 41, 42 and 2 more; nothing has changed"),
        ([-1], "there is no point with the id -1"),
        ([1, 2, 1], "given more than once: the id 1"),
    ):
        with pytest.raises(ValueError, match=message):
            tree.remove(ids)
    for wrong in (["a"], [0.5], [True]):
        with pytest.raises(TypeError, match="ids must be whole numbers"):
            tree.remove(wrong)
    with pytest.raises(ValueError, match="must be a list"):
        tree.remove(7)
    with pytest.raises(ValueError, match="missing must be one of 'error', 'ok'"):
        tree.remove([0], missing="skip")
    assert tree.changes == before
    assert tree.remove([1, 3, 99, 1, -5], missing="ok").tolist() == [1]
    assert tree.remove([]).tolist() == []
    assert tree.n_points == 37
    tree.check()


def test_rows_of_removed_points_are_used_again():
    tree = ClusterTree(3)
    tree.insert(X)
    rows = len(tree._tree.points), len(tree._tree.boxes)
    for step in range(50):
        tree.remove(tree.ids[:4])
        tree.insert(X[step % 36 : step % 36 + 4] + 0.01 * step)
    assert (len(tree._tree.points), len(tree._tree.boxes)) == rows
    assert tree.next_id == 240
    tree.check()


@pytest.mark.parametrize("settings", [{}, {"linkage": "box"}, {"max_leaves": 8}])
def test_splits_and_restarts_do_not_matter(settings, tmp_path):
    gone = RNG.permutation(40)[:25]
    whole, parts = (ClusterTree(3, **settings) for _ in range(2))
    for tree in (whole, parts):
        tree.insert(X)
    whole.remove(gone)
    for point_id in gone:
        parts.remove([point_id])
        parts.save(tmp_path / "tree.perch")
        parts = ClusterTree.load(tmp_path / "tree.perch")
    assert clades_of(whole) == clades_of(parts)
    assert whole.heights.tolist() == parts.heights.tolist()


def test_one_of_many_copies():
    """Constant time apart from the counts above: the list of ids is not walked through."""
    tree = ClusterTree(1)
    tree.insert(np.zeros((5000, 1)))
    tree.insert([[1.0], [2.0]])
    before = tree.stats
    tree.remove([2500])
    assert tree.stats == before
    assert tree.nearest([[0.0]], k=3)[0].tolist() == [[0, 1, 2]]
    tree.remove(np.arange(2))
    assert tree.nearest([[0.0]], k=1)[0].tolist() == [[2]]
    tree.check()


def test_the_mean_of_a_collapsed_leaf_stays_and_so_does_the_variance_of_a_sample():
    tree = ClusterTree(1, max_leaves=2)
    tree.insert([[0.0], [1.0], [2.0], [100.0]])
    leaf = int(tree._tree.ids[0, 0])
    row = leaf // 2
    assert tree._tree.means[row].tolist() == [1.0]
    assert tree._tree.moments[row, 0] == 2.0
    tree.remove([0])
    assert tree._tree.means[row].tolist() == [1.0]
    assert tree._tree.moments[row, 0] == 1.0
    tree.remove([2])
    assert tree._tree.moments[row, 0] == 0.0
    assert tree._tree.boxes[row].tolist() == [[0.0], [2.0]]
    tree.check()
    tree.remove([1])
    assert tree.n_leaves == 1
    tree.check()


def test_ids_of_a_large_collapsed_leaf_go_one_after_the_other():
    tree = ClusterTree(1, linkage="box", max_leaves=3)
    tree.insert(RNG.normal(size=(300, 1)))
    order = RNG.permutation(300)
    for start in range(0, 300, 30):
        tree.remove(order[start : start + 30])
        tree.check()
        assert np.array_equal(tree.ids, np.sort(order[start + 30 :]))
    assert tree.n_leaves == 0
    tree.insert(X[:, :1])
    tree.check()


@pytest.mark.jit
def test_ctrl_c_leaves_a_prefix():
    tree = ClusterTree(2)
    tree.insert(RNG.normal(size=(5000, 2)))
    calls = []

    def interrupted(kernel):
        def run(*arguments):
            kernel(*arguments)
            calls.append(1)
            if len(calls) == 3:
                signal.raise_signal(signal.SIGINT)

        return run

    from perchtree._kernels import modes

    remove_kernel = modes.remove_kernel
    with (
        mock.patch.object(modes, "remove_kernel", lambda *a: interrupted(remove_kernel(*a))),
        pytest.raises(KeyboardInterrupt, match="1,536 of 4,000 points were removed"),
    ):
        tree.remove(np.arange(4000))
    assert tree.ids.tolist() == list(range(1536, 5000))
    tree.check()


@pytest.mark.jit
def test_readers_have_their_turn_during_a_removal():
    tree = ClusterTree(2)
    tree.insert(RNG.normal(size=(3000, 2)))
    sizes, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            with tree.reading() as arrays:
                sizes.append((tree.n_points, int((arrays.ids[:, 0] != NONE).sum())))

    reader = threading.Thread(target=read)
    reader.start()
    tree.remove(RNG.permutation(3000)[:2900])
    stop.set()
    reader.join()
    assert all(n_points == n_ids for n_points, n_ids in sizes)
    tree.check()


# Collections


def test_remove_by_key():
    collection = made()
    assert collection.remove(["key-3", "key-1"]).tolist() == ["key-3", "key-1"]
    left = [i for i in range(40) if i not in (1, 3)]
    assert known(collection) == tuple(
        [column[i] for i in left] for column in (KEYS, TEXTS, CLASSES)
    )
    assert "key-3" not in collection.nearest(X, k=38)[0]
    assert collection.ids_of(["key-2"]).tolist() == [2]
    with pytest.raises(ValueError, match="there is no point with the key 'key-3'; nothing has"):
        collection.remove(["key-0", "key-3"])
    with pytest.raises(ValueError, match="the key 'a', 'b', 'c' and 1 more"):
        collection.remove(["a", "b", "c", "d"])
    assert collection.remove(["key-0", "key-3", "key-0"], missing="ok").tolist() == ["key-0"]
    collection.add(X[3:4], keys=["key-3"], texts=["again"])
    assert collection.ids_of(["key-3"]).tolist() == [40]
    assert collection.texts[-1] == "again"


def test_keys_of_any_kind_of_sequence():
    """Errors name the keys as they are, wherever they come from."""
    collection = made()
    index = [7, 9]
    for keys in (
        pd.Series(["key-3", "x"], index=index),
        np.array(["key-3", "x"]),
        np.array(["key-3", "x"], object),
        {"key-3": 0, "x": 1}.keys(),
    ):
        for use in (
            collection.remove,
            collection.ids_of,
            lambda keys: collection.update(keys, texts=["a", "b"]),
        ):
            with pytest.raises(ValueError, match="there is no point with the key 'x'"):
                use(keys)
    assert collection.remove(pd.Series(["key-3", "key-4"], index=index)).tolist() == KEYS[3:5]


def test_remove_by_id_where_there_are_no_keys():
    collection = Collection()
    collection.add(X)
    assert collection.remove([5, 6]).tolist() == [5, 6]
    with pytest.raises(ValueError, match="there is no point with the key 5"):
        collection.remove([5])
    with pytest.raises(ValueError, match="use their ids"):
        collection.remove(["a"])
    assert collection.remove([5, 2**70, -1], missing="ok").tolist() == []
    assert len(collection) == 38
    assert Collection().remove([1], missing="ok").tolist() == []


def test_an_empty_collection_takes_records_again(tmp_path):
    collection = made()
    collection.remove(KEYS)
    assert len(collection) == 0
    assert collection.keys.tolist() == []
    assert collection.texts is None
    collection.save(tmp_path / "empty.perch")
    opened = Collection.open(tmp_path / "empty.perch")
    for each in (collection, opened, collection.copy()):
        assert each.add(X[:2], keys=[7, 8]).tolist() == [40, 41]
        assert each.keys.tolist() == [7, 8]
        each.tree.check()
        with pytest.raises(ValueError, match="expected 3 features"):
            each.add([[1.0]], keys=[9])


@pytest.mark.parametrize("settings", [{}, {"linkage": "box"}, {"metric": "cosine"}])
def test_erased_means_erased(tmp_path, settings):
    """Neither a file nor a pickle has a byte of a removed record."""
    secret = np.array([[1234.5678, -8765.4321, 3.1415926]], np.float32)
    collection = made(**settings)
    collection.add(secret, keys=["secret-key"], texts=["secret-text"], classes=["secret-class"])
    vector = collection.tree.vectors(np.array([40]))[0]
    model = Perch(n_clusters=3, **settings).fit(X, keys=KEYS)
    model.partial_fit(secret, keys=["secret-key"], texts=["secret-text"], classes=["secret-class"])
    assert len(model.all_labels_) == 41
    assert len(model.names_) == 3
    for k in (1, 3):
        ids, labels = collection.ids, collection.tree.cut(k)
        collection.clusterings.remember(f"-k {k}", collection.clusterings.matched("", ids, labels))
    collection.names(collection.tree.cut(3))
    collection.remove(["secret-key"])
    model.remove(["secret-key"])
    collection.save(tmp_path / "collection.perch")
    model.save(tmp_path / "model.perch")
    kept = [
        (tmp_path / "collection.perch").read_bytes(),
        (tmp_path / "model.perch").read_bytes(),
        *(pickle.dumps(each) for each in (collection, model, collection.tree, collection.copy())),
    ]
    traces = [b"secret", *(x.tobytes() for x in vector), *(np.float64(x).tobytes() for x in vector)]
    for written in kept:
        assert not [trace for trace in traces if trace in written]
    for clusterings in (
        collection.clusterings,
        Collection.open(tmp_path / "collection.perch").clusterings,
    ):
        assert len(clusterings) == 2
        assert not any(40 in clusterings[own].points for own in clusterings)
    assert 40 not in Perch.load(tmp_path / "model.perch")._tracker.points


def test_an_interrupted_removal_leaves_whole_records():
    collection = made()
    remove = ClusterTree.remove

    def interrupted(tree, ids, **options):
        remove(tree, ids[:2], **options)
        raise KeyboardInterrupt

    with (
        mock.patch.object(ClusterTree, "remove", interrupted),
        pytest.raises(KeyboardInterrupt),
    ):
        collection.remove(KEYS[:10])
    assert collection.keys.tolist() == KEYS[2:]
    assert collection.texts == TEXTS[2:]
    collection.add(X[:2], keys=KEYS[:2])
    assert collection.ids_of(KEYS[:2]).tolist() == [40, 41]


def test_removals_past_the_collection():
    """Points that were removed from the tree itself leave no keys behind."""
    collection = made()
    collection.tree.remove([0, 1])
    assert collection.keys.tolist() == KEYS[2:]
    collection.add(X[:1], keys=KEYS[:1])
    assert collection.ids_of(KEYS[:1]).tolist() == [40]
    assert "'text-1'" not in str(vars(collection.copy().records))


# Updates


def test_update_replaces_what_is_given():
    collection = made()
    collection.update(["key-5"], texts=["new text"])
    assert collection.ids_of(["key-5"]).tolist() == [5]
    collection.update(["key-5", "key-0"], X[[7, 8]] + 5, classes=["A", None])
    assert len(collection) == 40
    assert collection.keys.tolist() == [*KEYS[1:5], *KEYS[6:], "key-5", "key-0"]
    assert collection.texts[-2:] == ["new text", "text-0"]
    assert collection.classes[-2:] == ["A", None]
    assert collection.nearest(X[7:8] + 5)[0].tolist() == [["key-5"]]
    collection.tree.check()


def test_update_refuses_what_cannot_be():
    collection = made()
    before = known(collection)
    with pytest.raises(ValueError, match="no point with the key 'x'; nothing has changed"):
        collection.update(["key-1", "x"], X[:2])
    with pytest.raises(ValueError, match="new records need vectors"):
        collection.update(["x"], texts=["a"], missing="add")
    with pytest.raises(ValueError, match="2 keys for 1 rows"):
        collection.update(["key-1", "key-2"], X[:1])
    with pytest.raises(ValueError, match="1 texts for 2 rows"):
        collection.update(["key-1", "key-2"], X[:2], texts=["a"])
    with pytest.raises(ValueError, match="row 1 contains NaN"):
        collection.update(["key-1", "key-2"], [[0, 0, 0], [np.nan, 0, 0]])
    with pytest.raises(ValueError, match="row 1 has 7: keys must be all strings"):
        collection.update(["key-1", 7], X[:2], missing="add")
    with pytest.raises(ValueError, match="missing must be one of 'error', 'add'"):
        collection.update(["key-1"], X[:1], missing="ok")
    assert known(collection) == before
    bare = Collection()
    bare.add(X)
    with pytest.raises(ValueError, match="their ids would change"):
        bare.update([3], X[:1])
    bare.update([3], texts=["three"])
    assert bare.texts[3] == "three"


def test_update_adds_what_is_new_and_any_split_gives_the_same():
    keys = ["key-3", "a", "b", "key-3", "c", "a", "key-9"]
    rows = RNG.normal(size=(7, 3))
    whole, parts = made(), made()
    whole.update(keys, rows, texts=list("ABCDEFG"), missing="add")
    for key, row, text in zip(keys, rows, "ABCDEFG", strict=True):
        parts.update([key], [row], texts=[text], missing="add")
    assert known(whole) == known(parts)
    assert clades_of(whole.tree) == clades_of(parts.tree)
    assert sorted(whole.keys) == sorted([*KEYS, "a", "b", "c"])
    texts = dict(zip(whole.keys, whole.texts, strict=True))
    assert [texts[key] for key in ("key-3", "a", "b", "c", "key-9")] == ["D", "F", "C", "E", "G"]
    empty = Collection()
    empty.update(["x"], X[:1], missing="add")
    assert empty.keys.tolist() == ["x"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_update_loses_nothing(error):
    collection = made()
    insert, calls = ClusterTree.insert_checked, []

    def interrupted(tree, rows, **options):
        calls.append(1)
        if len(calls) == 3:
            raise error
        return insert(tree, rows, **options)

    with (
        mock.patch.object(ClusterTree, "insert_checked", interrupted),
        pytest.raises(error, match="2 of 5 records are in, and the collection is whole"),
    ):
        collection.update(KEYS[:5], X[:5] + 1)
    assert sorted(collection.keys) == sorted(KEYS)
    assert collection.ids_of(KEYS[:5]).tolist() == [40, 41, 2, 3, 4]
    collection.tree.check()


def test_nobody_meets_a_record_twice():
    collection = made()
    seen, stop = [], threading.Event()

    def read():
        while not stop.is_set():
            with collection.tree.reading():
                seen.append(sorted(collection.keys))

    reader = threading.Thread(target=read)
    reader.start()
    for step in range(20):
        collection.update(KEYS[:7], X[:7] + step)
    stop.set()
    reader.join()
    assert all(keys == sorted(KEYS) for keys in seen)


# Merging


@pytest.mark.parametrize("settings", [{}, {"linkage": "box"}, {"metric": "cosine"}])
def test_merge(settings):
    one, other = Collection(**settings), Collection(**settings)
    one.add(X[:25], keys=KEYS[:25], texts=TEXTS[:25])
    other.add(X[25:], keys=KEYS[25:], classes=CLASSES[25:])
    other.remove(KEYS[30:32])
    union = one.merge(other)
    assert union.keys.tolist() == [*KEYS[:30], *KEYS[32:]]
    assert union.texts == TEXTS[:25] + [None] * 13
    assert union.classes[25:] == [*CLASSES[25:30], *CLASSES[32:]]
    assert len(one) == 25
    assert len(other) == 13
    union.tree.check()
    expected = Collection(**settings)
    expected.add(np.concatenate([X[:30], X[32:]]))
    assert clades_of(union.tree) == clades_of(expected.tree)
    assert sorted(other.merge(one).keys) == sorted(union.keys)


def test_merge_takes_vectors_as_they_are():
    """Those of the metric cosine are normalised already: copies stay copies."""
    one, other = Collection(metric="cosine"), Collection(metric="cosine")
    one.add(X, keys=KEYS)
    other.add(X[:20], keys=[f"copy of {key}" for key in KEYS[:20]])
    union = one.merge(other)
    assert len(union) == 60
    assert union.tree.n_leaves == one.tree.n_leaves


@pytest.mark.parametrize("n_first", [10, 30])
def test_merge_of_equal_keys(n_first):
    """The second wins, whichever of the two is the larger one."""
    first, second = Collection(), Collection()
    first.add(X[:n_first], keys=KEYS[:n_first], texts=["first"] * n_first)
    second.add(X[5:25], keys=KEYS[5:25], texts=["second"] * 20)
    with pytest.raises(
        ValueError, match=rf"both have the key 'key-\d+', one of {min(n_first, 25) - 5} such"
    ):
        first.merge(second)
    union = first.merge(second, update=True)
    assert sorted(union.keys) == sorted(KEYS[: max(n_first, 25)])
    texts = dict(zip(union.keys, union.texts, strict=True))
    for number in range(max(n_first, 25)):
        assert texts[KEYS[number]] == ("second" if 5 <= number < 25 else "first")
    union.tree.check()


def test_merge_without_keys():
    one, other = Collection(), Collection()
    one.add(X[:25])
    other.add(X[25:], texts=TEXTS[25:])
    union = one.merge(other)
    assert union.keys.tolist() == list(range(40))
    assert union.texts == [None] * 25 + TEXTS[25:]


def test_merge_refuses_what_does_not_fit():
    def collection(n_features=3, keys=None, names=None, **settings):
        made = Collection(**settings)
        made.add(X[:9, :n_features], keys=keys)
        made.feature_names = names
        return made

    plain = collection()
    for other, message in (
        (collection(linkage="ward"), "one has linkage='average', the other linkage='ward'"),
        (collection(n_features=2), "one has 3 features, the other 2"),
        (collection(keys=KEYS[:9]), "one has keys of its own, the other none"),
    ):
        with pytest.raises(ValueError, match=message):
            plain.merge(other)
    with pytest.raises(ValueError, match="their features have other names"):
        collection(names=list("abc")).merge(collection(names=list("abd")))
    small = collection(max_leaves=5)
    large = Collection(max_leaves=5)
    large.add(X)
    with pytest.raises(ValueError, match="vectors of their points are gone"):
        large.merge(small)
    assert len(plain.merge(Collection())) == len(Collection().merge(plain)) == 9
    assert len(plain.merge(collection(n_jobs=2))) == 18


def test_updated_texts_are_encoded():
    collection = Collection(encoder="chars")
    collection.add(texts=["ann lee", "bob ray", "carl may"], keys=["a", "b", "c"])
    collection.update(["b"], texts=["anne lee"])
    assert collection.nearest(texts=["ann lee"], k=2)[0].tolist() == [["a", "b"]]
    assert collection.texts == ["ann lee", "carl may", "anne lee"]
    collection.update(["b"], classes=["x"])
    assert collection.classes == [None, None, "x"]
    with pytest.raises(ValueError, match="give texts, and no X"):
        collection.update(["a"], np.zeros((1, 256)))


def test_merge_of_other_encoders():
    def collection(encoder, *texts):
        made = Collection(encoder=encoder)
        made.add(texts=list(texts)) if encoder else made.add(np.ones((1, 256)))
        return made

    chars = collection("chars", "ann", "bob")
    for other, message in (
        (collection("words", "ann"), "made by the encoder chars, those of the other by words"),
        (collection("chars", "ann", "anna", "anne"), "have learned rarity from other texts"),
        (collection(None), "one has an encoder, the other none"),
    ):
        with pytest.raises(ValueError, match=message):
            chars.merge(other)
    assert len(chars.merge(chars.copy())) == 4


# The estimator


def test_perch_remove():
    model = Perch(n_clusters=3).fit(X[:30], keys=KEYS[:30])
    before = dict(zip(model.keys_, model.all_labels_, strict=True))
    model.partial_fit(X[30:], keys=KEYS[30:])
    assert model.remove(["key-31", "key-0"]) is model
    assert len(model.labels_) == 9
    assert len(model.all_labels_) == len(model.keys_) == 38
    after = dict(zip(model.keys_, model.all_labels_, strict=True))
    assert sum(after[key] == before[key] for key in KEYS[1:30]) > 20
    assert set(model.exemplars_) <= set(model.keys_)
    assert set(model.predict(X).tolist()) <= set(model.cluster_ids_.tolist())
    assert "key-0" not in model.members(int(model.label_of(["key-1"])[0]))
    with pytest.raises(ValueError, match="no point with the key 'key-0'"):
        model.remove(["key-0"])
    model.remove(["key-0"], missing="ok")


def test_clusters_end_with_their_last_points():
    model = Perch(n_clusters=2).fit([[0.0], [0.1], [9.0], [9.1]])
    assert model.labels_.tolist() == [0, 0, 1, 1]
    model.remove([0, 1])
    assert model.all_labels_.tolist() in ([1, 2], [2, 1])
    model.remove([2, 3])
    assert model.all_labels_.tolist() == []
    assert model.labels_.tolist() == []
    assert model.cluster_ids_.tolist() == []
    assert [event.kind for event in model.events_][-2:] == ["end", "end"]
    model.set_params(n_clusters=1).partial_fit([[5.0]])
    assert model.all_labels_.tolist() == [3]


# Corrections


def said(collection):
    return [tuple(correction) for correction in collection.corrections]


def test_a_removed_record_takes_its_corrections_with_it(tmp_path):
    collection = made()
    collection.together("key-1", "key-2")
    collection.together("key-2", "key-3")
    collection.apart("key-3", "key-9")
    collection.remove(["key-2"])
    assert said(collection) == [("apart", "key-3", "key-9")]
    collection.save(tmp_path / "c.perch")
    assert said(Collection.open(tmp_path / "c.perch")) == said(collection)
    collection.remove(["key-9"])
    assert said(collection) == []
    collection.add(X[9:10], keys=["key-9"])
    assert said(collection) == []
    collection.save(tmp_path / "c.perch")
    assert said(Collection.open(tmp_path / "c.perch")) == []


def test_an_updated_record_keeps_its_corrections():
    collection = made()
    collection.together("key-1", "key-2")
    collection.apart("key-2", "key-9")
    collection.update(["key-2", "key-9"], X[:2] + 3)
    assert said(collection) == [("together", "key-1", "key-2"), ("apart", "key-2", "key-9")]
    labels = collection.corrected(collection.tree.cut(5)).labels
    of = dict(zip(collection.keys, labels.tolist(), strict=True))
    assert of["key-1"] == of["key-2"] != of["key-9"]


@pytest.mark.parametrize("with_keys", [True, False])
def test_merged_collections_keep_their_corrections(with_keys):
    one, other = Collection(), Collection()
    one.add(X[:25], keys=KEYS[:25] if with_keys else None)
    other.add(X[25:], keys=KEYS[25:] if with_keys else None)
    one.together(*(KEYS[3:5] if with_keys else (3, 4)))
    other.apart(*(KEYS[30:32] if with_keys else (5, 6)))
    union = one.merge(other)
    names = KEYS if with_keys else list(range(40))
    assert said(union) == [("together", names[3], names[4]), ("apart", names[30], names[31])]


def test_corrections_that_contradict_each_other_cannot_be_merged():
    one, other = made(), Collection()
    other.add(X[:3], keys=["key-1", "new", "key-2"])
    one.together("key-1", "key-2")
    other.apart("key-1", "key-2")
    with pytest.raises(ValueError, match="key-1 and key-2 cannot be apart: key-1 = key-2"):
        one.merge(other, update=True)
    assert said(one) == [("together", "key-1", "key-2")]


def test_labels_follow_corrections_and_removals():
    model = Perch(n_clusters=3).fit(X, keys=KEYS)
    model.collection_.apart("key-0", "key-1")
    model.remove(["key-0"])
    assert len(model.all_labels_) == 39
    assert model.label_of(["key-1"]).tolist() == model.predict(X[1:2]).tolist()
