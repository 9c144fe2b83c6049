"""Texts on the command line: fit, add, predict and encode make vectors of them."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from perchtree import Collection
from perchtree.encode import Chars

TITLES = ["red wool socks", "Red woolen socks", "blue cotton shirt", "blue coton shirt",
          "green tea, 20 bags", "green tea 20 bag", "", "naïve 中文 😀"] * 2  # fmt: skip
MAKERS = [f"maker {i % 3}" for i in range(len(TITLES))]


@pytest.fixture(autouse=True)
def short_vectors(monkeypatch):
    """Named encoders have few dimensions: kernels as plain Python take their time."""
    monkeypatch.setattr("perchtree.encode.making.DIMENSIONS", 32)


def write(kind, titles=TITLES, name="x"):
    """A file of ids, titles, makers."""
    rows = [
        {"id": i, "title": t, "maker": m}
        for i, (t, m) in enumerate(zip(titles, MAKERS, strict=False))
    ]
    path = f"{name}.{kind}"
    if kind == "jsonl":
        Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == "parquet":
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
    elif kind == "npz":
        np.savez(path, **{key: np.array([row[key] for row in rows]) for key in rows[0]})
    else:
        lines = [",".join(f'"{value}"' for value in row.values()) + "\n" for row in rows]
        Path(path).write_text("".join(["id,title,maker\n", *lines]))
    return path


def streamed(data, *args):
    """Run `perch` in a process, which reads a stream; what it prints, and what it says."""
    done = subprocess.run(
        [sys.executable, "-m", "perchtree", *args], input=data, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


COLUMNS = ["--id", "id", "--text", "title", "--text", "maker"]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "npz"])
@pytest.mark.parametrize("batch", [3, 10_000])
def test_the_same_tree_of_every_kind_of_input(perch, kind, batch):
    perch("fit", write(kind), "-o", "t.perch", *COLUMNS, "--batch", batch)
    tree = Collection.open("t.perch")
    joined = [
        f"{title}, {maker}" if title else maker for title, maker in zip(TITLES, MAKERS, strict=True)
    ]
    assert tree.texts == joined
    expected = Collection(encoder=Chars(32).learned(joined))
    expected.add(texts=joined)
    assert tree.encoder.n_texts == len(TITLES)
    assert tree.tree.children.tolist() == expected.tree.children.tolist()


def test_it_says_what_it_has_chosen(perch):
    told = perch("fit", write("csv"), "-o", "t.perch", *COLUMNS).stderr
    assert (
        "making vectors from texts with the encoder chars, because half of them have at most 120"
        in told
    )
    assert "learned word frequencies from 16 texts" in told
    long = [" ".join(TITLES) for _ in TITLES]
    told = perch("fit", write("csv", long), "-o", "u.perch", *COLUMNS).stderr
    assert "with the encoder words, because half of them have more than 120" in told
    told = perch("fit", write("csv"), "-o", "v.perch", *COLUMNS, "--encode", "words:64").stderr
    assert "with the encoder words; learned word frequencies" in told
    assert Collection.open("v.perch").tree.n_features == 64
    assert perch.json("info", "v.perch")["encoder"] == "words"
    assert perch("fit", write("csv"), "-o", "w.perch", *COLUMNS, "-q").stderr == ""


def test_numbers_are_features_unless_texts_are_to_be_encoded(perch):
    Path("x.csv").write_text("id,title,price\n1,a,2\n2,b,3\n")
    perch("fit", "x.csv", "-o", "t.perch", "--id", "id", "--text", "title")
    assert Collection.open("t.perch").encoder is None
    perch("fit", "x.csv", "-o", "u.perch", "--id", "id", "--text", "title", "--encode", "auto")
    assert isinstance(Collection.open("u.perch").encoder, Chars)


@pytest.mark.jit
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_stream_learns_from_its_first_batch(perch, kind):
    data = Path(write(kind)).read_text()
    _, told = streamed(data, "fit", "-", "-o", "t.perch", *COLUMNS, "--batch", "4")
    tree = Collection.open("t.perch")
    assert len(tree) == len(TITLES)
    assert tree.encoder.n_texts == 4
    assert "with the encoder chars, because" in told
    assert (
        "warning: word frequencies were learned only from the first 4 texts of the stream" in told
    )


def test_add_and_predict_encode_as_fit_did(perch):
    perch("fit", write("csv", TITLES[:10]), "-o", "t.perch", *COLUMNS, "--encode", "words")
    whole = Collection.open("t.perch")
    Path("more.jsonl").write_text(
        '{"id": "n1", "title": "RED wool socks", "maker": "maker 0", "price": 3}\n'
        '{"id": "n2", "title": null, "maker": null, "price": 3}\n'
    )
    perch("predict", "t.perch", "more.jsonl", "-k", 3, "-o", "p.jsonl", *COLUMNS)
    first, second = map(json.loads, Path("p.jsonl").read_text().splitlines())
    assert (first["nearest"], first["distance"]) == ("0", 0)
    assert second["distance"] > 0
    perch("add", "t.perch", "more.jsonl", *COLUMNS)
    whole.add(texts=["RED wool socks, maker 0", ""], keys=["n1", "n2"])
    tree = Collection.open("t.perch")
    assert tree.encoder.n_texts == 10
    assert tree.tree.children.tolist() == whole.tree.children.tolist()


def test_what_does_not_fit_is_refused(perch):
    perch("fit", write("csv"), "-o", "t.perch", *COLUMNS)
    np.save("x.npy", np.eye(4))
    perch("fit", "x.npy", "-o", "v.perch")
    vectors = "the tree's vectors are made of texts, by the encoder chars"
    assert vectors in perch.fails("add", "t.perch", "x.npy")
    assert vectors in perch.fails("predict", "t.perch", "x.npy", "-o", "p.csv")
    assert vectors in perch.fails("add", "t.perch", "x.csv", "--id", "id")
    error = perch.fails("add", "t.perch", "x.csv", *COLUMNS, "--encode", "words")
    assert "made by the encoder chars, not by words" in error
    error = perch.fails("add", "v.perch", "x.csv", *COLUMNS, "--encode", "words")
    assert "vectors of their own" in error
    error = perch.fails("add", "v.perch", "x.csv", *COLUMNS)
    assert "no columns left for features" in error
    for options in (["--encode", "words"], [*COLUMNS, "--encode", "words", "--features", "f"]):
        perch.fails("fit", "x.csv", "-o", "u.perch", *options, code=2)
    error = perch.fails("fit", "x.csv", "-o", "u.perch", *COLUMNS, "--encode", "letters")
    assert "there is no encoder 'letters': there are auto, chars" in error
    error = perch.fails("fit", "x.csv", "-o", "u.perch", "--id", "id", "--text", "title")
    assert "--encode" in error


def test_bad_rows_are_left_out_of_both_passes(perch):
    write("csv")
    with Path("x.csv").open("a") as file:
        file.write("too,few\n")
    assert "line 18 has 2 fields" in perch.fails("fit", "x.csv", "-o", "t.perch", *COLUMNS)
    perch("fit", "x.csv", "-o", "t.perch", *COLUMNS, "--skip-bad")
    assert Collection.open("t.perch").encoder.n_texts == len(TITLES)


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "csv"])
def test_encode_alone(perch, kind):
    options = ["--id", "id", "--text", "title", "--encode", "words:32"]
    perch("encode", write("csv"), "-o", f"v.{kind}", *options, "--batch", 5)
    features = "v*" if kind == "csv" else "vector"
    perch(
        "fit", f"v.{kind}", "-o", "a.perch", "--id", "id", "--text", "text", "--features", features
    )
    perch("fit", "x.csv", "-o", "b.perch", *options)
    a, b = map(Collection.open, ("a.perch", "b.perch"))
    assert a.tree.children.tolist() == b.tree.children.tolist()
    assert a.texts == b.texts
    told = perch(
        "encode", "x.csv", "-o", f"w.{kind}", "--text", "title", "--tree", "b.perch"
    ).stderr
    assert "16 rows; written to" in told
    perch.fails("encode", "x.csv", "-o", f"z.{kind}", "--id", "id", code=2)


@pytest.mark.jit
def test_encode_a_stream(perch):
    data = Path(write("csv")).read_text()
    table, told = streamed(data, "encode", "-", "-o", "-", "--text", "title", "--batch", "8")
    assert "learned word frequencies from 8 texts" in told
    header, first, *_ = table.splitlines()
    assert header.startswith("id,text,v0,v1,")
    expected = Chars().learned(TITLES[:8]).encode(TITLES[:1])[0]
    assert np.allclose([float(cell) for cell in first.split(",")[2:]], expected, atol=1e-6)
