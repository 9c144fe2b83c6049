"""Points in the three forms in which they may come: JSON, an Arrow stream, npy."""

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inputs.parquet import load_pyarrow
from .bodies import parse_json
from .gate import ARROW, NPY
from .limits import Limits
from .problems import Problem
from .schemas import Points

_COLUMNS = ("key", "vector", "text", "class")


@dataclass(frozen=True)
class Batch:
    """Records that came together, by columns; None where no record has any."""

    keys: list[Any] | None
    vectors: NDArray[Any] | None
    texts: list[Any] | None
    classes: list[Any] | None

    def __len__(self) -> int:
        for column in (self.keys, self.vectors, self.texts, self.classes):
            if column is not None:
                return len(column)
        return 0


def read_points(kind: str, body: bytes, limits: Limits) -> Batch:
    """The records in a body of one of the three kinds; a 422 says what is wrong."""
    if kind == ARROW:
        batch = _from_arrow(body, limits)
    elif kind == NPY:
        batch = _from_npy(body)
    else:
        batch = _from_json(body)
    _check(batch, limits)
    return batch


def _check(batch: Batch, limits: Limits) -> None:
    if len(batch) == 0:
        raise Problem(422, "there are no records in it")
    if len(batch) > limits.rows:
        raise Problem(413, f"at most {limits.rows:,} records at a time, got {len(batch):,}")
    if batch.vectors is not None and batch.vectors.shape[1] > limits.dimensions:
        raise Problem(413, f"vectors have at most {limits.dimensions:,} numbers")
    for row, key in enumerate(batch.keys or ()):
        if isinstance(key, str) and len(key) > limits.key_length:
            raise Problem(422, f"row {row}: a key has at most {limits.key_length:,} characters")
    for row, text in enumerate(batch.texts or ()):
        if isinstance(text, str) and len(text) > limits.text_length:
            raise Problem(422, f"row {row}: a text has at most {limits.text_length:,} characters")


def _from_json(body: bytes) -> Batch:
    points = parse_json(body, Points)
    keys = _all_or_none("key", [point.key for point in points])
    vectors = _all_or_none("vector", [point.vector for point in points])
    if vectors is not None:
        lengths = [len(vector) for vector in vectors]
        for row, length in enumerate(lengths):
            if length != lengths[0]:
                raise Problem(422, f"row {row} has {length} numbers, row 0 has {lengths[0]}")
    rows = None if vectors is None else np.array(vectors, np.float64)
    texts, classes = [point.text for point in points], [point.class_ for point in points]
    return Batch(keys, rows, _some_or_none(texts), _some_or_none(classes))


def _all_or_none(name: str, values: list[Any]) -> list[Any] | None:
    missing = [value is None for value in values]
    if all(missing):
        return None
    if any(missing):
        raise Problem(422, f"row {missing.index(True)} has no {name}, others do")
    return values


def _some_or_none(values: list[Any]) -> list[Any] | None:
    return None if all(value is None for value in values) else values


# Arrow


def _from_arrow(body: bytes, limits: Limits) -> Batch:
    try:
        pyarrow = load_pyarrow()
    except ImportError:
        raise Problem(415, "this service has no pyarrow: send JSON or npy") from None
    try:
        table = _arrow_table(pyarrow, body, limits)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, Problem):
            raise
        raise Problem(422, f"this is not an Arrow stream that can be used: {error}") from None
    unknown = sorted(set(table.column_names) - set(_COLUMNS))
    if unknown or len(set(table.column_names)) != table.num_columns:
        raise Problem(422, f"columns are {', '.join(_COLUMNS)}, each once; got {unknown[:3]}")
    columns = {name: table.column(name) for name in table.column_names}
    vectors = _arrow_vectors(pyarrow, columns.pop("vector")) if "vector" in columns else None
    values = {name: column.to_pylist() for name, column in columns.items()}
    for name, column in values.items():
        for row, value in enumerate(column):
            if not isinstance(value, str | int | float | None) or isinstance(value, bool):
                raise Problem(422, f"row {row}: {name} must be text or a number")
            if name == "text" and not isinstance(value, str | None):
                raise Problem(422, f"row {row}: text must be text")
    keys = _all_or_none("key", values["key"]) if "key" in values else None
    texts, classes = (values.get(name) for name in ("text", "class"))
    return Batch(
        keys, vectors, None if texts is None else _some_or_none(texts),
        None if classes is None else _some_or_none(classes),
    )  # fmt: skip


