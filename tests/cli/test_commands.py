"""The commands, on small data in this process."""

import csv
import json
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from kinds import Rows

import perchtree
from perchtree import ClusterTree, Collection, Perch
from perchtree.cli import main
from perchtree.exports.authors import read_authors
from perchtree.metrics import dendrogram_purity
from reference import clades_of


@pytest.fixture
def tree(perch, tmp_path, X):
    """A tree with ids, classes and texts."""
    perch("fit", *Rows(X).write(tmp_path, "csv"), "-o", "t.perch", "--quiet")
    return "t.perch"


# fit and add


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ([], {}),
        (["--mode", "perch"], {"linkage": "box"}),
        (["--mode", "b", "--beam-width", 3], {"linkage": "box", "search": "beam", "beam_width": 3}),
        (["--mode", "c", "--max-leaves", 6], {"linkage": "box", "max_leaves": 6}),
        (
            ["--mode", "bc", "--max-leaves", 6],
            {"linkage": "box", "search": "beam", "max_leaves": 6},
        ),
        (["--mode", "bc"], {"linkage": "box", "search": "beam", "max_leaves": 50_000}),
        (["--max-leaves", 6], {"max_leaves": 6}),
        (["--linkage", "ward", "--graft", 2], {"linkage": "ward", "graft": 2}),
        (
            ["--mode", "perch", "--masking", "interval", "--balance", "none"],
            {"linkage": "box", "masking": "interval", "balance": None},
        ),
        (["--metric", "cosine", "--search", "astar"], {"metric": "cosine", "search": "astar"}),
    ],
)
def test_modes(perch, tmp_path, X, options, settings):
    np.save(tmp_path / "x.npy", X)
    perch("fit", "x.npy", "-o", "t.perch", *options)
    model, expected = Perch.load("t.perch"), Perch(**settings).fit(X)
    assert model.get_params() == expected.get_params()
    assert clades_of(model.tree_) == clades_of(expected.tree_)


@pytest.mark.parametrize(
    "options",
    [
        ["--mode", "perch", "--linkage", "ward"],
        ["--mode", "b", "--max-leaves", "5"],
        ["--masking", "exact"],
        ["--mode", "perch", "--graft", "3"],
        ["--beam-width", "7"],
        ["--mode", "nonsense"],
        ["--batch", "0"],
        ["--nonsense"],
    ],
)
def test_wrong_usage(perch, tmp_path, X, options):
    np.save(tmp_path / "x.npy", X)
    assert "Usage:" in perch.fails("fit", "x.npy", "-o", "t.perch", *options, code=2)


@pytest.mark.parametrize("kind", ["npy", "csv", "jsonl", "parquet"])
def test_adding_gives_the_tree_of_all_rows(perch, tmp_path, X, kind):
    rows = Rows(X)
    first, second = Rows(X[:7]), Rows(X[7:], rows.keys[7:])
    for part, some in (("a", first), ("b", second)):
        (tmp_path / part).mkdir()
        some.write(tmp_path / part, kind)
    roles = ["--id", "key", "--class", "class"] if kind != "npy" else []
    features = ["--features", "f*"] if kind != "npy" else []
    perch("fit", f"a/rows.{kind}", *roles, *features, "-o", "t.perch")
    perch("add", "t.perch", f"b/rows.{kind}", *roles)  # features are known by name
    model = Perch.load("t.perch")
    assert clades_of(model.tree_) == clades_of(Perch().fit(X).tree_)
    if kind != "npy":
        assert model.keys_.tolist() == rows.keys
        assert len(Collection.open("t.perch").classes) == 18


