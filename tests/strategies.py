"""Inputs that hypothesis makes: small-integer grids, where float32 sums are exact."""

import numpy as np
from hypothesis import strategies as st
from numba.core import config

MOST_POINTS = 24 if config.DISABLE_JIT else 60


@st.composite
def grids(draw, min_points=1, max_points=MOST_POINTS, max_features=4):
    """Points on a grid: coarse ones have many ties and copies."""
    n_points = draw(st.integers(min_points, max_points))
    n_features = draw(st.integers(1, max_features))
    reach = draw(st.sampled_from([1, 3, 10, 100]))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    X = rng.integers(-reach, reach + 1, (n_points, n_features))
    shape = draw(st.sampled_from(["free", "constant column", "collinear", "sorted", "clusters"]))
    if shape == "constant column":
        X[:, 0] = 7
    elif shape == "collinear":
        X = X[:, :1] * np.arange(1, n_features + 1)
    elif shape == "sorted":
        X = X[np.lexsort(X.T)]
    elif shape == "clusters":
        X = X + 200 * rng.integers(0, 4, (n_points, 1))
    return X.astype(np.float64)
