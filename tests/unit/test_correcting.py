"""Corrections: what is said about records, kept with them and followed by every clustering."""

import copy
import pickle
import sys
import threading

import numpy as np
import pytest

from gapped import late_ids
from in_threads import join, start
from perchtree import ClusterTree, Collection, Correction, CorruptFileError, Perch
from perchtree.clusters.correcting import correct
from perchtree.collection.corrections import Corrections
from perchtree.files.contents import Contents
from perchtree.table import NodeTable, parents_of

pytestmark = pytest.mark.outer

# Two pairs, far apart, two more beyond, and three copies.
X = np.array([[0], [1], [10], [11], [100], [101], [110], [111], [0], [0]], float)
KEYS = ["ann", "anna", "bo", "bob", "cy", "cyd", "di", "dina", "ann2", "ann3"]
NO_PAIRS = np.empty((0, 2), np.int64)


@pytest.fixture
def people():
    people = Collection()
    people.add(X, keys=KEYS)
    return people


def clusters_of(people, n_clusters):
    """Clusters as sorted keys joined by spaces, in the order of their numbers."""
    corrected = people.corrected(people.tree.cut(n_clusters))
    found = [" ".join(sorted(people.keys[corrected.labels == i])) for i in range(corrected.n_after)]
    assert corrected.n_before == n_clusters
    assert len(corrected.labels) == len(people)
    return found


# From labels to labels


def test_joins_and_splits(people):
    assert clusters_of(people, 2) == ["ann ann2 ann3 anna bo bob", "cy cyd di dina"]
    people.apart("anna", "bo")
    assert clusters_of(people, 2) == ["ann ann2 ann3 anna", "bo bob", "cy cyd di dina"]
    people.together("bob", "di")
    # Whole clusters are joined, then split: bob stays with bo, and takes the others along.
    assert clusters_of(people, 2) == ["ann ann2 ann3 anna", "bo bob cy cyd di dina"]
    people.apart("dina", "bob")
    assert clusters_of(people, 2) == ["ann ann2 ann3 anna", "bo bob cy cyd di", "dina"]
    assert np.array_equal(people.tree.cut(2), [0, 0, 0, 0, 1, 1, 1, 1, 0, 0])


def test_copies_can_be_told_apart(people):
    people.apart("ann", "ann2")
    assert clusters_of(people, 4) == ["ann ann3 anna", "bo bob", "cy cyd", "di dina", "ann2"]
    people.apart("ann2", "ann3")
    people.apart("ann3", "ann")
    assert clusters_of(people, 2) == ["ann anna bo bob", "cy cyd di dina", "ann2", "ann3"]
    # One cut sets ann free from all that is joined now.
    people.take_back("ann3", "ann")
    people.take_back("ann2", "ann3")
    people.together("ann2", "bob")
    assert clusters_of(people, 4) == ["ann", "ann2 ann3 anna bo bob", "cy cyd", "di dina"]


def test_groups_are_apart_as_a_whole(people):
    people.together("ann", "anna")
    people.together("bo", "bob")
    people.apart("ann", "bo")
    assert clusters_of(people, 1) == ["ann ann2 ann3 anna cy cyd di dina", "bo bob"]


def test_what_is_near_stays_together():
    """Two pairs that are apart: each side of the tree keeps what it has."""
    tree = ClusterTree(1)
    tree.insert([[0], [100], [101], [1], [2], [102]])
    apart = np.array([[0, 1], [2, 3]])
    corrected = correct(tree.table, tree.cut(1), NO_PAIRS, apart)
    assert corrected.labels.tolist() == [0, 1, 1, 0, 0, 1]


def test_a_group_that_would_be_torn_goes_where_most_of_it_is(people):
    people.apart("ann", "di")
    people.together("anna", "bo")
    people.together("bo", "dina")
    assert clusters_of(people, 1)[0] == "ann ann2 ann3 anna bo bob cy cyd dina"
    people.take_back("bo", "dina")
    people.take_back("anna", "bo")
    people.together("anna", "cy")
    people.together("cy", "cyd")
    assert clusters_of(people, 1) == ["ann ann2 ann3", "anna bo bob cy cyd di dina"]


def test_labels_of_another_clustering(people):
    people.together("ann", "cy")
    people.apart("ann", "dina")
    corrected = people.corrected([7, 7, 7, 7, 7, 7, 7, 7, 10**15, -1])
    assert corrected.labels.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 2, 3]
    assert corrected[1:] == (3, 4)
    for wrong in ([0, 1], np.zeros(10), [["a"]] * 10, np.zeros((10, 1), int)):
        with pytest.raises(
            ValueError, match="expected 10 whole numbers, the cluster of each point"
        ):
            people.corrected(wrong)
    with pytest.raises(ValueError, match="the collection is empty"):
        Collection().corrected([])


