"""clusters and changes: commands that describe the clusters of a tree."""

from typing import TYPE_CHECKING, Any

import click

from .choosing import ANSWERS, CHOICE, K, choose
from .options import CRITERION, FORCE, QUIET, TREE, check_table
from .running import Command, count, say, written_to

if TYPE_CHECKING:
    from ..collection import Collection

_ROWS = 20

OUTPUT = click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write the whole table to a .parquet, .csv, .tsv or .jsonl file (optionally .gz), or - "
    "for CSV on standard output. [default: print the first rows]",
)
ROWS = click.option(
    "--rows",
    type=click.IntRange(1),
    default=_ROWS,
    show_default=True,
    metavar="N",
    help="Rows to print.",
)
SINCE = click.option(
    "--since",
    type=click.IntRange(0),
    metavar="N",
    help="Alternatively: the changes to the clusters of `perch keep` after event N.",
)


@click.command(cls=Command)
@TREE
@K
@CHOICE
@ANSWERS
@CRITERION
@click.option(
    "--loosest", is_flag=True, help="List the loosest clusters first, instead of the largest."
)
@click.option(
    "--show",
    type=click.IntRange(0),
    metavar="N",
    help="List the members of cluster N, most confident first.",
)
@ROWS
@OUTPUT
@FORCE
@QUIET
def clusters(
    tree: str,
    n_clusters: int | None,
    criterion: str | None,
    loosest: bool,
    show: int | None,
    rows: int,
    output: str | None,
    force: bool,
    quiet: bool,
    **choice: Any,
) -> None:
    """Show the clusters of TREE: size, cohesion, an exemplar, and keywords of texts.

    Clusters, and their numbers, are those of `perch cut` with the same options. The exemplar is a
    point close to the mean of its cluster. Cohesion is the mean confidence of a cluster's
    points: near 1 where they are much nearer to each other than to others, 0 where they are not.

    \b
    Examples:
      perch clusters people.perch
      perch clusters people.perch -k 1000 --loosest
      perch clusters people.perch -k 1000 --show 17
      perch clusters people.perch -o clusters.csv
    """
    import numpy as np

    from .opening import open_collection
    from .remembering import match, option_names

    check_table(output, force, [tree])
    collection = open_collection(tree)
    wanted = () if n_clusters is None else (n_clusters,)
    chosen = choose(collection, wanted, criterion=criterion, **choice)
    options = option_names(wanted, criterion=criterion, **choice)
    (tracker,) = match(collection, chosen, options).values()
    labels: Any = tracker.labels
    if show is not None:
        table = _members(collection, labels, show)
        what = f"cluster {show}: {count(len(table['id']), 'point')}"
    else:
        table = collection.summary(labels)
        order = np.argsort(table["cohesion"], kind="stable") if loosest else slice(None)
        table = {name: np.array(column, object)[order] for name, column in table.items()}
        alone = int(np.sum(table["size"] == 1))
        what = f"{count(len(collection), 'point')} in {count(len(table['size']), 'cluster')}"
        what += f", {alone:,} of one point" if alone else ""
    _put(table, rows, output)
    if not quiet:
        n_rows = len(next(iter(table.values())))
        say(what + (f"; {written_to(output)}" if output else _rest(n_rows, rows)))
        if chosen.remark:
            say(chosen.remark)


def _members(collection: "Collection", labels: Any, cluster: int) -> dict[str, Any]:
    """The members of a cluster, most confident first."""
    import numpy as np

    own = np.flatnonzero(labels == cluster)
    if len(own) == 0:
        raise ValueError(f"there is no cluster {cluster}: `perch clusters` lists them")
    confidence = collection.tree.confidence(labels)[own]
    order = np.argsort(-confidence, kind="stable")
    ids = collection.ids[own[order]]
    table = {"id": collection.records.keys(ids), "confidence": confidence[order].round(3)}
    known = {"class": "classes", "text": "texts"}
    return table | {
        name: collection.records.values(column, ids)
        for name, column in known.items()
        if column in collection.records
    }


