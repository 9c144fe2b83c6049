"""Files of answers: pairs of ids, and whether they are the same."""

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..collection import Collection

COLUMNS = ["a", "b", "same"]
_WORDS = {True: "yes", False: "no", None: "skip"}
_GUARDED = re.compile(r"'+[=+\-@\t\r]")


class Answers(NamedTuple):
    """Pairs of keys and the answers, None where there was none, in the order they were given."""

    pairs: list[tuple[Any, Any]]
    same: list[bool | None]
    gone: list[tuple[str, str, bool | None]]
    """Answers about records that are not in the tree (any more): they stay in the file."""

    @property
    def n_told(self) -> int:
        return sum(answer is not None for answer in self.same)


def read_answers(collection: "Collection", name: str) -> Answers:
    """The answers in a file about records that are in the collection."""
    from ..inputs.batches import InputError
    from ..inputs.pairs import read_pairs

    answers = Answers([], [], [])
    try:
        for pair in read_pairs(Path(name)):
            keys = [_find(collection, text) for text in (pair.a, pair.b)]
            if None in keys:
                answers.gone.append((_unguarded(pair.a), _unguarded(pair.b), pair.same))
                continue
            if keys[0] == keys[1]:
                raise InputError(f"line {pair.line} pairs a record with itself")
            answers.pairs.append((keys[0], keys[1]))
            answers.same.append(pair.same)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    return answers


def _find(collection: "Collection", text: str) -> Any:
    """The key that a cell stands for; None if no record has it."""
    from ..collection.intake import keys_from_texts

    for cell in dict.fromkeys([_unguarded(text), text]):
        (key,) = keys_from_texts(collection, [cell])
        try:
            collection.ids_of([key])
        except (ValueError, TypeError):
            continue
        return key
    return None


def _unguarded(text: str) -> str:
    """A cell without the apostrophe that keeps spreadsheets from running it; see `outputs`."""
    return text[1:] if _GUARDED.match(text) else text


def check_columns(name: str) -> None:
    """Refuse a file with columns of other kinds: it is about to be written anew."""
    delimiter = "\t" if name.lower().endswith(".tsv") else ","
    with open(name, encoding="utf-8-sig", newline="") as file:
        names = next(csv.reader(file, delimiter=delimiter), COLUMNS)
    if sorted(names) != COLUMNS:
        raise ValueError(
            f"{name} has other columns than a, b and same, which would be lost: give another file"
        )


def write_answers(name: str, answers: Answers) -> None:
    """Write all answers, in one step: whatever happens, the file is whole."""
    from ..outputs import open_table

    own = [(a, b, same) for (a, b), same in zip(answers.pairs, answers.same, strict=True)]
    rows = [(a, b, _WORDS[same]) for a, b, same in [*answers.gone, *own]]
    with open_table(name) as write:
        write({column: [row[i] for row in rows] for i, column in enumerate(COLUMNS)})
