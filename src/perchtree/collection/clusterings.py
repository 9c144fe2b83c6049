"""The clusterings that were last written, as a collection's file or folder keeps them."""

from pathlib import Path
from typing import Any

from .._arguments import as_count
from ..clusters.remembering import Remembered
from ..clusters.scales import Suggestion
from ..errors import CorruptFileError
from ..files.contents import Contents
from .asking import Asking

CLUSTERINGS = "clusterings"
"""The name of the section."""

Suggested = tuple[int, list[Suggestion]]


def stored_clusterings(collection: Asking) -> Contents:
    """All clusterings, without points that were removed, and what `suggest_cuts` has found."""
    collection.clusterings.keep(collection.ids)
    meta, columns = collection.clusterings.stored()
    return Contents(meta | {"suggested": collection.tree.suggested}, columns, optional=True)


def read_clusterings(
    path: str | Path, contents: Contents | None
) -> tuple[Remembered, Suggested | None]:
    """What was stored; CorruptFileError if it makes no sense."""
    if contents is None:
        return Remembered(), None
    try:
        known = Remembered.restored(contents.meta, dict(contents.columns))
        return known, _read_suggested(contents.meta.get("suggested"))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise CorruptFileError(f"{path} has clusterings that make no sense") from None


def _read_suggested(stored: Any) -> Suggested | None:
    """What `suggest_cuts` had found, which takes seconds to find again."""
    if stored is None:
        return None
    changes, found = stored
    made = [Suggestion(as_count("n", n), as_count("size", size), float(score))
            for n, size, score in found]  # fmt: skip
    return (as_count("changes", changes, least=0), made) if made else None
