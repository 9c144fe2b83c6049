"""fit, add and refine: commands that make a tree or change it."""

import shlex
import signal
import sys
from typing import Any

import click

from .modes import MODES, parameters
from .options import (
    FORCE,
    GROWING,
    INPUT,
    INPUT_COLUMNS,
    N_JOBS,
    QUIET,
    TREE,
    Reading,
)
from .running import Command, say


@click.command(cls=Command)
@INPUT
@click.option("-o", "--output", required=True, metavar="TREE", help="The file of the new tree.")
@click.option(
    "--mode",
    type=click.Choice(list(MODES)),
    default="grafted",
    show_default=True,
    help="grafted: the purest trees. The paper's: perch (exact search), b (beam search), c "
    "(collapsed, bounded memory), bc (both).",
)
@click.option(
    "--max-leaves",
    type=click.IntRange(1),
    metavar="L",
    help="Collapsed: the most leaves; memory is bounded by them. [default for c and bc: 50000]",
)
@click.option(
    "--beam",
    "beam_width",
    type=click.IntRange(1),
    metavar="W",
    help="Nodes a beam search keeps at each level. [default: 120]",
)
@click.option(
    "--linkage",
    type=click.Choice(["average", "ward", "box"]),
    help="What decides about rotations. [default: average; the paper's modes: box]",
)
@click.option(
    "--graft",
    type=click.IntRange(0),
    metavar="K",
    help="Neighbours to whose subtrees a point may be grafted. [default: 5]",
)
@click.option(
    "--masking",
    type=click.Choice(["published", "interval", "exact", "none"]),
    help="The paper's masking rotations. [default: published]",
)
@click.option(
    "--balance",
    type=click.Choice(["size", "ratio", "none"]),
    help="The paper's balance rotations. [default: size]",
)
@click.option(
    "--search",
    type=click.Choice(["auto", "astar", "scan", "beam"]),
    help="How the nearest leaf is found. [default: auto]",
)
@click.option(
    "--metric",
    type=click.Choice(["euclidean", "cosine"]),
    help="cosine normalises rows first. [default: euclidean]",
)
@N_JOBS
@INPUT_COLUMNS
@GROWING
@FORCE
@QUIET
def fit(input: str, output: str, mode: str, force: bool, quiet: bool, **options: Any) -> None:
    """Make a tree of the rows of INPUT, in their order.

    INPUT is a .npy or .npz file, a Parquet file or a folder of them, CSV or TSV, JSON Lines (gzip
    too), the authors' data files (--format authors), or - for a stream of CSV or JSON Lines on
    standard input. Rows of a stream are inserted as they arrive.

    Memory holds the tree and one batch of rows. Ctrl-C saves what was inserted, and says how to go
    on.

    \b
    Examples:
      perch fit vectors.npy -o vectors.perch --n-jobs -1
      perch fit people.csv -o people.perch --id person --text name --features 'f*'
      perch fit embeddings/ -o big.perch --mode bc --max-leaves 20000 --features embedding
      tail -f events.jsonl | perch fit - -o events.perch --checkpoint 60
    """
    reading = Reading.taken_from(options)
    growing = {name: options.pop(name) for name in ("shuffle", "skip_rows", "checkpoint")}
    chosen = parameters(mode, options)

    from ..estimator import Perch
    from ..outputs import check_output
    from .session import Session

    check_output(output, (), force=force)
    source = reading.open(input, growing["shuffle"])
    _grow(Session(output, Perch(**chosen)), input, source, reading, growing, quiet)


@click.command(cls=Command)
@TREE
@INPUT
@N_JOBS
@INPUT_COLUMNS
@GROWING
@QUIET
def add(tree: str, input: str, n_jobs: int | None, quiet: bool, **options: Any) -> None:
    """Add the rows of INPUT to TREE, which is replaced safely when all are in.

    The tree is the one that `fit` would have made of all rows. If the tree knows its features by
    name, columns with these names are taken. Everything about INPUT is as for `perch fit`.

    \b
    Examples:
      perch add people.perch more.csv --id person --text name
      perch add vectors.perch vectors.npy --skip-rows 120000
    """
    reading = Reading.taken_from(options)

    from .session import Session

    session = Session.open(tree, n_jobs)
    named = reading.form not in ("npy", "npz", "authors") and not input.endswith((".npy", ".npz"))
    known = session.feature_names if named and reading.header is not False else None
    source = reading.open(input, options["shuffle"], known)
    _grow(session, input, source, reading, options, quiet)


def _grow(
    session: Any, name: str, source: Any, reading: Reading, options: dict[str, Any], quiet: bool
) -> None:
    from .feeding import Feeder, undisturbed
    from .progress import Watch, shown_progress

    watch, before = Watch(session), session.n_points
    with shown_progress(session, source, quiet=quiet) as show:
        feeder = Feeder(
            session,
            source,
            n_rows=reading.batch,
            first_row=options["skip_rows"],
            skip_bad=reading.skip_bad,
            checkpoint=options["checkpoint"],
            show=show,
        )
        fed = feeder.run()
    if session.n_points == before and fed.stopped_by is None:
        left_out = f", {fed.n_bad:,} bad ones left out" if fed.n_bad else ""
        raise ValueError(f"{source.name}: there are no rows to insert{left_out}")
    if session.n_points > before:
        with undisturbed():
            session.save()
    for problem in fed.bad:
        say(f"left out: {problem.place} {problem.why}")
    if fed.n_bad:
        say(f"{fed.n_bad:,} bad rows were left out")
    if fed.stopped_by is not None:
        _say_how_to_go_on(session, name, source.live, options, fed.n_rows)
        sys.exit(0 if source.live and fed.stopped_by == signal.SIGTERM else 1)
    if not quiet:
        say(f"{watch}; saved as {session.path}")


def _say_how_to_go_on(
    session: Any, name: str, live: bool, options: dict[str, Any], next_row: int
) -> None:
    if session.n_points == 0:
        say("stopped before the first point: nothing was saved")
        return
    command = ["perch", "add", session.path, name]
    if not live:
        command += ["--skip-rows", str(next_row)]
    if options["shuffle"] is not None:
        command += ["--shuffle", str(options["shuffle"])]
    say(
        f"stopped; {session.n_points:,} points are saved in {session.path}. To go on, with the "
        f"same options for columns: {shlex.join(command)}"
    )


@click.command(cls=Command)
@TREE
@click.option(
    "--passes",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="How often to go over all points.",
)
@click.option(
    "--neighbors",
    default=5,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="Neighbours looked at for each leaf.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Stop after about so long.",
)
@N_JOBS
@QUIET
def refine(
    tree: str,
    passes: int,
    neighbors: int,
    time_limit: float | None,
    n_jobs: int | None,
    quiet: bool,
) -> None:
    """Improve TREE in place: look for grafts around every point. Not for the paper's modes.

    Ctrl-C keeps what was improved.
    """
    from .feeding import listening, undisturbed
    from .session import Session

    session = Session.open(tree, n_jobs)
    grown = session.model.tree_
    before, stopped = grown.stats.grafts, False
    with listening(live=False):
        try:
            grown.refine(
                passes,
                neighbors=neighbors,
                time_limit=time_limit,
                verbose=not quiet and sys.stderr.isatty(),
            )
        except KeyboardInterrupt:
            stopped = True
    with undisturbed():
        session.save()
    if not quiet or stopped:
        say(
            f"{'stopped; ' * stopped}{grown.stats.grafts - before:,} grafts were made, depth is "
            f"now {grown.depth.max}; saved as {tree}"
        )
    if stopped:
        sys.exit(1)