def test_contradictions_that_were_not_refused():
    tree = ClusterTree(1)
    tree.insert([[0], [1]])
    with pytest.raises(ValueError, match="contradict each other"):
        correct(tree.table, tree.cut(1), np.array([[0, 1]]), np.array([[1, 0]]))


def chain_of(n_points):
    """The table of a tree in which each merge adds one point."""
    children = np.empty((n_points - 1, 2), np.int64)
    children[0] = 0, 1
    children[1:, 0] = np.arange(2, n_points)
    children[1:, 1] = np.arange(n_points, 2 * n_points - 2)
    return NodeTable(
        children=children,
        parents=parents_of(children),
        distances=np.arange(1.0, n_points),
        heights=np.append(np.zeros(n_points), np.arange(1.0, n_points)),
        sizes=np.append(np.ones(n_points, np.int64), np.arange(2, n_points + 1)),
        leaves=np.arange(n_points),
        inner=np.zeros(n_points - 1, bool),
        nodes=np.zeros(n_points - 1, np.int64),
        ids=np.arange(n_points),
        changes=0,
    )


@pytest.mark.jit
def test_a_chain_a_million_deep():
    n_points = 1_000_000
    assert n_points > sys.getrecursionlimit()
    table = chain_of(n_points)
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 5, n_points)
    pairs = rng.integers(0, n_points, (5000, 2))
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    for labels in (np.zeros(n_points, np.int64), rng.integers(0, 4000, n_points)):
        corrected = correct(table, labels, pairs[same], pairs[~same]).labels
        a, b = corrected[pairs].T
        assert ((a == b) == same).all()


# What is said


def test_statements_are_kept(people):
    people.together("bob", "bo")
    people.apart("ann", "cy")
    expected = [Correction("apart", "ann", "cy"), Correction("together", "bo", "bob")]
    assert people.corrections == expected
    changes = people.pairs.changes
    people.together("bo", "bob")
    people.apart("cy", "ann")
    people.together("ann", "ann")
    assert people.corrections == expected
    assert people.pairs.changes == changes == 2
    people.take_back("cy", "ann")
    assert people.corrections == expected[1:]
    assert people.pairs.changes == 3
    with pytest.raises(ValueError, match="nothing was said about ann and cy"):
        people.take_back("ann", "cy")
    assert Collection().corrections == []


@pytest.mark.parametrize(
    ("said", "wrong", "message"),
    [
        ([], ("apart", "ann", "ann"), "ann cannot be apart from itself"),
        (["ann=bo"], ("apart", "bo", "ann"), "bo and ann cannot be apart: bo = ann"),
        (["ann!=bo"], ("together", "bo", "ann"), "bo and ann cannot be together: bo != ann"),
        (
            ["ann=anna", "anna=bob"],
            ("apart", "ann", "bob"),
            "ann and bob cannot be apart: ann = anna = bob",
        ),
        (
            ["ann=anna", "anna!=bo", "bo=bob"],
            ("together", "ann", "bob"),
            "ann and bob cannot be together: ann = anna != bo = bob",
        ),
        (
            ["bo=bob", "bo!=ann", "bob=di"],
            ("together", "di", "ann"),
            "di and ann cannot be together: di = bob = bo != ann",
        ),
        (
            ["bo=bob", "bo!=ann", "bob=di"],
            ("together", "ann", "di"),
            "ann and di cannot be together: ann != bo = bob = di",
        ),
    ],
)
def test_contradictions_are_refused(people, said, wrong, message):
    for pair in said:
        kind = people.apart if "!=" in pair else people.together
        kind(*pair.replace("!", "").split("="))
    before = people.corrections, people.pairs.changes
    kind, a, b = wrong
    with pytest.raises(ValueError, match=f"^{message}$"):
        getattr(people, kind)(a, b)
    assert (people.corrections, people.pairs.changes) == before


def test_long_chains_are_shortened():
    corrections = Corrections()
    for point_id in range(5000):
        corrections.say("together", point_id, point_id + 1)
    shown = "0 = 1 = 2 = ... 4,995 more ... = 4998 = 4999 = 5000"
    with pytest.raises(ValueError, match=f"^0 and 5000 cannot be apart: {shown}$"):
        corrections.say("apart", 0, 5000)
    corrections.say("apart", 2500, 6000)
    with pytest.raises(ValueError, match=r"= 2500 != 6000$"):
        corrections.say("together", 0, 6000)


