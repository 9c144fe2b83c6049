"""Questions about pairs of records, and what the answers are good for."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..clusters.calibrating import N_FITS, Calibration
from .correctable import Correctable
from .corrections import APART, TOGETHER, Correction

Pairs = Sequence[tuple[Any, Any]]


class Answering(Correctable):
    """Records that one can be asked about, two at a time."""

    def questions(
        self, n: int = 1, pairs: Pairs = (), same: Sequence[Any] = (), *, seed: int = 0
    ) -> list[tuple[Any, Any]]:
        """Pick pairs of records to ask about, by their keys; see `ClusterTree.questions`.

        Examples
        --------
        >>> from perchtree import Collection
        >>> people = Collection()
        >>> _ = people.add([[0], [1], [8], [9]], keys=["ann", "anna", "bob", "rob"])
        >>> pairs = people.questions(3)
        >>> same = [a[0] == b[0] for a, b in pairs]  # whoever knows them says so
        >>> more = people.questions(3, pairs, same)
        >>> found = people.calibrate(pairs + more, same + [a[0] == b[0] for a, b in more])
        >>> len(found.labels), found.n_answers
        (4, 6)
        """
        with self._locks.reading:
            ids = self.tree.questions(n, self._ids_of_pairs(pairs), same, seed=seed)
            keys = self.records.keys(ids.ravel()).tolist()
        return list(zip(keys[::2], keys[1::2], strict=True))

    def calibrate(self, pairs: Pairs, same: Sequence[Any], *, n_fits: int = N_FITS) -> Calibration:
        """Choose a cut by answers about pairs of records; see `ClusterTree.calibrate`.

        The labels are those of the tree: `corrected` applies corrections to them.
        """
        with self._locks.reading:
            return self.tree.calibrate(self._ids_of_pairs(pairs), same, n_fits=n_fits)

    def correct_by(self, pairs: Pairs, same: Sequence[Any]) -> list[Correction]:
        """Make corrections of answers: `together` or `apart`; None says nothing.

        Returns
        -------
        refused : list of Correction
            Those that contradict what was said before, by corrections or earlier answers.
        """
        refused = []
        with self._changing():
            for (a, b), answer in zip(pairs, same, strict=True):
                if answer is None:
                    continue
                kind = TOGETHER if answer else APART
                with self.tree.lock():
                    one, other = self.ids_of([a, b]).tolist()
                    try:
                        self.pairs.say(kind, one, other, self._name)
                    except ValueError:
                        refused.append(Correction(kind, a, b))
                        continue
                    self._log.corrected([one, other])
        return refused

    def _ids_of_pairs(self, pairs: Pairs) -> NDArray[np.int64]:
        keys = [key for pair in pairs for key in pair]
        return self.ids_of(keys).reshape(-1, 2) if keys else np.empty((0, 2), np.int64)
