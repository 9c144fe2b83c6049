"""Many machines: the same tree as one makes, node for node, on all data, workers and blocks.

In parts: `python -m benchmarks.machines_same NAME MODE`.
"""

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from perchtree import ClusterTree
from perchtree._arrays import used_rows
from perchtree.distributed import fit
from perchtree.distributed.cluster import connected

from .common import Row, load

DATA = {"letter": None, "clinc150": None, "hist50k": None, "omniglot": None, "covtype": 100_000}
MODES: dict[str, dict[str, Any]] = {
    "default": {}, "published": {"linkage": "box"}, "cells": {"search": "cells"},
}  # fmt: skip
WORKERS = {1: (None, 5000), 2: (None, 777), 4: (None,)}
"""How many workers with which numbers of rows in a block."""


def run(names: Iterable[str] = DATA, modes: Iterable[str] = MODES) -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            X = load(name, DATA[name])[0].astype(np.float32)
            X = np.concatenate([X, X[: len(X) // 50]])  # copies
            path = Path(folder) / f"{name}.npy"
            np.save(path, X)
            for mode in modes:
                settings = MODES[mode]
                one = ClusterTree(X.shape[1], **settings)
                one.insert(X)
                told = [
                    f"{n_workers} ({blocks or 'usual'}): "
                    + same(one, path, n_workers, blocks, settings)
                    for n_workers, sizes in WORKERS.items()
                    for blocks in sizes
                ]
                row = Row(f"{name}, {len(X):,} rows, {mode}", ", ".join(told), "the same")
                print(*row, flush=True)
                rows.append(row)
    return rows


def same(
    one: ClusterTree, path: Path, n_workers: int, block_rows: int | None, settings: dict[str, Any]
) -> str:
    with connected("local", n_workers):
        many = fit(path, ray="local", block_rows=block_rows, **settings).tree
    pairs = zip(used_rows(one._tree), used_rows(many._tree), strict=True)
    differ = [name for (name, a), (_, b) in pairs if not np.array_equal(a, b)]
    return f"differs in {differ}" if differ else "the same"


if __name__ == "__main__":
    run(sys.argv[1:2], sys.argv[2:3])