def test_keys_in_messages_are_safe_and_short():
    people = Collection()
    people.add([[0.0], [1.0]], keys=["a\x1b[31m\n", "b" * 1000])
    people.together(*people.keys)
    with pytest.raises(ValueError, match=r"cannot be apart: a\\x1b\[31m = b+ \.\.\. b+$") as error:
        people.apart(*people.keys)
    assert len(str(error.value)) < 300
    assert "\x1b" not in str(error.value)


@pytest.mark.parametrize("wrong", ["zoe", 3, None, ["ann"]])
def test_unknown_records(people, wrong):
    for use in (people.together, people.apart, people.take_back):
        with pytest.raises(ValueError, match="there is no point with the key"):
            use("ann", wrong)
    with pytest.raises(ValueError, match="the collection is empty"):
        Collection().together("a", "b")


def test_without_keys_ids_are_keys():
    bare = Collection()
    with late_ids(4):
        bare.add(X)
    bare.apart(4, np.int64(5))
    assert bare.corrections == [Correction("apart", 4, 5)]
    assert bare.corrected(bare.tree.cut(1)).n_after == 2
    with pytest.raises(ValueError, match="there is no point with the key 3"):
        bare.together(3, 4)


def test_records_that_are_gone():
    """Removed, they take their corrections along; replaced, they keep them."""
    corrections = Corrections()
    for kind, a, b in [("together", 1, 2), ("together", 2, 3), ("apart", 3, 4), ("apart", 5, 6)]:
        corrections.say(kind, a, b)
    changes = corrections.changes
    corrections.drop([0, 99])
    assert corrections.changes == changes
    corrections.moved(3, 7)
    assert list(map(tuple, corrections)) == [
        ("together", 1, 2), ("together", 2, 7), ("apart", 4, 7), ("apart", 5, 6)
    ]  # fmt: skip
    with pytest.raises(ValueError, match="1 and 4 cannot be together: 1 = 2 = 7 != 4"):
        corrections.say("together", 1, 4)
    corrections.drop([2, 5])
    assert list(map(tuple, corrections)) == [("apart", 4, 7)]
    corrections.say("together", 1, 4)
    assert corrections.changes > changes


@pytest.mark.jit
def test_many_corrections():
    n_points = 5_000
    rng = np.random.default_rng(1)
    points = rng.normal(size=(n_points, 3))
    people = Collection()
    people.add(points, keys=[f"k{i}" for i in range(n_points)])
    classes = (points[:, 0] > 0) + rng.integers(0, 2, n_points)
    pairs = rng.integers(0, n_points, (2_500, 2))
    keys = people.keys
    for a, b in pairs.tolist():
        if a != b:
            (people.together if classes[a] == classes[b] else people.apart)(keys[a], keys[b])
    for n_clusters in (1, 50, 1000):
        one, other = people.corrected(people.tree.cut(n_clusters)).labels[pairs].T
        assert ((one == other) == (classes[pairs[:, 0]] == classes[pairs[:, 1]])).all()


# Files and copies


def test_files_and_copies(people, tmp_path):
    path = tmp_path / "people.perch"
    people.save(path)
    plain = path.read_bytes()
    people.apart("ann", "ann3")
    people.together("ann", "di")
    expected = clusters_of(people, 3)
    people.save(path)
    for twin in (
        Collection.open(path),
        Collection.open(path, mmap=True),
        pickle.loads(pickle.dumps(people)),
        people.copy(),
        copy.deepcopy(people),
    ):
        assert twin.corrections == people.corrections
        assert twin.pairs.changes == 2
        assert clusters_of(twin, 3) == expected
        with pytest.raises(ValueError, match="di and ann3 cannot be together: di = ann != ann3"):
            twin.together("di", "ann3")
        twin.take_back("ann", "ann3")
        assert len(people.corrections) == 2
    assert ClusterTree.load(path).n_points == 10
    again = tmp_path / "again.perch"
    Collection.open(path).save(again)
    assert again.read_bytes() == path.read_bytes() != plain


