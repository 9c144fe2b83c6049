"""Every kind of input gives the same tree, and says which row is bad."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kinds import KINDS, NAMED, Rows

from perchtree import ClusterTree, Collection, Perch
from perchtree.inputs.batches import Columns, InputError
from perchtree.inputs.opening import open_input
from reference import clades_of

TEXTS = ["csv", "csv.gz", "tsv", "jsonl", "lists.jsonl", "authors"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch", [1, 7, 100])
def test_every_kind_gives_the_same_tree(perch, tmp_path, X, kind, batch):
    rows = Rows(X)
    perch("fit", *rows.write(tmp_path, kind), "-o", "t.perch", "--batch", batch)
    model = Perch.load("t.perch")
    expected = Perch().fit(X)
    assert clades_of(model.tree_) == clades_of(expected.tree_)
    collection = Collection.open("t.perch")
    if kind in NAMED:
        assert collection.keys.tolist() == rows.keys
        assert [int(name) for name in collection.classes] == rows.classes
        assert collection.texts == rows.texts
    if kind == "authors":
        assert collection.keys.tolist() == rows.keys
    if kind in ("npz", "parquet", "folder", "jsonl"):
        assert {type(name) for name in collection.classes} == {int}  # numbers stay numbers


def crossed(rows, values):
    """Every value in every row; the quick tests have each value and each row once."""
    return [
        pytest.param(row, value, marks=() if number % len(rows) == place else pytest.mark.slow)
        for place, row in enumerate(rows)
        for number, value in enumerate(values)
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("row", "bad"), crossed([0, 8, 17], [np.nan, np.inf, 1e30]))
def test_values_no_tree_takes(perch, tmp_path, X, kind, row, bad):
    rows = Rows(X)
    rows.X[row][1] = bad
    given_ = rows.write(tmp_path, kind)
    error = perch.fails("fit", *given_, "-o", "t.perch", "--batch", 6)
    assert place_of(kind, row) in error
    assert {"nan": "NaN", "inf": "infinity"}.get(str(bad), "norm above") in error
    assert not (tmp_path / "t.perch").exists()
    result = perch("fit", *given_, "-o", "t.perch", "--batch", 6, "--skip-bad")
    assert "1 bad row skipped" in result.stderr
    assert place_of(kind, row) in result.stderr
    kept = np.delete(X, row, axis=0)
    assert clades_of(ClusterTree.load("t.perch")) == clades_of(Perch().fit(kept).tree_)


def place_of(kind, row):
    """What an error calls a row: each text takes two lines, and files of a folder have five."""
    if kind in ("csv", "csv.gz", "tsv"):
        return f"line {2 + 2 * row} "
    if kind in TEXTS:
        return f"line {row + 1} "
    if kind == "folder":
        return f"part-{row // 5:03}.parquet, row {row % 5} "
    return f"row {row} "


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize(("row", "bad"), crossed([0, 8, 17], ["oops", "", "[1", None]))
def test_text_where_numbers_belong(perch, tmp_path, X, kind, row, bad):
    rows = Rows(X)
    rows.X[row][1] = bad
    given_ = rows.write(tmp_path, kind)
    error = perch.fails("fit", *given_, "-o", "t.perch")
    assert place_of(kind, row) in error
    assert "not a number" in error or "no value" in error
    perch("fit", *given_, "-o", "t.perch", "--skip-bad")
    assert ClusterTree.load("t.perch").n_points == 17


@pytest.mark.parametrize("kind", [*TEXTS, "lists.parquet"])
@pytest.mark.parametrize("row", [8, 17])
@pytest.mark.parametrize("change", ["longer", "shorter"])
def test_rows_of_another_length(perch, tmp_path, X, kind, row, change):
    rows = Rows(X)
    if change == "longer":
        rows.X[row].append(1.0)
        if kind == "jsonl":
            pytest.skip("further members of an object are not features")
    else:
        rows.X[row].pop()
    error = perch.fails("fit", *rows.write(tmp_path, kind), "-o", "t.perch")
    assert place_of(kind, row) in error
    assert "instead of" in error or "has no 'f2'" in error


@pytest.mark.parametrize("kind", ["parquet", "folder", "lists.parquet"])
@pytest.mark.parametrize("row", [0, 8, 17])
def test_missing_values_in_parquet(perch, tmp_path, X, kind, row):
    rows = Rows(X)
    rows.X[row][1] = None
    error = perch.fails("fit", *rows.write(tmp_path, kind), "-o", "t.perch")
    assert place_of(kind, row) in error
    assert "fill it in" in error


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
@pytest.mark.parametrize("cut", ["first", "last"])
def test_lines_cut_short(perch, tmp_path, X, kind, cut):
    rows = Rows(X)
    rows.texts = ["one line"] * 18
    path = rows.write(tmp_path, kind)[0]
    lines = [line for line in Path(path).read_text().split("\n") if line]
    place = {"first": 0 if kind == "jsonl" else 1, "last": -1}[cut]
    lines[place] = lines[place][:12]
    Path(path).write_text("\n".join(lines))
    options = ["--id", "key", "--class", "class", "--text", "about"]
    error = perch.fails("fit", path, *options, "-o", "t.perch")
    assert re.search(r"line \d+ (is not JSON|has \d fields|cannot be split|column)", error), error


@pytest.mark.parametrize("kind", KINDS)
def test_files_cut_short(perch, tmp_path, X, kind):
    """No traceback and no tree, wherever a file ends: a clear error, or fewer rows of text."""
    path = tmp_path / f"rows.{kind}"
    arguments = Rows(X).write(tmp_path, kind)
    if kind == "folder":
        path = path / "part-003.parquet"
    whole = path.read_bytes()
    for length in np.linspace(0, len(whole) - 2, 9).astype(int):
        path.write_bytes(whole[:length])
        if kind in TEXTS and kind != "csv.gz":
            result = perch("fit", *arguments, "-o", "t.perch", "--force", "--skip-bad", code=None)
            if result.exit_code == 0:
                assert 0 < ClusterTree.load("t.perch").n_points <= 18
        else:
            perch.fails("fit", *arguments, "-o", "t.perch")
            assert not (tmp_path / "t.perch").exists()


@pytest.mark.parametrize("kind", NAMED)
def test_columns_that_are_not_there(perch, tmp_path, X, kind):
    path, *_ = Rows(X).write(tmp_path, kind)
    error = perch.fails("fit", path, "-o", "t.perch", "--id", "kye")
    assert "there is no column 'kye' (did you mean 'key'?)" in error
    assert "there is no column 'z*'" in perch.fails("fit", path, "-o", "t", "--features", "z*")


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_features_by_name_and_pattern(perch, tmp_path, X, kind):
    path, *_ = Rows(X).write(tmp_path, kind)
    for chosen in (["f2,f0"], ["f2", "f0"]):
        options = [part for name in chosen for part in ("--features", name)]
        perch("fit", path, "-o", "t.perch", *options, "--force")
        assert clades_of(ClusterTree.load("t.perch")) == clades_of(Perch().fit(X[:, [2, 0]]).tree_)
    perch("fit", path, "-o", "t.perch", "--features", "f*", "--force")
    assert Perch.load("t.perch").feature_names_in_.tolist() == ["f0", "f1", "f2"]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_columns_left_over_must_be_numbers(perch, tmp_path, X, kind):
    path, *_ = Rows(X).write(tmp_path, kind)
    error = perch.fails("fit", path, "-o", "t.perch")
    assert "column 'key'" in error
    assert "--features" in error


def test_headers(perch, tmp_path):
    def write(text):
        (tmp_path / "x.csv").write_text(text)

    write("1.5,2\n3,4\n5,6\n")
    assert "use --no-header" in perch.fails("fit", "x.csv", "-o", "t.perch")
    perch("fit", "x.csv", "-o", "t.perch", "--no-header")
    assert ClusterTree.load("t.perch").n_points == 3
    write("0,1\n3,4\n5,6\n")  # as pandas writes a frame without names
    perch("fit", "x.csv", "-o", "t.perch", "--force")
    assert ClusterTree.load("t.perch").n_points == 2
    write("a,a\n1,2\n")
    assert "two columns are called 'a'" in perch.fails("fit", "x.csv", "-o", "u.perch")
    write("a1,2\nb,3\n")
    assert "use --no-header" in perch.fails("fit", "x.csv", "-o", "u.perch")
    write("\ufeffx,y\n\n1,2\n\n3,4\n")
    perch("fit", "x.csv", "-o", "t.perch", "--force")
    assert Perch.load("t.perch").feature_names_in_.tolist() == ["x", "y"]


def test_npz_files(perch, tmp_path, X):
    np.savez(tmp_path / "one.npz", whatever=X, y=np.arange(18))
    perch("fit", "one.npz", "-o", "t.perch", "--class", "y")
    np.savez(tmp_path / "two.npz", a=X, b=X)
    assert "pick one by --features" in perch.fails("fit", "two.npz", "-o", "u.perch")
    perch("fit", "two.npz", "-o", "u.perch", "--features", "b")
    np.savez(tmp_path / "turned.npz", X=np.asfortranarray(X))
    assert "column by column" in perch.fails("fit", "turned.npz", "-o", "v.perch")
    np.savez(tmp_path / "short.npz", X=X, y=np.arange(3))
    assert "'y' does not have one" in perch.fails(
        "fit", "short.npz", "-o", "v.perch", "--class", "y"
    )
    np.savez(tmp_path / "objects.npz", X=X, y=np.array([None] * 18))
    assert "array 'y'" in perch.fails("fit", "objects.npz", "-o", "v.perch", "--class", "y")


def test_npy_files(perch, tmp_path, X):
    np.save(tmp_path / "turned.npy", np.asfortranarray(X))
    perch("fit", "turned.npy", "-o", "t.perch")
    assert clades_of(ClusterTree.load("t.perch")) == clades_of(Perch().fit(X).tree_)
    np.save(tmp_path / "flat.npy", X[0])
    assert "expected a 2-d array" in perch.fails("fit", "flat.npy", "-o", "u.perch")
    np.save(tmp_path / "text.npy", np.array([["a"]]))
    assert "expected a 2-d array of numbers" in perch.fails("fit", "text.npy", "-o", "u.perch")
    np.save(tmp_path / "objects.npy", np.array([[None]]))
    assert "objects.npy" in perch.fails("fit", "objects.npy", "-o", "u.perch")
    assert "no named columns" in perch.fails("fit", "turned.npy", "-o", "u.perch", "--id", "key")
    np.save(tmp_path / "empty.npy", np.empty((0, 3)))
    assert "no rows" in perch.fails("fit", "empty.npy", "-o", "u.perch")


def test_parquet_of_other_types(perch, tmp_path):
    values = {"a": pa.array([1, 2, 3]), "b": pa.array([True, False, True]),
              "c": pa.array([1.5, 2.5, 3.5], pa.float64())}  # fmt: skip
    pq.write_table(pa.table(values), tmp_path / "x.parquet")
    perch("fit", "x.parquet", "-o", "t.perch")
    expected = [[1, 1, 1.5], [2, 0, 2.5], [3, 1, 3.5]]
    assert clades_of(ClusterTree.load("t.perch")) == clades_of(Perch().fit(expected).tree_)
    fixed = pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float64(), 2))
    pq.write_table(pa.table({"e": fixed}), tmp_path / "y.parquet")
    perch("fit", "y.parquet", "-o", "u.perch")
    assert ClusterTree.load("u.perch").n_features == 2


def test_a_folder_whose_files_differ(perch, tmp_path):
    (tmp_path / "folder").mkdir()
    pq.write_table(pa.table({"a": [1.0], "b": [2.0]}), tmp_path / "folder/1.parquet")
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "folder/2.parquet")
    assert "2.parquet has no column 'b'" in perch.fails("fit", "folder", "-o", "t.perch")
    (tmp_path / "bare").mkdir()
    assert "no .parquet files" in perch.fails("fit", "bare", "-o", "t.perch")


def test_other_names(perch, tmp_path, X):
    assert "no such file" in perch.fails("fit", "nothing.npy", "-o", "t.perch")
    (tmp_path / "x.dat").write_text("a,b\n1,2\n")
    assert "use --format" in perch.fails("fit", "x.dat", "-o", "t.perch")
    perch("fit", "x.dat", "-o", "t.perch", "--format", "csv")
    (tmp_path / "latin.csv").write_bytes("a,é\n1,2\n".encode("latin-1"))
    assert "not UTF-8" in perch.fails("fit", "latin.csv", "-o", "u.perch")
    (tmp_path / "empty.csv").write_text("")
    assert "no rows" in perch.fails("fit", "empty.csv", "-o", "u.perch")
    (tmp_path / "header.csv").write_text("a,b\n")
    assert "no rows" in perch.fails("fit", "header.csv", "-o", "u.perch")


def test_bare_lists(perch, tmp_path, X):
    text = "".join(json.dumps(row) + "\n" for row in X.tolist())
    (tmp_path / "x.jsonl").write_text(text)
    perch("fit", "x.jsonl", "-o", "t.perch")
    assert clades_of(ClusterTree.load("t.perch")) == clades_of(Perch().fit(X).tree_)


def test_ids_must_be_there_and_be_unique(perch, tmp_path, X):
    rows = Rows(X)
    rows.keys[11] = "k3"
    options = rows.write(tmp_path, "csv")
    error = perch.fails("fit", *options, "-o", "t.perch", "--batch", 4)
    assert "line 24 has 'k3' again" in error
    rows.keys[11] = ""
    assert "line 24 has no id" in perch.fails("fit", *rows.write(tmp_path, "csv"), "-o", "t.perch")
    perch("fit", *options, "-o", "t.perch", "--skip-bad")
    assert ClusterTree.load("t.perch").n_points == 17


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_long_line_is_read_whole(perch, tmp_path, suffix):
    long = "x" * 700_000
    if suffix == "csv":
        (tmp_path / "x.csv").write_text(f"t,a\n{long},1\ny,2\n")
    else:
        (tmp_path / "x.jsonl").write_text(f'{{"t":"{long}","a":1}}\n{{"t":"y","a":2}}\n')
    perch("fit", f"x.{suffix}", "-o", "t.perch", "--text", "t")
    assert Collection.open("t.perch").texts == [long, "y"]


def test_gzip_cut_short(tmp_path):
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 100_000)
    (tmp_path / "x.csv.gz").write_bytes(whole[:-20])
    source = open_input(str(tmp_path / "x.csv.gz"))
    with pytest.raises(InputError, match="damaged after line"):
        list(source.batches(1000))


@given(text=st.text(max_size=200))
def test_any_text_is_read_or_refused(tmp_path_factory, text):
    """No crash, whatever is in a file."""
    folder = tmp_path_factory.getbasetemp()
    for suffix in ("csv", "tsv", "jsonl"):
        path = folder / f"any.{suffix}"
        path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
        try:
            for batch in open_input(str(path), Columns()).batches(3):
                batch.checked(cosine=False)
        except InputError:
            continue


def test_a_bad_first_row_does_not_decide_what_rows_are_like(perch, tmp_path, X):
    lines = [json.dumps({"x": row}) + "\n" for row in X.tolist()]
    for first in ('{"x": null}\n', '{"error": 1}\n', "[1\n", '{"x": []}\n'):
        (tmp_path / "x.jsonl").write_text(first + "".join(lines))
        perch("fit", "x.jsonl", "-o", "t.perch", "--skip-bad", "--force", "--features", "x")
        assert ClusterTree.load("t.perch").n_points == 18
    (tmp_path / "x.tsv").write_text("a\tb\n" + "".join(f"k{i}\t1\t{i}\t2\n" for i in range(9)))
    perch("fit", "x.tsv", "-o", "t.perch", "--format", "authors", "--skip-bad", "--force")
    assert ClusterTree.load("t.perch").n_points == 9
    lists = pa.array([None] * 5 + X.tolist(), pa.list_(pa.float32()))
    pq.write_table(pa.table({"x": lists}), tmp_path / "x.parquet")
    perch("fit", "x.parquet", "-o", "t.perch", "--skip-bad", "--force", "--batch", 5)
    assert ClusterTree.load("t.perch").n_points == 18


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_text_that_is_not_utf8(perch, tmp_path, kind):
    rows = {"csv": [b"t,a", b"x,1", b"caf\xe9,2", b"y,3"],
            "jsonl": [b'{"t":"x","a":1}', b'{"t":"caf\xe9","a":2}',
                      b'{"t":"y","a":3}']}  # fmt: skip
    (tmp_path / f"x.{kind}").write_bytes(b"\n".join(rows[kind]) + b"\n")
    error = perch.fails("fit", f"x.{kind}", "-o", "t.perch", "--text", "t")
    assert f"line {3 if kind == 'csv' else 2} is not UTF-8" in error
    perch("fit", f"x.{kind}", "-o", "t.perch", "--text", "t", "--skip-bad")
    assert Collection.open("t.perch").texts == ["x", "y"]
    (tmp_path / f"y.{kind}").write_bytes("a,b\n1,2\n".encode("utf-16"))
    assert "line 1 is not UTF-8" in perch.fails("fit", f"y.{kind}", "-o", "u.perch")


def test_a_text_cut_amid_a_character(perch, tmp_path):
    (tmp_path / "x.jsonl").write_text('{"t":"ok","a":1}\n{"t":"hi \\ud83d","a":2}\n')
    error = perch.fails("fit", "x.jsonl", "-o", "t.perch", "--text", "t")
    assert "line 2 't' is a text cut amid a character" in error
    perch("fit", "x.jsonl", "-o", "t.perch", "--text", "t", "--skip-bad")


def test_a_quote_that_is_never_closed(perch, tmp_path):
    lines = [f"name {i},{i}\n" for i in range(30)]
    lines[5] = '"open,5\n'
    (tmp_path / "x.csv").write_text("t,a\n" + "".join(lines))
    for more in ([], ["--skip-bad"]):
        error = perch.fails("fit", "x.csv", "-o", "t.perch", "--text", "t", *more)
        assert "line 7 has a quote that is not closed" in error
    lines += [f"name {i},{i}\n" for i in range(3000)]
    (tmp_path / "x.csv").write_text("t,a\n" + "".join(lines))
    assert "line 7 has a quote" in perch.fails("fit", "x.csv", "-o", "t.perch", "--text", "t")


def test_other_csv_habits(perch, tmp_path, X):
    def write(text):
        (tmp_path / "x.csv").write_text(text, newline="")

    write(",f0,f1\n0,1.5,2\n1,3,4\n")  # as pandas writes its index
    assert "the first column has no name" in perch.fails("fit", "x.csv", "-o", "t.perch")
    perch("fit", "x.csv", "-o", "t.perch", "--id", "index")
    assert Perch.load("t.perch").feature_names_in_.tolist() == ["f0", "f1"]
    write("a;b\n1;2\n")
    assert "separated by ';'" in perch.fails("fit", "x.csv", "-o", "u.perch")
    write("a\tb\n1\t2\n")
    assert "use --format tsv" in perch.fails("fit", "x.csv", "-o", "u.perch")
    write("a,b\n1_000,2\n")
    assert "'1_000' is not a number" in perch.fails("fit", "x.csv", "-o", "u.perch")
    write("a,b\r\n1,2\r\n  \r\n\r\n3,4\r\n")
    perch("fit", "x.csv", "-o", "u.perch")
    assert ClusterTree.load("u.perch").n_points == 2
    write('"a\nb",1,2\nc,3,4\n')
    perch("fit", "x.csv", "-o", "v.perch", "--no-header", "--text", "c1")
    assert Collection.open("v.perch").texts == ["a\nb", "c"]


def test_patterns_leave_named_columns_alone(perch, tmp_path):
    (tmp_path / "x.csv").write_text("fid,f1,f2\na,1,2\nb,3,4\n")
    perch("fit", "x.csv", "-o", "t.perch", "--id", "fid", "--features", "f*")
    assert Perch.load("t.perch").feature_names_in_.tolist() == ["f1", "f2"]


def test_names_twice_in_parquet_and_damaged_files(perch, tmp_path):
    twice = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    pq.write_table(twice, tmp_path / "x.parquet")
    assert "two columns are called 'a'" in perch.fails("fit", "x.parquet", "-o", "t.perch")
    (tmp_path / "y.parquet").write_bytes(b"PAR1" + bytes(30) + b"\x10\0\0\0PAR1")
    assert "y.parquet" in perch.fails("fit", "y.parquet", "-o", "t.perch")


def test_the_row_of_a_shuffled_file_is_named(perch, tmp_path, X):
    X[7, 1] = np.nan
    np.save(tmp_path / "x.npy", X)
    assert "row 7 contains NaN" in perch.fails("fit", "x.npy", "-o", "t.perch", "--shuffle", 1)


def test_ids_and_labels_as_bytes(perch, tmp_path, X):
    keys = np.array([f"k{i}" for i in range(18)]).astype("S")
    np.savez(tmp_path / "x.npz", X=X, k=keys, y=keys)
    perch("fit", "x.npz", "-o", "t.perch", "--id", "k", "--class", "y")
    assert Perch.load("t.perch").keys_[3] == "k3"
    assert Collection.open("t.perch").classes[3] == "k3"


def test_small_integers_by_direction(perch, tmp_path):
    np.save(tmp_path / "x.npy", np.array([[-128, -128], [1, 2], [3, 1]], np.int8))
    perch("fit", "x.npy", "-o", "t.perch", "--metric", "cosine")
    assert ClusterTree.load("t.perch").n_points == 3


def test_a_pipe_by_its_name(perch, tmp_path):
    import os
    import threading

    os.mkfifo(tmp_path / "pipe")
    text = "a,b\n1,2\n3,4\n"
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(text))
    writer.start()
    perch("fit", "pipe", "-o", "t.perch", "--format", "csv")
    writer.join()
    assert ClusterTree.load("t.perch").n_points == 2


def test_a_folder_of_arrays(perch, tmp_path, X):
    (tmp_path / "v").mkdir()
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "v/a.npy", X[:5])
    np.save(tmp_path / "v/b.npy", X[5:].astype(np.float64))
    for more in ([], ["--shuffle", "3"], ["--batch", "4", "--skip-rows", "3"]):
        perch("fit", "v", "-o", "many.perch", "--force", *more)
        perch("fit", "x.npy", "-o", "one.perch", "--force", *more)
        assert Path("many.perch").read_bytes() == Path("one.perch").read_bytes()
    bad = X[5:].copy()
    bad[2, 1] = np.nan
    np.save(tmp_path / "v/b.npy", bad)
    assert "b.npy, row 2 contains NaN" in perch.fails("fit", "v", "-o", "t.perch")
    np.save(tmp_path / "v/c.npy", X[:, :2])
    assert "c.npy, rows have 2 features, those of the first file 3" in perch.fails(
        "fit", "v", "-o", "t.perch"
    )
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "v/d.parquet")
    assert "use --format with npy or parquet" in perch.fails("fit", "v", "-o", "t.perch")
    (tmp_path / "v/c.npy").write_bytes(b"\x93NUMPY")
    error = perch.fails("fit", "v", "-o", "t.perch", "--format", "npy")
    assert "c.npy, its header is damaged" in error
