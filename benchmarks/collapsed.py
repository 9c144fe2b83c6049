"""PERCH-BC on a long stream: a million points in bounded memory."""

from .common import Row, run_python

CODE = """
import time
import numpy as np
from perchtree import ClusterTree

N, D, CLUSTERS, LEAVES, BATCH = 1_000_000, 64, 5_000, 20_000, 10_000
centres = np.random.default_rng(0).normal(size=(CLUSTERS, D)).astype(np.float32)

def batch(number):
    rng = np.random.default_rng(number + 1)
    noise = rng.normal(scale=0.2, size=(BATCH, D)).astype(np.float32)
    return centres[rng.integers(0, CLUSTERS, BATCH)] + noise

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) * 1024

tree = ClusterTree(D, linkage="box", search="beam", max_leaves=LEAVES)
tree.insert(batch(0)[:10])
tree = ClusterTree(D, linkage="box", search="beam", max_leaves=LEAVES)
base = resident()
start = time.perf_counter()
for number in range(N // BATCH):
    tree.insert(batch(number))
    if tree.n_points == 100_000:
        early = resident() - tree._tree.ids.nbytes
seconds = time.perf_counter() - start
late = resident() - tree._tree.ids.nbytes
tree.check()
print(seconds, base, early, late, tree.stats.beam_found / tree.stats.beam_checked, tree.n_leaves)
"""


def run() -> list[Row]:
    seconds, base, early, late, found, leaves = map(float, run_python(CODE).split())
    return [
        Row("PERCH-BC, 1,000,000 x 64, L = 20,000", f"{seconds:.0f} s, {leaves:,.0f} leaves"),
        Row(
            "  resident at 100,000 and 1,000,000 points, ids aside",
            f"{(early - base) / 1e6:.1f} and {(late - base) / 1e6:.1f} MB above the start",
            "flat",
        ),
        Row("  beam searches that found the nearest leaf", f"{found:.0%} of a sample"),
    ]
