"""A clear error for arguments of earlier versions."""

import functools
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Reject old names of arguments with an error that gives the new ones.

    `inspect`, type checkers and doctest see the decorated function as it was.

    Examples
    --------
    >>> @renamed(labels="classes")
    ... def colour(classes): ...
    >>> colour(labels=[0, 1])
    Traceback (most recent call last):
    TypeError: colour() takes 'classes' now, not 'labels'
    """
    return _refusing({old: f"takes {new!r} now, not {old!r}" for old, new in names.items()})


def moved(**places: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Reject arguments that have moved elsewhere with an error that tells where.

    Examples
    --------
    >>> @moved(keys="Collection.add")
    ... def save(path): ...
    >>> save("x", keys=[0, 1])
    Traceback (most recent call last):
    TypeError: save() does not take 'keys' any more: give them to Collection.add
    """
    return _refusing(
        {
            old: f"does not take {old!r} any more: give them to {place}"
            for old, place in places.items()
        }
    )


def _refusing(errors: Mapping[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for old in kwargs:
                if old in errors:
                    raise TypeError(f"{function.__name__}() {errors[old]}")
            return function(*args, **kwargs)

        return checked

    return decorate
