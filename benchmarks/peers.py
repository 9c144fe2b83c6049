"""Other people's clustering on the same rows, in the same run."""

from typing import Any

import fastcluster
import numpy as np
from sklearn.cluster import Birch, MiniBatchKMeans

from perchtree.metrics import dendrogram_purity, pairwise_f1

from .common import Row, build, load, seconds


def run() -> list[Row]:
    rows = []
    for name in ("clinc150", "hist50k", "covtype"):
        X, y = load(name, 20_000)
        n_clusters = len(np.unique(y))
        build(X[:100], n_jobs=-1)
        kept: dict[str, Any] = {}

        def keep(key: str, call: Any, kept: dict[str, Any] = kept) -> float:
            return seconds(lambda: kept.__setitem__(key, call()))

        ours = keep("tree", lambda X=X: build(X, n_jobs=-1))
        tree = kept["tree"]
        f1 = pairwise_f1(y, tree.cut(n_clusters))
        purity = dendrogram_purity(tree, y)
        rows.append(
            Row(f"{name}, 20,000 rows, K = {n_clusters:,}: perchtree",
                f"{ours:.2f} s, purity {purity:.3f}, F1 {f1:.3f}")
        )  # fmt: skip

        average = keep("Z", lambda X=X: fastcluster.linkage(X, "average"))
        purity = dendrogram_purity(kept["Z"][:, :2].astype(int), y)
        rows.append(Row("  fastcluster, average", f"{average:.1f} s, purity {purity:.3f}"))

        k_means = MiniBatchKMeans(n_clusters, n_init=1, random_state=0)
        time = keep("labels", lambda X=X, m=k_means: m.fit_predict(X))
        rows.append(
            Row("  scikit-learn MiniBatchKMeans, true K",
                f"{time:.1f} s, F1 {pairwise_f1(y, kept['labels']):.3f}")
        )  # fmt: skip

        # Subclusters as wide as the typical distance to a neighbour.
        threshold = float(np.median(tree.nearest(X[:500], k=2)[1][:, 1]))
        birch = Birch(threshold=threshold, n_clusters=None)
        time = keep("labels", lambda X=X, m=birch: m.fit_predict(X))
        f1, found = pairwise_f1(y, kept["labels"]), len(np.unique(kept["labels"]))
        rows.append(Row("  scikit-learn Birch", f"{time:.1f} s, F1 {f1:.3f} ({found:,} clusters)"))
    return rows
