"""Every setting of a tree, declared once: constructors, files, options and `repr` follow from it.

Nothing heavy is imported here, so that the command line can list its options quickly.
"""

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, Self, TypeVar

from ._arguments import as_choice, as_count, as_share

F = TypeVar("F", bound=Callable[..., Any])

MAX_ROWS = 2**30
"""The most points, leaves or nodes that any setting may ask for."""


ASKED = 12
"""Neighbours that an insert asks for in a tree with edges."""

LISTED = 24
"""Neighbours that each leaf lists there: those it found, and those that found it later."""


class Rule(NamedTuple):
    """What a setting may be, and what the command line says of it."""

    help: str
    choices: tuple[str | None, ...] = ()
    """The names it can have; without any it is a whole number."""
    least: int | None = 1
    most: int | None = MAX_ROWS
    optional: bool = False
    """Whether None stands for "not set"."""
    is_share: bool = False
    """Whether it is a number above 0, and at most 1."""

    def checked(self, name: str, value: Any) -> Any:
        """The value, as a plain Python object; an error that says what it must be otherwise."""
        if self.choices:
            return value if value in self.choices else as_choice(name, value, self.choices)
        if value is None and self.optional:
            return None
        if self.is_share:
            return as_share(name, value)
        return as_count(name, value, least=self.least, most=self.most)


def _named(default: str, choices: tuple[str | None, ...], help: str) -> Any:
    return field(default=default, metadata={"rule": Rule(help, choices)})


def _number(default: float | None, help: str, **limits: Any) -> Any:
    rule = Rule(help, optional=default is None, **limits)
    return field(default=default, metadata={"rule": rule})


@dataclass(frozen=True)
class Settings:
    """The settings of a tree; `ClusterTree` says what each means."""

    linkage: str = _named(
        "average",
        ("average", "ward", "neighbors", "box"),
        "How the distance between nodes is measured, which rotations are based on; box is the "
        "published algorithm.",
    )
    graft: int = _number(
        5,
        "Number of nearest neighbours to consider for grafts; 0 for no grafts.",
        least=0,
        most=1000,
    )
    masking: str | None = _named(
        "published", ("published", "interval", "exact", None), "The masking rotations of the paper."
    )
    balance: str | None = _named(
        "size", ("size", "ratio", None), "The balance rotations of the paper."
    )
    search: str = _named(
        "auto", ("auto", "astar", "scan", "beam", "cells"), "How the nearest leaf is found."
    )
    beam_width: int = _number(120, "Number of nodes that a beam search keeps at each level.")
    recall: float = _number(
        0.98, "Target share of true nearest neighbours for --search cells.", is_share=True
    )
    max_leaves: int | None = _number(
        None, "Collapsed mode: keep at most this many leaves, which limits memory."
    )
    metric: str = _named("euclidean", ("euclidean", "cosine"), "cosine normalises rows first.")
    n_jobs: int | None = _number(
        None, "Number of threads for searching; -1 for all cores.", least=None, most=None
    )

    def __post_init__(self) -> None:
        for name, rule in RULES.items():
            object.__setattr__(self, name, rule.checked(name, getattr(self, name)))
        if self.n_jobs == 0:
            raise ValueError("n_jobs must not be 0: give a number of threads, or -1 for all cores")
        if self.masking == "exact" and self.max_leaves is not None:
            raise ValueError(
                "masking='exact' needs the features of all points, which collapsing drops: "
                "leave out max_leaves, or choose another masking"
            )
        if self.search == "cells" and self.max_leaves is not None:
            raise ValueError(
                "search='cells' needs the features of all points, which collapsing drops: "
                "leave out max_leaves, or choose another search"
            )
        if self.has_edges and self.collapses:
            raise ValueError(
                "linkage='neighbors' needs the features of all points, which collapsing drops: "
                "leave out max_leaves, or choose linkage='average'"
            )
        if self.linkage != "box" and (self.masking, self.balance) != ("published", "size"):
            raise ValueError(
                f"masking and balance are rules about boxes: leave them out with "
                f"linkage={self.linkage!r}, or choose linkage='box'"
            )

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Settings by name; TypeError for a name that is none of them."""
        for name in given:
            if name not in RULES:
                close = difflib.get_close_matches(name, RULES, 1)
                hint = f": did you mean {close[0]!r}?" if close else ""
                raise TypeError(f"there is no setting {name!r}{hint}")
        return cls(**given)

    @property
    def collapses(self) -> bool:
        """Whether the number of leaves is bounded (section 4.2)."""
        return self.max_leaves is not None

    @property
    def is_cosine(self) -> bool:
        """Whether rows are normalised, so that distances are those of directions."""
        return self.metric == "cosine"

    @property
    def has_linkage(self) -> bool:
        """Whether nodes keep means and scatters, and rotations go by them."""
        return self.linkage != "box"

    @property
    def has_edges(self) -> bool:
        """Whether leaves list their nearest neighbours, and edges between them count."""
        return self.linkage == "neighbors"

    @property
    def listed(self) -> int:
        """How many nearest neighbours a leaf lists."""
        return LISTED if self.has_edges else 0

    @property
    def neighbors(self) -> int:
        """How many neighbours an insert asks for."""
        return max(1, self.graft, ASKED * self.has_edges) if self.has_linkage else 1

    def changed(self, **changes: Any) -> Self:
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """All of them by name, as JSON can hold them."""
        return {name: getattr(self, name) for name in RULES}

    def unusual(self) -> dict[str, Any]:
        """Those that differ from the defaults."""
        return {
            name: value for name, value in self.as_dict().items() if value != getattr(USUAL, name)
        }


RULES: dict[str, Rule] = {item.name: item.metadata["rule"] for item in fields(Settings)}
"""Name -> rule, in the order of declaration."""

USUAL = Settings()
"""The defaults."""

FIXED = tuple(name for name in RULES if name != "n_jobs")
"""What cannot be changed once a tree is made."""


def takes_settings(init: F) -> F:
    """Show all settings in the signature of an `__init__` that takes `**settings`."""
    signature = inspect.signature(init)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    added = [
        inspect.Parameter(item.name, inspect.Parameter.KEYWORD_ONLY, default=item.default)
        for item in fields(Settings)
    ]
    init.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    return init
