"""Questions about pairs of records, the answers, and what those are good for."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..clusters.calibrating import N_FITS, Calibration
from ..cutting import as_answer
from .answers import Answer
from .correctable import Correctable
from .corrections import APART, TOGETHER, Correction

Pairs = Sequence[tuple[Any, Any]]


class Answering(Correctable):
    """Records that one can be asked about, two at a time."""

    def questions(
        self,
        n: int = 1,
        pairs: Pairs | None = None,
        same: Sequence[Any] | None = None,
        *,
        seed: int = 0,
    ) -> list[tuple[Any, Any]]:
        """Pick pairs of records to ask about, by their keys; see `ClusterTree.questions`.

        They follow the answers that are given; without any, those that `answer` has kept.

        Examples
        --------
        >>> from perchtree import Collection
        >>> people = Collection()
        >>> _ = people.add([[0], [1], [8], [9]], keys=["ann", "anna", "bob", "rob"])
        >>> pairs = people.questions(3)
        >>> people.answer(pairs, [a[0] == b[0] for a, b in pairs])  # whoever knows them says so
        >>> more = people.questions(3)
        >>> people.answer(more, [a[0] == b[0] for a, b in more])
        >>> found = people.calibrate()
        >>> len(found.labels), found.n_answers
        (4, 6)
        """
        with self._locks.reading:
            ids = self.tree.questions(n, *self._given(pairs, same), seed=seed)
            keys = self.records.keys(ids.ravel()).tolist()
        return list(zip(keys[::2], keys[1::2], strict=True))

    def calibrate(
        self,
        pairs: Pairs | None = None,
        same: Sequence[Any] | None = None,
        *,
        n_fits: int = N_FITS,
    ) -> Calibration:
        """Choose a cut by answers about pairs of records; see `ClusterTree.calibrate`.

        Without any given, by those that `answer` has kept. The labels are those of the tree:
        `corrected` applies corrections to them.
        """
        with self._locks.reading:
            return self.tree.calibrate(*self._given(pairs, same), n_fits=n_fits)

    # Answers that are kept

    def answer(self, pairs: Pairs, same: Sequence[Any]) -> None:
        """Keep answers about pairs of records: True, False, or None if nobody can tell.

        Of several about a pair the last counts. They choose a cut (`calibrate`), and correct none:
        `correct_by` does. Unlike corrections they may contradict each other. They are in the file
        or folder of the collection; a record that is removed takes them with it.

        Raises
        ------
        ValueError
            If a record is not there or paired with itself, or an answer is none. Nothing has
            changed then.
        """
        said = [as_answer(answer) for answer in same]
        with self._changing(), self.tree.lock():
            ids = self._ids_of_pairs(pairs)
            if len(ids) != len(said):
                raise ValueError(f"{len(ids)} pairs and {len(said)} answers")
            about = [(int(a), int(b)) for a, b in ids]
            for a, b in about:
                if a == b:
                    raise ValueError(f"{self._name(a)} is paired with itself")
            for pair, answer in zip(about, said, strict=True):
                self.answered.say(*pair, answer)
            self._log.answered(about, said)

    def take_back_answers(self, pairs: Pairs) -> None:
        """Forget the answers about pairs of records, as far as there are any."""
        with self._changing(), self.tree.lock():
            about = [(int(a), int(b)) for a, b in self._ids_of_pairs(pairs)]
            for pair in about:
                self.answered.take_back(*pair)
            self._log.answered(about)

    @property
    def answers(self) -> list[Answer]:
        """The answers that `answer` has kept, by keys, in the order in which they were given."""
        with self._locks.reading:
            said = list(self.answered)
            ids = np.array([(kept.a, kept.b) for kept in said], np.int64).ravel()
            keys = self.records.keys(ids).tolist()
        pairs = zip(keys[::2], keys[1::2], strict=True)
        return [Answer(*pair, kept.same) for pair, kept in zip(pairs, said, strict=True)]

    def _given(self, pairs: Pairs | None, same: Sequence[Any] | None) -> tuple[Any, Sequence[Any]]:
        """Ids of pairs, and the answers about them: those given, or those that are kept."""
        if pairs is not None:
            return self._ids_of_pairs(pairs), () if same is None else same
        said = list(self.answered)
        ids = np.array([(kept.a, kept.b) for kept in said], np.int64).reshape(-1, 2)
        return ids, [kept.same for kept in said]

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
                    self._follow(self.tree, np.empty(0, np.int64))
                    self._log.corrected([one, other])
        return refused

    def _ids_of_pairs(self, pairs: Pairs) -> NDArray[np.int64]:
        keys = [key for pair in pairs for key in pair]
        return self.ids_of(keys).reshape(-1, 2) if keys else np.empty((0, 2), np.int64)
