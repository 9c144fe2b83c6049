"""Exports: right on small trees, and fine on a chain of 100,000."""

import itertools
import json
import sys

import hypothesis
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from gapped import GappedTree
from perchtree import ClusterTree
from perchtree.exports.aligned import numbered_classes
from perchtree.exports.authors import read_authors
from perchtree.exports.truncated import truncated
from perchtree.inert import one_line
from perchtree.metrics import dendrogram_purity
from perchtree.table import NodeTable, parents_of
from strategies import grids

pytestmark = pytest.mark.outer

few = settings(max_examples=max(10, settings.default.max_examples // 8))


def made(X, **mode):
    tree = ClusterTree(X.shape[1], **{"linkage": "box"} | mode)
    tree.insert(X)
    return tree


def gapped(X):
    tree = GappedTree(X.shape[1], linkage="box")
    tree.insert(X)
    return tree


class Chain(ClusterTree):
    """0 and 1 are joined, then 2 with them, and so on: to insert so many would take too long."""

    def __init__(self, n_points):
        super().__init__(1, linkage="box")
        self.chain = chain(n_points)

    @property
    def table(self):
        return self.chain


def chain(n_points):
    merges = np.arange(n_points, 2 * n_points - 1)
    children = np.column_stack([np.arange(1, n_points), np.append(0, merges[:-1])])
    children = np.sort(children, axis=1)
    return NodeTable(
        children=children,
        parents=parents_of(children),
        distances=np.arange(1.0, n_points),
        heights=np.append(np.zeros(n_points), np.arange(1.0, n_points)),
        sizes=np.append(np.ones(n_points, int), np.arange(2, n_points + 1)),
        leaves=np.arange(n_points),
        inner=np.zeros(n_points - 1, bool),
        nodes=2 * np.arange(n_points - 1) + 1,
        ids=np.arange(n_points),
        changes=0,
    )


def clades_of_newick(text):
    """The points below each pair of brackets, and how long the paths from them to the root are."""
    clades, stack, name, paths = set(), [], "", {}
    for piece in text.replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split():
        if piece == "(":
            stack.append(set())
        elif piece == ")":
            members = stack.pop()
            clades.add(frozenset(members))
            if stack:
                stack[-1] |= members
            name = members
        elif piece not in ",;":
            label, _, length = piece.rstrip(";").partition(":")
            if label:
                stack[-1].add(int(label))
                name = {int(label)}
            for point in name:
                paths[point] = paths.get(point, 0) + float(length or 0)
    return clades, paths


@given(X=grids(min_points=2), max_leaves=st.none() | st.integers(1, 12))
@few
def test_scipy_takes_the_linkage(X, max_leaves):
    tree = made(X, max_leaves=max_leaves)
    merges = tree.to_linkage()
    assert hierarchy.is_valid_linkage(merges)
    assert hierarchy.is_monotonic(merges)
    assert sorted(hierarchy.leaves_list(merges)) == list(range(len(X)))
    hierarchy.dendrogram(merges, no_plot=True)
    # SciPy finds the same heights where points meet ...
    meet = squareform(hierarchy.cophenet(merges))
    for a, b in itertools.combinations(range(len(X)), 2):
        assert meet[a, b] == tree.heights[tree.lca(a, b)]
    # ... and the same clusters below a height, if no leaf is higher: those are never cut.
    highest = tree.heights[tree.table.leaves].max()
    levels = np.unique(tree.heights[tree.heights >= highest])
    for height in (levels[1:] + levels[:-1]) / 2:
        ours, theirs = tree.cut(distance=height), hierarchy.fcluster(merges, height, "distance")
        assert len(set(zip(ours, theirs, strict=True))) == len(set(ours)) == len(set(theirs))


@given(X=grids(min_points=3), data=st.data())
@few
def test_a_linkage_is_as_pure_as_the_tree(X, data):
    tree = made(np.unique(X, axis=0))
    classes = data.draw(st.lists(st.integers(0, 2), min_size=tree.n_points, max_size=tree.n_points))
    hypothesis.assume(len(set(classes)) < len(classes))
    pure = dendrogram_purity(tree.to_linkage(), classes)
    assert pure == pytest.approx(dendrogram_purity(tree, classes))
    merged = [frozenset(tree.members(node).tolist()) for node in range(len(tree.parents))]
    shares = [
        np.mean([classes[point] == classes[a] for point in merged[tree.lca(a, b)]])
        for a, b in itertools.combinations(range(tree.n_points), 2)
        if classes[a] == classes[b]
    ]
    assert pure == pytest.approx(np.mean(shares))


@given(X=grids(min_points=2))
@few
def test_newick_holds_the_same_clades(X):
    tree = made(X)
    table = tree.table
    clades, paths = clades_of_newick(tree.to_newick())
    merges = range(len(X), 2 * len(X) - 1)
    assert clades == {frozenset(tree.members(number).tolist()) for number in merges}
    for point in range(len(X)):
        assert paths[point] == pytest.approx(table.heights[-1], rel=1e-4)


def test_newick_names():
    tree = made(np.array([[0.0], [1.0], [5.0]]))
    assert tree.to_newick(["it's", "a(b)", ""]) == "('':5,('it''s':1,'a(b)':1):4);"
    assert made(np.array([[0.0]])).to_newick(["x"]) == "x;"
    with pytest.raises(ValueError, match="2 names for a tree of 3 points"):
        tree.to_newick(["a", "b"])


def test_pandas(monkeypatch):
    tree = made(np.array([[0.0], [1.0], [5.0], [5.0]]))
    frame = tree.to_pandas()
    assert frame.columns.tolist() == ["parent", "size", "depth", "height", "is_leaf", "id"]
    assert frame["id"].tolist() == [0, 1, 2, 3, -1, -1, -1]
    assert frame["size"].tolist() == [1, 1, 1, 1, 2, 2, 4]
    assert frame.depth.tolist() == [2, 2, 2, 2, 1, 1, 0]
    assert frame.is_leaf.tolist() == [True, True, False, False, True, False, False]
    assert frame.parent.tolist() == tree.parents.tolist()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'perchtree\[pandas\]'"):
        tree.to_pandas()


@given(X=grids(min_points=2, max_points=25), branches=st.integers(1, 30))
@few
def test_json_is_the_top_of_the_tree(X, branches):
    tree = made(X)
    nodes = json.loads(tree.to_json(branches))["nodes"]
    shown = {node["node"]: node for node in nodes}
    leaves = [node for node in nodes if "points" in node]
    assert len(leaves) == min(branches, tree.n_leaves)
    assert sum(node["size"] for node in leaves) == len(X)
    for node in nodes[1:]:
        assert shown[node["parent"]]["size"] > node["size"]
        assert node["parent"] == tree.parents[node["node"]]
    for node in leaves:
        assert node["points"] == tree.members(node["node"]).tolist()[:10]


@pytest.mark.parametrize("max_leaves", [None, 6])
@given(X=grids(min_points=3, max_points=30))
@few
def test_authors_files(tmp_path_factory, max_leaves, X):
    """Scored from the file, a tree is as pure as it is: copies meet at their leaf."""
    tree = made(X, max_leaves=max_leaves)
    classes = (X[:, 0] > 0).astype(int)
    path = tmp_path_factory.mktemp("authors") / "tree.tsv"
    tree.to_authors(path, classes)
    read = read_authors(path)
    assert sorted(read.names) == sorted(f"p{i}" for i in range(len(X)))
    expected = dendrogram_purity(tree, classes)
    assert dendrogram_purity(read.parents, read.classes) == pytest.approx(expected)


def test_authors_files_of_theirs(tmp_path):
    path = tmp_path / "tree.tsv"
    path.write_text("r\tNone\tnull\nx\tr\ta\ny\tr\tNone\nq\ty\tb\nz\ty\ta\n")
    read = read_authors(path)
    assert read.names == ["x", "q", "z"]
    assert read.classes == ["a", "b", "a"]
    assert read.parents.tolist() == [3, 4, 4, -1, 3]
    for text, message in (
        ("a\tb\n", "line 1: expected node, parent and class"),
        ("a\tNone\tx\na\tNone\tx\n", "line 2: node 'a' comes twice"),
        ("a\tb\tx\n", "line 1: there is no node 'b'"),
        ("a\tNone\tx\nb\tNone\tx\n", "2 roots"),
        ("a\tNone\tNone\nb\ta\tNone\n", "line 2: leaf 'b' has no class"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            read_authors(path)


def test_what_authors_files_cannot_hold(tmp_path):
    tree = made(np.array([[0.0], [1.0]]))
    for classes, names, message in (
        (["a"], None, "1 classes for a tree of 2 points"),
        (["a", "b"], ["x"], "1 names for a tree of 2 points"),
        (["a", "none"], None, "cannot be in such a file"),
        (["a", "b"], ["x\ty", "z"], "cannot be in such a file"),
        (["a", "b"], ["x", "x"], "unique"),
        (["a", "b"], ["node2", "x"], "unique"),
    ):
        with pytest.raises(ValueError, match=message):
            tree.to_authors(tmp_path / "tree.tsv", classes, names)
    assert list(tmp_path.iterdir()) == []


def test_ids_with_gaps(tmp_path):
    tree = gapped(np.array([[0.0], [1.0], [5.0]]))
    assert tree.to_newick() == "(13:5,(7:1,10:1):4);"
    assert tree.to_newick(["a", "b", "c"]) == "(c:5,(a:1,b:1):4);"
    shown = [node.get("points") for node in json.loads(tree.to_json())["nodes"]]
    assert shown == [None, [13], None, [7], [10]]
    named = [node.get("points") for node in json.loads(tree.to_json(2, "abc"))["nodes"]]
    assert named == [None, ["c"], ["a", "b"]]
    tree.to_authors(tmp_path / "tree.tsv", ["x", "y", "z"])
    read = read_authors(tmp_path / "tree.tsv")
    assert dict(zip(read.names, read.classes, strict=True)) == {"p7": "x", "p10": "y", "p13": "z"}
    assert tree.to_pandas()["id"].tolist() == [7, 10, 13, -1, -1]


def test_old_names_of_arguments(tmp_path):
    tree = made(np.array([[0.0], [1.0]]))
    for call, line in (
        (lambda: tree.to_json(max_leaves=3), "to_json() takes 'branches' now, not 'max_leaves'"),
        (
            lambda: tree.to_html(tmp_path / "tree.html", labels=[0, 1]),
            "to_html() takes 'classes' now, not 'labels'",
        ),
        (
            lambda: tree.to_html(tmp_path / "tree.html", max_leaves=3),
            "to_html() takes 'branches' now, not 'max_leaves'",
        ),
        (
            lambda: tree.to_authors(tmp_path / "tree.tsv", labels=["a", "b"]),
            "to_authors() takes 'classes' now, not 'labels'",
        ),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value) == line
    assert list(tmp_path.iterdir()) == []


def test_classes_of_any_kind():
    table = made(np.array([[0.0], [1.0], [2.0]])).table
    for classes, names, numbers in (
        ([10, 9, 10], [9, 10], [1, 0, 1]),
        (["b", None, "a"], ["None", "a", "b"], [2, 0, 1]),
        (iter("abb"), ["a", "b"], [0, 1, 1]),
    ):
        found = numbered_classes(classes, table)
        assert [part.tolist() for part in found] == [names, numbers]
    with pytest.raises(ValueError, match=r"one class per point, got an array of shape \(3, 2\)"):
        numbered_classes(np.zeros((3, 2)), table)


def test_text_is_made_fit_to_show():
    assert one_line("a\tb\n  c") == "a b c"
    assert one_line("\u202egpj.exe\u2066 \x1b[31m\x00\x9b\ud800") == "gpj.exe [31m"
    assert one_line("\u05e9\u05dc\u05d5\u05dd a\u200db") == "\u05e9\u05dc\u05d5\u05dd a\u200db"
    assert one_line("abcdef", 6) == "abcdef"
    assert one_line("abcdefg", 6) == "abcde…"


@pytest.mark.jit
def test_a_chain_of_100_000(tmp_path):
    tree = Chain(100_000)
    assert hierarchy.is_valid_linkage(tree.to_linkage())
    text = tree.to_newick()
    assert text.count("(") == text.count(")") == 99_999
    frame = tree.to_pandas()
    assert frame.depth.max() == 99_999
    assert frame.depth.tolist()[2:] == [*range(99_998, 0, -1), *range(99_998, -1, -1)]
    assert len(json.loads(tree.to_json(1000))["nodes"]) == 1999
    assert np.array_equal(np.sort(truncated(tree.table, 1000).members(0)), np.arange(100_000))
    tree.to_authors(tmp_path / "tree.tsv", ["a"] * 100_000)
    assert len((tmp_path / "tree.tsv").read_text().splitlines()) == 199_999