def test_features_are_found_by_name(perch, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("more,y,x\n9,6,5\n")
    (tmp_path / "c.csv").write_text("x\n9\n")
    perch("fit", "a.csv", "-o", "t.perch")
    perch("add", "t.perch", "b.csv")
    assert ClusterTree.load("t.perch").nearest([[5, 6]])[1] == 0
    assert "there is no column 'y'" in perch.fails("add", "t.perch", "c.csv")


def test_adding_what_does_not_fit(perch, tmp_path, tree, X):
    np.save(tmp_path / "wide.npy", np.ones((2, 5)))
    error = perch.fails("add", tree, "wide.npy")
    assert "wide.npy: rows have 5 features, the tree has 3" in error
    np.save(tmp_path / "x.npy", X)
    assert "name the column with --id" in perch.fails("add", tree, "x.npy")
    error = perch.fails("add", tree, *Rows(X).write(tmp_path, "csv"))
    assert "line 2 has 'k0' again" in error


def test_ids_of_other_kinds(perch, tmp_path, X):
    rows = Rows(X[:9], list(range(9)))
    perch("fit", *rows.write(tmp_path, "parquet"), "-o", "t.perch")
    perch("add", "t.perch", *Rows(X[9:], [f"{i}" for i in range(9, 18)]).write(tmp_path, "csv"))
    assert Perch.load("t.perch").keys_.tolist() == list(range(18))
    words = Rows(X[9:], [f"w{i}" for i in range(9)]).write(tmp_path, "csv")
    assert "line 2 has the id 'w0': ids of this tree are whole numbers" in perch.fails(
        "add", "t.perch", *words
    )


def test_classes_may_be_missing(perch, tmp_path, X):
    perch("fit", *Rows(X[:9]).write(tmp_path, "parquet"), "-o", "t.perch")
    more = Rows(X[9:], [f"m{i}" for i in range(9)]).write(tmp_path, "csv")
    perch("add", "t.perch", more[0], "--id", "key", "--features", "f*")
    assert Collection.open("t.perch").classes == [0, 1, 2] * 3 + [None] * 9
    assert perch.json("score", "t.perch")["points"] == 9
    assert perch.json("score", "t.perch", "--noise", "singletons")["points"] == 18


def test_shuffled(perch, tmp_path, X):
    np.save(tmp_path / "x.npy", X)
    perch("fit", "x.npy", "-o", "t.perch", "--shuffle", 3)
    order = np.random.default_rng(3).permutation(18)
    model = Perch.load("t.perch")
    assert model.keys_.tolist() == order.tolist()
    assert clades_of(model.tree_) == clades_of(Perch().fit(X[order]).tree_)
    error = perch.fails("fit", *Rows(X).write(tmp_path, "csv"), "-o", "u.perch", "--shuffle", 3)
    assert "only .npy files can be read in random order" in error


def test_going_on(perch, tmp_path, X):
    for kind in ("npy", "csv", "parquet"):
        options = Rows(X).write(tmp_path, kind)
        options = [options[0], "--features", "f*"] if kind != "npy" else options
        np.save(tmp_path / "first.npy", X[:11])
        perch("fit", "first.npy", "-o", "t.perch", "--force")
        perch("add", "t.perch", *options, "--skip-rows", 11, "--batch", 4)
        assert clades_of(ClusterTree.load("t.perch")) == clades_of(Perch().fit(X).tree_)


def test_an_output_is_not_overwritten(perch, tmp_path, tree, X):
    np.save(tmp_path / "x.npy", X)
    before = (tmp_path / tree).read_bytes()
    assert "t.perch exists: use --force" in perch.fails("fit", "x.npy", "-o", tree)
    assert (tmp_path / tree).read_bytes() == before
    perch("fit", "x.npy", "-o", tree, "--force")
    assert (tmp_path / tree).read_bytes() != before
    assert "is a folder" in perch.fails("fit", "x.npy", "-o", ".")
    assert "no such folder" in perch.fails("fit", "x.npy", "-o", "nowhere/t.perch")


def test_a_damaged_tree(perch, tmp_path, tree):
    content = bytearray((tmp_path / tree).read_bytes())
    content[-100] ^= 1
    (tmp_path / "bad.perch").write_bytes(content)
    for command in (["check"], ["info"], ["cut", "-o", "-"], ["add"], ["refine"]):
        name, *options = command
        error = perch.fails(name, "bad.perch", *options, *["x.npy"] * (name == "add"))
        assert "bad.perch is damaged" in error
    assert perch("check", tree).stdout == "t.perch is whole: 18 points, every invariant holds\n"
    perch("check", "nothing.perch", code=2)


def test_refine(perch, tmp_path, tree, X):
    result = perch("refine", tree, "--passes", 2, "--time-limit", 60)
    assert " made, depth is now" in result.stderr
    expected = Perch().fit(X).tree_
    expected.refine(2)
    assert clades_of(ClusterTree.load(tree)) == clades_of(expected)
    assert Collection.open(tree).texts == Rows(X).texts
    np.save(tmp_path / "x.npy", X)
    perch("fit", "x.npy", "-o", "box.perch", "--mode", "perch")
    assert "it cannot be refined" in perch.fails("refine", "box.perch")


# cut, predict, score, info


def read_csv(path, delimiter=","):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_cut(perch, tree, X, suffix):
    name = f"out.{suffix}"
    perch("cut", tree, "-k", 4, "-o", name)
    if suffix == "parquet":
        rows = pq.read_table(name).to_pylist()
    elif suffix == "jsonl":
        with open(name) as file:
            rows = [json.loads(line) for line in file]
    else:
        rows = read_csv(name, "\t" if suffix == "tsv" else ",")
    expected = Rows(X)
    assert [row["id"] for row in rows] == expected.keys
    assert [row["text"] for row in rows] == expected.texts
    assert [int(row["class"]) for row in rows] == expected.classes
    assert [int(row["cluster"]) for row in rows] == Perch().fit(X).tree_.cut(4).tolist()
    assert f"{name} exists" in perch.fails("cut", tree, "-k", 4, "-o", name)


def test_cut_several_ways(perch, tree, X):
    expected = Perch().fit(X).tree_
    perch("cut", tree, "-k", 2, "-k", 5, "-o", "out.csv.gz")
    perch("cut", tree, "-k", 2, "-k", 5, "-o", "out.csv")
    rows = read_csv("out.csv")
    found = [[int(row["cluster_2"]), int(row["cluster_5"])] for row in rows]
    assert found == expected.cut([2, 5]).tolist()
    rows = list(
        csv.DictReader(perch("cut", tree, "--distance", 1.5, "-o", "-").stdout.splitlines())
    )
    rows = [row for row in rows if row["cluster"]]
    assert [int(row["cluster"]) for row in rows] == expected.cut(distance=1.5).tolist()
    perch("cut", tree, "-k", 3, "--criterion", "diameter", "-o", "d.csv")
    found = [int(row["cluster"]) for row in read_csv("d.csv")]
    assert found == expected.cut(3, criterion="diameter").tolist()
    perch("cut", tree, "-o", "suggested.csv")
    found = [int(row["cluster"]) for row in read_csv("suggested.csv")]
    assert found == Perch().fit(X).labels_.tolist()
    perch("cut", tree, "-k", 2, "--distance", 1, "-o", "no.csv", code=2)
    assert "must end with one of" in perch.fails("cut", tree, "-o", "out.xlsx")


def test_predict(perch, tmp_path, tree, X):
    near = X + np.float32(0.001)
    path, *_ = Rows(near, [f"n{i}" for i in range(18)]).write(tmp_path, "jsonl")
    perch("predict", tree, path, "--id", "key", "-k", 4, "-o", "p.csv")
    perch("cut", tree, "-k", 4, "-o", "c.csv")
    predicted, own = read_csv("p.csv"), read_csv("c.csv")
    assert [row["cluster"] for row in predicted] == [row["cluster"] for row in own]
    assert [row["id"] for row in predicted] == [f"n{i}" for i in range(18)]
    assert [row["nearest"] for row in predicted] == Rows(X).keys
    np.save(tmp_path / "far.npy", X + 100)
    perch("predict", tree, "far.npy", "-k", 4, "--max-distance", 1, "-o", "far.csv", "--batch", 5)
    assert {row["cluster"] for row in read_csv("far.csv")} == {"-1"}
    assert [row["id"] for row in read_csv("far.csv")] == [str(i) for i in range(18)]
    np.save(tmp_path / "bad.npy", np.where(np.arange(18)[:, None] == 9, np.nan, X))
    assert "row 9 contains NaN" in perch.fails("predict", tree, "bad.npy", "-o", "b.csv")
    assert not (tmp_path / "b.csv").exists()
    result = perch("predict", tree, "bad.npy", "-o", "b.csv", "--skip-bad")
    assert "1 bad row skipped" in result.stderr
    assert len(read_csv("b.csv")) == 17
    np.save(tmp_path / "wide.npy", np.ones((2, 5)))
    assert "rows have 5 features" in perch.fails("predict", tree, "wide.npy", "-o", "w.csv")


def test_predict_by_direction(perch, tmp_path, X):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "longer.npy", X * 7)
    perch("fit", "x.npy", "-o", "t.perch", "--metric", "cosine")
    perch("predict", "t.perch", "longer.npy", "-o", "p.csv")
    assert [row["nearest"] for row in read_csv("p.csv")] == [str(i) for i in range(18)]
    np.save(tmp_path / "zero.npy", X * (np.arange(18) != 5)[:, None])
    assert "row 5 is all zeros" in perch.fails("predict", "t.perch", "zero.npy", "-o", "z.csv")
    assert "row 5 is all zeros" in perch.fails(
        "fit", "zero.npy", "-o", "z.perch", "--metric", "cosine"
    )


