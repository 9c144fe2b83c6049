"""Tables in a terminal: as wide as it is, and safe whatever the texts contain."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..inert import inert_line

_LONGEST = 300
"""Characters of one cell; most terminals show fewer."""
_WIDTH = 120
"""Characters of a line where there is no terminal."""
_STYLES = {"keywords": "bold", "text": "dim", "kind": "bold"}
_FLEXIBLE = {"keywords": 3, "text": 4}
"""Columns that share the room that is left, and in which proportions."""


_NAMES = ("id", "exemplar", "cluster")
"""Columns whose numbers are names: they are not counts, and have no commas."""


def show_table(columns: Mapping[str, Sequence[Any]]) -> None:
    """Print a table, numbers on the right; what is too long for its column ends in an ellipsis."""
    console = Console(file=sys.stdout, highlight=False)
    if not console.is_terminal:
        console = Console(file=sys.stdout, highlight=False, width=_WIDTH)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, expand=not _FLEXIBLE.keys().isdisjoint(columns))
    for name, values in columns.items():
        numbers = all(isinstance(value, int | float) for value in values)
        table.add_column(
            name, justify="right" if numbers else "left", style=_STYLES.get(name, ""),
            ratio=_FLEXIBLE.get(name), no_wrap=True, overflow="ellipsis",
        )  # fmt: skip
    for row in zip(*columns.values(), strict=True):
        table.add_row(*map(_cell, columns, row))
    console.print(table)


def _cell(name: str, value: Any) -> Text:
    if value is None:
        return Text("")
    if isinstance(value, float):
        return Text(f"{value:.2f}")
    if type(value) is int and name not in _NAMES:
        return Text(f"{value:,}")
    return Text(inert_line(value, _LONGEST))
