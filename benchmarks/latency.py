"""How long one call takes: an insert that makes arrays grow, a question during a long insert."""

import threading
import time

import numpy as np

from perchtree import ClusterTree

from .common import Row, resampled, seconds


def run() -> list[Row]:
    return [*growing(), *asking()]


def growing(n_rows: int = 100_000) -> list[Row]:
    """Single inserts around the one that needs more room."""
    X = resampled(n_rows + 100)
    ClusterTree(X.shape[1]).insert(X[:100])
    ClusterTree(X.shape[1]).insert(X[:1])
    tree = ClusterTree(X.shape[1])
    tree.insert(X[:n_rows])  # gets exactly the room it needs
    times = [1e3 * seconds(lambda i=i: tree.insert(X[i : i + 1])) for i in range(n_rows, len(X))]
    usual, worst = float(np.median(times)), max(times)
    asked = X[:300] + np.float32(0.01)
    asking = [1e3 * seconds(lambda i=i: tree.nearest(asked[i : i + 1])) for i in range(300)]
    what = f"{n_rows:,} x {X.shape[1]}, single inserts, of which one makes all arrays grow"
    return [
        Row(what, f"median {usual:.1f} ms, that one {times[0]:.1f} ms, worst of 100 {worst:.1f} ms",
            "at most 20 ms more than others"),
        Row("  single inserts", _spread(times[1:]), "median <= 3 ms, 99th <= 5 medians"),
        Row("  one-row nearest", _spread(asking), "median <= 2 ms, 99th <= 5 medians"),
    ]  # fmt: skip


def _spread(times: list[float]) -> str:
    median, high = np.percentile(times, [50, 99])
    return f"median {median:.2f} ms, 99th percentile {high:.2f} ms: {high / median:.1f} medians"


def asking(n_rows: int = 100_000, d: int = 64) -> list[Row]:
    """One-row questions while another thread inserts."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(2000, d))
    X = (centres[rng.integers(0, 2000, n_rows)] + 0.3 * rng.normal(size=(n_rows, d))).astype("f4")
    tree = ClusterTree(d)
    tree.insert(X[:2000])
    tree.nearest(X[:1])
    inserting = threading.Thread(target=tree.insert, args=(X,))
    inserting.start()
    times = []
    while inserting.is_alive():
        times.append(1e3 * seconds(lambda: tree.nearest(X[len(times) : len(times) + 1])))
        time.sleep(0.005)
    inserting.join()
    median, high = np.percentile(times, [50, 99])
    return [
        Row(
            f"one-row nearest at d = {d} while {n_rows:,} rows are inserted ({len(times):,} asked)",
            f"median {median:.1f} ms, 99th percentile {high:.1f} ms, worst {max(times):.1f} ms",
            "99th percentile <= 100 ms",
        )
    ]
