"""Every algorithm of the experiments on data with a known answer."""

import numpy as np
import pytest
from experiments.algorithms import (
    bico,
    hac,
    hkmeans,
    kmeans,
    labels_from_children,
    mbhac,
    mbkmeans,
    streamkm,
)  # fmt: skip
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


@pytest.mark.slow
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


def test_a_stream_coreset_has_a_point_of_each_cluster_with_its_weight():
    """Points are chosen by their squared distance: of clusters far apart, one of each."""
    rng = np.random.default_rng(6)
    y = rng.permutation(np.repeat(np.arange(5), [10, 20, 30, 40, 50]))
    centres = 1000 * 3.0 ** np.arange(5)[:, None] * np.ones(2)
    X = (centres[y] + rng.random((150, 2))).astype(np.float32)
    points, weights = streamkm.stream_coreset(X, 5, 0)
    of = pairwise_distances_argmin(points, centres)
    assert dict(zip(of.tolist(), weights.tolist(), strict=True)) == dict(
        enumerate([10, 20, 30, 40, 50])
    )


def test_coreset_trees_weigh_points_by_what_was_nearest_when_they_were_chosen():
    """Far from all others, a point stands for itself; those near each other share their weight."""
    X = np.concatenate([np.linspace(0, 1, 97), [50.0, 80.0, 200.0]])[:, None].astype(np.float32)
    chosen, weights = streamkm.coreset_tree(X, np.ones(100), 8, 1)
    assert len(set(chosen.tolist())) == len(chosen) == 8
    assert weights.sum() == 100
    alone = dict(zip(chosen.tolist(), weights.tolist(), strict=True))
    assert [alone.get(i) for i in (97, 98, 99)] == [1, 1, 1]


@pytest.mark.parametrize("size", [8, 30, 90])
@pytest.mark.parametrize("seed", range(4))
def test_bico_makes_the_features_of_its_description(size, seed):
    X = np.random.default_rng(seed).normal(size=(250, 2)) ** 3
    counts, sums = bico.build(X, size, bico.first_threshold(X[: size + 1]))
    expected = SlowBico(X, size).features()
    assert sorted(counts.tolist()) == sorted(len(f.rows) for f in expected)
    assert np.allclose(
        sorted(sums.tolist()), sorted(X[f.rows].sum(axis=0).tolist() for f in expected)
    )


class Feature:
    """A reference point, the rows that joined it, and the features below."""

    def __init__(self, reference, rows):
        self.reference, self.rows, self.below = reference, rows, []

    def walk(self):
        for feature in self.below:
            yield feature
            yield from feature.walk()


class SlowBico:
    """The description, with the rows of each feature instead of its sums."""

    def __init__(self, X, size):
        self.X, self.threshold, self.root = (
            X,
            bico.first_threshold(X[: size + 1]),
            Feature(None, []),
        )
        for row in range(len(X)):
            self.insert(Feature(X[row], [row]))
            while len(self.features()) > size:
                old = self.features()
                self.threshold *= 2
                self.root = Feature(None, [])
                for feature in old:
                    self.insert(Feature(feature.reference, feature.rows))

    def features(self):
        """In the order in which they were opened."""
        return sorted(self.root.walk(), key=lambda feature: feature.number)

    def insert(self, new):
        node, level = self.root, 1
        while True:
            gaps = [((f.reference - new.reference) ** 2).sum() for f in node.below]
            if not gaps or min(gaps) > self.threshold / (8 * 2**level):
                new.number = len(list(self.root.walk()))
                node.below.insert(0, new)
                return
            nearest = node.below[int(np.argmin(gaps))]
            rows = nearest.rows + new.rows
            if ((self.X[rows] - self.X[rows].mean(axis=0)) ** 2).sum() <= self.threshold:
                nearest.rows = rows
                return
            node, level = nearest, level + 1


def test_hierarchical_kmeans_splits_where_kmeans_stands_still():
    """At the root every point is nearer to the mean of its side than to the other's."""
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(200, 3)).astype(np.float32)
        children = hkmeans.split_all(X, 100, seed)
        second = labels_from_children(children, 2).astype(bool)
        means = np.array([X[~second].mean(axis=0), X[second].mean(axis=0)])
        assert np.array_equal(pairwise_distances_argmin(X, means).astype(bool), second)


def test_fully_online_centres_come_from_the_first_batch():
    """Sorted data: all centres start in the first class, and stay near it."""
    X = np.repeat([[0.0], [1000.0]], 1500, axis=0).astype(np.float32)
    X += np.random.default_rng(7).random(X.shape).astype(np.float32)
    outcome = mbkmeans.run_online(X, 4, 0, batch=500)
    assert len(np.unique(outcome.labels[1500:])) == 1


def test_fully_online_centres_are_never_restarted():
    """A centre that began at an outlier keeps it, though nothing else ever comes near."""
    X = np.random.default_rng(8).random((3000, 2)).astype(np.float32)
    X[3] = 1e4
    labels = mbkmeans.run_online(X, 10, 0, batch=10).labels
    assert np.flatnonzero(labels == labels[3]).tolist() == [3]


def test_birch_takes_copies():
    X = np.repeat(np.eye(4, dtype=np.float32), 10, axis=0)
    for name in ("BIRCH (online)", "BIRCH (rebuild)"):
        assert dendrogram_purity(ALGORITHMS[name].run(X, 4, 0).tree, np.arange(40) // 10) == 1.0


@pytest.mark.parametrize("kind", ["single", "ward"])
def test_hac_without_a_matrix_is_the_same(kind, monkeypatch):
    X = np.random.default_rng(9).normal(size=(60, 3)).astype(np.float32)
    with_matrix = hac.run(X, 5, 0, kind)
    monkeypatch.setattr(hac, "MOST_POINTS", 10)
    without = hac.run(X, 5, 0, kind)
    assert pairwise_f1(with_matrix.labels, without.labels) == 1.0
    assert clades(with_matrix.tree[:, :2].astype(int)) == clades(without.tree[:, :2].astype(int))


def test_coresets_of_few_clusters_have_200_points_of_each():
    assert kmeans.coreset_size(7, 5) == 1400
    assert kmeans.coreset_size(150, 5) == 2000
    assert kmeans.coreset_size(1000, 20) == 20_000
