"""Work that follows from a seed alone, so that memory can tell what a folder must hold."""

import numpy as np

from perchtree import Collection
from perchtree._arrays import used_rows

SETTINGS = {"search": "astar"}
D = 4


def step(collection, seed, number):
    """Do operation `number`: exactly one, which depends on nothing but the operations before."""
    random = np.random.default_rng((seed, number))
    keys = collection.keys
    kinds = ["add", "add", "add", "remove", "update", "revise", "pair", "answer", "refine", "keep"]
    kind = "keep" if number == 3 else random.choice(kinds)
    picked = [keys[i] for i in random.permutation(len(keys))[:3]]
    if kind == "keep":
        return collection.keep_clusters(distance=2 + random.random() * 4)
    if len(keys) < 10 or kind == "add":
        return add(collection, random, number, int(random.integers(1, 9)))
    if kind == "remove":
        return collection.remove(picked)
    if kind == "update":
        return collection.update(picked[:1], random.integers(0, 9, (1, D)), texts=[f"new{number}"])
    if kind == "revise":
        return collection.update(picked, texts=[f"changed{number}"] * 3)
    if kind == "pair":
        try:
            before = collection.pairs.changes
            (collection.together if number % 2 else collection.apart)(*picked[:2])
            if collection.pairs.changes > before:
                return None
        except ValueError:
            pass
        return add(collection, random, number, 1)
    if kind == "answer":
        before = collection.answered.changes
        collection.answer([picked[:2]], [(True, False, None)[number % 3]])
        if collection.answered.changes > before:
            return None
        return add(collection, random, number, 1)
    return collection.refine(1)


def add(collection, random, number, n):
    rows = random.integers(0, 9, (n, D)).astype(np.float32)
    keys = [f"{number}-{i}" for i in range(n)]
    collection.add(rows, keys=keys, texts=[f"text {key}" for key in keys])


def arrays(collection):
    if collection._tree is None:
        return {}
    with collection.tree.reading() as tree:
        return {name: array.copy() for name, array in used_rows(tree)}


class Twin:
    """The same work in memory, done as far as a folder has come."""

    def __init__(self, seed):
        self.collection, self.seed, self.number = Collection(**SETTINGS), seed, 0

    def compare(self, kept):
        """Raise AssertionError unless a collection is what its number of operations makes."""
        assert kept.operation >= self.number, "an operation that was seen is gone"
        while self.number < kept.operation:
            self.number += 1
            step(self.collection, self.seed, self.number)
        mine, theirs = arrays(self.collection), arrays(kept)
        assert mine.keys() == theirs.keys()
        for name, array in mine.items():
            assert np.array_equal(array, theirs[name]), f"{name} differs"
        assert list(self.collection.keys) == list(kept.keys)
        assert self.collection.texts == kept.texts
        assert self.collection.corrections == kept.corrections
        assert self.collection.answers == kept.answers
        self._compare_standing(self.collection.standing, kept.standing)

    def _compare_standing(self, mine, theirs):
        if mine is None:
            assert theirs is None
            return
        assert mine.distance == theirs.distance
        assert mine.labels.tolist() == theirs.labels.tolist()
        assert mine.sizes() == theirs.sizes()
        assert mine.events() == theirs.events()
