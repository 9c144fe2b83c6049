"""cut, predict, score and info: commands that read a tree."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from ..inert import inert_line, short_list
from .choosing import ANSWERS, CHOICE, CHOICES, Chosen, K, choose, taken_from
from .options import (
    CRITERION,
    FORCE,
    INPUT,
    INPUT_COLUMNS,
    N_JOBS,
    QUIET,
    TREE,
    Reading,
    check_table,
)
from .patience import patience
from .running import Command, count, say, written_to

_ROWS_AT_ONCE = 100_000

TABLE = click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="A .parquet, .csv, .tsv or .jsonl file (optionally .gz), or - for CSV on standard output.",
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
    help="Number of clusters. Repeat the option for nested clusterings. [default: the most "
    "persistent clusters, with a minimum size chosen from the data]",
)
@CHOICE
@ANSWERS
@CRITERION
@TABLE
@click.option(
    "--remember/--no-remember",
    default=True,
    help="Whether clusters keep the numbers they had when TREE was last cut with the same options, "
    "and whether TREE stores this clustering for the next time. [default: remember]",
)
@FORCE
@QUIET
def cut(
    tree: str,
    n_clusters: tuple[int, ...],
    output: str,
    remember: bool,
    force: bool,
    quiet: bool,
    **choice: Any,
) -> None:
    """Write a table with the cluster and the confidence of every point of TREE.

    The table includes classes and texts if the tree has them. Confidence, from 0 to 1, is how
    firmly a point belongs to its cluster. Clusters are numbered in the order of their first points.
    When TREE has changed and is cut again with the same options, clusters that persist keep their
    numbers, and `perch changes` lists the differences.

    Corrections made with `perch correct` are applied, so the number of clusters may differ from K,
    and clusterings for several K are nested only where there are no corrections.

    \b
    Examples:
      perch cut people.perch -k 1000 -o clusters.csv
      perch cut people.perch -k 100 -k 1000 -k 10000 -o clusters.parquet
      perch cut people.perch --min-size 5 -o clusters.csv
      perch cut people.perch --distance 0.3 -o -
      perch cut people.perch --answers answers.csv -o clusters.csv
    """
    from . import remembering
    from .opening import open_collection

    check_table(output, force, [tree])
    if remember:
        opened = remembering.open_to_remember(tree)
    else:
        opened = remembering.Opened(open_collection(tree))
    with opened.collection as collection:
        chosen = choose(collection, n_clusters, **choice)
        labels: list[Any] = [clustering.labels for clustering in chosen.columns.values()]
        if remember:
            options = remembering.option_names(n_clusters, **choice)
            trackers = remembering.match(collection, chosen, options)
            labels = [trackers[own].labels for own in options]
            remark = remembering.remember(opened, tree, trackers)
            if remark:
                say(remark)
        table = _as_table(collection, dict(zip(chosen.columns, labels, strict=True)))
    _write(table, output)
    if not quiet:
        n_points = count(len(collection), "point")
        say(f"{n_points} in {_describe(chosen)}; {written_to(output)}")
        if chosen.remark:
            say(chosen.remark)


def _as_table(collection: Any, clusterings: dict[str, Any]) -> dict[str, Any]:
    """What is known of each point, its clusters, and how firmly it sits in each."""
    known = {"id": collection.keys, "class": collection.classes, "text": collection.texts}
    table = {name: column for name, column in known.items() if column is not None}
    for name, labels in clusterings.items():
        table[name] = labels
        confidence = collection.tree.confidence(labels).round(3)
        table[name.replace("cluster", "confidence")] = confidence
    return table


def _write(table: dict[str, Any], output: str) -> None:
    from ..outputs import open_table

    with open_table(output) as write:
        for start in range(0, len(table["id"]), _ROWS_AT_ONCE):
            stop = start + _ROWS_AT_ONCE
            write({name: column[start:stop] for name, column in table.items()})


def _describe(chosen: Chosen) -> str:
    """How many clusters there are, and how many there would be without corrections."""
    before, after = (
        ", ".join(f"{getattr(clustering, name):,}" for clustering in chosen.columns.values())
        for name in ("n_before", "n_after")
    )
    changed = f" (without corrections {before})" if before != after else ""
    return f"{after} {'cluster' if after == '1' else 'clusters'}{changed}"


@click.command(cls=Command)
@TREE
@INPUT
@K
@CHOICE
@ANSWERS
@CRITERION
@click.option(
    "--max-distance",
    type=click.FloatRange(0),
    metavar="T",
    help="Assign -1 to rows that are farther than this from every point.",
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
    max_distance: float | None,
    output: str,
    n_jobs: int | None,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Assign each row of INPUT to the cluster of its nearest point in TREE. Nothing is added.

    The clusters are those of `perch cut` with the same options. The output has each row's id (--id,
    or the row number), its cluster, its nearest point, and the distance to that point.
    """
    reading, choice = Reading.taken_from(options), taken_from(options)

    from ..inputs.batches import InputError
    from ..outputs import open_table
    from .encoding import open_for
    from .opening import open_collection
    from .remembering import match, option_names

    check_table(output, force, [tree, input])
    collection = open_collection(tree, n_jobs)
    source = open_for(collection, reading, input)
    wanted = () if n_clusters is None else (n_clusters,)
    chosen = choose(collection, wanted, **choice)
    (numbered,) = match(collection, chosen, option_names(wanted, **choice)).values()
    n_rows, n_bad = 0, 0
    try:
        with open_table(output) as write:
            for found, bad in _predicted(
                collection, source, reading, numbered.labels, max_distance
            ):
                n_bad += bad
                n_rows += len(found["id"]) if found else 0
                if found:
                    write(found)
            if n_rows == 0:
                raise InputError("there are no rows that can be used")
    except InputError as error:
        raise InputError(f"{source.name}: {error}") from None
    if n_bad:
        say(f"{count(n_bad, 'bad row')} skipped")
    if not quiet:
        say(f"{count(n_rows, 'row')}; {written_to(output)}")
        if chosen.remark:
            say(chosen.remark)


