"""Errors of this package that are not plain ValueErrors."""


class InvariantError(AssertionError):
    """A tree is not what it should be: the message names the node at fault."""
