"""What other parts of a program have left in memory, and what a tree has dropped, is in no file."""

import copy
import pickle

import numpy as np
import pytest

from perchtree import ClusterTree, Collection, Perch
from perchtree._kernels.numbering import is_point
from perchtree._kernels.schema import LEAF

MARKER = b"\xa7secret\xa7marker\xa7!"  # any eight bytes of it give it away
MODES = [
    {"linkage": "box"},
    {"linkage": "box", "max_leaves": 9},
    {"max_leaves": 9},
    {"max_leaves": 9, "linkage": "ward"},
    {"linkage": "box", "search": "beam", "max_leaves": 60},
    {"search": "scan"},
    {"metric": "cosine"},
    {},
]
X = np.random.default_rng(4).normal(size=(150, 3)).astype(np.float32)


MARKERS = np.frombuffer(MARKER * (2**18 // len(MARKER) + 1), np.uint8)
SIZES = [*range(16, 8192, 8), *(2**k for k in range(13, 19))]


def litter():
    """Fill memory of many sizes with the marker, and free it."""
    held = [MARKERS[:size].copy() for size in SIZES for _ in range(3)]
    assert held[-1].tobytes().startswith(MARKER)
    del held


def grown(settings):
    """A tree grown in small steps, each into memory that others have just freed."""
    tree = ClusterTree(3, **settings)
    for start in range(0, len(X), 25):
        litter()
        tree.insert(X[start : start + 25])
    tree.insert(X[:10])  # copies
    return tree


def file_of(thing, path):
    litter()
    thing.save(path)
    return path.read_bytes()


def assert_clean(content):
    for first in range(len(MARKER) - 7):
        assert MARKER[first : first + 8] not in content


@pytest.fixture(params=MODES, ids=str)
def settings(request):
    return request.param


def test_nothing_of_others_is_saved(settings, tmp_path):
    tree = grown(settings)
    assert_clean(file_of(tree, tmp_path / "t.perch"))
    litter()
    assert_clean(pickle.dumps(tree, protocol=5))
    if tree.linkage != "box":
        tree.refine(3)
    loaded = ClusterTree.load(tmp_path / "t.perch", mmap=True)
    for twin in (tree.copy(), copy.deepcopy(tree), loaded):
        litter()
        twin.insert(X[:5] + 1)
        assert_clean(file_of(twin, tmp_path / "twin.perch"))
        assert_clean(pickle.dumps(twin))


def test_nothing_of_others_is_saved_with_records(settings, tmp_path):
    collection, model = Collection(**settings), Perch(n_clusters=3, **settings)
    for start in range(0, len(X), 50):
        rows = slice(start, start + 50)
        columns = {"keys": [f"k{i}" for i in range(start, start + 50)], "texts": ["", None] * 25}
        litter()
        collection.add(X[rows], **columns)
        litter()
        model.partial_fit(X[rows], **columns)
        assert len(model.labels_) == 50
    for thing in (collection, model):
        assert_clean(file_of(thing, tmp_path / "c.perch"))
        assert_clean(pickle.dumps(thing))


def test_equal_trees_are_equal_files(settings, tmp_path):
    one, other = (grown(settings) for _ in range(2))
    content = file_of(one, tmp_path / "one.perch")
    assert file_of(other, tmp_path / "other.perch") == content
    assert pickle.dumps(one) == pickle.dumps(other)
    loaded = ClusterTree.load(tmp_path / "one.perch")
    assert file_of(loaded, tmp_path / "again.perch") == content
    assert file_of(one.copy(), tmp_path / "copy.perch") == content


@pytest.mark.parametrize("linkage", ["box", "average", "ward"])
def test_features_of_collapsed_points_are_gone(linkage, tmp_path):
    wide = np.random.default_rng(6).normal(size=(150, 8)).astype(np.float32)
    tree = ClusterTree(8, linkage=linkage, max_leaves=9)
    tree.insert(wide)
    tree.check()
    with tree.reading() as arrays:
        leaves = arrays.ids[: len(wide), LEAF]
        living = {row.tobytes() for row in wide[is_point(leaves)]}
    assert len(living) < 9
    for content in (file_of(tree, tmp_path / "t.perch"), pickle.dumps(tree)):
        found = {row.tobytes() for row in wide if row.tobytes() in content}
        assert found == living