def _predicted(
    collection: Any, source: Any, reading: Reading, clusters: Any, max_distance: float | None
) -> Iterator[tuple[dict[str, Any], int]]:
    """One table per batch, and how many bad rows were left out of it."""
    import numpy as np

    from ..collection.intake import check_features, refuse_bad, with_keys

    ids, keys, kind = collection.ids, collection.keys, None
    for batch in source.batches(reading.batch):
        batch = batch.checked(cosine=collection.settings.is_cosine)
        if "keys" in batch.companions and len(batch.X):
            batch = with_keys(batch, kind)
            kind = type(batch.companions["keys"][0]) if len(batch.X) else kind
        if not reading.skip_bad:
            refuse_bad(batch)
        if len(batch.X) == 0:
            yield {}, len(batch.bad)
            continue
        check_features(collection, batch)
        vectors = batch.X
        if collection.encoder is not None:
            vectors = collection.encode(batch.companions["texts"])
        with patience("searching (and compiling, the first time)"):
            nearest, distances = collection.tree.nearest(vectors, exact=False)
        places, far = np.searchsorted(ids, nearest[:, 0]), distances[:, 0]
        found = clusters[places]
        if max_distance is not None:
            found = np.where(far > max_distance, -1, found)
        own = batch.companions.get("keys", batch.rows)
        table = {"id": own, "cluster": found, "nearest": keys[places], "distance": far}
        yield table, len(batch.bad)


@click.command(cls=Command)
@TREE
@click.option(
    "--classes",
    "classes_file",
    metavar="FILE",
    help="The classes of all points in order of insertion (for a tree built with --shuffle, in "
    "order of the rows): a .npy file, or a text file with one class per line. [default: those "
    "stored in the tree]",
)
@click.option(
    "-k",
    "n_clusters",
    type=click.IntRange(1),
    metavar="K",
    help="Number of clusters. [default: the number of classes]",
)
@CHOICE
@ANSWERS
@CRITERION
@click.option(
    "--noise",
    type=click.Choice(["drop", "singletons", "class"]),
    default="drop",
    show_default=True,
    help="How to treat points with an empty or negative class: leave them out, make each its own "
    "class, or treat them as an ordinary class.",
)
@JSON
def score(
    tree: str,
    classes_file: str | None,
    n_clusters: int | None,
    noise: str,
    as_json: bool,
    **choice: Any,
) -> None:
    """Score TREE against known classes: purity, pairwise F1, adjusted Rand index.

    Purity, from 0 to 1, scores the whole tree: for two points of the same class, it is the share of
    that class in the smallest subtree containing both, averaged over all such pairs. The other
    scores apply to the clusters that `perch cut` would write with the same options. Precision is
    the share of same-cluster pairs that are of the same class, recall the share of same-class pairs
    that are in the same cluster, and F1 their harmonic mean.
    """
    import numpy as np
    from sklearn.metrics import adjusted_rand_score

    from ..metrics import dendrogram_purity, pairwise_scores
    from .opening import open_collection

    collection = open_collection(tree)
    given: Any = collection.classes if classes_file is None else _read_classes(classes_file)
    if given is None:
        raise ValueError(f"{tree} has no classes: give --classes, or fit with --class")
    if len(given) != len(collection):
        raise ValueError(f"{len(given):,} classes given for {count(len(collection), 'point')}")
    if classes_file is not None and collection.notes.get("keys_are_rows"):
        given = np.asarray(given)[np.argsort(np.argsort(collection.keys))]
    classes, kept = _as_classes(given, noise)
    if not kept.any():
        raise ValueError("all classes are empty or negative: nothing to compare with")
    n_classes = len(np.unique(classes[kept]))
    if n_clusters is None and all(choice[name] is None for name in CHOICES):
        n_clusters = min(n_classes, collection.tree.n_leaves)
    asked_for = () if n_clusters is None else (n_clusters,)
    clusters, _, n_clusters = choose(collection, asked_for, **taken_from(choice)).columns["cluster"]
    with patience("computing scores (and compiling, the first time)"):
        pairs = pairwise_scores(classes[kept], clusters[kept])
        purity = dendrogram_purity(collection.tree, np.where(kept, classes, -1), negative="drop")
    _show(
        {
            "points": int(kept.sum()),
            "classes": n_classes,
            "dendrogram purity": purity,
            "clusters": n_clusters,
            "pairwise precision": pairs.precision,
            "pairwise recall": pairs.recall,
            "pairwise F1": pairs.f1,
            "adjusted Rand index": float(adjusted_rand_score(classes[kept], clusters[kept])),
        },
        as_json,
    )


