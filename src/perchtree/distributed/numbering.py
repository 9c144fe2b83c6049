"""Which row of an input has which id: rows that were left out have none."""

import numpy as np
from numpy.typing import NDArray

from .._kernels.schema import NONE


class Numbering:
    """Numbers of rows, which all machines know, and ids, which only the tree gives.

    Points that were there before have their ids as numbers; row r of the input has the number
    `first_number` + r. Both are in the same order.
    """

    def __init__(self, first_number: int, n_rows: int, first_row: int) -> None:
        self._first = first_number
        self._coming = first_number, first_number + first_row
        """The first id that is not known yet, and the number that it will have if no row is left
        out."""
        self._ids = np.full(n_rows + 1, NONE, np.int32)
        self._numbers = np.zeros(n_rows + 1, np.int32)

    def note(self, numbers: NDArray[np.int64], ids: NDArray[np.int64]) -> None:
        """Rows with these numbers have, or are about to get, these ids."""
        self._ids[numbers - self._first] = ids
        self._numbers[ids - self._first] = numbers
        if len(ids):
            self._coming = int(ids[-1]) + 1, int(numbers[-1]) + 1

    def ids_of(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        """NONE for rows that were left out, and for NONE."""
        is_row = numbers >= self._first
        places = np.where(is_row, numbers - self._first, 0)
        return np.where(is_row, self._ids[places], numbers)

    def numbers_of(self, ids: NDArray[np.int64]) -> NDArray[np.int32]:
        """The numbers of points; of those to come, if no row is left out."""
        next_id, next_number = self._coming
        is_row = (ids >= self._first) & (ids < next_id)
        known = np.where(is_row, self._numbers[np.where(is_row, ids - self._first, 0)], ids)
        return np.where(ids >= next_id, ids - next_id + next_number, known).astype(np.int32)
