"""perch correct, and the commands that follow what it was told."""

import csv
import gzip
import io

import numpy as np
import pytest
from kinds import Rows

from perchtree import Collection, Perch

X = np.array([[0], [1], [10], [11], [100], [101], [110], [111]], float)
NAMES = ["ann", "anna", "bo", "bob", "cy", "cyd", "di", "dina"]


@pytest.fixture
def tree(perch, tmp_path):
    perch("fit", *Rows(X, NAMES).write(tmp_path, "csv"), "-o", "t.perch", "--quiet")
    return "t.perch"


def clusters_in(text):
    """Cluster -> ids, of a table that `cut` or `predict` wrote."""
    clusters = {}
    for row in csv.DictReader(io.StringIO(text)):
        clusters.setdefault(int(row["cluster"]), []).append(row["id"])
    return [clusters[number] for number in sorted(clusters)]


def test_corrections_are_kept_and_followed(perch, tree, tmp_path):
    result = perch("correct", tree, "--together", "ann", "cy", "--apart", "bo", "ann",
                   "--apart", "di", "dina")  # fmt: skip
    assert result.stderr == "perch: 3 changes, 3 corrections; saved as t.perch\n"
    result = perch("cut", tree, "-k", 2, "-o", "-")
    expected = [["ann", "anna", "cy", "cyd", "di"], ["bo", "bob"], ["dina"]]
    assert clusters_in(result.stdout) == expected
    assert (
        "8 points in 3 clusters (without corrections 2); written to standard output"
        in result.stderr
    )
    assert "without" not in perch("cut", tree, "-k", 2, "-o", "-", "--quiet").stderr
    model = Perch.load(tree).set_params(n_clusters=2)
    assert [model.members(i).tolist() for i in model.cluster_ids_] == expected
    predicted = perch("predict", tree, *Rows(X, NAMES).write(tmp_path, "csv"), "-k", 2, "-o", "-")
    assert clusters_in(predicted.stdout) == expected
    assert perch.json("score", tree, "-k", 2)["clusters"] == 3
    assert perch.json("info", tree)["corrections"] == 3
    perch("cut", tree, "-k", 1, "-k", 8, "-o", "c.csv")
    rows = list(csv.DictReader((tmp_path / "c.csv").read_text().splitlines()))
    assert [len({row[name] for row in rows}) for name in ("cluster_1", "cluster_8")] == [2, 7]


