"""cut, predict, score and info: commands that read a tree."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from ..inert import inert_line, short_list
from .options import CRITERION, FORCE, INPUT, INPUT_COLUMNS, N_JOBS, QUIET, TREE, Reading
from .running import Command, count, say

_ROWS_AT_ONCE = 100_000

DISTANCE = click.option(
    "--distance",
    type=click.FloatRange(0),
    metavar="T",
    help="Instead: clusters may extend over at most this distance; --criterion does not matter.",
)
TABLE = click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="A .parquet, .csv, .tsv or .jsonl file (.gz too), or - for CSV on standard output.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command(cls=Command)
@TREE
@click.option(
    "-k",
    "n_clusters",
    type=click.IntRange(1),
    multiple=True,
    metavar="K",
    help="How many clusters; may be given several times, for nested clusterings. "
    "[default: what the tree suggests]",
)
@DISTANCE
@CRITERION
@TABLE
@FORCE
@QUIET
def cut(
    tree: str,
    n_clusters: tuple[int, ...],
    distance: float | None,
    criterion: str,
    output: str,
    force: bool,
    quiet: bool,
) -> None:
    """Write the cluster of every point of TREE: a table of ids and clusters.

    With labels and texts, if the tree has them. Clusters are numbered by their first points.

    \b
    Examples:
      perch cut people.perch -k 1000 -o clusters.csv
      perch cut people.perch -k 100 -k 1000 -k 10000 -o clusters.parquet
      perch cut people.perch --distance 0.3 -o -
    """
    from ..outputs import open_table
    from .session import Session

    _check_table(output, force, [tree])
    session = Session.open(tree)
    clusters = _cut(session.model.tree_, n_clusters, distance, criterion)
    table = session.table() | clusters
    with open_table(output) as write:
        for start in range(0, session.n_points, _ROWS_AT_ONCE):
            stop = start + _ROWS_AT_ONCE
            write({name: column[start:stop] for name, column in table.items()})
    if not quiet:
        counts = ", ".join(f"{labels.max() + 1:,}" for labels in clusters.values())
        say(f"{session.n_points:,} points in {counts} clusters; written to {output}")


def _check_table(output: str, force: bool, inputs: list[str]) -> None:
    from ..outputs import SUFFIXES, check_output

    if output != "-":
        check_output(output, SUFFIXES, force=force, inputs=inputs)


def _cut(
    tree: Any, n_clusters: tuple[int, ...], distance: float | None, criterion: str
) -> dict[str, Any]:
    """Clusterings by the names of their columns."""
    if distance is not None:
        if n_clusters:
            raise click.UsageError("give -k or --distance, not both")
        return {"cluster": tree.cut(distance=distance)}
    if not n_clusters:
        suggested = tree.suggest_cuts(1, criterion=criterion)
        n_clusters = (suggested[0].n_clusters if suggested else 1,)
    columns = tree.cut(list(n_clusters), criterion=criterion).T
    if len(n_clusters) == 1:
        return {"cluster": columns[0]}
    return {f"cluster_{k}": labels for k, labels in zip(n_clusters, columns, strict=True)}


@click.command(cls=Command)
@TREE
@INPUT
@click.option(
    "-k",
    "n_clusters",
    type=click.IntRange(1),
    metavar="K",
    help="How many clusters. [default: what the tree suggests]",
)
@DISTANCE
@CRITERION
@click.option(
    "--max-distance",
    type=click.FloatRange(0),
    metavar="T",
    help="Rows farther than this from every point get the cluster -1.",
)
@TABLE
@N_JOBS
@INPUT_COLUMNS
@FORCE
@QUIET
def predict(
    tree: str,
    input: str,
    n_clusters: int | None,
    distance: float | None,
    criterion: str,
    max_distance: float | None,
    output: str,
    n_jobs: int | None,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Give each row of INPUT the cluster of its nearest point in TREE. Nothing is added.

    Clusters are those of `perch cut` with the same -k, --distance and --criterion. The table has
    each row's id (--id, or its number), its cluster, its nearest point and how far that is.
    """
    reading = Reading.taken_from(options)

    from ..inputs.batches import InputError
    from ..outputs import open_table
    from .session import Session

    _check_table(output, force, [tree, input])
    session = Session.open(tree, n_jobs)
    source = reading.open(input, known_features=session.feature_names)
    wanted = () if n_clusters is None else (n_clusters,)
    (clusters,) = _cut(session.model.tree_, wanted, distance, criterion).values()
    n_rows, n_bad = 0, 0
    try:
        with open_table(output) as write:
            for found, bad in _predicted(session, source, reading, clusters, max_distance):
                n_bad += bad
                n_rows += len(found["id"]) if found else 0
                if found:
                    write(found)
            if n_rows == 0:
                raise InputError("there are no rows that can be used")
    except InputError as error:
        raise InputError(f"{source.name}: {error}") from None
    if n_bad:
        say(f"{count(n_bad, 'bad row')} left out")
    if not quiet:
        say(f"{count(n_rows, 'row')}; written to {output}")


