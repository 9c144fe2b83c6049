"""Two records side by side in a terminal, with the words that differ marked."""

import difflib
from typing import TYPE_CHECKING, Any

from ..inert import inert_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..collection import Collection

_PLAIN_WIDTH = 100
"""Where there is no terminal."""
_NAME_LENGTH, _TEXT_LENGTH = 200, 2000
_MOST_FEATURES = 8


def make_console() -> "Console":
    """Where records are shown: standard output, in colour if that is a terminal."""
    import sys

    from rich.console import Console

    plain = not sys.stdout.isatty()
    return Console(
        file=sys.stdout, width=_PLAIN_WIDTH if plain else None, color_system=None if plain else
        "auto", markup=False, emoji=False, highlight=False, legacy_windows=False,
    )  # fmt: skip


def beside(collection: "Collection", pair: tuple[Any, Any], *, plain: bool) -> "Table":
    """A table of two records: keys, classes, texts; features if there are no texts.

    Words and numbers that differ are bold and underlined, on plain output between asterisks.
    """
    from rich import box
    from rich.table import Table

    ids = collection.ids_of(pair)
    table = Table(box=box.ASCII if plain else box.ROUNDED, expand=True, show_lines=True)
    table.add_column("")
    for key in pair:
        table.add_column(inert_line(key, _NAME_LENGTH), ratio=1, overflow="fold")
    known = {name: collection.records.column(name, ids) for name in ("texts", "classes")}
    for name, title in (("texts", "text"), ("classes", "class")):
        values = known[name]
        if values is not None and any(value is not None for value in values):
            a, b = ("" if value is None else str(value) for value in values)
            table.add_row(title, *mark(a, b, plain=plain))
    if known["texts"] is None:
        for title, a, b in _features(collection, ids):
            table.add_row(title, *mark(a, b, plain=plain))
    return table


def mark(a: str, b: str, *, plain: bool) -> "tuple[Text, Text]":
    """Two texts with the words marked that the other does not have at this place."""
    from rich.text import Text

    words = [inert_line(text, _TEXT_LENGTH).split() for text in (a, b)]
    matcher = difflib.SequenceMatcher(None, words[0], words[1], autojunk=False)
    common = matcher.get_matching_blocks()
    marked = []
    for side, own in enumerate(words):
        kept = {block[side] + i for block in common for i in range(block.size)}
        text = Text()
        for place, word in enumerate(own):
            text.append(" " if place else "")
            if place in kept:
                text.append(word)
            elif plain:
                text.append(f"*{word}*")
            else:
                text.append(word, style="bold underline yellow")
        marked.append(text)
    return marked[0], marked[1]


def _features(collection: "Collection", ids: Any) -> list[tuple[str, str, str]]:
    """The features that differ most: name or number, and both values."""
    import numpy as np

    try:
        a, b = collection.tree.vectors(ids)
    except ValueError:  # collapsed
        return []
    order = np.argsort(-np.abs(a - b), kind="stable")[:_MOST_FEATURES]
    names = collection.feature_names
    return [
        (
            inert_line(names[place] if names else f"feature {place + 1}", 30),
            f"{a[place]:.4g}",
            f"{b[place]:.4g}",
        )
        for place in order.tolist()
    ]
