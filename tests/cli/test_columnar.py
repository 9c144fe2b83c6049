"""Delimited files parsed in blocks by pyarrow: the same as record by record, to the last bit."""

import gzip
import sys
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perchtree.inputs import columnar, lines
from perchtree.inputs.batches import Columns, InputError
from perchtree.inputs.opening import open_input

NUMBERS = st.one_of(
    st.floats().map(repr),
    st.integers().map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.from_regex(r"[+-]?[0-9]{0,25}\.?[0-9]{0,25}([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.sampled_from(
        ["nan", "NaN", "-nan", "nan(1)", "inf", "-Infinity", "+1.5", " 2", "3\t", "1_000",
         "\u0661", "1.", ".5", "", " ", "0x1p3", "1e400", "1e-400", "-0", "true",
         "\x0b1", "1,5", "1 2", "None", "--1"]
    ),
)  # fmt: skip
FIELDS = st.one_of(
    st.sampled_from(["007", "", " ", "a", "é", "'", "1", "\ufeff", "=x", "\0", "null", "\u2028"]),
    st.text(st.sampled_from('ab ,\t"\n\r\u00e9'), max_size=6),
)  # fmt: skip
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n", "\r", "\n  \n", "\r\n\r\n"])


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


@st.composite
def rows(draw, delimiter):
    """One row: mostly an id, two numbers and a text, quoted where they must be."""
    fields = [draw(FIELDS), draw(NUMBERS), draw(NUMBERS), draw(FIELDS)]
    if draw(st.integers(0, 9)) == 0:
        fields = fields[: draw(st.integers(0, 3))] + ["1"] * draw(st.integers(0, 3))
    proper = draw(st.integers(0, 9)) > 0
    for place, field in enumerate(fields):
        special = any(c in field for c in '"\r\n' + delimiter)
        if (special and proper) or draw(st.integers(0, 4)) == 0:
            fields[place] = quoted(field)
    return delimiter.join(fields) + draw(ENDS)


@contextmanager
def parser(*, fast, piece=lines._FILE_PIECE):
    """Parse in blocks of about that size, or record by record."""
    least = 0 if fast else sys.maxsize
    with patch.object(columnar, "WORTHWHILE", least), patch.object(lines, "_FILE_PIECE", piece):
        yield


def read(path, n_rows=7, columns=None, **options):
    """All that a source yields, as plain values, and its error if there is one."""
    found = []
    try:
        source = open_input(str(path), columns or Columns(keys="id", texts="text"), **options)
        for batch in source.batches(n_rows):
            places = [batch.place(row) for row in batch.rows.tolist()]
            X = batch.X.tobytes(), batch.X.dtype, batch.X.shape
            found.append((X, batch.companions, batch.rows.tolist(), places, batch.bad))
    except InputError as error:
        return found, str(error)
    return found, None


@given(
    data=st.data(),
    delimiter=st.sampled_from(",\t"),
    has_header=st.booleans(),
    bom=st.booleans(),
    piece=st.sampled_from([1, 40, 400, 2**22]),
)
def test_both_parsers_agree(tmp_path_factory, data, delimiter, has_header, bom, piece):
    header = delimiter.join(["id", "a", "b", "text"]) + "\n" if has_header else ""
    text = "\ufeff" * bom + header + "".join(data.draw(st.lists(rows(delimiter), max_size=12)))
    path = tmp_path_factory.getbasetemp() / ("any.tsv" if delimiter == "\t" else "any.csv")
    raw = text.encode()
    path.write_bytes(raw[: len(raw) - data.draw(st.integers(0, 3))])  # often without an end
    columns = Columns(keys="id", texts="text") if has_header else Columns(keys="c1", texts="c4")
    with parser(fast=False):
        expected = read(path, columns=columns, has_header=has_header)
    with parser(fast=True, piece=piece):
        assert read(path, columns=columns, has_header=has_header) == expected


@pytest.mark.parametrize(
    "rows", ["\n1\n", "\n\n", "x,1,2,y\n\n\n", "x,1,2,y", '"x\n",1,2,y\n"', ""]
)
def test_both_parsers_agree_on_short_files(tmp_path, rows):
    (tmp_path / "x.csv").write_text("id,a,b,text\n" + rows)
    with parser(fast=False):
        expected = read(tmp_path / "x.csv")
    with parser(fast=True, piece=1):
        assert read(tmp_path / "x.csv") == expected


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 25))
@example(5e-324, 17)
@example(2.2250738585072011e-308, 17)
@example(1.7976931348623157e308, 17)
@example(9007199254740993.0, 17)
def test_numbers_agree_to_the_last_bit(tmp_path_factory, value, digits):
    path = tmp_path_factory.getbasetemp() / "one.csv"
    path.write_text(f"a,b\n{value!r},{value:.{digits}e}\n")
    with parser(fast=True):
        ((X, *_),), error = read(path, columns=Columns())
    assert error is None
    # Far from the limits nothing overflows when it is written with fewer digits.
    expected = [float(repr(value)), float(f"{value:.{digits}e}")]
    assert X[0] == np.array([expected]).tobytes()


@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_blocks_are_used_and_reported_by_line(tmp_path, suffix):
    """Most of a file is parsed in blocks, although some of its rows are bad."""
    text = [f'{i:05},{i}.25,"say ""{i}"", please\nagain",{-i}\n' for i in range(5000)]
    text[3000] = "03000,oops,text,1\n"
    raw = ("id,a,text,b\n" + "".join(text)).encode()
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(gzip.compress(raw) if suffix.endswith("gz") else raw)
    parsed = []
    parse = columnar.ColumnarParser.parse

    def spy(self, lines):
        block, until = parse(self, lines)
        parsed.append(0 if block is None else len(block.X))
        return block, until

    with (
        parser(fast=True, piece=2**14),
        patch.object(columnar.ColumnarParser, "parse", spy),
    ):
        found = read(path, n_rows=1000)
    with parser(fast=False):
        assert found == read(path, n_rows=1000)
    assert sum(parsed) > 4000
    (problem,) = [problem for batch in found[0] for problem in batch[4]]
    assert (problem.row, problem.place) == (3000, "line 6002")
    assert found[0][0][1]["keys"][7] == "00007"


def test_without_pyarrow(tmp_path):
    (tmp_path / "x.csv").write_text("id,a,text\nx,1,y\n")
    with parser(fast=True), patch.dict(sys.modules, {"pyarrow.csv": None, "pyarrow": None}):
        found, error = read(tmp_path / "x.csv")
    assert error is None
    assert found[0][1] == {"keys": ["x"], "texts": ["y"]}


def test_a_column_as_feature_and_as_id(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n01,2\n")
    with parser(fast=True):
        found, _ = read(tmp_path / "x.csv", columns=Columns(features=("a", "b"), keys="a"))
    assert found[0][1] == {"keys": ["01"]}


def test_only_large_files_are_worth_it(tmp_path):
    path = tmp_path / "x.csv"
    for text, expected in (("a,b\n1,2\n", False), ("a,b\n" + "1,2\n" * 600_000, True)):
        path.write_text(text)
        assert (open_input(str(path))._format._columnar is not None) is expected
