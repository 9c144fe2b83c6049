"""Measures and cuts of large trees."""

import numpy as np

from perchtree.metrics import dendrogram_purity

from .common import Row, build, load, seconds


def run() -> list[Row]:
    X, y = load("covtype")
    tree = build(X, n_jobs=-1)
    small = build(X[:100])
    small.cut(2)
    dendrogram_purity(small, y[:100])
    number = seconds(lambda: tree.children)
    purity = seconds(lambda: dendrogram_purity(tree, y))
    cut = seconds(lambda: tree.cut(7))
    again = seconds(lambda: tree.cut([10, 100, 1000]))
    scatter = seconds(lambda: tree.cut(7, criterion="scatter"))
    small.cut(min_cluster_size=2)
    persistent = seconds(lambda: tree.cut(min_cluster_size=50))
    found = seconds(tree.cut)
    one = seconds(lambda: tree.cluster_of(5, distance=100.0))

    n_points = 1_000_000
    chain = np.column_stack([np.arange(1, n_points), np.arange(n_points - 1, 2 * n_points - 2)])
    chain[0] = 0, 1
    labels = np.random.default_rng(0).integers(0, 100_000, n_points)
    deep = seconds(lambda: dendrogram_purity(chain, labels))
    return [
        Row("covtype, 581,012 rows: numbering the nodes", f"{number:.2f} s"),
        Row("  exact purity", f"{purity:.2f} s", "< 2 s"),
        Row("  first cut, numbering included", f"{number + cut:.2f} s", "< 3 s"),
        Row("  three more cuts", f"{again:.2f} s"),
        Row("  first cut by scatter", f"{scatter:.2f} s"),
        Row("  clusters that persist, of at least 50 points", f"{persistent:.2f} s", "<= 2 s"),
        Row("  clusters with a minimum size found from the data", f"{found:.2f} s"),
        Row("  the cluster of one point", f"{1e6 * one:.0f} us"),
        Row("a chain of 1,000,000 points, 100,000 classes: purity", f"{deep:.1f} s", "seconds"),
    ]
