"""Small values and columns of numbers as bytes that a page reads without parsing numbers."""

import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = dict[str, NDArray[Any]]

_KINDS = {"uint8": "u1", "uint32": "u4", "float32": "f4"}


def packed(values: dict[str, Any], columns: Columns) -> bytes:
    """A length, small values as JSON of so many bytes, and columns; all at multiples of four bytes.

    `columns` among the values tells where they are, from the end of the JSON on: name, kind, place
    and length.
    """
    listed, parts, place = [], [], 0
    for name, column in columns.items():
        data = np.ascontiguousarray(column, column.dtype.newbyteorder("<")).tobytes()
        listed.append((name, _KINDS[str(column.dtype)], place, len(column)))
        parts.append(data + bytes(-len(data) % 4))
        place += len(parts[-1])
    told = json.dumps(values | {"columns": listed}, ensure_ascii=False, separators=(",", ":"))
    text = told.encode()
    text += b" " * (-len(text) % 4)
    return b"".join([struct.pack("<I", len(text)), text, *parts])