def test_score(perch, tmp_path, tree, X):
    classes = np.array(Rows(X).classes)
    figures = perch.json("score", tree)
    assert figures["classes"] == figures["clusters"] == 3
    assert figures["dendrogram_purity"] == pytest.approx(dendrogram_purity(Perch().fit(X), classes))
    np.save(tmp_path / "y.npy", classes)
    (tmp_path / "y.txt").write_text("".join(f"class {c}\n" for c in classes))
    assert perch.json("score", tree, "--classes", "y.npy") == figures
    assert perch.json("score", tree, "--classes", "y.txt") == figures
    assert perch.json("score", tree, "-k", 5)["clusters"] == 5
    assert "dendrogram purity" in perch("score", tree).stdout
    np.save(tmp_path / "few.npy", classes[:5])
    assert "5 classes given for 18 points" in perch.fails("score", tree, "--classes", "few.npy")
    np.save(tmp_path / "x.npy", X)
    perch("fit", "x.npy", "-o", "bare.perch")
    assert "has no classes" in perch.fails("score", "bare.perch")


def test_info(perch, tmp_path, tree):
    figures = perch.json("info", tree)
    assert figures["points"] == 18
    assert figures["feature_names"] == ["f0", "f1", "f2"]
    assert figures["ids"] == "yours"
    assert "grafted" in perch("info", tree).stdout


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"linkage": "box"}, "PERCH"),
        ({"linkage": "box", "search": "beam"}, "PERCH-B"),
        ({"linkage": "box", "max_leaves": 5}, "PERCH-C"),
        ({"linkage": "box", "max_leaves": 5, "search": "beam"}, "PERCH-BC"),
        ({"linkage": "ward", "graft": 0}, "linkage"),
        ({"max_leaves": 5, "search": "beam"}, "grafted, beam search, collapsed"),
    ],
)
def test_files_saved_in_python_work_too(perch, tmp_path, X, settings, name):
    collection = Collection(**settings)
    collection.add(X, keys=range(18))
    collection.save("t.perch")
    collection.tree.save("tree.perch")
    for path in ("t.perch", "tree.perch"):
        assert perch.json("info", path)["mode"] == name
    more = Rows(X + 1, list(range(18, 36))).write(tmp_path, "parquet")
    perch("add", "t.perch", *more)
    perch("add", "tree.perch", more[0], "--features", "f*")
    collection.tree.insert(X + 1)
    for path in ("t.perch", "tree.perch"):
        assert clades_of(ClusterTree.load(path)) == clades_of(collection.tree)


