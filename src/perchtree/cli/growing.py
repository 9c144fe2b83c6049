"""fit, add and refine: commands that make a tree or change it."""

import contextlib
import shlex
import signal
import sys
from typing import TYPE_CHECKING, Any

import click

from .options import (
    FOLDER,
    FORCE,
    GROWING,
    GROWING_NAMES,
    INPUT,
    INPUT_COLUMNS,
    N_JOBS,
    NEW_TREE,
    QUIET,
    SETTINGS,
    TREE,
    Reading,
)
from .patience import COMPILING, patience
from .presets import MODES, parameters
from .running import Command, count, say

if TYPE_CHECKING:
    from ..collection import Collection
    from ..collection.intake import Taken
    from ..inputs.batches import Source

MANY = 200_000
"""Points from which on a search in cells is recommended."""
_SMALL = 4_000_000
"""Bytes of a text file whose rows are counted, to see whether they are few."""


@click.command(cls=Command)
@INPUT
@NEW_TREE
@click.option(
    "--mode",
    type=click.Choice(list(MODES)),
    default="grafted",
    show_default=True,
    help="grafted gives the purest trees. The modes of the paper: perch (exact search), b (beam "
    "search), c (collapsed, bounded memory), bc (both).",
)
@SETTINGS
@INPUT_COLUMNS
@GROWING
@FORCE
@QUIET
def fit(input: str, output: str, mode: str, force: bool, quiet: bool, **options: Any) -> None:
    """Build a tree from the rows of INPUT, in the order they appear.

    INPUT is a .npy or .npz file, a Parquet file, a folder of .npy or Parquet files, CSV, TSV or
    JSON Lines (optionally gzipped), the PERCH authors' data files (--format authors), or - for a
    stream of CSV or JSON Lines on standard input. Rows of a stream are inserted as they arrive.

    Only the tree and one batch of rows are held in memory. Ctrl-C saves what has been inserted,
    tells you how to continue, and exits with 1. So does SIGTERM, except that it exits with 0 if
    the input is a stream.

    If --text names a column and no feature columns are left, or if --encode is given, texts are
    turned into vectors. Word frequencies are learned in a first pass over the file, or from the
    first batch of a stream, and stay fixed after that.

    In a folder, NAME.perchdb, every batch is on disk before the next one is read. After any kind of
    interruption, run the same command again to continue. If INPUT is a tree file, it is converted
    to a folder.

    With --ray, a cluster does the searching and this machine inserts; the tree is the same. INPUT
    must then be a .npy or Parquet file, or a folder of them, on a path that all machines can read.
    After any kind of interruption, run the same command again to continue from the last snapshot.

    \b
    Examples:
      perch fit vectors.npy -o vectors.perch --n-jobs -1
      perch fit titles.csv -o titles.perch --id id --text title
      perch fit people.csv -o people.perch --id person --text name --features 'f*'
      perch fit embeddings/ -o big.perch --mode bc --max-leaves 20000 --features embedding
      tail -f events.jsonl | perch fit - -o events.perchdb
      perch fit people.perch -o people.perchdb
      perch fit vectors/ -o big.perch --ray auto
    """
    reading = Reading.taken_from(options)
    growing = {name: options.pop(name) for name in GROWING_NAMES}
    chosen = parameters(mode, options)

    from ..collection import Collection
    from ..outputs import check_output

    if output == "-":
        raise click.UsageError("a tree is not written to standard output: give a file's name")
    if output.rstrip("/").endswith(FOLDER):
        _fit_folder(input, output, chosen, reading, growing, force, quiet)
        return
    check_output(output, force=force, inputs=[input])
    with Collection(**chosen) as collection:
        collection.hold(output)
        _grow(collection, output, input, reading, growing, quiet)


def _fit_folder(
    input: str,
    output: str,
    chosen: dict[str, Any],
    reading: Reading,
    growing: dict[str, Any],
    force: bool,
    quiet: bool,
) -> None:
    """Make a tree in a folder, or continue where the same command was interrupted."""
    from pathlib import Path

    from ..collection import Collection
    from ..collection.resuming import next_row
    from .opening import check_tree_output, open_collection

    if growing["compress"]:
        raise click.UsageError(f"{output} is a folder, and only files are compressed")
    if force and Path(output).exists():
        raise ValueError(f"{output} exists: folders are not replaced, remove it first")
    if input.endswith(".perch"):
        check_tree_output(output, force=False, inputs=[input])
        stored = open_collection(input)
        stored.save(output)
        if not quiet:
            say(f"{count(len(stored), 'record')} copied from {input} to {output}")
        return
    is_new = not Path(output).exists()
    with contextlib.ExitStack() as stack:
        collection = Collection.open(output, write=True, **chosen)
        if is_new:  # and nothing came into it: then there was none
            stack.callback(_remove_if_empty, collection, output)
        stack.enter_context(collection)
        remembered = _input_name(input, reading, growing)
        begun = next_row(collection.progress, remembered, collection.next_id)
        if collection.next_id and begun is None:
            raise FileExistsError(f"{output} exists: add to it with `perch add`, or remove it")
        _grow(collection, output, input, reading, growing, quiet)


