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
from .running import Command, count, say


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

    Memory holds the tree and one batch of rows. Ctrl-C saves what was inserted, says how to go on,
    and exits with 1; so does SIGTERM, but it exits with 0 if the input is a stream.

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

    if output == "-":
        raise click.UsageError("a tree is not written to standard output: give a file's name")
    check_output(output, force=force, inputs=[input])
    _grow(Session(output, Perch(**chosen)), input, reading, growing, quiet)


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

    from ..outputs import check_writable
    from .session import Session

    check_writable(tree)
    with Session.open(tree, n_jobs, to_change=True) as session:
        _grow(session, input, reading, options, quiet)
        for kind, column in (("label", session.labels), ("text", session.texts)):
            if column is not None and column[-1] is None:
                say(f"warning: new points have no {kind}s, others do: --{kind} names the column")


def _grow(session: Any, name: str, reading: Reading, options: dict[str, Any], quiet: bool) -> None:
    from .feeding import Feeder, listening
    from .progress import Watch, shown_progress

    with listening() as stop:
        try:
            source = reading.open(name, options["shuffle"], session.feature_names)
        except KeyboardInterrupt:
            say("stopped before the first point: nothing was saved")
            sys.exit(0 if name == "-" and stop.signal == signal.SIGTERM else 1)
        watch, before = Watch(session), session.n_points
        with shown_progress(session, source, quiet=quiet) as show:
            feeder = Feeder(
                session, source, n_rows=reading.batch, first_row=options["skip_rows"],
                skip_bad=reading.skip_bad, checkpoint=options["checkpoint"], show=show,
            )  # fmt: skip
            fed = feeder.run(stop)
        if session.n_points > before:
            session.save()
        _say_what_was_left_out(fed, session, quiet)
        if stop.asked:
            _say_how_to_go_on(session, name, reading, options, fed.n_rows)
            sys.exit(0 if source.live and stop.signal == signal.SIGTERM else 1)
    if session.n_points == before:
        raise ValueError(f"{source.name}: there are no rows to insert")
    if not quiet:
        say(f"{watch}; saved as {session.path}")


def _say_what_was_left_out(fed: Any, session: Any, quiet: bool) -> None:
    if fed.n_bad == 0:
        return
    if not quiet:
        for problem in fed.bad:
            say(f"left out: {problem.place} {problem.why}")
    hint = "" if session.has_keys else "; ids count the points that are in the tree"
    say(f"{count(fed.n_bad, 'bad row')} left out{hint}")


def _say_how_to_go_on(
    session: Any, name: str, reading: Reading, options: dict[str, Any], next_row: int
) -> None:
    if session.n_points == 0:
        say("stopped before the first point: nothing was saved")
        return
    command = ["perch", "add", session.path, name]
    if name != "-":
        command += ["--skip-rows", str(next_row)]
    if reading.skip_bad:
        command += ["--skip-bad"]
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
    from ..outputs import check_writable
    from .feeding import listening
    from .session import Session

    check_writable(tree)
    with Session.open(tree, n_jobs, to_change=True) as session, listening() as stop:
        grown = session.model.tree_
        if grown.linkage == "box":
            raise ValueError(f"{tree} is of the paper's modes, which have no linkage to refine by")
        before = grown.stats.grafts
        try:
            grown.refine(
                passes,
                neighbors=neighbors,
                time_limit=time_limit,
                verbose=not quiet and sys.stderr.isatty(),
            )
            stop.ignore()
        except KeyboardInterrupt:
            stop.end(signal.SIGINT)
        session.save()
        if not quiet or stop.asked:
            say(
                f"{'stopped; ' * stop.asked}{grown.stats.grafts - before:,} grafts were made, "
                f"depth is now {grown.depth.max}; saved as {tree}"
            )
        if stop.asked:
            sys.exit(1)