def test_points_that_left_the_tree_are_not_saved(people, tmp_path):
    path = tmp_path / "people.perch"
    people.apart("ann", "bo")
    people.pairs.say("apart", 3, 99)
    assert people.corrected(people.tree.cut(1)).n_after == 2
    people.save(path)
    assert Collection.open(path).corrections == [Correction("apart", "ann", "bo")]


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"a": [0], "b": [1]},
        {"a": [0], "b": [1], "same": [2]},
        {"a": [1], "b": [0], "same": [1]},
        {"a": [0], "b": [0], "same": [0]},
        {"a": [0], "b": [10], "same": [0]},
        {"a": [-1], "b": [0], "same": [0]},
        {"a": [0, 1], "b": [1], "same": [1]},
        {"a": [0, 0], "b": [1, 1], "same": [1, 1]},
        {"a": [0, 0], "b": [1, 1], "same": [1, 0]},
        {"a": [0, 1, 0], "b": [1, 2, 2], "same": [1, 1, 0]},
        {"a": [0.0], "b": [1.0], "same": [1.0]},
        {"a": ["x"], "b": ["y"], "same": ["z"]},
        {"a": [0, None], "b": [1, 2], "same": [1, 1]},
    ],
)
def test_corrections_that_make_no_sense(people, tmp_path, columns):
    path = tmp_path / "people.perch"
    people.sections["corrections"] = Contents({"changes": 5}, columns)
    people.save(path)
    with pytest.raises(CorruptFileError, match="has corrections that make no sense"):
        Collection.open(path)


@pytest.mark.parametrize("meta", [{}, {"changes": 0}, {"changes": "1"}, {"changes": 2**70}])
def test_changes_that_make_no_sense(people, tmp_path, meta):
    path = tmp_path / "people.perch"
    columns = {"a": [0], "b": [1], "same": [1]}
    people.sections["corrections"] = Contents(meta, columns)
    people.save(path)
    with pytest.raises(CorruptFileError, match="has corrections that make no sense"):
        Collection.open(path)
    people.sections["corrections"] = Contents({"changes": 3}, columns)
    people.save(path)
    assert Collection.open(path).corrections == [Correction("together", "ann", "anna")]


# The estimator


def test_the_estimator_follows():
    model = Perch(n_clusters=2).fit(X, keys=KEYS)
    assert model.labels_.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 0, 0]
    model.collection_.apart("bo", "anna")
    model.collection_.apart("ann", "ann3")
    model.collection_.together("ann3", "bo")
    assert model.labels_.tolist() == model.all_labels_.tolist() == [0, 0, 2, 2, 1, 1, 1, 1, 0, 2]
    assert model.label_of(["ann", "ann3", "bob"]).tolist() == [0, 2, 2]
    assert model.members(2).tolist() == ["bo", "bob", "ann3"]
    assert model.predict([[0.0], [10.4], [120.0]]).tolist() == [0, 2, 1]
    assert model.cluster_ids_.tolist() == [0, 1, 2]
    assert model.cluster_sizes_.tolist() == [3, 4, 3]
    assert model.label_of(model.exemplars_).tolist() == [0, 1, 2]
    assert [event.kind for event in model.events_] == ["split"]
    for correction in model.collection_.corrections:
        model.collection_.take_back(correction.a, correction.b)
    assert model.labels_.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 0, 0]


def test_estimators_in_files(tmp_path):
    path = tmp_path / "model.perch"
    model = Perch(n_clusters=2).fit(X, keys=KEYS)
    before = model.labels_
    model.collection_.together("cy", "bo")
    assert set(model.labels_) == {0}
    model.save(path)
    for twin in (Perch.load(path), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(twin.all_labels_, model.all_labels_)
        assert twin.events_ == model.events_
        twin.collection_.take_back("bo", "cy")
        assert len(set(twin.labels_)) == 2
        assert len(set(zip(twin.labels_.tolist(), before.tolist(), strict=True))) == 2
    # What was taken back counts as a change still, in a file as well.
    model.collection_.take_back("bo", "cy")
    labels = model.labels_
    model.save(path)
    assert np.array_equal(Perch.load(path).labels_, labels)
    # A new fit begins anew.
    assert model.fit(X, keys=KEYS).collection_.corrections == []


def test_threads(people):
    """Statements wait for each other, and readers see none half made."""
    stop, wrong = threading.Event(), []

    def read():
        while not stop.is_set():
            with people.tree.reading():
                labels = people.corrected(people.tree.cut(2)).labels
                said = people.corrections
            for _, a, b in said:
                one, other = labels[KEYS.index(a)], labels[KEYS.index(b)]
                wrong.extend([(a, b)] if one == other else [])

    def say(own):
        for _ in range(100):
            people.apart(*own)
            people.take_back(*own)

    readers = start(read, read)
    join(start(lambda: say(("ann", "bo")), lambda: say(("ann", "cy")), lambda: say(("di", "cy"))))
    stop.set()
    join(readers)
    assert not wrong
    assert people.corrections == []
    assert people.pairs.changes == 600
