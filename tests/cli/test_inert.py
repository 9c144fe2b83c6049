"""Nothing that comes from a file acts on a terminal or fills it; no cell acts on a spreadsheet."""

import csv
import gzip
import io
import json
import re

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perchtree import Perch
from perchtree.inert import MAX_LINE, MAX_NAME, inert_line, short_list, short_name
from perchtree.outputs import open_table

EVIL = "\x1b[2J\x9b31m\u202egnp\u2066\x07\x7f\r"
HARMFUL = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\ud800-\udfff]"
)


@given(st.text(st.characters()), st.integers(20, 200))
def test_any_text_becomes_inert(text, limit):
    line = inert_line(text, limit)
    assert not HARMFUL.search(line)
    assert "\n" not in line
    assert len(line) <= limit
    assert not HARMFUL.search(short_name(text) + short_list([text]))
    assert len(short_name(text)) <= MAX_NAME + 2


def test_what_is_harmless_stays():
    for text in (
        "café  日本語 👩\u200d👩\u200d👧",
        "\u0645\u06cc\u200c\u062e",
        'it\'s "quoted" \\n',
        "a  b",
    ):
        assert inert_line(text) == text
    assert inert_line("one\n  two\r\nthree\n") == "one two three"
    assert inert_line("\x1b[31m\u202e") == r"\x1b[31m\u202e"
    assert short_name("it's") == repr("it's")
    assert short_list(["a", "b"] * 20) == ", ".join(["a", "b"] * 10) + ", ..."


def test_the_end_of_a_long_line_is_kept():
    line = inert_line("start " + "x" * 10**7 + " use --force")
    assert line.startswith("start xxx")
    assert line.endswith("xxx use --force")
    assert len(line) == MAX_LINE


def inert(result):
    """What was shown; it must be harmless and short."""
    shown = result.stderr + result.stdout
    assert not HARMFUL.search(shown), shown
    assert all(len(line) <= MAX_LINE for line in shown.splitlines())
    return shown


LONG = "n" * 5_000_000


@pytest.mark.parametrize("name", [EVIL, LONG])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_names_and_values_in_errors(perch, tmp_path, name, kind):
    def write(rows):
        if kind == "csv":
            with open("x.csv", "w", newline="") as file:
                writer = csv.writer(file, quoting=csv.QUOTE_ALL)
                writer.writerow(rows[0])
                writer.writerows(row.values() for row in rows)
        else:
            (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    fit = ["fit", f"x.{kind}", "-o", "t.perch", "--force"]
    write([{name: "oops", "b": 2}])
    assert "oops" in inert(perch(*fit, code=1))  # a bad value in a column with such a name
    assert "skipped" in inert(perch(*fit, "--skip-bad", code=1))
    assert "there is no column" in inert(perch(*fit, "--id", "nothing", code=1))
    write([{"i": name, "a": 1}, {"i": name, "a": 2}])
    assert "again: ids must be unique" in inert(perch(*fit, "--id", "i", code=1))
    write([{"i": "x", "a": name}])
    assert "not a number" in inert(perch(*fit, "--id", "i", code=1))
    write([{name: 1, "b": 2}, {name: 3, "b": 4}])
    perch(*fit)
    assert "feature names" in inert(perch("info", "t.perch"))
    assert json.loads(perch("info", "t.perch", "--json").stdout)["feature_names"][1] == "b"


def test_file_names(perch, tmp_path, X):
    name = "x" + EVIL + "y" * 50
    np.save(tmp_path / f"{name}.npy", X)
    inert(perch("fit", f"{name}.npy", "-o", f"{name}.perch"))
    assert "is whole" in inert(perch("check", f"{name}.perch"))
    inert(perch("info", f"{name}.perch"))
    inert(perch("fit", f"{name}.npy", "-o", f"{name}.perch", code=1))
    inert(perch("fit", f"{name}.npy", "-o", f"{name}/t.perch", code=1))


def test_wrong_usage(perch):
    assert "does not exist" in inert(perch("info", EVIL + LONG[:100_000], code=2))
    assert "unexpected extra argument" in inert(perch("demo", EVIL, EVIL, code=2))
    assert "No such option" in inert(perch("--" + EVIL, code=2))
    assert "No such command" in inert(perch(EVIL, code=2))
    assert "Missing argument" in inert(perch("fit", code=2))
    assert "Options:\n" in perch("cut", "--help").stdout  # help keeps its lines


CELLS = ["=1+1", "+x", "-x", "@sum(a)", "\tx", "\rx", "'=x", "''-x", "'x", "-", "=", "+", "-5",
         "+5", "-1.5e-3", ".5", "5", "", "x=1", "-1.5.2", "--1", "-0x10", "-inf"]  # fmt: skip
SAFE = {"'x", "-5", "+5", "-1.5e-3", ".5", "5", "", "x=1"}


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz"])
def test_cells_are_not_formulas(tmp_path, suffix):
    path = tmp_path / f"x.{suffix}"
    with open_table(str(path)) as write:
        write({"text": CELLS, "number": np.linspace(-3, 3, len(CELLS))})
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if suffix.endswith("gz") else raw).decode()
    delimiter = "\t" if suffix == "tsv" else ","
    rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))
    written = [row["text"] for row in rows]
    assert [cell for cell, out in zip(CELLS, written, strict=True) if cell == out] == [
        cell for cell in CELLS if cell in SAFE
    ]
    assert not any(out.startswith(("=", "@", "\t", "\r")) for out in written)
    # As the module says how to undo it:
    undone = [out[1:] if re.match(r"'+[=+\-@\t\r]", out) else out for out in written]
    assert undone == CELLS
    assert float(rows[0]["number"]) == -3


def test_other_formats_keep_cells(tmp_path):
    for suffix in ("jsonl", "parquet"):
        with open_table(str(tmp_path / f"x.{suffix}")) as write:
            write({"text": CELLS})
    lines = (tmp_path / "x.jsonl").read_text().splitlines()
    assert [json.loads(line)["text"] for line in lines] == CELLS
    assert pq.read_table(tmp_path / "x.parquet")["text"].to_pylist() == CELLS


def test_ids_can_be_joined_back(perch, X):
    Perch().fit(X, keys=[f"-{i}" for i in range(18)]).save("t.perch")
    perch("cut", "t.perch", "-o", "c.csv")
    with open("c.csv", newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == [f"-{i}" for i in range(18)]
