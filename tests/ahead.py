"""Compile what the tests use, before they run: `python tests/ahead.py`.

Numba keeps entry points on disk, but the kernels inside them are compiled anew in every process
that needs another entry point. Most of those are shared by all modes of one family. So each family
is compiled by one process, and workers then find everything on disk. What is missing here is
compiled by the test that needs it: that is only slower.
"""

import subprocess
import sys

import numpy as np

from batching import small_batches
from kernels import COMPILED
from perchtree import ClusterTree, agglomerate
from perchtree.encode import Chars, Words
from perchtree.metrics import dendrogram_purity

X = np.random.default_rng(0).random((200, 2))

COLLAPSED = {"max_leaves": 8}

BOX = [
    *({"masking": masking, "balance": balance}
      for masking, balance in (*COMPILED, ("interval", None), ("exact", "size"))),
    *({"masking": masking, "balance": balance} | COLLAPSED for masking, balance in (
        ("published", "size"), ("published", None),
        ("interval", "size"), ("interval", "ratio"), ("interval", None),
    )),
    {"search": "auto"},
    {"search": "scan"},
    {"search": "scan", "balance": None},
    {"search": "scan", "masking": None},
    {"search": "scan", "masking": None, "balance": None},
    {"search": "scan", "masking": "interval", "balance": "ratio"},
    {"search": "scan", "masking": "exact", "balance": None},
    {"search": "scan", "masking": "exact", "balance": "ratio"},
    {"search": "beam"},
    {"search": "beam"} | COLLAPSED,
    {"search": "cells"},
]  # fmt: skip

LINKAGE = [
    {"linkage": linkage, "graft": graft, "search": search} | more
    for linkage in ("average", "ward")
    for graft, more in ((5, {}), (5, COLLAPSED), (0, {}))
    for search in ("astar", "scan", "beam")
    if search != "beam" or (graft and linkage == "average")
    if search != "scan" or not more
] + [
    {"linkage": "average", "search": "cells"},
    {"linkage": "neighbors", "search": "astar"},
    {"linkage": "neighbors", "search": "scan"},
]

AHEAD = [
    {}, {"masking": "interval", "balance": "ratio"}, {"linkage": "average"}, {"linkage": "ward"},
]  # fmt: skip
"""Modes in which leaves of a collapsed tree are found before any row of a batch is inserted."""

REMOVED = [
    {}, {"masking": "interval", "balance": "ratio"}, {"masking": "exact", "balance": None},
    {"masking": None, "balance": None}, {"max_leaves": 8},
    {"masking": "interval", "balance": "ratio", "max_leaves": 8},
    *({"linkage": "average", "max_leaves": max_leaves} for max_leaves in (None, 8)),
    {"linkage": "ward", "graft": 0}, {"linkage": "ward", "max_leaves": 8},
    {"linkage": "neighbors"},
]  # fmt: skip
"""Modes in which points are removed."""


def build(settings):
    """Use one mode; what belongs to all of them is only compiled once."""
    tree = ClusterTree(2, **({"linkage": "box", "search": "astar"} | settings))
    tree.insert(X[:160])
    tree.insert(X[160:])
    tree.nearest(X[:3], k=2)
    tree.nearest(X, k=2)
    for criterion in ("cost", "diameter", "size", "scatter", "ward"):
        if tree.settings.has_linkage or tree.max_leaves is None or criterion == "cost":
            tree.cut(2, criterion=criterion)
    tree.cut(distance=1.0)
    tree.cut(min_cluster_size=3)
    tree.cluster_of(0, distance=1.0)
    tree.check()
    if tree.settings.has_linkage:
        tree.refine()
    assert tree.depth.max > 0
    assert tree.mean_balance > 0
    classes = np.arange(len(X)) % 2
    dendrogram_purity(tree, classes)
    dendrogram_purity(tree, classes, n_samples=10)


def search_ahead(settings):
    tree = ClusterTree(2, **({"linkage": "box", "search": "scan"} | COLLAPSED | settings))
    with small_batches(11):
        tree.insert(X)


def encode():
    for encoder in (Chars(), Words()):
        encoder.learned(["some text"]).encode(["some text"])


def remove(settings):
    tree = ClusterTree(2, **({"linkage": "box", "search": "astar"} | settings))
    tree.insert(X[:20])
    tree.remove([3])


def main(family=None):
    if family is not None:
        for settings in {"box": BOX, "linkage": LINKAGE}[family]:
            build(settings)
        for settings in REMOVED:
            if ("linkage" in settings) == (family == "linkage"):
                remove(settings)
        for settings in AHEAD:
            if ("linkage" in settings) == (family == "linkage"):
                search_ahead(settings)
        if family == "linkage":
            agglomerate(X)
        if family == "box":
            encode()
        return 0
    processes = [subprocess.Popen([sys.executable, __file__, name]) for name in ("box", "linkage")]
    return max(abs(process.wait()) for process in processes)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