def _read_classes(path: str) -> Any:
    """Classes from a `.npy` file, or one per line of a text file."""
    from pathlib import Path

    import numpy as np

    from ..inputs.batches import InputError
    from ..inputs.lines import Lines

    if not path.endswith(".npy"):
        return [line.rstrip("\r\n") for line in Lines(Path(path))]
    classes = np.load(path, allow_pickle=False)
    if classes.ndim != 1:
        raise InputError(f"{path}: expected a 1-d array of classes, got {classes.ndim}-d")
    return classes


def _as_classes(given: Any, noise: str) -> tuple[Any, Any]:
    """Classes as whole numbers, and which points count. An empty or negative class is noise."""
    import numpy as np

    names, classes = np.unique(["" if c is None else c for c in given], return_inverse=True)
    unknown = np.array([_is_noise(name) for name in names.tolist()], bool)[classes]
    if noise == "drop":
        return classes, ~unknown
    if noise == "singletons":
        classes = np.where(unknown, len(names) + np.arange(len(classes)), classes)
        classes = np.unique(classes, return_inverse=True)[1]
    return classes, np.ones(len(classes), bool)


def _is_noise(name: Any) -> bool:
    try:
        return name == "" or float(name) < 0
    except ValueError:
        return False


@click.command(cls=Command)
@TREE
@JSON
def info(tree: str, as_json: bool) -> None:
    """Show what is in TREE."""
    from ..encode.interface import name_of
    from .opening import folder_bytes, open_collection
    from .presets import mode_name

    collection = open_collection(tree)
    grown, settings, names = collection.tree, collection.settings, collection.feature_names
    boxes = not settings.has_linkage
    with patience("looking for clusters (and compiling, the first time)"):
        suggested = [cut.n_clusters for cut in grown.suggest_cuts(5) if cut.stands_out]
    _show(
        {
            "file": tree,
            "bytes": folder_bytes(tree),
            "mode": mode_name(settings),
            "points": grown.n_points,
            "leaves": grown.n_leaves,
            "features": grown.n_features,
            "feature names": None if names is None else names[:20] + ["..."] * (len(names) > 20),
            "metric": settings.metric,
            "linkage": settings.linkage,
            "graft": None if boxes else settings.graft,
            "masking": settings.masking if boxes else None,
            "balance": settings.balance if boxes else None,
            "search": settings.search,
            "beam width": settings.beam_width if settings.search == "beam" else None,
            "most leaves": settings.max_leaves,
            "depth, largest": grown.depth.max,
            "depth, mean": grown.depth.mean,
            "ids": "yours" if collection.has_keys else "0, 1, 2, ... by arrival",
            "classes": collection.classes is not None,
            "texts": collection.texts is not None,
            "corrections": len(collection.pairs),
            "operations": collection.operation if collection.is_kept else None,
            "encoder": None if collection.encoder is None else name_of(collection.encoder),
            "remembered": [f"perch cut {own}".strip() for own in collection.clusterings] or None,
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
