"""d- and d+ bound what they should."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernels import callable_from_python
from perchtree import ClusterTree
from perchtree._kernels import distances
from perchtree._kernels.schema import ROOT

box_max, box_min, max_to_node, min_to_node, point_distance = map(
    callable_from_python,
    (
        distances.box_max,
        distances.box_min,
        distances.max_to_node,
        distances.min_to_node,
        distances.point_distance,
    ),
)

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 40), st.integers(1, 6))
def test_boxes_bound_the_true_distances(seed, n_points, n_features):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n_points, n_features)).astype(np.float32)
    x = (3 * rng.normal(size=n_features)).astype(np.float32)
    lower, upper = points.min(axis=0), points.max(axis=0)
    squared = ((points.astype(float) - x) ** 2).sum(axis=1)
    assert box_min(x, lower, upper) <= squared.min() * (1 + 1e-6)
    assert box_max(x, lower, upper) >= squared.max() * (1 - 1e-6)
    assert np.isclose(point_distance(x, points[0]), squared[0], rtol=1e-5)


@given(seeds, st.integers(1, 50))
def test_small_subtrees_are_exact_and_large_ones_boxes(seed, n_points):
    rng = np.random.default_rng(seed)
    points = rng.integers(-9, 10, (n_points, 3)).astype(np.float32)
    x = rng.integers(-20, 20, 3).astype(np.float32)
    tree = ClusterTree(3, linkage="box")
    tree.insert(points)
    root = int(tree._tree.state[ROOT])
    squared = ((points - x) ** 2).sum(axis=1)
    if n_points <= 20:
        assert min_to_node(tree._tree, x, root) == squared.min()
        assert max_to_node(tree._tree, x, root) == squared.max()
    else:
        lower, upper = points.min(axis=0), points.max(axis=0)
        assert min_to_node(tree._tree, x, root) == box_min(x, lower, upper)
        assert max_to_node(tree._tree, x, root) == box_max(x, lower, upper)
