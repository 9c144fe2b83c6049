"""Adding, removing and updating records."""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arguments import as_choice
from .._kernels.schema import NONE
from .._progress import progress
from .._validate import as_rows
from ..encode.interface import Encoder, Learner, encode_texts, name_of, plain_texts
from ..removing import refuse_missing, usable
from ..tree import ClusterTree, interruption
from .asking import Asking
from .records import as_column, as_columns
from .sharing import Addition


class Changing(Asking):
    """Records that can be added, removed and replaced, by one thread at a time."""

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other threads from changing anything, to do several things atomically.

        Others can still read. In a folder, everything is on disk when the context is left.

        >>> from perchtree import Collection
        >>> people = Collection()
        >>> with people.lock():
        ...     if len(people) == 0:
        ...         ids = people.add([[0.0], [1.0]], keys=["ann", "anne"])
        """
        with self._changing():
            yield

    # Adding

    def add(
        self,
        X: ArrayLike | None = None,
        *,
        keys: Any = None,
        texts: Any = None,
        classes: Any = None,
        verbose: bool = False,
    ) -> NDArray[np.int64]:
        """Add records, in order. Everything is validated before anything changes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Omit it if there is an encoder, which turns the texts into vectors. An encoder that
            weights by rarity learns from the first records, unless it has already `learned`.
        keys : sequence of n_rows, optional
            Your own ids: unique strings or integers, given either always or never.
        texts, classes : sequences of n_rows, optional
            The text of each record, and its true class if it is known.
        verbose : bool
            Show a progress bar.

        Returns
        -------
        ids : int64 array of shape (n_rows,)
            The tree's ids of the new points.

        Raises
        ------
        ValueError
            If anything is wrong with the records. Nothing has changed in that case.
        KeyboardInterrupt, MemoryError
            The first records have then been added, and the collection is consistent; the message
            says how many.
        """
        addition = Addition(X, keys=keys, texts=texts, classes=classes)
        alone = verbose or self._locks.writing.is_mine
        with self._settling(), self._log.turn(addition, alone=alone) as mine:
            if mine:
                with self._recording():
                    self._add_with_others(addition, verbose=verbose)
            else:  # another thread has done it
                self._log.shared(addition.operation)
        return addition.result()

    def _add_with_others(self, addition: Addition, *, verbose: bool) -> None:
        """Make an addition, and small ones of threads that wait; no other changes the tree."""
        others = self._log.to_add_with(addition, alone=self._tree is None)
        if others:
            self._add_together(self.tree, [addition, *others])
        else:
            addition.ids = self._add(addition, verbose=verbose)

    def _add(self, addition: Addition, *, verbose: bool) -> NDArray[np.int64]:
        """Add records; no other thread changes the tree."""
        tree, before = self._tree, self.encoder
        rows, encoder = self._rows(addition)
        if tree is None:
            tree = ClusterTree(rows.shape[1], **self.settings.as_dict())
            tree.use_locks(self._locks)
        try:
            self.encoder = encoder
            return self._insert(tree, rows, verbose, **addition.columns)
        except BaseException:
            if self._tree is None:  # nothing is in that it could have learned from
                self.encoder = before
            raise

    def _rows(self, addition: Addition) -> tuple[NDArray[Any], Encoder | None]:
        """Checked vectors of new records, and the encoder to keep."""
        vectors, encoder = self._vectors(addition.X, addition.columns["texts"])
        n_features = None if self._tree is None else self._tree.n_features
        return as_rows(vectors, n_features, cosine=self.settings.is_cosine), encoder

    def _add_together(self, tree: ClusterTree, additions: list[Addition]) -> None:
        """Add records of several threads in one insert, each as an operation of its own.

        Whatever is not in after an interruption, its own thread adds by itself.
        """
        self._tidy(tree)
        first, n_rows = tree.next_id, 0
        ready: list[tuple[Addition, NDArray[Any]]] = []
        try:
            for addition in additions:
                try:
                    rows, _ = self._rows(addition)
                    columns = self.records.checked(tree.n_points, len(rows), **addition.columns)
                    ready.append((addition, self._log.as_inserted(rows)[0]))
                except Exception as error:  # that of one thread is no concern of others
                    addition.error = error
                    continue
                self.records.stage(first + n_rows, len(rows), columns)
                n_rows += len(rows)
            if ready:
                together = np.concatenate([points for _, points in ready])
                tree.insert_checked(together, normalised=True)
        except (KeyboardInterrupt, MemoryError) as error:
            raise interruption(error)("interrupted: what is in can be told by its keys") from None
        finally:
            self.records.drop_from(tree.next_id)
            self._settle_together(tree, first, ready)

    def _settle_together(
        self, tree: ClusterTree, first: int, ready: list[tuple[Addition, NDArray[Any]]]
    ) -> None:
        """Record what is in of the records of several threads, from an id on."""
        inside, place = [], first
        for addition, points in ready:
            if place < tree.next_id:
                inside.append((addition, place, points[: tree.next_id - place], len(points)))
            place += len(points)
        if not inside:
            return
        self._follow(tree, np.empty(0, np.int64))
        numbers = self._log.added(*(points for _, _, points, _ in inside))
        for (addition, start, points, n_rows), number in zip(inside, numbers, strict=True):
            addition.operation = number
            if len(points) == n_rows:
                addition.ids = np.arange(start, start + n_rows)
            else:
                addition.error = MemoryError(
                    f"{len(points):,} of {n_rows:,} records are in, and the collection is whole: "
                    "go on with the rest"
                )

    def add_points(
        self, points: NDArray[np.float32], *, keys: Any = None, texts: Any = None,
        classes: Any = None,
    ) -> NDArray[np.int64]:  # fmt: skip
        """Add records whose vectors are checked, encoded and normalised already: for callers within
        the package. Otherwise like `add`."""
        with self._changing():
            tree = self._tree
            if tree is None:
                tree = ClusterTree(points.shape[1], **self.settings.as_dict())
                tree.use_locks(self._locks)
            return self._insert(
                tree, points, False, normalised=True, keys=keys, texts=texts, classes=classes
            )

    def _vectors(self, X: ArrayLike | None, texts: Any) -> tuple[Any, Encoder | None]:
        """Vectors of new records, and the encoder to keep: it may have learned from them."""
        encoder = self.encoder
        if encoder is None:
            if X is None:
                raise ValueError(
                    "records need vectors: give X, one row per record, or let texts be encoded: "
                    "Collection(encoder='words')"
                )
            return X, None
        if X is not None or texts is None:
            raise ValueError(
                f"vectors of this collection are made by its encoder, {name_of(encoder)}: give "
                "texts, and no X"
            )
        plain = plain_texts(texts)
        if self._tree is None and isinstance(encoder, Learner) and encoder.n_texts == 0:
            encoder = encoder.learned(plain)
        return encode_texts(encoder, plain), encoder

    def _insert(
        self,
        tree: ClusterTree,
        rows: NDArray[Any],
        verbose: bool,
        *,
        normalised: bool = False,
        **given: Any,
    ) -> NDArray[np.int64]:
        """Insert checked rows, if their columns can be used; no other thread changes the tree."""
        self._tidy(tree)
        columns, first = self.records.checked(tree.n_points, len(rows), **given), tree.next_id
        for piece in self._log.pieces(rows):
            own = {name: values[piece] for name, values in columns.items()}
            try:
                self._insert_piece(tree, rows[piece], own, verbose=verbose, normalised=normalised)
            except (KeyboardInterrupt, MemoryError) as error:
                if piece.start == 0 and piece.stop == len(rows):
                    raise
                raise interruption(error)(
                    f"{tree.next_id - first:,} of {len(rows):,} rows are in, and the collection is "
                    "whole: go on with the rest"
                ) from None
        return np.arange(first, tree.next_id)

    def _insert_piece(
        self,
        tree: ClusterTree,
        rows: NDArray[Any],
        columns: dict[str, list[Any]],
        *,
        verbose: bool = False,
        normalised: bool = False,
    ) -> None:
        """Insert rows as one operation; if it is interrupted, it consists of those that are in."""
        points, ready = (rows, True) if normalised else self._log.as_inserted(rows)
        first = tree.next_id
        try:
            with self._staged(tree, len(points), columns):
                tree.insert_checked(points, verbose=verbose, normalised=ready)
        finally:
            self._follow(tree, np.empty(0, np.int64))
            self._log.added(points[: tree.next_id - first])

    @contextlib.contextmanager
    def _staged(
        self, tree: ClusterTree, n_rows: int, columns: dict[str, list[Any]]
    ) -> Iterator[None]:
        """Keep checked columns of rows that are inserted meanwhile; of those that get in."""
        try:
            self.records.stage(tree.next_id, n_rows, columns)
            self._tree = tree  # readers see what is in, while the rest follows
            yield
        except BaseException:
            if tree.next_id == 0:
                self._tree = None
            self.records.drop_from(tree.next_id)
            raise

    def _tidy(self, tree: ClusterTree) -> None:
        """Forget what belongs to no point, if an interruption prevented that."""
        self.records.drop_from(tree.next_id)
        if self.records.n_keys > tree.n_points:
            self.records.forget(np.setdiff1d(np.arange(tree.next_id), tree.ids).tolist())

    # Removing and replacing

    def remove(self, keys: Any, *, missing: str = "error", verbose: bool = False) -> NDArray[Any]:
        """Remove records, in the order given, with everything that belongs to them.

        Files and pickles made afterwards contain nothing of their keys, texts, classes and
        vectors, with one exception: a leaf collapsed by `max_leaves` keeps its box, whose border
        may be a coordinate of a removed vector. A removed key can be added again.

        Parameters
        ----------
        keys : sequence
            Keys; ids, if the records have no keys.
        missing : {"error", "ok"}
            What to do if no record has a key, or a key is given twice: fail without changing
            anything, or skip it.
        verbose : bool
            Show a progress bar.

        Returns
        -------
        keys : array
            Those that were removed.

        Raises
        ------
        ValueError
            If a record is missing; the message names the first few. Nothing has changed then.
        KeyboardInterrupt
            The first records have then been removed, and the collection is consistent.

        Examples
        --------
        >>> from perchtree import Collection
        >>> people = Collection()
        >>> _ = people.add([[0.0], [1.0], [9.0]], keys=["ann", "anne", "bob"])
        >>> people.remove(["anne"])
        array(['anne'], dtype=object)
        >>> people.keys
        array(['ann', 'bob'], dtype=object)
        """
        with self._changing():
            keys = as_column("keys", keys)
            ids = self.records.find(keys)
            known = np.zeros(len(ids), bool) if self._tree is None else self._tree.holds(ids)
            ids = ids[usable(ids, known, missing, "key", keys)]
            removed = self.records.keys(ids)
            if len(ids):
                try:
                    self._take_out(ids, verbose=verbose)
                finally:
                    gone = ids[~self.tree.holds(ids)]
                    self._follow(self.tree, gone)
                    self._log.removed(gone)
            return removed

    def _take_out(self, ids: NDArray[np.int64], *, verbose: bool = False) -> None:
        """Remove points and what is known of them; if it is interrupted, those that are gone."""
        tree = self.tree
        try:
            tree.remove(ids, verbose=verbose)
        finally:
            gone = ids[~tree.holds(ids)].tolist()
            self.records.forget(gone)
            self.pairs.drop(gone)
            self.answered.drop(gone)
            if tree.n_points == 0:
                self.records.drop_from(0)

    def update(
        self,
        keys: Any,
        X: ArrayLike | None = None,
        *,
        texts: Any = None,
        classes: Any = None,
        missing: str = "error",
        verbose: bool = False,
    ) -> None:
        """Replace the vectors, texts or classes of records, given by their keys, one by one.

        Whatever is not given does not change; if the collection has an encoder, it makes vectors
        from new texts. A record with a new vector becomes a new point of the tree: it gets a new
        id, and comes last in the order of `ids`. One call or many give the same result.

        Parameters
        ----------
        keys : sequence of n_rows
        X : array-like of shape (n_rows, n_features), optional
        texts, classes : sequences of n_rows, optional
        missing : {"error", "add"}
            What to do if no record has a key: fail without changing anything, or add the record.
        verbose : bool
            Show a progress bar.

        Raises
        ------
        ValueError
            If anything is wrong. Nothing has changed in that case.
        KeyboardInterrupt, MemoryError
            The first records have then been updated and the others not; the message says how many.

        Examples
        --------
        >>> from perchtree import Collection
        >>> people = Collection()
        >>> _ = people.add([[0.0], [1.0], [9.0]], keys=["ann", "anne", "bob"])
        >>> people.update(["ann"], [[8.0]])
        >>> people.nearest([[8.1]], k=2)[0]
        array([['ann', 'bob']], dtype=object)
        """
        as_choice("missing", missing, ("error", "add"))
        with self._changing():
            if len(self) == 0 and missing == "add":
                self.add(X, keys=keys, texts=texts, classes=classes, verbose=verbose)
                return
            keys = as_column("keys", keys)
            ids = self.records.find(keys)
            if missing == "error":
                refuse_missing(self.tree.holds(ids), "key", keys)
            columns = as_columns(len(ids), texts=texts, classes=classes)
            if self.encoder is not None and not (X is None and texts is None):
                X, _ = self._vectors(X, texts)
            if X is None:
                if (ids == NONE).any():
                    raise ValueError("new records need vectors: give X, one row per record")
                self.records.revise(ids.tolist(), columns)
                self._log.revised(ids.tolist())
                return
            rows = as_rows(X, self.tree.n_features, cosine=self.settings.is_cosine)
            columns |= self.records.checked_again(keys, len(rows))
            self._replace(rows, columns, verbose=verbose)

    def _replace(
        self,
        rows: NDArray[Any],
        columns: dict[str, list[Any]],
        *,
        verbose: bool = False,
        normalised: bool = False,
    ) -> None:
        """Insert checked rows, each in place of the record with its key if there is one.

        Rows with new keys are inserted together, which makes no difference to the tree.
        """
        tree, first = self.tree, self.next_id
        self._tidy(tree)
        try:
            with progress(len(rows), verbose) as bar:
                for part in list(self.records.runs(columns.get("keys"), len(rows))):
                    own = {name: values[part] for name, values in columns.items()}
                    self._replace_run(rows[part], own, normalised=normalised)
                    bar.update(part.stop - part.start)
        except (KeyboardInterrupt, MemoryError) as error:
            raise interruption(error)(
                f"{tree.next_id - first:,} of {len(rows):,} records are in, and the collection is "
                "whole: go on with the rest"
            ) from None

    def _replace_run(
        self, rows: NDArray[Any], columns: dict[str, list[Any]], *, normalised: bool
    ) -> None:
        """Replace one record, or insert several that are new.

        The new point is inserted before the old one is removed, with readers locked out: wherever
        this is interrupted, no record is missing, and nobody sees it twice.
        """
        tree = self.tree
        old = self.records.find(columns.get("keys", [NONE])[:1])
        if old[0] == NONE:
            for piece in self._log.pieces(rows):
                own = {name: values[piece] for name, values in columns.items()}
                self._insert_piece(tree, rows[piece], own, normalised=normalised)
            return
        points, ready = (rows, True) if normalised else self._log.as_inserted(rows)
        with tree.lock():
            next_id, whole = tree.next_id, self.records.row(old) | columns
            try:
                with self._staged(tree, 1, whole):
                    tree.insert_checked(points, normalised=ready)
            finally:
                if tree.next_id > next_id:
                    self.pairs.moved(int(old[0]), next_id)
                    self.answered.moved(int(old[0]), next_id)
                    self._take_out(old)
                    self._follow(tree, old)
                    self._log.added(points, replaced=int(old[0]))

    # Improving

    def refine(
        self,
        passes: int = 1,
        *,
        neighbors: int = 5,
        time_limit: float | None = None,
        verbose: bool = False,
    ) -> list[int]:
        """Improve the tree in place: see `ClusterTree.refine`."""
        with self._changing():
            tree = self.tree
            tree.refined_parts = []
            try:
                return tree.refine(
                    passes, neighbors=neighbors, time_limit=time_limit, verbose=verbose
                )
            finally:
                self._follow(tree, np.empty(0, np.int64))
                self._log.refined(neighbors, len(tree.refined_parts))
