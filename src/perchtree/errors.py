"""Errors of this package that are not plain ValueErrors."""


class InvariantError(AssertionError):
    """A tree is not what it should be: the message names the node at fault."""


class CorruptFileError(ValueError):
    """A file is not what was saved: the message says which part of it is damaged."""


class ReadOnlyError(OSError):
    """Nothing can be written any more; the message says why, and what to do."""
