"""What users and reviewers stumbled over."""

import csv
import json
import os

import numpy as np
import pytest
from kinds import Rows

from perchtree import ClusterTree, Collection, Perch
from perchtree.inputs.opening import open_input


@pytest.fixture
def tree(perch, tmp_path, X):
    """A tree with ids, classes and texts."""
    perch("fit", *Rows(X).write(tmp_path, "csv"), "-o", "t.perch", "--quiet")
    return "t.perch"


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.jit
def test_long_texts_do_not_take_memory_for_all(perch, tmp_path):
    lines = [json.dumps({"a": i, "t": "short"}) + "\n" for i in range(5000)]
    lines[7] = json.dumps({"a": 7, "t": "x" * 3_000_000}) + "\n"
    (tmp_path / "x.jsonl").write_text("".join(lines))
    perch("fit", "x.jsonl", "-o", "t.perch", "--text", "t")
    assert len(Collection.open("t.perch").texts[7]) == 3_000_000


@pytest.mark.parametrize("options", [[], ["--features", "f*"], ["--features", "f2,f1"]])
def test_features_in_another_order_go_where_they_belong(perch, tmp_path, options):
    (tmp_path / "a.csv").write_text("id,f1,f2\na,0,1\nb,0,2\n")
    (tmp_path / "b.csv").write_text("id,f2,f1\nc,100,0\n")
    perch("fit", "a.csv", "-o", "t.perch", "--id", "id", "--features", "f*")
    perch("add", "t.perch", "b.csv", "--id", "id", *options)
    assert ClusterTree.load("t.perch").nearest([[0, 100]])[1] == 0
    perch("predict", "t.perch", "b.csv", "--id", "id", *options, "-o", "p.csv")
    assert read_csv("p.csv")[0]["nearest"] == "c"


