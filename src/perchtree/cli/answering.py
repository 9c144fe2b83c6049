"""ask: show two records at a time, and store the answers."""

import sys
from typing import TYPE_CHECKING

import click

from .options import QUIET, TREE
from .patience import patience
from .running import Command, count, say

if TYPE_CHECKING:
    from rich.console import Console

    from ..collection import Collection
    from .answers import Answers

_AT_ONCE = 10
"""Questions that are picked at once, before answers are taken into account."""
_FITS, _FEWER, _LARGE = 20, 5, 50_000
"""Fits for the estimate after each answer, and how many if there are more points than this."""
_KEYS = {"y": True, "n": False, "s": None}
_PROMPT = "The same? y = yes, n = no, s = skip, u = undo, q = quit: "


@click.command(cls=Command)
@TREE
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="A .csv or .tsv file for the answers. An existing file is continued. [default for a "
    "folder: stored in TREE]",
)
@click.option(
    "-n",
    "most",
    type=click.IntRange(1),
    metavar="N",
    help="Stop after N answers in total. [default: ask until you press q]",
)
@click.option(
    "--correct",
    is_flag=True,
    help="At the end, turn all answers into corrections of TREE, like `perch correct --from`.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, help="Change this to get different pairs."
)
@QUIET
def ask(
    tree: str, output: str | None, most: int | None, correct: bool, seed: int, quiet: bool
) -> None:
    """Show two records of TREE at a time and ask whether they are the same.

    A hundred answers are usually enough for a good cut, three hundred for nearly the best one.
    After each answer, the estimated quality of the best cut is shown; `perch cut --answers FILE`
    makes that cut. Every answer is saved immediately. Stop with q, Ctrl-C or the end of the input.

    Pairs are chosen to be informative: a few are obvious, and most later ones are not.

    \b
    Examples:
      perch ask people.perch -o answers.csv
      perch cut people.perch --answers answers.csv -o clusters.csv
      perch ask people.perch -o answers.csv -n 300 --correct
      perch ask people.perchdb && perch cut people.perchdb --answers people.perchdb -o clusters.csv
    """
    from ..collection.durable import is_folder
    from ..outputs import check_output, check_writable
    from .opening import open_collection

    if output is not None:
        check_output(output, (".csv", ".tsv"), force=True, inputs=[tree])
    elif not is_folder(tree):
        raise click.UsageError(f"{tree} is a file, so give a file for the answers with -o")
    if correct:
        check_writable(tree)
    with open_collection(tree, write=correct or output is None) as collection:
        answers = _begin(collection, output, tree)
        if answers.gone:
            say(f"{count(len(answers.gone), 'answer')} about records that are not in {tree}")
        try:
            _go_on(collection, answers, most, seed, quiet)
        finally:
            if not quiet and answers.pairs:
                say(
                    f"{count(answers.n_told, 'answer')} in {answers.where}; "
                    f"next: perch cut {tree} --answers {answers.where} -o clusters.csv"
                )
        if correct:
            refused = collection.correct_by(answers.pairs, answers.same)
            collection.save(tree)
            if refused:
                left_out = count(len(refused), "answer")
                say(f"{left_out} contradicting others not made into corrections")
            if not quiet:
                say(f"{count(len(collection.pairs), 'correction')}; saved as {tree}")


def _begin(collection: "Collection", output: str | None, tree: str) -> "Answers":
    """The answers so far, in a file or in the folder itself."""
    from pathlib import Path

    from .answers import Answers, answers_in, check_columns

    if output is None:
        return answers_in(collection, tree)
    if not Path(output).exists():
        return Answers(output)
    check_columns(output)
    return answers_in(collection, output)


def _go_on(
    collection: "Collection", answers: "Answers", most: int | None, seed: int, quiet: bool
) -> None:
    """Ask until the user stops; each answer is saved before the next question."""
    from .beside import beside, make_console

    console = make_console()
    waiting: list[tuple[object, object]] = []
    while most is None or answers.n_told < most:
        if not waiting:
            with patience("looking for questions (and compiling, the first time)"):
                waiting = collection.questions(_AT_ONCE, answers.pairs, answers.same, seed=seed)
        if not waiting:
            say("no pairs left to ask about")
            return
        pair = waiting.pop(0)
        console.print(f"\nQuestion {len(answers.pairs) + 1}")
        console.print(beside(collection, pair, plain=not console.is_terminal))
        said = _listen(console)
        if said == "q":
            return
        if said == "u":
            waiting.insert(0, pair)
            if answers.pairs:
                waiting.insert(0, answers.undo())
                console.print("Last answer undone.")
            else:
                console.print("There is no answer to undo.")
            continue
        answers.add(pair, _KEYS[said])
        if said != "s" and not quiet:
            _tell(console, collection, answers)


def _listen(console: "Console") -> str:
    """One of the keys; q at the end of the input."""
    while True:
        console.print(_PROMPT, end="")
        if sys.stdin.isatty():
            said = click.getchar()
            console.print(said if said.isprintable() else "")
        else:
            line = sys.stdin.readline()
            said = line.strip() if line else "q"
            console.print(said[:20] if said.isprintable() else "")
        key = said[:1].lower()
        if key in (*_KEYS, "u", "q"):
            return key
        console.print("Press y, n, s, u or q.")


def _tell(console: "Console", collection: "Collection", answers: "Answers") -> None:
    """Print how good the best cut is estimated to be."""
    n_fits = _FITS if len(collection) <= _LARGE else _FEWER
    with patience("estimating (and compiling, the first time)"):
        found = collection.calibrate(answers.pairs, answers.same, n_fits=n_fits)
    console.print(f"Best cut after {count(found.n_answers, 'answer')}: {found}.")
    for doubt in found.doubts[:1]:
        console.print(f"But note: {doubt}.")
