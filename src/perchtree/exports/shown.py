"""Text of the user's, made fit to be shown amid other text."""

import re

# Control characters, and those that change the direction of the text after them; lone
# surrogates cannot be written to a file. Joiners stay: Persian and emojis need them.
_UNWANTED = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(text: object, longest: int | None = None) -> str:
    """The text on one line, without characters that act on what is around it.

    >>> one_line("a  note\\n in \\u202etwo lines", longest=11)
    'a note in …'
    """
    line = _UNWANTED.sub("", " ".join(str(text).split()))
    if longest is None or len(line) <= longest:
        return line
    return line[: longest - 1] + "…"