def _remove_if_empty(collection: "Collection", path: str) -> None:
    import shutil

    if collection.next_id == 0:
        shutil.rmtree(path)


def _input_name(name: str, reading: Reading, options: dict[str, Any]) -> str:
    """The name by which a folder remembers an input; None for a stream, which cannot be resumed."""
    from ..inputs.stores import whole_name

    if name == "-":
        return ""
    shuffled = [] if options["shuffle"] is None else ["--shuffle", str(options["shuffle"])]
    return shlex.join([whole_name(name), *reading.as_options(), *shuffled])


@click.command(cls=Command)
@TREE
@INPUT
@N_JOBS
@INPUT_COLUMNS
@GROWING
@click.option(
    "--update",
    is_flag=True,
    help="If an id already exists, replace that record's vector, text and class. [default: fail]",
)
@QUIET
def add(
    tree: str, input: str, n_jobs: int | None, update: bool, quiet: bool, **options: Any
) -> None:
    """Add the rows of INPUT to TREE. The file is replaced atomically at the end.

    Without --update, the result is the tree that `fit` would have built from all rows. If the tree
    has named features, columns are matched by name. If its vectors were made from texts, name the
    text column with --text; texts are encoded as before. INPUT can be anything that `perch fit`
    accepts.

    \b
    Examples:
      perch add people.perch more.csv --id person --text name
      perch add people.perch corrected.csv --id person --text name --update
      perch add vectors.perch vectors.npy --skip-rows 120000
    """
    reading = Reading.taken_from(options)

    from ..outputs import check_writable
    from .opening import open_collection

    check_writable(tree)
    with open_collection(tree, n_jobs, write=True, may_be_empty=True) as collection:
        _grow(collection, tree, input, reading, options, quiet, update=update)
        for kind, column in (("class", "classes"), ("text", "texts")):
            (last,) = collection.records.values(column, collection.ids[-1:])
            if last is None and getattr(collection, column) is not None:
                say(f"warning: new points have no {kind}, unlike earlier ones: use --{kind}")


def _grow(
    collection: "Collection",
    path: str,
    name: str,
    reading: Reading,
    options: dict[str, Any],
    quiet: bool,
    *,
    update: bool = False,
) -> None:
    from ..collection.intake import Intake
    from ..collection.resuming import next_row
    from .distributing import check_options, fit_on_cluster, joined_cluster
    from .encoding import open_for, say_encoder, warn_of_small_sample
    from .opening import choose_compression
    from .progress import Watch, shown_progress
    from .signals import listening

    check_options(collection, options, update=update)
    choose_compression(collection, options["compress"], path)
    with listening() as stop, contextlib.ExitStack() as stack:
        try:
            source = open_for(collection, reading, name, options["shuffle"], quiet=quiet)
            workers = stack.enter_context(joined_cluster(collection, options["ray"]))
            few = _has_few_rows(name, source)
            _compile_ahead(collection, few, quiet)
        except KeyboardInterrupt:
            say("stopped before the first point: nothing was saved")
            sys.exit(0 if name == "-" and stop.signal == signal.SIGTERM else 1)
        if options["shuffle"] is not None and len(collection) == 0:
            collection.notes["keys_are_rows"] = True
        remembered = _input_name(name, reading, options)
        first_row = options["skip_rows"]
        begun = next_row(collection.progress, remembered, collection.next_id)
        if begun is not None:
            where = "with new rows"
            if remembered:
                first_row = max(first_row, begun)
                where = f"at row {first_row} of {name}"
            say(f"{path} already has {count(len(collection), 'point')}: continuing {where}")
        watch, before = Watch(collection), collection.next_id
        searched = ""
        if workers is not None:
            taken, searched = fit_on_cluster(
                workers, collection, path, name, reading, options, remembered, begun, stop,
                quiet=quiet,
            )  # fmt: skip
        else:
            with shown_progress(collection, source, quiet=quiet) as show:
                intake = Intake(
                    collection, source, n_rows=reading.batch, first_row=first_row,
                    skip_bad=reading.skip_bad, update=update, name=remembered, show=show,
                )  # fmt: skip
                if options["checkpoint"] is not None:
                    intake.checkpoint_to(path, options["checkpoint"])
                with patience(
                    "working (and compiling, the first time)",
                    quiet=quiet or not few or sys.stderr.isatty(),
                ):
                    taken = intake.run(stop)
            if collection.next_id > before:
                collection.save(path)
        if source.live and before == 0 and not quiet:
            say_encoder(collection, reading)
            warn_of_small_sample(collection)
        _say_what_was_left_out(taken, collection, quiet)
        if stop.asked and options["ray"] is not None:
            say(f"stopped at {count(len(collection), 'point')}. Run the command again to continue")
            sys.exit(1)
        if stop.asked:
            command = ["perch", "add", path, name, *reading.as_options()] + ["--update"] * update
            _say_how_to_go_on(collection, path, command, options, taken.n_rows)
            sys.exit(0 if source.live and stop.signal == signal.SIGTERM else 1)
    if (
        collection.next_id == before
        and begun is None
        and not (reading.skip_bad and taken.n_bad and before)
    ):
        raise ValueError(f"{source.name}: no rows to insert")
    if not quiet:
        saved = f"saved as {path}" if collection.next_id > before else f"{path} is unchanged"
        if collection.is_kept:
            saved += f", durable up to row {taken.n_rows}"
        say(f"{watch}{searched}; {saved}")
        _recommend_cells(collection)


