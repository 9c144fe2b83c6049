"""Choosing the reader of an input by its name, its format or its first line."""

from pathlib import Path

from . import FORMATS
from .arrays import NpyFile, NpzFile
from .batches import Columns, InputError, Source
from .delimited import Authors, Delimited
from .jsonl import JsonLines
from .lines import Lines
from .parquet import Parquet
from .records import Format, TextSource
from .stores import Store, is_address

_SUFFIXES = {".npy": "npy", ".npz": "npz", ".parquet": "parquet", ".pq": "parquet", ".csv": "csv",
             ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}  # fmt: skip


def open_input(
    name: str,
    columns: Columns | None = None,
    *,
    form: str | None = None,
    has_header: bool | None = None,
    shuffle: int | None = None,
) -> Source:
    """Open a file, a folder of Parquet or `.npy` files, or "-", standard input.

    Parquet files in object stores are named by their address, such as s3://BUCKET/FOLDER.

    Parameters
    ----------
    name : str
    columns : Columns
    form : str, optional
        One of `FORMATS`. By default the file name's ending or, for a stream, its first line
        decides.
    has_header : bool, optional
        Whether the first line of CSV or TSV names the columns. By default it must: a first
        line that looks like data is an error.
    shuffle : int, optional
        Seed of a random order, for `.npy` files only, over all of a folder. Row numbers then become
        the ids.
    """
    columns = columns or Columns()
    try:
        return _open(name, columns, form, has_header, shuffle)
    except InputError as error:
        raise InputError(f"{shown(name)}: {error}") from None


def shown(name: str) -> str:
    """What errors call an input."""
    return "standard input" if name == "-" else name


def _open(
    name: str, columns: Columns, form: str | None, has_header: bool | None, shuffle: int | None
) -> Source:
    if is_address(name):
        if shuffle is not None or form not in (None, "parquet"):
            raise InputError("of object stores only Parquet files are read, in their order")
        if not Store(name).exists():
            raise InputError("there is no such file or folder")
        return Parquet(name, columns)
    path = Path(name)
    if name != "-" and not path.exists():
        raise InputError("there is no such file")
    if form is None and name != "-":
        form = _form_of_folder(path) if path.is_dir() else _form_of(path)
    if shuffle is not None and form != "npy":
        raise InputError("only .npy files can be read in random order: convert it, or shuffle it")
    if name == "-" and form in ("npy", "npz", "parquet"):
        raise InputError("a stream is CSV, TSV, JSON Lines or of the authors' format")
    if form == "npy":
        return NpyFile(path, columns, shuffle)
    if form == "npz":
        return NpzFile(path, columns)
    if form == "parquet":
        return Parquet(path, columns)
    lines = Lines(None if name == "-" else path)
    first = lines.peek()
    if not first:
        raise InputError("there are no rows")
    if form is None:
        form = "jsonl" if first.lstrip()[:1] in ("{", "[") else "csv"
    return TextSource(shown(name), lines, _text_format(form, lines, columns, has_header))


def _form_of_folder(path: Path) -> str:
    """What the files of a folder are: Parquet, unless there are only arrays."""
    has_arrays, has_tables = (any(path.rglob(f"*.{form}")) for form in ("npy", "parquet"))
    if has_arrays and has_tables:
        raise InputError("it has .npy and .parquet files: use --format with npy or parquet")
    return "npy" if has_arrays else "parquet"


def _form_of(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    form = _SUFFIXES.get(suffixes[-1] if suffixes else "")
    if form is None or (path.suffix.lower() == ".gz" and form in ("npy", "npz", "parquet")):
        raise InputError(
            f"its name does not tell what it is: use --format with one of {', '.join(FORMATS)}"
        )
    return form


def _text_format(form: str, lines: Lines, columns: Columns, has_header: bool | None) -> Format:
    if form == "jsonl":
        return JsonLines(columns)
    if form == "authors":
        return Authors(columns)
    return Delimited(lines, "\t" if form == "tsv" else ",", columns, has_header)
