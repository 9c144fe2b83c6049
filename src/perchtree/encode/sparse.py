"""Sparse rows, such as those of scikit-learn's vectorisers, as short dense ones."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import hashing
from .._validate import is_sparse
from .hashed import DIMENSIONS, checked_dimensions


def project(X: Any, dimensions: int = DIMENSIONS) -> NDArray[np.float64]:
    """Project sparse rows with random signs, which roughly preserves angles and lengths.

    Each column contributes to 16 components of the result, the same ones in every call, so that
    rows of different calls are compatible. Nothing as wide as X is ever created.

    Parameters
    ----------
    X : sparse matrix or array of shape (n_rows, n_columns)
    dimensions : int
        A multiple of 16.

    Returns
    -------
    rows : float64 array of shape (n_rows, dimensions)
    """
    if not is_sparse(X) or X.ndim != 2:
        raise TypeError("expected a sparse matrix, such as those of scikit-learn's vectorisers")
    width = checked_dimensions(dimensions)
    by_row = X.tocsr()
    rows = np.empty((X.shape[0], width))
    hashing.project_sparse(
        by_row.indptr.astype(np.int64),
        by_row.indices.astype(np.int64),
        by_row.data.astype(np.float64) / np.sqrt(hashing.PLACES),
        np.empty(width),
        rows,
    )
    return rows
