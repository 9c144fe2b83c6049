"""Corrections: which records belong together, and which do not."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..clusters.correcting import Corrected, correct
from ..inert import inert_line
from .asking import Asking
from .corrections import APART, TOGETHER, Correction

_NAME_LENGTH = 60
"""Characters of a key in a chain of several."""


class Correctable(Asking):
    """Records whose clustering can be corrected."""

    def together(self, a: Any, b: Any) -> None:
        """Mark two records, given by their keys, as belonging together: they share a cluster.

        Corrections are applied to every flat clustering by `corrected`, `Perch` and `perch`. The
        tree itself, and `ClusterTree.cut`, do not change. When a record is removed, its
        corrections are removed as well.

        Raises
        ------
        ValueError
            If it contradicts earlier corrections. The message shows how; nothing changes.

        Examples
        --------
        >>> from perchtree import Collection
        >>> people = Collection()
        >>> _ = people.add([[0], [1], [8], [9]], keys=["ann", "anna", "bob", "rob"])
        >>> people.together("bob", "rob")
        >>> people.apart("ann", "anna")
        >>> people.corrected(people.tree.cut(2))
        Corrected(labels=array([0, 1, 2, 2]), n_before=2, n_after=3)
        >>> people.corrections
        [Correction(kind='apart', a='ann', b='anna'), Correction(kind='together', a='bob', b='rob')]
        """
        self._say(TOGETHER, a, b)

    def apart(self, a: Any, b: Any) -> None:
        """Mark two records, given by their keys, as not belonging together.

        They never share a cluster, and neither do records that belong together with them; see
        `together`.
        """
        self._say(APART, a, b)

    def take_back(self, a: Any, b: Any) -> None:
        """Withdraw the correction of two records; ValueError if there is none."""
        with self._changing(), self.tree.lock():
            one, other = self.ids_of([a, b]).tolist()
            self.pairs.take_back(one, other, self._name)
            self._follow(self.tree, np.empty(0, np.int64))
            self._log.corrected([one, other])

    def _say(self, kind: str, a: Any, b: Any) -> None:
        with self._changing(), self.tree.lock():
            one, other = self.ids_of([a, b]).tolist()
            self.pairs.say(kind, one, other, self._name)
            self._follow(self.tree, np.empty(0, np.int64))
            self._log.corrected([one, other])

    def _name(self, point_id: int) -> str:
        """The key of a record, for messages."""
        return inert_line(self.records.keys(np.array([point_id]))[0], _NAME_LENGTH)

    @property
    def corrections(self) -> list[Correction]:
        """All corrections of pairs of records, by their keys."""
        with self._locks.reading:
            said = list(self.pairs)
            a, b = (self.records.keys(np.array(ids, np.int64)).tolist()
                    for ids in ([c.a for c in said], [c.b for c in said]))  # fmt: skip
        return [Correction(c.kind, *keys) for c, *keys in zip(said, a, b, strict=True)]

    def corrected(self, labels: ArrayLike) -> Corrected:
        """Apply corrections to a flat clustering of all records.

        Clusters are joined as a whole, and clusters with records that belong apart are split along
        the tree, where that cuts the fewest branches. The number of clusters may change.

        Parameters
        ----------
        labels : array-like of whole numbers
            The cluster of each record, in the order of `ids`, as `tree.cut` returns them.

        Returns
        -------
        Corrected
            New `labels`, 0, 1, 2, ... in the order of the smallest ids; and the number of
            clusters before and after, `n_before` and `n_after`.
        """
        tree = self.tree
        with tree.reading():
            given = tree.as_labels(labels)
            if tree.n_points == 0:
                return Corrected(given, 0, 0)
            pairs = self.pairs.pairs(TOGETHER), self.pairs.pairs(APART)
            return correct(tree.table, given, *pairs)