def test_a_tree_with_names_takes_rows_without(perch, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("5,6\n")
    (tmp_path / "b.jsonl").write_text("[7, 8]\n")
    (tmp_path / "l.jsonl").write_text('{"v": [9, 10]}\n')
    np.save(tmp_path / "b.NPY.npy", [[11, 12]])
    perch("fit", "a.csv", "-o", "t.perch")
    for more in (["b.csv", "--no-header"], ["b.jsonl"], ["l.jsonl"], ["b.NPY.npy"]):
        perch("predict", "t.perch", *more, "-o", "p.csv", "--force")
        perch("add", "t.perch", *more)
    assert ClusterTree.load("t.perch").n_points == 6
    assert Perch.load("t.perch").feature_names_in_.tolist() == ["x", "y"]


def test_missing_ids_are_bad_rows(perch, tmp_path, X):
    rows = Rows(X, [None, *range(1, 18)])
    options = rows.write(tmp_path, "parquet")
    assert "row 0 has no id" in perch.fails("fit", *options, "-o", "t.perch")
    perch("fit", *options, "-o", "t.perch", "--skip-bad", "--batch", 4)
    assert Perch.load("t.perch").keys_.tolist() == list(range(1, 18))


def test_ids_are_not_bent(perch, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "x": 0}\n{"id": 9007199254740993, "x": 1}\n')
    perch("fit", "a.jsonl", "-o", "t.perch", "--id", "id")
    assert Perch.load("t.perch").keys_.tolist() == [1, 9007199254740993]
    for bad in ("2.5", "true", '"1_0"', '"007"', "Infinity", '"x"'):
        (tmp_path / "b.jsonl").write_text(f'{{"id": {bad}, "x": 5}}\n')
        assert "line 1 has the id" in perch.fails("add", "t.perch", "b.jsonl", "--id", "id")
    (tmp_path / "b.jsonl").write_text('{"id": "12", "x": 5}\n')
    perch("add", "t.perch", "b.jsonl", "--id", "id")


def test_labels_of_any_kind_mean_the_same(perch, tmp_path, X):
    labels = [-1] * 6 + [0, 1] * 6
    figures = []
    for kind in ("csv", "parquet", "jsonl"):
        rows = Rows(X)
        rows.classes = labels if kind != "jsonl" else [float(label) for label in labels]
        perch("fit", *rows.write(tmp_path, kind), "-o", "t.perch", "--force")
        figures.append(perch.json("score", "t.perch"))
        perch("refine", "t.perch", "--passes", 1)
        assert perch.json("score", "t.perch")["points"] == 12
    assert figures[0] == figures[1] == figures[2]
    singles = perch.json("score", "t.perch", "--noise", "singletons")
    assert singles["classes"] == 8
    large = Rows(X[:2])
    large.classes = [2**63 + 5, 2**63 + 6]
    (tmp_path / "x.jsonl").unlink(missing_ok=True)
    perch("fit", *large.write(tmp_path, "jsonl"), "-o", "l.perch")
    assert Collection.open("l.perch").classes == [str(2**63 + 5), str(2**63 + 6)]


def test_scores_of_a_shuffled_tree(perch, tmp_path):
    X = np.repeat(np.eye(4, dtype=np.float32) * 100, 10, axis=0)
    X += np.random.default_rng(0).random(X.shape, np.float32)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", np.repeat(np.arange(4), 10))
    perch("fit", "x.npy", "-o", "t.perch", "--shuffle", 1)
    assert perch.json("score", "t.perch", "--classes", "y.npy")["dendrogram_purity"] == 1.0


def test_a_collapsed_tree_with_more_classes_than_leaves(perch, tmp_path, X):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", np.arange(18) // 2)
    perch("fit", "x.npy", "-o", "t.perch", "--max-leaves", 4)
    assert perch.json("score", "t.perch", "--classes", "y.npy")["clusters"] == 4


def test_outputs_that_would_destroy_something(perch, tmp_path, tree, X):
    np.save(tmp_path / "x.npy", X)
    before = (tmp_path / "x.npy").read_bytes()
    assert "is the input" in perch.fails("fit", "x.npy", "-o", "x.npy", "--force")
    assert (tmp_path / "x.npy").read_bytes() == before
    for command in (["export", tree, "--to", "newick"], ["plot", tree]):
        (tmp_path / "t.html").symlink_to(tmp_path / tree) if command[0] == "plot" else None
        target = tree if command[0] == "export" else "t.html"
        assert "is the input" in perch.fails(*command, "-o", target, "--force")
    perch("check", tree)
    os.mkfifo(tmp_path / "pipe.csv")
    assert "not a file" in perch.fails("cut", tree, "-o", "pipe.csv", "--force")
    (tmp_path / "out.csv").write_text("precious")
    np.save(tmp_path / "bad.npy", np.full((2, 3), np.nan))
    perch("predict", tree, "bad.npy", "-o", "out.csv", "--force", "--skip-bad", code=1)
    assert (tmp_path / "out.csv").read_text() == "precious"
    assert "cannot be saved" in perch.fails("fit", "x.npy", "-o", "/proc/self/t.perch")
    perch("fit", "x.npy", "-o", "-", code=2)
    assert perch("export", tree, "--to", "newick", "-o", "-").stdout.endswith(";\n")


def test_two_commands_cannot_change_one_tree(perch, tmp_path, tree, X):
    with Collection.open(tree, write=True) as collection:
        assert "being changed by another process" in perch.fails("refine", tree)
        collection.save(tree)
        assert "being changed by another process" in perch.fails("refine", tree)
    perch("refine", tree)


def test_how_a_command_ran_is_not_kept(perch, tmp_path, X):
    Perch(n_jobs=1, verbose=1).fit(X).save("t.perch")
    np.save(tmp_path / "x.npy", X + 1)
    result = perch("add", "t.perch", "x.npy", "--n-jobs", 2, "-q")
    assert result.stderr == ""
    assert Perch.load("t.perch").n_jobs == 1
    assert Perch.load("t.perch").verbose == 1


def test_adding_without_classes_is_said(perch, tmp_path, tree, X):
    path, *_ = Rows(X + 5, [f"m{i}" for i in range(18)]).write(tmp_path, "parquet")
    result = perch("add", tree, path, "--id", "key")
    assert "new points have no class" in result.stderr
    assert "new points have no text" in result.stderr


def test_carriage_returns_survive(perch, tmp_path):
    (tmp_path / "x.jsonl").write_text('{"t": "a\\rb", "x": 1}\n{"t": "c", "x": 2}\n')
    perch("fit", "x.jsonl", "-o", "t.perch", "--text", "t")
    perch("cut", "t.perch", "-o", "c.csv")
    assert [row["text"] for row in read_csv("c.csv")] == ["a\rb", "c"]


def test_many_columns(perch, tmp_path):
    names = [f"f{j}" for j in range(20_000)]
    row = ",".join(["1"] * 20_000)
    (tmp_path / "x.csv").write_text(",".join(names) + f"\n{row}\n")
    source = open_input("x.csv")
    assert len(source.feature_names) == 20_000