def _recommend_cells(collection: "Collection") -> None:
    """Recommend the faster search if all points were compared with each other."""
    is_slow = collection.settings.search == "auto" and collection.tree.stats.scanned > 0
    if is_slow and len(collection) >= MANY:
        say(
            "for this many points, `perch fit --search cells` takes a fraction of the time and "
            "finds 98 % of the nearest neighbours (docs/cells.md)"
        )


def _has_few_rows(name: str, source: "Source") -> bool:
    """Whether an input is so small that what it may need is not worth compiling beforehand."""
    from pathlib import Path

    from ..warmup import FEW

    if source.size is None or source.size <= FEW:  # rows, or not more of them than bytes
        return source.size is not None
    is_text = name.lower().endswith((".csv", ".tsv", ".jsonl"))
    return is_text and source.size <= _SMALL and Path(name).read_bytes().count(b"\n") <= FEW


def _compile_ahead(collection: "Collection", few: bool, quiet: bool) -> None:
    """Compile now all that may be needed later: not in the middle of a long run."""
    if few and len(collection):
        return
    from ..encode.hashed import Hashed
    from ..warmup import warm_up

    def compile_encoder() -> None:
        if isinstance(collection.encoder, Hashed):
            collection.encode([""])

    with patience(COMPILING, quiet=quiet):
        warm_up(collection.settings, few=few, meanwhile=compile_encoder)


def _say_what_was_left_out(taken: "Taken", collection: "Collection", quiet: bool) -> None:
    if taken.n_bad == 0:
        return
    if not quiet:
        for problem in taken.bad:
            say(f"skipped: {problem.place} {problem.why}")
    hint = "" if collection.has_keys else "; ids number only the points in the tree"
    say(f"{count(taken.n_bad, 'bad row')} skipped{hint}")


def _say_how_to_go_on(
    collection: "Collection", path: str, command: list[str], options: dict[str, Any], next_row: int
) -> None:
    if len(collection) == 0:
        say("stopped before the first point: nothing was saved")
        return
    if collection.is_kept and command[3] != "-":
        say(
            f"stopped; {path} has {count(len(collection), 'point')}. "
            "Run the command again to continue"
        )
        return
    if command[3] != "-":
        command += ["--skip-rows", str(next_row)]
    if options["shuffle"] is not None:
        command += ["--shuffle", str(options["shuffle"])]
    if options["checkpoint"] is not None:
        command += ["--checkpoint", f"{options['checkpoint']:g}"]
    say(
        f"stopped; {count(len(collection), 'point')} saved in {path}. To continue: "
        f"{shlex.join(command)}"
    )


@click.command(cls=Command)
@TREE
@click.option(
    "--passes",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="How many passes to make over all points.",
)
@click.option(
    "--neighbors",
    default=5,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="Neighbours to consider for each leaf.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Stop after about this many seconds.",
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
    """Improve TREE in place by reconsidering the position of every point.

    Not available in the paper's modes. Ctrl-C keeps the improvements made so far.
    """
    from ..outputs import check_writable
    from .opening import open_collection
    from .signals import listening

    check_writable(tree)
    with open_collection(tree, n_jobs, write=True) as collection, listening() as stop:
        grown = collection.tree
        if not grown.settings.has_linkage:
            raise ValueError(f"{tree} was built in one of the paper's modes: it cannot be refined")
        before = grown.stats.grafts
        has_bar = not quiet and sys.stderr.isatty()
        try:
            with patience("refining (and compiling, the first time)", quiet=quiet or has_bar):
                collection.refine(
                    passes, neighbors=neighbors, time_limit=time_limit, verbose=has_bar
                )
        except KeyboardInterrupt:
            stop.asked = True
        stop.ignore()
        collection.save(tree)
        if not quiet or stop.asked:
            say(
                f"{'stopped; ' * stop.asked}{count(grown.stats.grafts - before, 'graft')} made, "
                f"depth is now {grown.depth.max}; saved as {tree}"
            )
        if stop.asked:
            sys.exit(1)
