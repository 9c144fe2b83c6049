"""Descriptions of the clusters of a collection: size, cohesion, exemplar, keywords."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..clusters.confidence import find_confidence
from ..clusters.exemplars import find_exemplars
from ..clusters.names import Name, name_groups
from .asking import Asking

KEYWORDS = 5
"""Words in the name of a cluster."""


class Describing(Asking):
    """Records with descriptions of their clusters, which are given by the label of each record."""

    def names(self, labels: ArrayLike) -> list[Name]:
        """Keywords and the text of an exemplar of each cluster, in ascending order of labels.

        docs/text.md has the formula. Each text is split into words only once.

        Parameters
        ----------
        labels : array-like of whole numbers
            The cluster of each record, in the order of `ids`.

        Examples
        --------
        >>> from perchtree import Collection
        >>> shop = Collection()
        >>> titles = ["green tea", "black tea", "red socks", "wool socks"]
        >>> _ = shop.add([[0.0], [1.0], [8.0], [9.0]], texts=titles)
        >>> [str(name) for name in shop.names(shop.tree.cut(2))]
        ['tea', 'socks']
        """
        with self.tree.reading():
            numbers, n_clusters = self._numbered(labels)[1:]
            exemplars = self._exemplars(numbers)
            return self._names(numbers, n_clusters, exemplars)

    def describe(self, labels: ArrayLike) -> Any:
        """A pandas DataFrame with one row per cluster, the largest first.

        Its index is the label; the columns are

        - `size`, the number of records;
        - `cohesion`, the mean confidence of its records (`ClusterTree.confidence`);
        - `exemplar`, the key of a record close to its mean;
        - `keywords`, as one string, and `text`, that of the exemplar, if there are texts.

        Parameters
        ----------
        labels : array-like of whole numbers
            The cluster of each record, in the order of `ids`, as from `tree.cut` or `corrected`.

        Examples
        --------
        >>> from perchtree import Collection
        >>> people = Collection()
        >>> _ = people.add([[0.0], [1.0], [2.0], [9.0]], keys=["ann", "anna", "anne", "bob"])
        >>> print(people.describe(people.tree.cut(2)).to_string(index_names=False))
           size  cohesion exemplar
        0     3     0.827     anna
        1     1     1.000      bob
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("describe needs pandas: pip install 'perchtree[pandas]'") from None
        columns = self.summary(labels)
        index = pd.Index(columns.pop("cluster"), name="cluster")
        return pd.DataFrame(columns, index=index)

    def summary(self, labels: ArrayLike) -> dict[str, Any]:
        """The columns of `describe`, with `cluster` as the first, as arrays and lists."""
        with self.tree.reading():
            clusters, numbers, n_clusters = self._numbered(labels)
            sizes = np.bincount(numbers, minlength=n_clusters)
            firm = np.bincount(numbers, find_confidence(self.tree.table, numbers)) / sizes
            exemplars = self._exemplars(numbers)
            columns: dict[str, Any] = {
                "cluster": clusters,
                "size": sizes,
                "cohesion": np.round(firm, 3),
                "exemplar": self.records.keys(exemplars),
            }
            if "texts" in self.records:
                names = self._names(numbers, n_clusters, exemplars)
                if any(name.words or name.exemplar for name in names):
                    columns["keywords"] = [", ".join(name.words) for name in names]
                    columns["text"] = [name.exemplar for name in names]
        order = np.lexsort((clusters, -sizes))
        return {
            name: column[order] if isinstance(column, np.ndarray) else [column[i] for i in order]
            for name, column in columns.items()
        }

    def _numbered(self, labels: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """The labels that there are, the place of each record's among them, and their number."""
        given = self.tree.as_labels(labels)
        clusters, numbers = np.unique(given, return_inverse=True)
        return clusters, numbers, len(clusters)

    def _exemplars(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        with self.tree.reading() as arrays:
            return find_exemplars(arrays, self.tree.table, numbers)

    def _names(
        self, numbers: NDArray[np.int64], n_clusters: int, exemplars: NDArray[np.int64]
    ) -> list[Name]:
        texts = self.records.values("texts", exemplars)
        terms = self.records.terms(self.next_id)
        words = name_groups(terms, self.ids, numbers, n_clusters, KEYWORDS)
        return [Name(tuple(own), text) for own, text in zip(words, texts, strict=True)]
