"""Tables for people and programs: CSV, TSV, JSON Lines and Parquet, written piece by piece.

A file is written under a temporary name and renamed when it is complete.

Spreadsheets run cells that begin with =, +, - or @ as formulas. In CSV and TSV, texts that begin
so, or with a tab or a carriage return, get an apostrophe in front; spreadsheets take it as "this is
text". Numbers, and texts that look like numbers such as "-5", stay as they are, and so does
everything in JSON Lines and Parquet. A text that already has apostrophes before such a character
gets one more, so the change can be undone: remove the first apostrophe from every cell that
matches `'+[=+\\-@\\t\\r]`.
"""

import contextlib
import csv
import gzip
import io
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from ._validate import as_list
from .files.replacing import replacing
from .inputs.parquet import load_pyarrow

Table = Mapping[str, Any]
"""Columns of equal length, by name."""

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

SUFFIXES = (".csv", ".tsv", ".jsonl", ".csv.gz", ".tsv.gz", ".jsonl.gz", ".parquet")


def check_output(
    name: str, suffixes: Sequence[str] = (), *, force: bool = False, inputs: Sequence[str] = ()
) -> None:
    """Reject an output that cannot or must not be written, before any work is done."""
    path = Path(name)
    if path.is_dir():
        raise ValueError(f"{name} is a folder: give a file's name")
    if path.exists() and not path.is_file():
        raise ValueError(f"{name} is not a file that could be replaced")
    if path.exists() and any(Path(i).exists() and path.samefile(i) for i in inputs):
        raise ValueError(f"{name} is the input: give the output another name")
    if suffixes and not any(path.name.lower().endswith(suffix) for suffix in suffixes):
        raise ValueError(f"{name}: its name must end with one of {', '.join(suffixes)}")
    if path.exists() and not force:
        raise FileExistsError(f"{name} exists: use --force to replace it")
    if not path.resolve().parent.is_dir():
        raise FileNotFoundError(f"{name}: there is no such folder")
    check_writable(name)
    if path.name.lower().endswith(".parquet"):
        load_pyarrow()


def check_writable(name: str) -> None:
    """Reject a file whose folder cannot be written to."""
    try:
        with tempfile.TemporaryFile(dir=Path(name).resolve().parent):
            pass
    except OSError as error:
        raise OSError(error.errno, f"cannot be saved: {error.strerror}", name) from None


@contextlib.contextmanager
def open_table(name: str) -> Iterator[Callable[[Table], None]]:
    """Open a table for writing; the function takes its pieces, all with the same columns.

    The name "-" is CSV on standard output. In CSV and TSV an apostrophe keeps texts from being run
    as formulas; the docstring of this module says how.
    """
    if name == "-":
        if sys.stdout is None:
            raise ValueError("standard output is closed")
        with _text_table(sys.stdout.buffer, "csv") as write:
            yield write
        return
    with replacing(Path(name)) as file:
        if name.lower().endswith(".parquet"):
            with _parquet_table(file) as write:
                yield write
            return
        kind = name.lower().removesuffix(".gz").rsplit(".", 1)[-1]
        if name.lower().endswith(".gz"):
            with (
                gzip.GzipFile("", "wb", 6, file, mtime=0) as packed,
                _text_table(packed, kind) as write,
            ):
                yield write
        else:
            with _text_table(file, kind) as write:
                yield write


@contextlib.contextmanager
def _text_table(file: Any, kind: str) -> Iterator[Callable[[Table], None]]:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=False)
    started = False

    def write(table: Table) -> None:
        nonlocal started
        columns = [as_list(column) for column in table.values()]
        if kind == "jsonl":
            for row in zip(*columns, strict=True):
                record = dict(zip(table, row, strict=True))
                text.write(json.dumps(record, ensure_ascii=False) + "\n")
        else:
            writer = csv.writer(
                text, delimiter="\t" if kind == "tsv" else ",", lineterminator="\n",
                quoting=csv.QUOTE_ALL if _has_returns(columns) else csv.QUOTE_MINIMAL,
            )  # fmt: skip
            if not started:
                writer.writerow(table)
            cells = [list(map(guarded, column)) for column in columns]
            writer.writerows(zip(*cells, strict=True))
        started = True
        text.flush()

    try:
        yield write
    finally:
        with contextlib.suppress(BrokenPipeError):
            text.detach()


@contextlib.contextmanager
def _parquet_table(file: IO[bytes]) -> Iterator[Callable[[Table], None]]:
    pyarrow = load_pyarrow()
    writer: Any = None

    def write(table: Table) -> None:
        nonlocal writer
        columns = {name: _as_arrow(pyarrow, column) for name, column in table.items()}
        piece = pyarrow.table(columns)
        if writer is None:
            writer = pyarrow.parquet.ParquetWriter(file, piece.schema)
        writer.write_table(piece)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


def guarded(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    if isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
        return "'" + cell
    return cell


def _has_returns(columns: list[list[Any]]) -> bool:
    """Whether there are carriage returns: older versions of Python do not quote them."""
    return any(isinstance(v, str) and "\r" in v for column in columns for v in column)


def _as_arrow(pyarrow: Any, column: Any) -> Any:
    if isinstance(column, np.ndarray) and column.ndim == 2:  # one list per row
        flat = pyarrow.array(np.ascontiguousarray(column).ravel())
        return pyarrow.FixedSizeListArray.from_arrays(flat, column.shape[1])
    if isinstance(column, np.ndarray) and column.dtype.kind != "O":
        return pyarrow.array(column)
    return pyarrow.array(as_list(column))
