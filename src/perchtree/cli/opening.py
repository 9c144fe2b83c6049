"""Opening a tree's file or folder for a command."""

from collections.abc import Sequence
from pathlib import Path

import click

from ..collection import Collection
from ..collection.durable import is_folder
from ..files.compression import check_library
from ..outputs import check_output
from ..store.folder import DATABASE
from .patience import patience


def open_collection(
    path: str, n_jobs: int | None = None, *, write: bool = False, may_be_empty: bool = False
) -> Collection:
    """Load a file, verified in full, or open a folder, until the command ends; errors name it.

    `n_jobs` is for this command only.
    """
    if is_folder(path) and not (Path(path) / DATABASE).is_file():  # writers would make one
        raise FileNotFoundError(f"there is no collection in {path}")
    try:
        with patience("opening the tree (and compiling, the first time)"):
            collection = Collection.open(path, write=write)
    except ValueError as error:
        raise type(error)(str(error) if path in str(error) else f"{path}: {error}") from None
    if len(collection) == 0 and not may_be_empty:
        collection.close()
        raise ValueError(f"{path} holds an empty tree: add points first")
    click.get_current_context().call_on_close(collection.close)
    if n_jobs is not None:
        collection.tree.n_jobs = n_jobs
    return collection


def choose_compression(collection: Collection, compress: bool | None, path: str) -> None:
    """Take over --compress, before any work is done that could not be saved."""
    if compress is None:
        return
    if is_folder(path):
        raise click.UsageError(f"{path} is a folder, and only files are compressed")
    if compress:
        check_library()
    collection.compress = compress


def check_tree_output(name: str, *, force: bool, inputs: Sequence[str]) -> None:
    """Reject a new tree that cannot or must not be written, before any work is done."""
    if not is_folder(name):
        check_output(name, force=force, inputs=inputs)
    elif Path(name).exists():
        raise FileExistsError(f"{name} exists: add to it, or remove the folder first")


def folder_bytes(name: str) -> int:
    """The size of a file, or of all files of a folder."""
    path = Path(name)
    if not path.is_dir():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.iterdir() if file.is_file())
