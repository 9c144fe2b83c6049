"""Opening a tree's file for a command."""

from ..collection import Collection


def open_collection(
    path: str, n_jobs: int | None = None, *, write: bool = False, may_be_empty: bool = False
) -> Collection:
    """Load a file, verified in full; errors name it. `n_jobs` is for this command only."""
    try:
        collection = Collection.open(path, write=write)
    except ValueError as error:
        raise type(error)(str(error) if path in str(error) else f"{path}: {error}") from None
    if len(collection) == 0 and not may_be_empty:
        collection.close()
        raise ValueError(f"{path} holds an empty tree: add points first")
    if n_jobs is not None:
        collection.tree.n_jobs = n_jobs
    return collection
