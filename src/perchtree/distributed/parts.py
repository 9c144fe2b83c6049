"""Finished parts of work: files with a checksum, which appear when they are whole."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CorruptFileError
from ..files import container

_SECTION = "part"
_ATTEMPTS = 5


class MissingPartError(Exception):
    """A part is not there, or is damaged: whoever needs it has it made again."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path


def save_part(path: Path, arrays: Mapping[str, NDArray[Any]], **meta: Any) -> None:
    """Write a part; of two processes that write the same, either may be the last.

    Nobody waits for the disk: what a loss of power takes, its checksum tells.
    """
    for attempts_left in reversed(range(_ATTEMPTS)):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            container.write(path, {_SECTION: container.Section(meta, dict(arrays))}, sync=False)
            return
        except FileNotFoundError:  # somebody removes the work folder just now
            if attempts_left == 0:
                raise


def load_part(
    path: Path, names: Sequence[str] | None = None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The small values of a part and its arrays, or some of them; their checksums are verified."""
    try:
        reader = container.Reader(path, (_SECTION,))
        wanted = reader.names(_SECTION) if names is None else names
        return reader.meta(_SECTION), {name: reader.read(_SECTION, name) for name in wanted}
    except PermissionError:
        raise  # to have it made again would not help
    except (CorruptFileError, OSError):
        raise MissingPartError(path) from None


def as_bytes(values: Any) -> NDArray[np.uint8]:
    """Lists of numbers and texts as an array; what JSON does not know becomes text."""
    return np.frombuffer(json.dumps(values, default=str).encode(), np.uint8)


def from_bytes(array: NDArray[np.uint8]) -> Any:
    """The lists again."""
    return json.loads(array.tobytes())
