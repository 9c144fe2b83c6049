"""keep: the command for clusters that are kept up to date."""

from typing import TYPE_CHECKING, Any

import click

from .options import QUIET, TREE
from .patience import patience
from .running import Command, count, say

if TYPE_CHECKING:
    from ..collection import Collection


@click.command(cls=Command)
@TREE
@click.option(
    "--distance",
    type=click.FloatRange(0),
    metavar="X",
    help="Cut at this height, as with `perch cut --distance`.",
)
@click.option(
    "--similarity",
    type=click.FloatRange(-1, 1),
    metavar="X",
    help="Alternatively, with --metric cosine: the distance given as a cosine similarity.",
)
@click.option(
    "--stop", is_flag=True, help="Stop keeping clusters up to date, and forget their changes."
)
@QUIET
def keep(
    tree: str, distance: float | None, similarity: float | None, stop: bool, quiet: bool
) -> None:
    """Keep the clusters of TREE at a given distance up to date as points are added and removed.

    From then on, every command that changes TREE records how these clusters change; `perch changes
    TREE --since 0` lists it. They have their own permanent numbers, independent of those of `perch
    cut`.

    \b
    Examples:
      perch keep people.perchdb --distance 0.6
      perch add people.perchdb more.csv
      perch changes people.perchdb --since 0
    """
    from .choosing import as_distance
    from .opening import open_collection

    if (distance is not None) + (similarity is not None) + stop != 1:
        raise click.UsageError("give exactly one of --distance, --similarity and --stop")
    collection = open_collection(tree, write=True)
    if stop:
        collection.drop_clusters()
        told = "clusters are no longer kept up to date"
    else:
        if similarity is not None:
            distance = as_distance(collection.tree, similarity)
        assert distance is not None
        with patience("looking for clusters (and compiling, the first time)", quiet=quiet):
            standing = collection.keep_clusters(distance)
        told = (
            f"{count(len(standing), 'cluster')} at a distance of {distance:.4g}; `perch changes "
            f"{tree} --since {standing.last_event}` lists what changes from now on"
        )
    collection.save(tree)
    if not quiet:
        say(told)


def changes_since(collection: "Collection", tree: str, since: int) -> tuple[dict[str, Any], str]:
    """A table of what has become of standing clusters after an event, and a line about it."""
    standing = collection.standing
    if standing is None:
        raise ValueError(f"{tree} keeps no clusters up to date: use `perch keep` first")
    events = standing.events(since)
    rows = [(event, key) for event in events for key in event.keys or [None]]
    table: dict[str, Any] = {
        "event": [event.number for event, _ in rows],
        "kind": [event.kind for event, _ in rows],
        "before": [" ".join(map(str, event.before)) for event, _ in rows],
        "after": [" ".join(map(str, event.after)) for event, _ in rows],
        "points": [event.points for event, _ in rows],
        "id": [key for _, key in rows],
    }
    if "texts" in collection.records:
        known = [key for _, key in rows if key is not None]
        ids = collection.ids_of(known).tolist() if known else []
        texts = dict(zip(ids, collection.records.values("texts", _ids(ids)), strict=True))
        text_of = {key: texts[point_id] for key, point_id in zip(known, ids, strict=True)}
        table["text"] = [None if key is None else text_of[key] for _, key in rows]
    told = f"{count(len(events), 'event')} since {since}; the last is {standing.last_event}"
    return table, f"{told}, of {count(len(standing), 'cluster')} in all"


def _ids(ids: list[int]) -> Any:
    import numpy as np

    return np.array(ids, np.int64)
