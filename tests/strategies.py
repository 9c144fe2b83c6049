"""Inputs that hypothesis makes: small-integer grids, where float32 sums are exact."""

import numpy as np
from hypothesis import strategies as st
from numba.core import config

MOST_POINTS = 24 if config.DISABLE_JIT else 60


def draw_bytes(draw, n_rows, n_columns):
    """An array of the numbers 0 to 255, each of which hypothesis can lower by itself.

    They are drawn as one string of bytes: an example of 300 points takes 3 ms, where as many
    integers take 23.
    """
    size = n_rows * n_columns
    drawn = draw(st.binary(min_size=size, max_size=size))
    return np.frombuffer(drawn, np.uint8).reshape(n_rows, n_columns).astype(int)


def around_zero(numbers):
    """Whole numbers of either sign, the simplest ones first: 0, 1, 2, 3 become 0, 1, -1, 2."""
    return np.where(numbers % 2, 1, -1) * ((numbers + 1) // 2)


@st.composite
def grids(draw, min_points=1, max_points=MOST_POINTS, max_features=4):
    """Points on a grid: coarse ones have many ties and copies."""
    shape = draw(st.sampled_from(["free", "constant column", "collinear", "sorted", "clusters"]))
    reach = draw(st.sampled_from([1, 3, 10, 100]))
    n_features = draw(st.integers(1, max_features))
    n_points = draw(st.integers(min_points, max_points))
    # One column more than there are features: it says in which cluster a point is.
    drawn = draw_bytes(draw, n_points, n_features + (shape == "clusters"))
    X = around_zero(drawn[:, :n_features] % (2 * reach + 1))
    if shape == "constant column":
        X[:, 0] = 7
    elif shape == "collinear":
        X = X[:, :1] * np.arange(1, n_features + 1)
    elif shape == "sorted":
        X = X[np.lexsort(X.T)]
    elif shape == "clusters":
        X = X + 200 * (drawn[:, -1:] % 4)
    return X.astype(np.float64)
