"""Exports: right on small trees, and fine on a chain of 100,000."""

import json
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster import hierarchy

from perchtree import ClusterTree
from perchtree.exports.authors import authors_lines, read_authors
from perchtree.exports.frames import as_frame
from perchtree.exports.linkage import as_linkage
from perchtree.exports.newick import as_newick
from perchtree.exports.truncated import as_json, truncated
from perchtree.metrics import dendrogram_purity
from perchtree.table import NodeTable, parents_of
from strategies import grids

few = settings(max_examples=max(10, settings.default.max_examples // 8))


def made(X, **mode):
    tree = ClusterTree(X.shape[1], **mode)
    tree.insert(X)
    return tree


def chain(n_points):
    """0 and 1 are joined, then 2 with them, and so on."""
    merges = np.arange(n_points, 2 * n_points - 1)
    children = np.column_stack([np.arange(1, n_points), np.append(0, merges[:-1])])
    children = np.sort(children, axis=1)
    return NodeTable(
        children=children,
        parents=parents_of(children),
        heights=np.append(np.zeros(n_points), np.arange(1.0, n_points)),
        sizes=np.append(np.ones(n_points, int), np.arange(2, n_points + 1)),
        leaves=np.arange(n_points),
        inner=np.zeros(n_points - 1, bool),
        nodes=2 * np.arange(n_points - 1) + 1,
    )


def clades_of_newick(text):
    """The points below each pair of brackets, and how long the ways up from the points are."""
    clades, stack, name, ways = set(), [], "", {}
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
                ways[point] = ways.get(point, 0) + float(length or 0)
    return clades, ways


@given(X=grids(min_points=2), max_leaves=st.none() | st.integers(1, 12))
@few
def test_scipy_takes_the_linkage(X, max_leaves):
    tree = made(X, max_leaves=max_leaves)
    merges = tree.to_linkage()
    assert hierarchy.is_valid_linkage(merges)
    assert hierarchy.is_monotonic(merges)
    assert sorted(hierarchy.leaves_list(merges)) == list(range(len(X)))
    assert hierarchy.fcluster(merges, 2, "maxclust").max() <= 2
    hierarchy.dendrogram(merges, no_plot=True)
    assert dendrogram_purity(merges, np.zeros(len(X))) == 1


@given(X=grids(min_points=2))
@few
def test_newick_holds_the_same_clades(X):
    tree = made(X)
    table = tree.table
    clades, ways = clades_of_newick(tree.to_newick())
    merges = range(len(X), 2 * len(X) - 1)
    assert clades == {frozenset(tree.members(number).tolist()) for number in merges}
    for point in range(len(X)):
        assert ways[point] == pytest.approx(table.heights[-1], rel=1e-4)


def test_newick_names():
    tree = made(np.array([[0.0], [1.0], [5.0]]))
    assert tree.to_newick(["it's", "a(b)", ""]) == "('':5,('it''s':1,'a(b)':1):4);"
    assert made(np.array([[0.0]])).to_newick(["x"]) == "x;"
    with pytest.raises(ValueError, match="2 names for a tree of 3 points"):
        tree.to_newick(["a", "b"])


def test_pandas(monkeypatch):
    tree = made(np.array([[0.0], [1.0], [5.0], [5.0]]))
    frame = tree.to_pandas()
    assert frame.columns.tolist() == ["parent", "size", "depth", "height", "is_leaf"]
    assert frame["size"].tolist() == [1, 1, 1, 1, 2, 2, 4]
    assert frame.depth.tolist() == [2, 2, 2, 2, 1, 1, 0]
    assert frame.is_leaf.tolist() == [True, True, False, False, True, False, False]
    assert frame.parent.tolist() == tree.parents.tolist()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'perchtree\[pandas\]'"):
        tree.to_pandas()


@given(X=grids(min_points=2, max_points=25), max_leaves=st.integers(1, 30))
@few
def test_json_is_the_top_of_the_tree(X, max_leaves):
    tree = made(X)
    nodes = json.loads(tree.to_json(max_leaves))["nodes"]
    shown = {node["node"]: node for node in nodes}
    leaves = [node for node in nodes if "points" in node]
    assert len(leaves) <= max_leaves
    assert len(leaves) == min(max_leaves, tree.n_leaves)
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
    labels = (X[:, 0] > 0).astype(int)
    path = tmp_path_factory.mktemp("authors") / "tree.tsv"
    tree.to_authors(path, labels)
    read = read_authors(path)
    assert sorted(read.names) == sorted(f"p{i}" for i in range(len(X)))
    expected = dendrogram_purity(tree, labels)
    assert dendrogram_purity(read.parents, read.labels) == pytest.approx(expected)


def test_authors_files_of_theirs(tmp_path):
    path = tmp_path / "tree.tsv"
    path.write_text("r\tNone\tnull\nx\tr\ta\ny\tr\tNone\nq\ty\tb\nz\ty\ta\n")
    read = read_authors(path)
    assert read.names == ["x", "q", "z"]
    assert read.labels == ["a", "b", "a"]
    assert read.parents.tolist() == [3, 4, 4, -1, 3]
    for text, message in (
        ("a\tb\n", "line 1: expected node, parent and label"),
        ("a\tNone\tx\na\tNone\tx\n", "line 2: node 'a' comes twice"),
        ("a\tb\tx\n", "line 1: there is no node 'b'"),
        ("a\tNone\tx\nb\tNone\tx\n", "2 roots"),
        ("a\tNone\tNone\nb\ta\tNone\n", "line 2: leaf 'b' has no label"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            read_authors(path)


def test_what_authors_files_cannot_hold(tmp_path):
    tree = made(np.array([[0.0], [1.0]]))
    for labels, names, message in (
        (["a"], None, "1 labels"),
        (["a", "none"], None, "cannot be in such a file"),
        (["a", "b"], ["x\ty", "z"], "cannot be in such a file"),
        (["a", "b"], ["x", "x"], "unique"),
        (["a", "b"], ["node2", "x"], "unique"),
    ):
        with pytest.raises(ValueError, match=message):
            tree.to_authors(tmp_path / "tree.tsv", labels, names)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.jit
def test_a_chain_of_100_000():
    table = chain(100_000)
    assert hierarchy.is_valid_linkage(as_linkage(table))
    text = as_newick(table, range(100_000))
    assert text.count("(") == text.count(")") == 99_999
    frame = as_frame(table)
    assert frame.depth.max() == 99_999
    assert frame.depth.tolist()[2:] == [*range(99_998, 0, -1), *range(99_998, -1, -1)]
    top = truncated(table, 1000)
    assert len(json.loads(as_json(top, None))["nodes"]) == 1999
    assert np.array_equal(np.sort(top.members(0)), np.arange(100_000))
    assert sum(1 for _ in authors_lines(table, ["a"] * 100_000, range(100_000))) == 199_999
