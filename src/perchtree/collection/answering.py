"""Questions about pairs of records, their answers, and how they are used."""

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
    """Records with questions and answers about pairs of them."""

    def questions(
        self,
        n: int = 1,
        pairs: Pairs | None = None,
        same: Sequence[Any] | None = None,
        *,
        seed: int = 0,
    ) -> list[tuple[Any, Any]]:
        """Pick pairs of records to ask about, by their keys; see `ClusterTree.questions`.

        They depend on the answers given, by default on those stored by `answer`.

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

        By default, the answers stored by `answer` are used. The labels are those of the tree; use
        `corrected` to apply corrections to them.
        """
        with self._locks.reading:
            return self.tree.calibrate(*self._given(pairs, same), n_fits=n_fits)

    # Answers that are kept

    def answer(self, pairs: Pairs, same: Sequence[Any]) -> None:
        """Store answers about pairs of records: True, False, or None if unknown.

        If a pair is answered several times, the last answer counts. Answers are used to choose a
        cut (`calibrate`) but do not correct it, unlike `correct_by`, and they may contradict each
        other. They are saved in the file or folder of the collection, and deleted with a record.

        Raises
        ------
        ValueError
            If a record does not exist or is paired with itself, or an answer is invalid. Nothing
            has changed in that case.
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
        """Forget the answers about pairs of records, if there are any."""
        with self._changing(), self.tree.lock():
            about = [(int(a), int(b)) for a, b in self._ids_of_pairs(pairs)]
            for pair in about:
                self.answered.take_back(*pair)
            self._log.answered(about)

    @property
    def answers(self) -> list[Answer]:
        """The answers stored by `answer`, by keys, in the order in which they were given."""
        with self._locks.reading:
            said = list(self.answered)
            ids = np.array([(kept.a, kept.b) for kept in said], np.int64).ravel()
            keys = self.records.keys(ids).tolist()
        pairs = zip(keys[::2], keys[1::2], strict=True)
        return [Answer(*pair, kept.same) for pair, kept in zip(pairs, said, strict=True)]

    def _given(self, pairs: Pairs | None, same: Sequence[Any] | None) -> tuple[Any, Sequence[Any]]:
        """Ids of pairs, and the answers about them: those given, or those that are stored."""
        if pairs is not None:
            return self._ids_of_pairs(pairs), () if same is None else same
        said = list(self.answered)
        ids = np.array([(kept.a, kept.b) for kept in said], np.int64).reshape(-1, 2)
        return ids, [kept.same for kept in said]

    def correct_by(self, pairs: Pairs, same: Sequence[Any]) -> list[Correction]:
        """Turn answers into corrections, `together` or `apart`; None is ignored.

        Returns
        -------
        refused : list of Correction
            Those that contradict corrections or earlier answers.
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
