"""Compile what the tests use, before they run: `python tests/ahead.py`.

Numba keeps entry points on disk, but the kernels inside them are compiled anew in every process
that needs another entry point. Most of those are shared by all modes of one family. So each family
is compiled by one process, and workers then find everything on disk. What is missing here is
compiled by the test that needs it: that is only slower.
"""

import subprocess
import sys

import numpy as np

from perchtree import ClusterTree
from perchtree._kernels.modes import BALANCES, MASKINGS
from perchtree.metrics import dendrogram_purity

X = np.random.default_rng(0).random((200, 2))

BOX = [
    *({"masking": masking, "balance": balance} for masking in MASKINGS for balance in BALANCES),
    *({"masking": masking, "balance": balance, "max_leaves": 8}
      for masking in MASKINGS if masking != "exact" for balance in BALANCES),
    {"search": "auto"},
    {"search": "scan"},
    {"search": "scan", "balance": None},
    {"search": "scan", "masking": None},
    {"search": "scan", "masking": "exact", "balance": None},
    {"search": "scan", "masking": "exact", "balance": "ratio"},
    {"search": "scan", "max_leaves": 8},
    {"search": "scan", "max_leaves": 150, "n_jobs": 2},  # leaves found ahead
    {"search": "beam"},
    {"search": "beam", "max_leaves": 8},
]  # fmt: skip

LINKAGE = [
    {"linkage": linkage, "graft": graft, "search": search, "max_leaves": max_leaves}
    for linkage in ("average", "ward")
    for graft, max_leaves in ((5, None), (5, 8), (0, None))
    for search in ("astar", "scan", "beam")
    if graft or search != "beam"
]

REMOVED = [
    {}, {"masking": "interval", "balance": "ratio"}, {"masking": "exact", "balance": None},
    {"masking": None, "balance": None}, {"max_leaves": 8},
    {"masking": "interval", "balance": "ratio", "max_leaves": 8},
    *({"linkage": "average", "max_leaves": max_leaves} for max_leaves in (None, 8)),
    {"linkage": "ward", "graft": 0}, {"linkage": "ward", "max_leaves": 8},
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
    tree.check()
    if tree.settings.has_linkage:
        tree.refine()
    assert tree.depth.max > 0
    assert tree.mean_balance > 0
    dendrogram_purity(tree, np.arange(len(X)) % 2)


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
        return 0
    processes = [subprocess.Popen([sys.executable, __file__, name]) for name in ("box", "linkage")]
    return max(abs(process.wait()) for process in processes)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
