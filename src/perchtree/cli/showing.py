"""plot, export and check: pictures, other programs' formats, and trust."""

from typing import Any

import click

from ..inert import inert_line
from .options import FORCE, QUIET, TREE
from .running import Command, say

PICTURES = (".html", ".png", ".svg", ".pdf")


@click.command(cls=Command)
@TREE
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="A .html page to walk through, or a .png, .svg or .pdf picture.",
)
@click.option(
    "--max-leaves",
    type=click.IntRange(1),
    metavar="N",
    help="Branches shown. [default: 25000 on a page, 60 in a picture]",
)
@click.option("--title", help="[default: the tree's name]")
@FORCE
@QUIET
def plot(
    tree: str, output: str, max_leaves: int | None, title: str | None, force: bool, quiet: bool
) -> None:
    """Draw TREE: the whole of it as a page for a browser, or its top as a picture."""
    from pathlib import Path

    from ..outputs import check_output
    from .session import Session

    check_output(output, PICTURES, force=force, inputs=[tree])
    if not output.lower().endswith(".html"):
        _check_matplotlib()
    session = Session.open(tree)
    title = title or Path(tree).stem
    texts, labels = session.texts, session.labels
    if texts is None and session.has_keys:
        texts = [str(key) for key in session.ids]
    if output.lower().endswith(".html"):
        session.model.tree_.to_html(
            output, texts, labels, title=title, max_leaves=max_leaves or 25_000
        )
    else:
        _draw(session.model.tree_, output, max_leaves or 60, title, texts, labels)
    if not quiet:
        say(f"drawn to {output}")


def _check_matplotlib() -> None:
    try:
        import matplotlib
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'perchtree[plot]'") from None
    matplotlib.use("Agg")


def _draw(tree: Any, output: str, max_leaves: int, title: str, texts: Any, labels: Any) -> None:
    from pathlib import Path

    import matplotlib.pyplot as plt

    from ..files.container import replacing
    from ..plot import plot_dendrogram

    figure, ax = plt.subplots(figsize=(10, max(3.0, 0.18 * min(max_leaves, tree.n_leaves))))
    plot_dendrogram(tree, max_leaves, labels=labels, texts=texts, ax=ax)
    ax.set_title(title, loc="left")
    with replacing(Path(output)) as file:
        figure.savefig(file, format=Path(output).suffix[1:].lower(), dpi=150, bbox_inches="tight")
    plt.close(figure)


@click.command(cls=Command)
@TREE
@click.option(
    "--to",
    "form",
    required=True,
    type=click.Choice(["newick", "linkage", "tsv", "json"]),
    help="newick; linkage: SciPy's matrix, as .npy; tsv: the authors' tree file (needs "
    "labels); json: the top of the tree.",
)
@click.option("-o", "--output", required=True, metavar="FILE")
@click.option(
    "--max-leaves",
    default=1000,
    show_default=True,
    type=click.IntRange(1),
    metavar="N",
    help="With json: branches to show.",
)
@FORCE
@QUIET
def export(tree: str, form: str, output: str, max_leaves: int, force: bool, quiet: bool) -> None:
    """Write TREE in a format of other programs. Points go by your ids, if the tree has them."""
    from pathlib import Path

    import numpy as np

    from ..files.container import replacing
    from ..outputs import check_output
    from .session import Session

    if output == "-" and form not in ("newick", "json"):
        raise click.UsageError("only newick and json are written to standard output")
    if output != "-":
        check_output(output, force=force, inputs=[tree])
    session = Session.open(tree)
    grown = session.model.tree_
    names = [str(key) for key in session.ids] if session.has_keys else None
    if output == "-":
        text = grown.to_newick(names) if form == "newick" else grown.to_json(max_leaves, names)
        click.echo(text)
        return
    if form == "tsv":
        if session.labels is None:
            raise ValueError(f"{tree} has no labels, which such a file needs: fit with --label")
        grown.to_authors(output, session.labels, names)
    else:
        with replacing(Path(output)) as file:
            if form == "linkage":
                np.save(file, grown.to_linkage())
            elif form == "newick":
                file.write((grown.to_newick(names) + "\n").encode())
            else:
                file.write((grown.to_json(max_leaves, names) + "\n").encode())
    if not quiet:
        say(f"written to {output}")


@click.command(cls=Command)
@TREE
def check(tree: str) -> None:
    """Verify TREE in full: every bit of the file, every invariant of the tree."""
    from .session import Session

    session = Session.open(tree)
    whole = f"{tree} is whole: {session.n_points:,} points, every invariant holds"
    click.echo(inert_line(whole))
