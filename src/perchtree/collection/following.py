"""Standing clusters as files, folders and copies of a collection keep them."""

import json
import warnings
from typing import Any

import numpy as np

from ..clusters.following import Change, Followed, Following, Said
from ..files.contents import Contents
from ..tree import ClusterTree

STANDING = "standing"
"""The name of the section, and of the fact."""


def described(following: Following | None) -> dict[str, Any] | None:
    """What is kept of standing clusters beside their anchors and events."""
    if following is None:
        return None
    names = ("distance", "next_number", "last_event")
    return {name: getattr(following, name) for name in names}


def restored(
    about: dict[str, Any], tree: ClusterTree | None, anchors: dict[int, int], said: Said
) -> tuple[Following, Followed]:
    """The clusters that were described; ValueError if something about them is wrong.

    If another version has made another tree, whose clusters are others, they are numbered anew:
    that is the news which comes with them.
    """
    given = float(about["distance"]), int(about["next_number"]), int(about["last_event"])
    following = Following(*given)
    if tree is None:
        return following, Followed([], {}, [])
    with tree.reading() as arrays:
        if following.restore(arrays, anchors, said):
            return following, Followed([], {}, [])
        warnings.warn(
            "the standing clusters are not those that were stored: all are numbered anew",
            stacklevel=4,
        )
        following = Following(*given)
        ends = following.end(anchors)
        news = following.follow(arrays, np.empty(0, np.int64), said)
    return following, Followed(ends + news.changes, news.anchors, list(anchors))


def stored_standing(following: Following, past: list[Change]) -> Contents:
    """Standing clusters and what became of them, as a section of a file."""
    events = [json.dumps([*change[:-1], change.ids.tolist()]) for change in past]
    columns: dict[str, Any] = {
        "numbers": np.array([*following.anchors], np.int64),
        "anchors": np.array([*following.anchors.values()], np.int64),
        "events": events,
    }
    return Contents(described(following) or {}, columns, optional=True)


def read_standing(
    contents: Contents, tree: ClusterTree | None, said: Said
) -> tuple[Following, list[Change]]:
    """What was stored in a file; KeyError, TypeError or ValueError if it makes no sense."""
    columns: dict[str, Any] = dict(contents.columns)
    anchors = dict(zip(columns["numbers"].tolist(), columns["anchors"].tolist(), strict=True))
    past = []
    for number, kind, before, after, points, ids in map(json.loads, columns["events"]):
        own = np.array(ids, np.int64)
        past.append(Change(int(number), str(kind), tuple(before), tuple(after), points, own))
    following, news = restored(contents.meta, tree, anchors, said)
    return following, past + news.changes


def without_removed(past: list[Change], tree: ClusterTree | None) -> list[Change]:
    """Changes that say nothing about points which were removed."""
    if tree is None:
        return [change._replace(ids=change.ids[:0]) for change in past]
    return [change._replace(ids=change.ids[tree.holds(change.ids)]) for change in past]


def whole(following: Following | None, past: list[Change]) -> Followed:
    """All that a new folder has to note."""
    return Followed(past, {} if following is None else following.anchors, [])