# plot, export


@pytest.mark.parametrize("suffix", ["html", "png", "svg", "pdf"])
def test_plot(perch, tmp_path, tree, suffix):
    perch("plot", tree, "-o", f"t.{suffix}")
    start = (tmp_path / f"t.{suffix}").read_bytes()[:1000]
    expected = {"html": b"<!doctype html", "png": b"PNG", "svg": b"<svg", "pdf": b"%PDF"}
    assert expected[suffix] in start.replace(b"DOCTYPE html", b"doctype html")
    assert "exists" in perch.fails("plot", tree, "-o", f"t.{suffix}")


def test_a_title_is_no_formula(perch, tmp_path, tree):
    perch("plot", tree, "-o", "t.png", "--title", r"$\frac{1$ costs 5_x^")
    assert (tmp_path / "t.png").read_bytes()[1:4] == b"PNG"


def test_plot_of_something_else(perch, tree):
    assert "must end with one of" in perch.fails("plot", tree, "-o", "t.gif")


def test_export(perch, tmp_path, tree, X):
    expected = Perch().fit(X).tree_
    perch("export", tree, "--to", "linkage", "-o", "z.npy")
    assert np.array_equal(np.load("z.npy"), expected.to_linkage())
    perch("export", tree, "--to", "newick", "-o", "t.nwk")
    assert (tmp_path / "t.nwk").read_text() == expected.to_newick(Rows(X).keys) + "\n"
    perch("export", tree, "--to", "tsv", "-o", "t.tsv")
    assert sorted(read_authors("t.tsv").names) == sorted(Rows(X).keys)
    perch("export", tree, "--to", "json", "-o", "t.json", "--branches", 5)
    assert json.loads((tmp_path / "t.json").read_text()) == json.loads(
        expected.to_json(5, Rows(X).keys)
    )
    np.save(tmp_path / "x.npy", X)
    perch("fit", "x.npy", "-o", "bare.perch")
    assert "needs: fit with --class" in perch.fails(
        "export", "bare.perch", "--to", "tsv", "-o", "b"
    )


