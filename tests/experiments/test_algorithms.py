"""Every algorithm of the experiments on data with a known answer."""

import numpy as np
import pytest
from experiments.algorithms import bico, hkmeans, labels_from_children, mbhac, mbkmeans, streamkm
from experiments.algorithms.registry import ALGORITHMS
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import pairwise_distances_argmin

from perchtree.metrics import dendrogram_purity, pairwise_f1


@pytest.fixture
def blobs():
    """Six clusters, far from each other."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(6), 40))
    centres = 100 * np.eye(6, 4, dtype=np.float32) + 50 * np.eye(6, 4, k=-2, dtype=np.float32)
    return centres[y] + rng.standard_normal((len(y), 4)).astype(np.float32), y


@pytest.mark.jit
@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_clusters_far_apart_are_found(blobs, name):
    X, y = blobs
    algorithm = ALGORITHMS[name]
    parameters = {"quantile": 1.0} if name == "DBSCAN" else {}
    outcome = algorithm.run(X, 6, 0, **algorithm.parameters(len(X)) | parameters)
    assert outcome.seconds > 0
    assert (outcome.tree is None) == (not algorithm.makes_tree)
    if algorithm.makes_tree:
        assert dendrogram_purity(outcome.tree, y) == 1.0
    if outcome.labels is not None:
        # k-means may stop at a bad local optimum, also of clusters as clear as these.
        least = 0.7 if algorithm.is_kmeans else 1.0
        assert pairwise_f1(y, outcome.labels) >= least
    assert algorithm.makes_tree or outcome.labels is not None


@pytest.mark.parametrize("kind", ["centroid", "complete"])
def test_mini_batch_hac_with_room_for_everything_is_hac(kind):
    X = np.random.default_rng(1).normal(size=(60, 3)).astype(np.float32)
    merges = mbhac.merge_online(X, kind, 60)
    ours = labels_from_children(merges, 7)
    expected = fcluster(linkage(X.astype(float), kind), 7, "maxclust")
    assert pairwise_f1(ours, expected) == 1.0
    if kind == "complete":  # centroid distances may go down, which other cuts see differently
        assert clades(merges) == clades(linkage(X.astype(float), kind)[:, :2].astype(int))


@pytest.mark.parametrize("kind", ["centroid", "complete"])
@pytest.mark.parametrize("buffer", [2, 5, 30])
def test_mini_batch_hac_merges_the_closest_of_its_buffer(kind, buffer):
    X = np.random.default_rng(2).normal(size=(45, 2)).astype(np.float32)
    assert clades(mbhac.merge_online(X, kind, buffer)) == clades(slow_mini_batch(X, kind, buffer))


def slow_mini_batch(X, kind, buffer):
    """The description, word for word."""

    def distance(a, b):
        if kind == "centroid":
            return ((X[a].astype(float).mean(0) - X[b].astype(float).mean(0)) ** 2).sum()
        return max(((X[i].astype(float) - X[j]) ** 2).sum() for i in a for j in b)

    held, merges = [], []

    def merge():
        pairs = [(i, j) for i in range(len(held)) for j in range(i)]
        i, j = min(pairs, key=lambda pair: distance(held[pair[0]][1], held[pair[1]][1]))
        a, b = held.pop(i), held.pop(j)
        merges.append((a[0], b[0]))
        held.append((len(X) + len(merges) - 1, a[1] + b[1]))

    for i in range(len(X)):
        if len(held) > buffer:
            merge()
        held.append((i, [i]))
    while len(held) > 1:
        merge()
    return np.array(merges)


def clades(children):
    members = {i: frozenset([i]) for i in range(len(children) + 1)}
    for number, (a, b) in enumerate(np.asarray(children).tolist()):
        members[len(children) + 1 + number] = members[a] | members[b]
    return set(members.values())


def test_labels_from_children_are_those_of_scipy():
    X = np.random.default_rng(3).normal(size=(50, 2))
    merges = linkage(X, "average")
    for k in (1, 2, 7, 50):
        ours = labels_from_children(merges[:, :2].astype(np.int64), k)
        assert len(np.unique(ours)) == k
        if k < 50:
            assert pairwise_f1(fcluster(merges, k, "maxclust"), ours) == 1.0


@pytest.mark.parametrize("n", [1, 2, 3, 50])
def test_hierarchical_kmeans_makes_a_full_tree(n):
    X = np.random.default_rng(4).normal(size=(n, 2)).astype(np.float32)
    children = hkmeans.split_all(X, 5, 0)
    assert sorted(children.ravel().tolist()) == list(range(2 * n - 2))
    assert (children < np.arange(n, 2 * n - 1)[:, None]).all()
    copies = np.zeros((9, 2), np.float32)
    assert sorted(hkmeans.split_all(copies, 5, 0).ravel().tolist()) == list(range(16))


@pytest.mark.parametrize("size", [10, 40, 1000])
def test_coresets_keep_the_weight(size):
    X = np.random.default_rng(5).normal(size=(300, 3)).astype(np.float32)
    for points, weights in (streamkm.stream_coreset(X, size, 0), bico.coreset(X, size)):
        assert len(points) == len(weights) <= max(size, 2)
        assert weights.sum() == pytest.approx(300)
    points, weights = bico.coreset(X, size)
    assert np.allclose((points * weights[:, None]).sum(0), X.sum(0), atol=1e-2)


def test_a_stream_coreset_costs_little_more_than_the_points():
    """The best centres of the coreset are good for all points."""
    rng = np.random.default_rng(6)
    centres = 20 * rng.random((5, 2))
    X = (centres[rng.integers(0, 5, 400)] + rng.normal(size=(400, 2))).astype(np.float32)
    cost_of = lambda c: ((X - c[pairwise_distances_argmin(X, c)]) ** 2).sum()  # noqa: E731
    for points, _ in (streamkm.stream_coreset(X, 60, 0), bico.coreset(X, 60)):
        near = pairwise_distances_argmin(centres, points)
        assert cost_of(points[near]) < 4 * cost_of(centres)


def test_fully_online_centres_come_from_the_first_batch():
    """Sorted data: all centres start in the first class, and stay near it."""
    X = np.repeat([[0.0], [1000.0]], 1500, axis=0).astype(np.float32)
    X += np.random.default_rng(7).random(X.shape).astype(np.float32)
    outcome = mbkmeans.run_online(X, 4, 0, batch=500)
    assert len(np.unique(outcome.labels[1500:])) == 1
