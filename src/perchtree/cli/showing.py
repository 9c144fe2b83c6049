"""plot, export and check: pictures, formats of other programs, verification."""

from typing import Any

import click

from ..inert import inert_line
from .options import COMPRESS, FOLDER, FORCE, QUIET, TREE
from .patience import patience
from .running import Command, count, say

PICTURES = (".html", ".png", ".svg", ".pdf")


@click.command(cls=Command)
@TREE
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="An interactive .html page, or a .png, .svg or .pdf picture.",
)
@click.option(
    "--branches",
    type=click.IntRange(1),
    metavar="N",
    help="Number of branches to show. [default: 60000 on a page, 60 in a picture]",
)
@click.option("--title", help="[default: the tree's name]")
@click.option(
    "--megabytes",
    type=click.FloatRange(0, min_open=True),
    default=16.0,
    show_default=True,
    help="Pages only: maximum size. The page includes as many records as fit, and says how many.",
)
@click.option(
    "-k",
    "n_clusters",
    type=click.IntRange(1),
    multiple=True,
    metavar="K",
    help="Pages only: show this many clusters at first; may be repeated.",
)
@click.option(
    "--distance",
    type=click.FloatRange(0),
    multiple=True,
    metavar="T",
    help="Pages only: show the clusters at this distance; may be repeated.",
)
@click.option(
    "--min-size",
    type=click.IntRange(1),
    multiple=True,
    metavar="M",
    help="Pages only: show persistent clusters of at least this size; may be repeated.",
)
@FORCE
@QUIET
def plot(
    tree: str, output: str, branches: int | None, title: str | None, megabytes: float,
    n_clusters: tuple[int, ...], distance: tuple[float, ...], min_size: tuple[int, ...],
    force: bool, quiet: bool,
) -> None:  # fmt: skip
    """Draw TREE as an interactive page of all clusters, or its top as a picture.

    If there are texts, nodes are labelled with keywords. Corrections are marked. The page offers
    the clusters of `perch cut` by distance, minimum size and number of clusters, with the same
    numbers; see docs/explorer.md.
    """
    from pathlib import Path

    from ..outputs import check_output
    from .opening import open_collection

    check_output(output, PICTURES, force=force, inputs=[tree])
    if not output.lower().endswith(".html"):
        _check_matplotlib()
    collection = open_collection(tree)
    title = title or Path(tree).stem
    keys = [str(key) for key in collection.keys] if collection.has_keys else None
    shown: dict[str, Any] = {
        "texts": _without_gaps(collection.texts),
        "classes": _without_gaps(collection.classes),
        "corrections": list(collection.pairs),
        "title": title,
    }
    if output.lower().endswith(".html"):
        from ..html.offered import Cut

        cuts = [
            *(Cut("k", float(value)) for value in n_clusters),
            *(Cut("threshold", value) for value in distance),
            *(Cut("min_size", float(value)) for value in min_size),
        ]
        with patience("drawing (and compiling, the first time)", quiet=quiet):
            collection.tree.to_html(
                output, branches=branches or 60_000, megabytes=megabytes, keys=keys, cuts=cuts,
                numbered=_as_remembered(collection), **shown,
            )  # fmt: skip
    else:
        if shown["texts"] is None:
            shown["texts"] = keys
        with patience("drawing (and compiling, the first time)", quiet=quiet):
            _draw(collection.tree, output, branches or 60, shown)
    if not quiet:
        say(f"drawn to {output}")


def _as_remembered(collection: Any) -> Any:
    """Numbers that `perch cut` would give clusters, by its options."""

    def numbered(options: str, labels: Any) -> Any:
        if options not in collection.clusterings:
            return labels
        return collection.clusterings.matched(options, collection.ids, labels).labels

    return numbered


def _without_gaps(values: list[Any] | None) -> list[Any] | None:
    """Where some have no value, all are texts, and those are empty."""
    if values is None or None not in values:
        return values
    return ["" if value is None else str(value) for value in values]


