"""From the names a user gives to compiled entry points: which functions make up which mode."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from . import (
    collapse,
    distances,
    insert,
    interchange,
    linkages,
    rotate,
    rows,
    rules,
)
from .jit import entry_point, kernel, specialise
from .schema import AStar, Floats, Ints, Queue, Scratch, Tree, Upkeep

Search = Callable[[Tree, Any, Floats], None]
"""Finds the leaf for one row: in the current tree, or among answers found before."""

Record = Callable[[Any, int, int], None]
"""Told which leaf an insert has made, and which one collapsing has."""

Grafts = Callable[[Tree, Upkeep, Ints, Ints], None]
"""Grafts leaves to their neighbours: `interchange.graft_rows` of a linkage."""


class Rules(NamedTuple):
    """What decides about rotations; see `ClusterTree`."""

    linkage: str
    grafts: bool
    masking: str | None
    balance: str | None


LINKAGES = {"box": None, "ward": linkages.ward, "average": linkages.average}
"""Name -> the formula; the paper's rotations go by boxes."""

MASKINGS = {
    "published": (rules.published_masked, rules.published_overlap, distances.published_max),
    "interval": (rules.interval_masked, rules.interval_overlap, distances.interval_max),
    "exact": (rules.exactly_masked, rules.exactly_masked, None),
    None: (None, rules.published_overlap, distances.published_max),
}
"""Name -> the masking test, condition 2 of section 4.1, and d+ for collapsing."""

BALANCES = {"size": rules.improves_size, "ratio": rules.improves_ratio, None: None}
"""Name -> condition 1 of section 4.1."""


@functools.cache
def insert_kernel(
    by: Rules, search: Search, record: Record, collapsing: bool
) -> Callable[[Tree, Scratch, Floats], None]:
    """Insert rows, each beside the leaf that `search` finds; only what is used is compiled."""
    note_change: Any = rotate.ignore_change
    collapse_surplus: Any = insert.no_collapse
    if collapsing:
        _, note_change, collapse_surplus = collapse_kernels(by)
    if by.linkage == "box":
        repair, settle_copy = box_repair(by, note_change), rotate.ignore_copy
    else:
        repair, settle_copy, _ = linkage_kernels(by, collapsing)
    return entry_point(
        specialise(
            insert.insert_rows,
            search=search,
            repair=repair,
            settle_copy=settle_copy,
            note_change=note_change,
            collapse_surplus=collapse_surplus,
            record=record,
        )
    )


def box_repair(by: Rules, note_change: Any) -> Any:
    """The paper's rotations."""
    is_masked, may_overlap, _ = MASKINGS[by.masking]
    improves_balance = BALANCES[by.balance]
    repair_masking = repair_balance = rotate.no_rotations
    if is_masked is not None:
        repair_masking = kernel(
            specialise(rotate.rotate_masked, is_masked=is_masked, note_change=note_change)
        )
    if improves_balance is not None:
        repair_balance = kernel(
            specialise(
                rotate.rotate_balanced,
                improves_balance=improves_balance,
                may_overlap=may_overlap,
                note_change=note_change,
            )
        )
    return kernel(
        specialise(
            rotate.repair_boxes, repair_masking=repair_masking, repair_balance=repair_balance
        )
    )


@functools.cache
def linkage_kernels(by: Rules, collapsing: bool) -> tuple[Any, Any, Grafts]:
    """What repairs the tree after an insert, and after a copy; and the grafts of `refine`."""
    parts: dict[str, Any] = {"formula": LINKAGES[by.linkage], "note_change": rotate.ignore_change}
    if collapsing:
        _, parts["note_change"], _ = collapse_kernels(by)
    # Each is bound to those before it that it names.
    for function in (
        linkages.linkage,
        linkages.linkage_of_union,
        linkages.fit_moments,
        linkages.fit_moments_up,
        interchange.interchange_once,
        interchange.interchange_up,
        interchange.join,
        interchange.graft_along,
        interchange.repair_linkage,
        interchange.repair_and_graft,
        interchange.settle_copy,
        interchange.graft_rows,
    ):
        named: Any = function
        used = {name: parts[name] for name in named.__code__.co_names if name in parts}
        make = entry_point if function is interchange.graft_rows else kernel
        parts[function.__name__] = make(specialise(named, **used))
    repair = parts["repair_and_graft" if by.grafts else "repair_linkage"]
    return repair, parts["settle_copy"], parts["graft_rows"]


@functools.cache
def rows_kernel(search: Search) -> Callable[[Tree, AStar, Floats, Floats, Ints], None]:
    """Search for many rows in the tree as it stands."""
    return entry_point(specialise(rows.search_rows, search=search))


@functools.cache
def collapse_kernels(
    by: Rules,
) -> tuple[
    Callable[[Tree, int], int],
    Callable[[Tree, Queue, int], None],
    Callable[[Tree, Upkeep], int],
]:
    """The key of a collapsible node, how one is queued, and how surplus leaves are collapsed."""
    farthest = MASKINGS[by.masking][2] if by.linkage == "box" else linkages.sibling_linkage
    key = kernel(specialise(collapse.collapse_key, farthest=farthest))
    note = kernel(specialise(collapse.note_change, collapse_key=key))
    fill = kernel(specialise(collapse.fill_queue, note_change=note))
    surplus = kernel(
        specialise(collapse.collapse_surplus, collapse_key=key, note_change=note, fill_queue=fill)
    )
    return key, note, surplus