def _predicted(
    session: Any, source: Any, reading: Reading, clusters: Any, max_distance: float | None
) -> Iterator[tuple[dict[str, Any], int]]:
    """Tables, a batch each, and how many bad rows were left out of it."""
    import numpy as np

    from ..inputs.batches import InputError
    from .session import with_ids

    ids, kind = session.ids, None
    for batch in source.batches(reading.batch):
        batch = batch.checked(cosine=session.model.metric == "cosine")
        if "keys" in batch.companions and len(batch.X):
            batch = with_ids(batch, kind)
            kind = type(batch.companions["keys"][0]) if len(batch.X) else kind
        if batch.bad and not reading.skip_bad:
            problem = batch.bad[0]
            raise InputError(f"{problem.place} {problem.why}; --skip-bad leaves such rows out")
        if len(batch.X) == 0:
            yield {}, len(batch.bad)
            continue
        if batch.X.shape[1] != session.model.n_features_in_:
            raise InputError(
                f"rows have {batch.X.shape[1]} features, the tree has "
                f"{session.model.n_features_in_}"
            )
        near, far = session.nearest(batch.X)
        found = clusters[near]
        if max_distance is not None:
            found = np.where(far > max_distance, -1, found)
        own = batch.companions.get("keys", batch.rows)
        table = {"id": own, "cluster": found, "nearest": ids[near], "distance": far}
        yield table, len(batch.bad)


@click.command(cls=Command)
@TREE
@click.option(
    "--labels",
    "labels_file",
    metavar="FILE",
    help="Classes of all points, in their order (of a tree made with --shuffle: of the rows): a "
    ".npy file, or text with one a line. [default: those in the tree]",
)
@click.option(
    "-k",
    "n_clusters",
    type=click.IntRange(1),
    metavar="K",
    help="How many clusters. [default: the number of classes]",
)
@CRITERION
@click.option(
    "--noise",
    type=click.Choice(["drop", "singletons", "class"]),
    default="drop",
    show_default=True,
    help="Points with an empty or negative label: left out; each a class of its own; a "
    "class like others.",
)
@JSON
def score(
    tree: str,
    labels_file: str | None,
    n_clusters: int | None,
    criterion: str,
    noise: str,
    as_json: bool,
) -> None:
    """Compare TREE with known classes: dendrogram purity, pairwise F1, adjusted Rand index."""
    import numpy as np
    from sklearn.metrics import adjusted_rand_score

    from ..metrics import dendrogram_purity, pairwise_scores
    from .session import Session, read_labels

    session = Session.open(tree)
    labels: Any = session.labels if labels_file is None else read_labels(labels_file)
    if labels is None:
        raise ValueError(f"{tree} has no labels: give --labels, or fit with --label")
    if len(labels) != session.n_points:
        raise ValueError(f"{len(labels):,} labels for a tree of {session.n_points:,} points")
    if labels_file is not None and session.has_keys:
        labels = _by_row(labels, session.ids)
    classes, kept = _as_classes(np.asarray(labels), noise)
    if not kept.any():
        raise ValueError("all labels are empty or negative: nothing to compare with")
    n_classes = len(np.unique(classes[kept]))
    k = n_clusters or min(n_classes, session.model.tree_.n_leaves)
    clusters = session.model.tree_.cut(k, criterion=criterion)
    pairs = pairwise_scores(classes[kept], clusters[kept])
    purity = dendrogram_purity(session.model.tree_, np.where(kept, classes, -1), negative="drop")
    _show(
        {
            "points": int(kept.sum()),
            "classes": n_classes,
            "dendrogram purity": purity,
            "clusters": k,
            "pairwise precision": pairs.precision,
            "pairwise recall": pairs.recall,
            "pairwise F1": pairs.f1,
            "adjusted Rand index": float(adjusted_rand_score(classes[kept], clusters[kept])),
        },
        as_json,
    )


