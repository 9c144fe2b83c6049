"""A clear error for arguments that were renamed."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Refuse old names of arguments with an error that tells the new ones.

    `inspect`, type checkers and doctest see the decorated function as it was.

    Examples
    --------
    >>> @renamed(labels="classes")
    ... def colour(classes): ...
    >>> colour(labels=[0, 1])
    Traceback (most recent call last):
    TypeError: colour() takes 'classes' now, not 'labels'
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for old in kwargs:
                if old in names:
                    name = function.__name__
                    raise TypeError(f"{name}() takes {names[old]!r} now, not {old!r}")
            return function(*args, **kwargs)

        return checked

    return decorate
