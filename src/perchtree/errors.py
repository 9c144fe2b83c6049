"""Errors of this package that are not plain ValueErrors."""


class InvariantError(AssertionError):
    """A tree violates an invariant; the message names the node at fault."""


class CorruptFileError(ValueError):
    """A file is damaged; the message says which part."""


class ReadOnlyError(OSError):
    """Nothing can be written any longer; the message says why, and what to do."""