def _arrow_table(pyarrow: Any, body: bytes, limits: Limits) -> Any:
    """All batches of a stream, which may not be much larger than it came: it can be compressed."""
    batches: list[Any] = []
    n_rows = n_bytes = 0
    with pyarrow.ipc.open_stream(pyarrow.py_buffer(body)) as stream:
        schema = stream.schema
        for batch in stream:
            batch.validate(full=True)
            n_bytes, n_rows = n_bytes + batch.nbytes, n_rows + len(batch)
            if n_bytes > 2 * limits.bulk_bytes or n_rows > limits.rows:
                raise Problem(413, "there is too much in it: send less at a time")
            batches.append(batch)
    return pyarrow.Table.from_batches(batches, schema)


def _arrow_vectors(pyarrow: Any, column: Any) -> NDArray[Any]:
    types = pyarrow.types
    kind = column.type
    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if not lists or not (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)):
        raise Problem(422, f"vector must be a list of numbers, got {kind}")
    if column.null_count:
        raise Problem(422, "some records have no vector")
    rows = column.combine_chunks()
    rows = rows.chunk(0) if hasattr(rows, "chunk") else rows
    lengths = np.asarray(pyarrow.compute.list_value_length(rows))
    if len(lengths) and (lengths != lengths[0]).any():
        row = int((lengths != lengths[0]).argmax())
        raise Problem(422, f"row {row} has {lengths[row]} numbers, row 0 has {lengths[0]}")
    flat = rows.flatten()
    if flat.null_count:
        raise Problem(422, "some numbers of vectors are missing")
    width = int(lengths[0]) if len(lengths) else 0
    return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(rows), width)


# npy


def _from_npy(body: bytes) -> Batch:
    """Vectors, and after them keys, each as `numpy.save` writes it."""
    file = io.BytesIO(body)
    vectors = _read_array(file, "vectors")
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu":
        raise Problem(422, "the first array must be numbers, one row per record")
    keys: list[Any] | None = None
    if file.tell() < len(body):
        array = _read_array(file, "keys")
        if array.shape != (len(vectors),) or array.dtype.kind not in "Uiu":
            raise Problem(422, f"the second array must be {len(vectors):,} keys")
        keys = array.tolist()
    if file.tell() < len(body):
        raise Problem(422, "there is something behind the keys")
    return Batch(keys, vectors, None, None)


def _read_array(file: io.BytesIO, what: str) -> NDArray[Any]:
    """An array of exactly the bytes that are there: its header may say anything."""
    reading = np.lib.format
    try:
        version = reading.read_magic(file)
        read = {(1, 0): reading.read_array_header_1_0, (2, 0): reading.read_array_header_2_0}
        shape, fortran, dtype = read[version](file)
    except (ValueError, KeyError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise Problem(422, f"the {what} are not an array that numpy.save has written") from None
    if dtype.hasobject or dtype.kind not in "fiuU" or len(shape) > 2:
        raise Problem(422, f"the {what} have a type that cannot be used: {dtype}")
    count = 1
    for length in shape:
        count *= length
    start, left = file.tell(), len(file.getbuffer()) - file.tell()
    if count < 1 or dtype.itemsize < 1 or count * dtype.itemsize > left:
        raise Problem(422, f"the {what} are cut off")
    array = np.frombuffer(file.getbuffer(), dtype, count, start)
    file.seek(start + count * dtype.itemsize)
    try:
        if dtype.kind == "U":
            array.tolist()  # code points that are none
    except (ValueError, OverflowError):
        raise Problem(422, f"the {what} are no text") from None
    return array.reshape(shape, order="F" if fortran else "C")


def as_npy(vectors: NDArray[Any], keys: NDArray[Any] | None) -> bytes:
    """The body that `read_points` takes for npy."""
    file = io.BytesIO()
    np.save(file, vectors)
    if keys is not None:
        np.save(file, keys)
    return file.getvalue()
