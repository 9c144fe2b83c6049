"""Collections in folders, for tests: small ones, and whether two are the same."""

import numpy as np

from perchtree import Collection
from perchtree._arrays import used_rows

ASTAR = {"search": "astar"}


def arrays(collection):
    """Every array of the tree, so that trees are compared node for node."""
    if collection._tree is None:
        return {}
    with collection.tree.reading() as tree:
        return {name: array.copy() for name, array in used_rows(tree)}


def assert_same(one, other):
    mine, theirs = arrays(one), arrays(other)
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)
    assert list(one.keys) == list(other.keys)
    assert one.texts == other.texts
    assert one.classes == other.classes
    assert one.corrections == other.corrections
    assert one.answers == other.answers
    if one.standing is None:
        assert other.standing is None
    else:
        assert one.standing.labels.tolist() == other.standing.labels.tolist()
        assert one.standing.sizes() == other.standing.sizes()
        assert one.standing.events() == other.standing.events()
        assert one.standing.last_event == other.standing.last_event


def rows(n, seed=0, d=3):
    return np.random.default_rng(seed).integers(0, 6, (n, d)).astype(np.float32)


def filled(path, n=30, **settings):
    people = Collection.open(path, write=True, **ASTAR, **settings)
    people.add(
        rows(n),
        keys=[f"k{i}" for i in range(n)],
        texts=[f"word{i} shared" for i in range(n)],
        classes=[i % 3 for i in range(n)],
    )
    return people
