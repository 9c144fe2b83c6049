"""Checks of single arguments, without heavy imports."""

from numbers import Integral, Real
from typing import Any


def as_choice(name: str, value: Any, choices: Any) -> Any:
    """One of several names; ValueError that lists them otherwise."""
    if value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {known}, got {value!r}")
    return value


def as_share(name: str, value: Any) -> float:
    """A number above 0, and at most 1."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    share = float(value)
    if not 0 < share <= 1:
        raise ValueError(f"{name} must be above 0, and at most 1, got {share:g}")
    return share


def as_count(name: str, value: Any, least: int | None = 1, most: int | None = None) -> int:
    """A whole number, at least `least`, and at most `most`; None for no such limit."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    count = int(value)
    if least is not None and count < least:
        raise ValueError(f"{name} must be at least {least}, got {count}")
    if most is not None and count > most:
        raise ValueError(f"{name} must be at most {most:,}, got {count}")
    return count