def _check_matplotlib() -> None:
    try:
        import matplotlib
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'perchtree[plot]'") from None
    matplotlib.use("Agg")


def _draw(tree: Any, output: str, branches: int, shown: dict[str, Any]) -> None:
    from pathlib import Path

    import matplotlib.pyplot as plt

    from ..files.replacing import replacing
    from ..plot import plot_dendrogram

    figure, ax = plt.subplots(figsize=(10, max(3.0, 0.18 * min(branches, tree.n_leaves))))
    plot_dendrogram(tree, branches, ax=ax, **shown)
    with replacing(Path(output)) as file:
        figure.savefig(file, format=Path(output).suffix[1:].lower(), dpi=150, bbox_inches="tight")
    plt.close(figure)


@click.command(cls=Command)
@TREE
@click.option(
    "--to",
    "form",
    required=True,
    type=click.Choice(["newick", "linkage", "tsv", "json", "perch"]),
    help="newick; linkage: SciPy's linkage matrix, as .npy; tsv: the tree format of the PERCH "
    "authors (requires classes); json: the top of the tree; perch: a folder as a single file.",
)
@click.option("-o", "--output", required=True, metavar="FILE")
@click.option(
    "--branches",
    default=1000,
    show_default=True,
    type=click.IntRange(1),
    metavar="N",
    help="For json: number of branches to include.",
)
@COMPRESS
@FORCE
@QUIET
def export(
    tree: str,
    form: str,
    output: str,
    branches: int,
    compress: bool | None,
    force: bool,
    quiet: bool,
) -> None:
    """Export TREE to a format of another program, using your ids if the tree has them."""
    from pathlib import Path

    import numpy as np

    from ..files.replacing import replacing
    from ..outputs import check_output
    from .opening import choose_compression, open_collection

    if compress and form != "perch":
        raise click.UsageError("only the format perch is compressed")
    if output == "-" and form not in ("newick", "json"):
        raise click.UsageError("only newick and json are written to standard output")
    if output != "-":
        check_output(output, force=force, inputs=[tree])
    if form == "perch" and output.endswith(FOLDER):
        raise click.UsageError(f"`perch fit {tree} -o {output}` makes a folder of a file")
    collection = open_collection(tree)
    if form == "perch":
        choose_compression(collection, compress, output)
        collection.save(output)
        if not quiet:
            say(f"written to {output}")
        return
    grown = collection.tree
    names = [str(key) for key in collection.keys] if collection.has_keys else None
    if output == "-":
        text = grown.to_newick(names) if form == "newick" else grown.to_json(branches, names)
        click.echo(text)
        return
    if form == "tsv":
        classes = _without_gaps(collection.classes)
        if classes is None:
            raise ValueError(f"{tree} has no classes, which such a file needs: fit with --class")
        grown.to_authors(output, classes, names)
    else:
        with replacing(Path(output)) as file:
            if form == "linkage":
                np.save(file, grown.to_linkage())
            elif form == "newick":
                file.write((grown.to_newick(names) + "\n").encode())
            else:
                file.write((grown.to_json(branches, names) + "\n").encode())
    if not quiet:
        say(f"written to {output}")


@click.command(cls=Command)
@TREE
def check(tree: str) -> None:
    """Verify TREE completely: every byte of the file and every invariant of the tree.

    For a folder, this checks the database, every snapshot, and that replaying all operations gives
    the same tree.
    """
    from .opening import open_collection

    collection = open_collection(tree, may_be_empty=True)
    whole = f"{tree} is whole: {count(len(collection), 'point')}, every invariant holds"
    if collection.is_kept:
        with patience("replaying all operations"):
            found = collection.verify()
        same = "give the same tree" if found.comparable else "were done by another version"
        whole += (
            f"; {count(found.operations, 'operation')} {same}, {count(found.snapshots, 'snapshot')}"
        )
    click.echo(inert_line(whole))
