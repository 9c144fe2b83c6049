"""Answers about pairs of ids, in files and in folders."""

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..collection import Collection

COLUMNS = ["a", "b", "same"]
_WORDS = {True: "yes", False: "no", None: "skip"}
_GUARDED = re.compile(r"'+[=+\-@\t\r]")


class Answers:
    """Pairs of keys and the answers, None where there was none, in the order they were given."""

    def __init__(self, where: str) -> None:
        self.where = where
        """The file or folder that they are kept in."""
        self.pairs: list[tuple[Any, Any]] = []
        self.same: list[bool | None] = []
        self.gone: list[tuple[str, str, bool | None]] = []
        """Answers about records that are not in the tree (any longer): they stay in the file."""

    @property
    def n_told(self) -> int:
        return sum(answer is not None for answer in self.same)

    def add(self, pair: tuple[Any, Any], same: bool | None) -> None:
        """Take an answer; it is safe when this returns."""
        self.pairs.append(pair)
        self.same.append(same)
        self._keep(pair)

    def undo(self) -> tuple[Any, Any]:
        """Take back the last answer: the pair it was about."""
        pair = self.pairs.pop()
        self.same.pop()
        self._keep(pair)
        return pair

    def _keep(self, pair: tuple[Any, Any]) -> None:
        """Store the present answer about a pair with all others: the file is always complete."""
        from ..outputs import open_table

        own = [(a, b, same) for (a, b), same in zip(self.pairs, self.same, strict=True)]
        rows = [(a, b, _WORDS[same]) for a, b, same in [*self.gone, *own]]
        with open_table(self.where) as write:
            write({column: [row[i] for row in rows] for i, column in enumerate(COLUMNS)})


class KeptAnswers(Answers):
    """Answers that the folder of a collection keeps, each as an operation of its own."""

    def __init__(self, collection: "Collection", where: str) -> None:
        super().__init__(where)
        self._collection = collection
        for a, b, same in collection.answers:
            self.pairs.append((a, b))
            self.same.append(same)

    def _keep(self, pair: tuple[Any, Any]) -> None:
        if pair in self.pairs:
            self._collection.answer([pair], [self.same[self.pairs.index(pair)]])
        else:
            self._collection.take_back_answers([pair])


def answers_in(collection: "Collection", name: str) -> Answers:
    """The answers in a file, or in the folder itself."""
    from ..collection.durable import is_folder

    if not is_folder(name):
        return read_answers(collection, name)
    if collection.path is None or collection.path.resolve() != Path(name).resolve():
        raise ValueError(f"{name} is another folder: give a file of answers, or TREE itself")
    return KeptAnswers(collection, name)


def read_answers(collection: "Collection", name: str) -> Answers:
    """The answers in a file about records that are in the collection."""
    from ..inputs.batches import InputError
    from ..inputs.pairs import read_pairs

    answers = Answers(name)
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
    """Reject a file with columns of other kinds: it is about to be written anew."""
    delimiter = "\t" if name.lower().endswith(".tsv") else ","
    with open(name, encoding="utf-8-sig", newline="") as file:
        names = next(csv.reader(file, delimiter=delimiter), COLUMNS)
    if sorted(names) != COLUMNS:
        raise ValueError(
            f"{name} has other columns than a, b and same, which would be lost: give another file"
        )