# Errors


def test_debug_shows_where(perch, tmp_path):
    options = ["fit", "nothing.npy", "-o", "t", "--debug"]
    with pytest.raises(ValueError, match="no such file"):
        CliRunner().invoke(main, options, catch_exceptions=False)


@pytest.mark.parametrize("missing", ["pyarrow", "matplotlib"])
def test_what_is_not_installed_is_said(perch, tmp_path, tree, monkeypatch, X, missing):
    options = Rows(X).write(tmp_path, "parquet")
    for name in [n for n in sys.modules if n.split(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    if missing == "pyarrow":
        assert "pip install 'perchtree[parquet]'" in perch.fails("fit", *options, "-o", "u.perch")
        assert "perchtree[parquet]" in perch.fails("cut", tree, "-o", "c.parquet")
    else:
        assert "pip install 'perchtree[plot]'" in perch.fails("plot", tree, "-o", "t.png")


def test_a_full_disk(perch, tmp_path, tree, monkeypatch):
    def fail(*_args):
        raise OSError(28, "No space left on device")

    before = (tmp_path / tree).read_bytes()
    monkeypatch.setattr("perchtree.files.replacing.os.fsync", fail)
    for command in (["refine", tree], ["cut", tree, "-o", "c.csv"], ["plot", tree, "-o", "t.html"]):
        assert "No space left on device" in perch.fails(*command)
    assert (tmp_path / tree).read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == [f".{tree}.lock", "rows.csv", tree]


def test_version(perch):
    first, *others = perch("--version").output.splitlines()
    assert first == f"perch {perchtree.__version__}"
    named = " ".join(others)
    for package in ("Python", "numpy", "numba", "scikit-learn", "SQLite", "optional"):
        assert f"{package} " in named or f"{package}: " in named