def _by_row(labels: Any, ids: Any) -> Any:
    """Labels of rows for a tree whose points go by their rows' numbers, as --shuffle makes it."""
    import numpy as np

    if ids.dtype.kind != "i" or not np.array_equal(np.sort(ids), np.arange(len(ids))):
        return labels
    return np.asarray(labels)[ids]


def _as_classes(labels: Any, noise: str) -> tuple[Any, Any]:
    """Classes as whole numbers, and which points count. An empty or negative label is noise."""
    import numpy as np

    names, classes = np.unique(labels, return_inverse=True)
    unknown = np.array([_is_noise(name) for name in names.tolist()], bool)[classes]
    if noise == "drop":
        return classes, ~unknown
    if noise == "singletons":
        classes = np.where(unknown, len(names) + np.arange(len(classes)), classes)
        classes = np.unique(classes, return_inverse=True)[1]
    return classes, np.ones(len(classes), bool)


def _is_noise(label: Any) -> bool:
    try:
        return label == "" or float(label) < 0
    except ValueError:
        return False


@click.command(cls=Command)
@TREE
@JSON
def info(tree: str, as_json: bool) -> None:
    """Say what is in TREE."""
    from pathlib import Path

    from .modes import mode_name
    from .session import Session

    session = Session.open(tree)
    model = session.model
    grown = model.tree_
    names = session.feature_names
    suggested = [cut.n_clusters for cut in grown.suggest_cuts(5)]
    _show(
        {
            "file": tree,
            "bytes": Path(tree).stat().st_size,
            "mode": mode_name(grown),
            "points": grown.n_points,
            "leaves": grown.n_leaves,
            "features": grown.n_features,
            "feature names": None if names is None else names[:20] + ["..."] * (len(names) > 20),
            "metric": model.metric,
            "linkage": grown.linkage,
            "graft": grown.graft if grown.linkage != "box" else None,
            "masking": grown.masking if grown.linkage == "box" else None,
            "balance": grown.balance if grown.linkage == "box" else None,
            "search": grown.search,
            "beam width": grown.beam_width if grown.search == "beam" else None,
            "most leaves": grown.max_leaves,
            "depth, largest": grown.depth.max,
            "depth, mean": grown.depth.mean,
            "ids": "yours" if session.has_keys else "0, 1, 2, ... by arrival",
            "labels": session.labels is not None,
            "texts": session.texts is not None,
            "suggested numbers of clusters": suggested,
        },
        as_json,
    )


def _show(figures: dict[str, Any], as_json: bool) -> None:
    """Print figures, those that are None left out."""
    figures = {name: value for name, value in figures.items() if value is not None}
    if as_json:
        json.dump(
            {n.replace(", ", "_").replace(" ", "_"): v for n, v in figures.items()},
            sys.stdout,
            indent=2,
        )
        click.echo()
        return
    width = max(map(len, figures)) + 2
    for name, value in figures.items():
        click.echo(inert_line(f"{name:<{width}}{_as_text(value)}"))


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, int):
        return f"{value:,}"
    return short_list(value) if isinstance(value, list) else str(value)
