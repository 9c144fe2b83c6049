"""Files in object stores, by pyarrow: s3://BUCKET/FOLDER, gs://..., file:///FOLDER."""

from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from ..inert import inert_line
from .batches import File, InputError


def is_address(name: str) -> bool:
    """Whether an input is named by an address, not by a path."""
    return "://" in name


def whole_name(name: str) -> str:
    """What an input is called wherever a command is given."""
    return name if is_address(name) else str(Path(name).resolve())


class Store:
    """The file system that an address belongs to, and the place in it."""

    def __init__(self, address: str) -> None:
        try:
            from pyarrow import fs
        except ImportError:
            raise ImportError("Parquet needs pyarrow: pip install 'perchtree[parquet]'") from None
        self._fs: Any = fs
        try:
            self._system, place = fs.FileSystem.from_uri(address)
        except (ValueError, OSError, NotImplementedError) as error:
            raise InputError(f"it cannot be opened: {inert_line(error, 200)}") from None
        self.place = PurePosixPath(place)

    def exists(self) -> bool:
        return bool(self._info(self.place).type != self._fs.FileType.NotFound)

    def has(self, file: File) -> bool:
        """Whether there is such a file, of that size."""
        return bool(self._info(file.name).size == file.n_bytes)

    def _info(self, place: object) -> Any:
        try:
            return self._system.get_file_info([str(place)])[0]
        except OSError as error:
            raise InputError(f"it cannot be reached: {inert_line(error, 200)}") from None

    def files(self) -> list[File]:
        """The file, or all Parquet files of the folder, in the order that paths have."""
        info = self._info(self.place)
        found = [info]
        if info.type == self._fs.FileType.Directory:
            inside = self._fs.FileSelector(str(self.place), recursive=True)
            found = [f for f in self._system.get_file_info(inside) if f.path.endswith(".parquet")]
        files = [File(f.path, int(f.size or 0), f.mtime_ns) for f in found]
        return sorted(files, key=lambda file: PurePosixPath(file.name))

    def open(self, path: PurePath) -> Any:
        return self._system.open_input_file(str(path))
