"""From the names a user gives to compiled entry points: which functions make up which mode."""

import functools
from collections.abc import Callable
from typing import Any

from . import astar, beam, boxscan, collapse, distances, insert, prepared, rotate, rules
from .jit import entry_point, kernel, specialise
from .schema import AStar, Floats, Ints, Queue, Scratch, Tree

MASKINGS = {
    "published": (rules.published_masked, rules.published_overlap, distances.published_max),
    "interval": (rules.interval_masked, rules.interval_overlap, distances.interval_max),
    "exact": (rules.exactly_masked, rules.exactly_masked, None),
    None: (None, rules.published_overlap, distances.published_max),
}
"""Name -> the masking test, condition 2 of section 4.1, and d+ for collapsing."""

BALANCES = {"size": rules.improves_size, "ratio": rules.improves_ratio, None: None}
"""Name -> condition 1 of section 4.1."""

SEARCHES: dict[str, Callable[[Tree, Any, Floats], None]] = {
    "astar": astar.astar,
    "beam": beam.beam_with_sample,
    "leaves": boxscan.scan_leaves,
    "prepared": prepared.look_up,
    "revised": prepared.revise,
}
"""How the leaf for one row is found: in the current tree, or looked up."""


@functools.cache
def insert_kernel(
    masking: str | None, balance: str | None, search: str, collapsing: bool
) -> Callable[[Tree, Scratch, Floats], None]:
    """Insert rows; only what this mode uses is compiled."""
    is_masked, may_overlap, _ = MASKINGS[masking]
    improves_balance = BALANCES[balance]
    note_change: Any = rotate.ignore_change
    collapse_surplus: Any = insert.no_collapse
    if collapsing:
        _, note_change, collapse_surplus = collapse_kernels(masking)
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
    return entry_point(
        specialise(
            insert.insert_rows,
            search=SEARCHES[search],
            repair_masking=repair_masking,
            repair_balance=repair_balance,
            note_change=note_change,
            collapse_surplus=collapse_surplus,
            record=prepared.record_leaves if search == "revised" else insert.no_record,
        )
    )


@functools.cache
def rows_kernel(search: str) -> Callable[[Tree, AStar, Floats, Floats, Ints], None]:
    """Search for many rows in the tree as it stands."""
    return entry_point(specialise(prepared.search_rows, search=SEARCHES[search]))


@functools.cache
def collapse_kernels(
    masking: str | None,
) -> tuple[
    Callable[[Tree, int], int],
    Callable[[Tree, Queue, int], None],
    Callable[[Tree, Queue], int],
]:
    """The key of a collapsible node, how one is queued, and how surplus leaves are collapsed."""
    key = kernel(specialise(collapse.collapse_key, farthest=MASKINGS[masking][2]))
    note = kernel(specialise(collapse.note_change, collapse_key=key))
    fill = kernel(specialise(collapse.fill_queue, note_change=note))
    surplus = kernel(
        specialise(collapse.collapse_surplus, collapse_key=key, note_change=note, fill_queue=fill)
    )
    return key, note, surplus
