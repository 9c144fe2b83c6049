"""Which clusters `perch cut` and `perch predict` read."""

import csv

import numpy as np
import pytest

from perchtree import ClusterTree


@pytest.fixture
def clustered(perch):
    """Twelve clusters of 25 points in a file; the tree that was made of them."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(12, 8))
    X = centres[np.arange(300) % 12] + 0.05 * rng.normal(size=(300, 8))
    np.save("x.npy", X)
    perch("fit", "x.npy", "-o", "t.perch", "--metric", "cosine", "-q")
    return ClusterTree.load("t.perch")


def clusters_in(path):
    with open(path, newline="") as file:
        return [int(row["cluster"]) for row in csv.DictReader(file)]


def test_nothing_given_says_what_it_took(perch, clustered):
    result = perch("cut", "t.perch", "-o", "out.csv")
    found = clusters_in("out.csv")
    assert found == clustered.cut().tolist()
    assert max(found) + 1 == 12
    least = clustered.suggest_cuts()[0].min_cluster_size
    assert "300 points in 12 clusters" in result.stderr
    assert f"took --min-size {least}: clusters stand out" in result.stderr
    assert "or try" in result.stderr
    assert "took" not in perch("cut", "t.perch", "-o", "quiet.csv", "-q").stderr
    perch("cut", "t.perch", "--min-size", least, "-o", "same.csv")
    assert clusters_in("same.csv") == found


def test_nothing_stands_out(perch):
    np.save("noise.npy", np.random.default_rng(0).normal(size=(500, 3)))
    perch("fit", "noise.npy", "-o", "noise.perch", "-q")
    result = perch("cut", "noise.perch", "-o", "out.csv")
    assert "no clusters stand out from data without clusters: took --min-size 24" in result.stderr


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--min-size", 30], {"min_cluster_size": 30}),
        (["--distance", 0.2], {"distance": 0.2}),
        (["--similarity", 0.98], {"distance": np.sqrt(0.04)}),
        (["-k", 5], {"n_clusters": 5}),
        (["-k", 5, "--criterion", "cost"], {"n_clusters": 5, "criterion": "cost"}),
        ([], {}),
    ],
)
def test_cut_and_predict_agree(perch, clustered, options, arguments):
    perch("cut", "t.perch", *options, "-o", "out.csv")
    perch("predict", "t.perch", "x.npy", *options, "-o", "predicted.csv")
    assert clusters_in("out.csv") == clustered.cut(**arguments).tolist()
    assert clusters_in("predicted.csv") == clusters_in("out.csv")


def test_similarity_is_the_mean_cosine(perch, clustered):
    """Two parts are joined if the mean cosine between their points is at least so much."""
    rows = np.load("x.npy")
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    perch("cut", "t.perch", "--similarity", 0.5, "-o", "out.csv")
    labels = np.array(clusters_in("out.csv"))
    table = clustered.table
    joined = 0
    for merge, (left, right) in enumerate(table.children):
        parts = clustered.members(left), clustered.members(right)
        members = clustered.members(300 + merge)
        if len(set(labels[members])) == 1:
            assert (rows[parts[0]] @ rows[parts[1]].T).mean() >= 0.5 - 1e-5
            joined += 1
    assert 0 < joined < 299


def test_refused(perch, clustered):
    for options in (["-k", 2, "--min-size", 3], ["--distance", 1, "--similarity", 0.5]):
        assert "give only one of" in perch.fails("cut", "t.perch", *options, "-o", "o.csv", code=2)
    perch("fit", "x.npy", "-o", "plain.perch", "-q")
    error = perch.fails("cut", "plain.perch", "--similarity", 0.5, "-o", "o.csv", code=2)
    assert "--similarity needs a tree made with --metric cosine" in error