@click.command(cls=Command)
@TREE
@K
@CHOICE
@ANSWERS
@CRITERION
@SINCE
@ROWS
@OUTPUT
@FORCE
@QUIET
def changes(
    tree: str,
    n_clusters: int | None,
    criterion: str | None,
    since: int | None,
    rows: int,
    output: str | None,
    force: bool,
    quiet: bool,
    **choice: Any,
) -> None:
    """List what changed between the last two clusterings that `perch cut` wrote from TREE.

    Clusters are born, merge, split and end, and points move from one to another. The first record
    of a new cluster is shown as an example. Without options of `perch cut`, this is about the
    clustering that was written last.

    With --since, this is about the clusters that are kept up to date (`perch keep`): every event
    has a number, and those after N are listed, with the points that were added or moved.

    \b
    Examples:
      perch cut people.perch -k 1000 -o today.csv
      perch changes people.perch
      perch changes people.perchdb --since 1041
      perch changes people.perch -k 1000 -o changes.csv
    """
    from .opening import open_collection
    from .remembering import option_names
    from .standing import changes_since

    check_table(output, force, [tree])
    wanted = () if n_clusters is None else (n_clusters,)
    if since is not None:
        if wanted or criterion or any(value is not None for value in choice.values()):
            raise click.UsageError("--since cannot be combined with the options of `perch cut`")
        collection = open_collection(tree, may_be_empty=True)
        table, told = changes_since(collection, tree, since)
        _put(table, rows, output)
        if not quiet:
            n_rows = len(table["kind"])
            say(told + (f"; {written_to(output)}" if output else _rest(n_rows, rows)))
        return
    collection = open_collection(tree)
    (options,) = option_names(wanted, criterion=criterion, **choice)
    known = list(collection.clusterings)
    if not options and known:
        options = known[-1]
    if options not in known:
        given = f" with {options}" if options else ""
        raise ValueError(f"no clustering of {tree}{given} is remembered: use `perch cut` first")
    tracker = collection.clusterings[options]
    table = _changes(collection, tracker)
    _put(table, rows, output)
    if not quiet:
        written = f"; {written_to(output)}" if output else _rest(len(table["kind"]), rows)
        say(
            f"cut {'with ' + options if options else 'without options'}: {_total(tracker)}{written}"
        )


def _total(tracker: Any) -> str:
    """How many changes there were of each kind, and how many points kept their number."""
    from collections import Counter

    same, before = tracker.stayed
    if not before:
        return "there was no earlier clustering"
    kinds = Counter(event.kind for event in tracker.events) | Counter(
        move=len(tracker.moves.points)
    )
    told = ", ".join(count(number, kind) for kind, number in kinds.items() if number)
    kept = f"{same:,} of {count(before, 'point')} kept their cluster's number"
    return f"{told}; {kept}" if told else kept


def _changes(collection: "Collection", tracker: Any) -> dict[str, list[Any]]:
    """Events, each with the first record of a new cluster as an example, and then moves."""
    import numpy as np

    events, (points, before, after) = tracker.events, tracker.moves
    known, first = np.unique(tracker.labels, return_index=True)
    examples = dict(zip(known.tolist(), tracker.points[first].tolist(), strict=True))
    shown = [examples.get(event.after[0]) if event.after else None for event in events]
    ids = np.array([point for point in shown if point is not None] + points.tolist(), np.int64)
    table: dict[str, list[Any]] = {
        "kind": [event.kind for event in events] + ["move"] * len(points),
        "before": [" ".join(map(str, event.before)) for event in events] + list(map(str, before)),
        "after": [" ".join(map(str, event.after)) for event in events] + list(map(str, after)),
        "points": [event.points for event in events] + [1] * len(points),
    }
    has_record = [point is not None for point in shown] + [True] * len(points)
    about = {"id": collection.records.keys(ids).tolist()}
    if "texts" in collection.records:
        about["text"] = collection.records.values("texts", ids)
    for name, values in about.items():
        following = iter(values)
        table[name] = [next(following) if has else None for has in has_record]
    return table


def _put(table: dict[str, Any], rows: int, output: str | None) -> None:
    """Write a table, or print its first rows."""
    from .._validate import as_list

    if output is None:
        from .screen import show_table

        show_table({name: as_list(column)[:rows] for name, column in table.items()})
        return

    from ..outputs import open_table

    with open_table(output) as write:
        write(table)


def _rest(n_rows: int, shown: int) -> str:
    return f"; {shown:,} of {n_rows:,} rows shown" if n_rows > shown else ""
