"""Text from users and files made safe to show: in a terminal, on a page, in a picture.

A column name, an id or a file name can hold anything. Printed as it is, an escape sequence could
recolour, overwrite or hide what a terminal shows, and a bidirectional control could reorder it.
"""

import re
import unicodedata
from collections.abc import Sequence

MAX_NAME = 100
"""Characters of one name in a message."""

MAX_LINE = 1000
"""Characters of one message."""

# Control characters, and those that change the direction of the text after them; lone
# surrogates cannot be written to a file. Joiners stay: Persian and emojis need them.
_UNWANTED = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_ELLIPSIS = " ... "
_JOINERS = "\u200c\u200d"  # formatting characters that many scripts and emoji need, harmless


def inert_line(text: object, limit: int = MAX_LINE) -> str:
    """Text in one line of at most `limit` characters, with control characters spelled out.

    Line ends become spaces; control, formatting and surrogate characters become escapes such as
    `\\x1b`. A text that is too long loses its middle: the end of an error says what to do.

    >>> print(inert_line("a\\x1b[31m\\nb"))
    a\\x1b[31m b
    """
    # Cut before anything is examined, so that a text of many megabytes costs nothing more.
    line = _without_middle(str(text), 4 * limit)
    line = " ".join(filter(None, map(str.strip, line.splitlines())))
    line = "".join(map(_inert_character, line))
    return _without_middle(line, limit)


def one_line(text: object, longest: int | None = None) -> str:
    """The text on one line, without characters that act on what is around it: for pages and plots.

    >>> one_line("a  note\\n in \\u202etwo lines", longest=11)
    'a note in …'
    """
    line = _UNWANTED.sub("", " ".join(str(text).split()))
    if longest is None or len(line) <= longest:
        return line
    return line[: longest - 1] + "…"


def short_name(name: object) -> str:
    """A name as `repr` quotes and escapes it, shortened, for use in a message."""
    if isinstance(name, str):
        name = _without_middle(name, MAX_NAME)
    return _without_middle(repr(name), MAX_NAME + 2)


def short_list(names: Sequence[str], most: int = 20) -> str:
    """The first names of a list, each shortened."""
    shown = [inert_line(name, MAX_NAME) for name in names[:most]]
    return ", ".join([*shown, "..."] if len(names) > most else shown)


def _without_middle(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    tail = (limit - len(_ELLIPSIS)) // 3
    head = limit - len(_ELLIPSIS) - tail
    return text[:head] + _ELLIPSIS + text[len(text) - tail :]


def _inert_character(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    if unicodedata.category(character) in ("Co", "Cn", "Zs"):  # private, unassigned, spaces
        return character
    return character.encode("unicode_escape").decode()
