"""Stable numbers of clusters: those of the clustering last written with the same options."""

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .choosing import Chosen
from .running import describe

if TYPE_CHECKING:
    from ..clusters.tracking import Tracker
    from ..collection import Collection


class Opened(NamedTuple):
    """A collection, and why clusterings cannot be kept in its file; None if they can."""

    collection: "Collection"
    obstacle: str | None = None


def open_to_remember(tree: str) -> Opened:
    """Open a tree whose file is to remember a clustering, if it can be changed."""
    from ..files.locking import FileInUseError
    from .opening import open_collection

    if _is_read_only(tree):
        return Opened(open_collection(tree), f"{tree} is read-only")
    try:
        return Opened(open_collection(tree, write=True))
    except (FileInUseError, OSError) as error:  # OSError: its folder cannot be written to
        return Opened(open_collection(tree), describe(error))


def _is_read_only(path: str) -> bool:
    writable = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
    return not os.access(path, os.W_OK) or not Path(path).stat().st_mode & writable


def option_names(
    n_clusters: tuple[int, ...],
    *,
    distance: float | None,
    similarity: float | None,
    min_size: int | None,
    criterion: str | None,
    answers: str | None = None,
) -> list[str]:
    """The options of each clustering that they ask for, by which it is remembered."""
    if n_clusters:
        chosen = f" --criterion {criterion}" if criterion else ""
        return [f"-k {number}{chosen}" for number in n_clusters]
    named = {
        "--distance": distance, "--similarity": similarity, "--min-size": min_size,
        "--answers": answers,
    }  # fmt: skip
    given = [f"{option} {value}" for option, value in named.items() if value is not None]
    return given or [""]


def match(collection: "Collection", chosen: Chosen, options: list[str]) -> "dict[str, Tracker]":
    """The clustering of each column, by its options, with the numbers that it gets."""
    columns = zip(options, chosen.columns.values(), strict=True)
    return {
        own: collection.clusterings.matched(own, collection.ids, clustering.labels)
        for own, clustering in columns
    }


def remember(opened: Opened, tree: str, trackers: "dict[str, Tracker]") -> str | None:
    """Keep clusterings that are about to be written; what to say if that is not in the file."""
    from ..collection.durable import is_folder

    collection, obstacle = opened
    news = [collection.clusterings.remember(*item) for item in trackers.items()]
    if not any(news):
        return None
    if obstacle is None:
        collection.save(tree)
        return None
    if _is_read_only(tree) and not is_folder(tree):
        try:
            return f"{obstacle}: numbers of clusters are kept in {collection.save_beside(tree)}"
        except OSError as error:
            obstacle = describe(error)
    return f"numbers of clusters are not remembered: {obstacle}"