def test_listing_and_taking_back(perch, tree, tmp_path):
    assert perch("correct", tree, "--list").stdout == "a,b,same\n"
    perch("correct", tree, "--apart", "bo", "ann", "--together", "cy", "di", "-q")
    listed = perch("correct", tree, "--list")
    assert listed.stdout == "a,b,same\nann,bo,no\ncy,di,yes\n"
    assert listed.stderr == ""
    (tmp_path / "said.csv").write_text(listed.stdout)
    result = perch("correct", tree, "--take-back", "ann", "bo", "--together", "ann", "bo", "--list")
    assert result.stdout == "a,b,same\nann,bo,yes\ncy,di,yes\n"
    assert "2 changes, 2 corrections" in result.stderr
    assert "nothing was said about ann and cy" in perch.fails(
        "correct", tree, "--take-back", "ann", "cy"
    )
    # The same again changes nothing, and the list can be read again.
    perch("correct", tree, "--take-back", "bo", "ann")
    before = (tmp_path / tree).read_bytes()
    perch("correct", tree, "--from", "said.csv")
    once = (tmp_path / tree).read_bytes()
    assert once != before
    result = perch("correct", tree, "--from", "said.csv")
    assert result.stderr == "perch: 0 changes, 2 corrections; t.perch is unchanged\n"
    assert (tmp_path / tree).read_bytes() == once


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.csv", "a,b,same\nann,bo,no\ncy,di,yes\n"),
        ("p.tsv", "why\tb\ta\tsame\n-\tbo\tann\tApart\n\n\tdi\tcy\t TRUE\n"),
        ("p.csv.gz", '\ufeffsame,a,b\r\n0,ann,"bo"\r\n1,di,cy\r\n'),
    ],
)
def test_files_of_pairs(perch, tree, tmp_path, name, text):
    content = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    perch("correct", tree, "--from", name)
    assert perch("correct", tree, "--list").stdout == "a,b,same\nann,bo,no\ncy,di,yes\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the first line must name the columns"),
        ("ann,bo,no\n", "the first line must name the columns"),
        ("a,b,same,a\n", "the first line must name the columns"),
        ("a,b,same\nann,bo\n", "line 2 has 2 fields instead of 3"),
        ("a,b,same\nann,bo,no\nann,bo,perhaps\n", "line 3 has 'perhaps' for same"),
        ("a,b,same\nann,zoe,no\n", "line 2: there is no point with the key 'zoe'"),
        (
            "a,b,same\nann,bo,no\nbo,cy,1\ncy,ann,1\n",
            "line 4: cy and ann cannot be together: cy = bo",
        ),
        ('a,b,same\nann,"bo,no\n', "cannot be split into fields"),
    ],
)
def test_wrong_files(perch, tree, tmp_path, text, message):
    before = (tmp_path / tree).read_bytes()
    (tmp_path / "p.csv").write_text(text)
    error = perch.fails("correct", tree, "--from", "p.csv")
    assert error.startswith("perch: error: p.csv: ")
    assert message in error
    assert (tmp_path / tree).read_bytes() == before


def test_files_that_are_not_text(perch, tree, tmp_path):
    (tmp_path / "p.csv").write_bytes(b"a,b,same\nann,bo,no\nann\xff,bo,no\n")
    assert "p.csv: line 3 is not UTF-8 text" in perch.fails("correct", tree, "--from", "p.csv")
    perch("correct", tree, "--from", "nothing.csv", code=2)


def test_contradictions(perch, tree, tmp_path):
    before = (tmp_path / tree).read_bytes()
    error = perch.fails("correct", tree, "--together", "ann", "anna", "--together", "anna", "bob",
                        "--apart", "ann", "bob")  # fmt: skip
    assert error == "perch: error: ann and bob cannot be apart: ann = anna = bob\n"
    assert (tmp_path / tree).read_bytes() == before
    assert "give --together" in perch.fails("correct", tree, code=2)


@pytest.mark.parametrize("keys", [list(range(100, 108)), None])
def test_ids_that_are_numbers(perch, tmp_path, keys):
    if keys:
        perch("fit", *Rows(X, keys).write(tmp_path, "parquet"), "-o", "t.perch", "-q")
    else:
        np.save(tmp_path / "x.npy", X)
        perch("fit", "x.npy", "-o", "t.perch", "-q")
    first = keys[0] if keys else 0
    perch("correct", "t.perch", "--apart", first, first + 1)
    collection = Collection.open("t.perch")
    assert collection.corrections == [("apart", first, first + 1)]
    for wrong in ("ann", 99, -1):
        assert "error" in perch.fails("correct", "t.perch", "--apart", first, wrong)


def test_one_writer(perch, tree):
    with Collection.open(tree, write=True):
        assert "another process" in perch.fails("correct", tree, "--apart", "ann", "bo")
        assert perch("correct", tree, "--list").stdout == "a,b,same\n"


def test_more_points_keep_corrections(perch, tree, tmp_path):
    perch("correct", tree, "--apart", "ann", "anna", "-q")
    perch("add", tree, *Rows(X + 0.5, [f"n{i}" for i in range(8)]).write(tmp_path, "csv"), "-q")
    perch("refine", tree, "-q")
    assert perch("correct", tree, "--list").stdout == "a,b,same\nann,anna,no\n"
    clusters = clusters_in(perch("cut", tree, "-k", 1, "-o", "-").stdout)
    assert len(clusters) == 2
