"""From the names a user gives to compiled entry points: which functions make up which mode."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from . import (
    collapse,
    distances,
    edges,
    insert,
    interchange,
    linkages,
    links,
    nearby,
    neighbors,
    remove,
    rotate,
    rows,
    rules,
)
from .jit import entry_point, kernel, specialise
from .schema import AStar, Bools, Counts, Floats, Ints, Queue, Scratch, Tree, Upkeep

Search = Callable[[Tree, Any, Floats], None]
"""Finds the leaf for one row: in the current tree, or among answers found before."""

Record = Callable[[Any, int, int], None]
"""Told which leaf an insert has made, and which one collapsing has."""

Grafts = Callable[[Tree, Upkeep, Ints, Ints], None]
"""Grafts leaves to their neighbours: `interchange.graft_rows` of a linkage."""

Meetings = Callable[[Tree, Ints, Ints], None]
"""Lets leaves list their neighbours: `edges.meet_rows`."""


class Rules(NamedTuple):
    """What decides about rotations; see `ClusterTree`."""

    linkage: str
    grafts: bool
    masking: str | None
    balance: str | None


LINKAGES = {"ward": linkages.ward, "average": linkages.average}
"""Name -> the formula. The paper's rotations go by boxes, "neighbors" also by edges."""

MASKINGS = {
    "published": (rules.published_masked, rules.published_overlap, distances.published_max),
    "interval": (rules.interval_masked, rules.interval_overlap, distances.interval_max),
    "exact": (rules.exactly_masked, rules.exactly_masked, None),
    None: (None, rules.published_overlap, distances.published_max),
}
"""Name -> the masking test, condition 2 of section 4.1, and d+ for collapsing."""

BALANCES = {"size": rules.improves_size, "ratio": rules.improves_ratio, None: None}
"""Name -> condition 1 of section 4.1."""


class Repairs(NamedTuple):
    """What puts a tree in order again, by the rules of its mode."""

    after_insert: Any
    after_count: Any
    """After a leaf has one id more or less."""
    after_removal: Any
    find_orphan: Any
    """The leaf that a removal is to look for grafts to."""
    leave_lists: Any
    """Before a leaf is removed."""
    graft_rows: Grafts | None
    """Passes of grafts over a tree that stands; only with a linkage."""
    fit_nodes: Callable[[Tree, Ints], None] | None
    """What is known of nodes, from what is known of their children; only with a linkage."""
    meet_rows: Meetings | None = None
    """Lists of nearest neighbours, and edges; only in a tree that has them."""


@functools.cache
def insert_kernel(
    by: Rules, search: Search, record: Record, collapsing: bool
) -> Callable[[Tree, Scratch, Floats], None]:
    """Insert rows, each beside the leaf that `search` finds; only what is used is compiled."""
    repairs = repair_kernels(by, collapsing)
    return entry_point(
        specialise(
            insert.insert_rows,
            search=search,
            repair=repairs.after_insert,
            settle_copy=repairs.after_count,
            note_change=_note_change(by, collapsing),
            collapse_surplus=collapse_kernels(by)[2] if collapsing else insert.no_collapse,
            record=record,
        )
    )


@functools.cache
def remove_kernel(by: Rules, collapsing: bool) -> Callable[[Tree, Upkeep, Counts, Bools], None]:
    """Remove points by their ids."""
    repairs = repair_kernels(by, collapsing)
    return entry_point(
        specialise(
            remove.remove_ids,
            settle_copy=repairs.after_count,
            heal=repairs.after_removal,
            find_orphan=repairs.find_orphan,
            leave_lists=repairs.leave_lists,
            note_change=_note_change(by, collapsing),
        )
    )


def _note_change(by: Rules, collapsing: bool) -> Any:
    return collapse_kernels(by)[1] if collapsing else rotate.ignore_change


@functools.cache
def repair_kernels(by: Rules, collapsing: bool) -> Repairs:
    """The repairs of a mode."""
    note_change = _note_change(by, collapsing)
    if by.linkage == "box":
        return _box_repairs(by, note_change)
    return _linkage_repairs(by, note_change)


def _box_repairs(by: Rules, note_change: Any) -> Repairs:
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
    both = {"repair_masking": repair_masking, "repair_balance": repair_balance}
    return Repairs(
        kernel(specialise(rotate.repair_boxes, **both)),
        rotate.ignore_copy,
        kernel(specialise(rotate.heal_boxes, **both)),
        nearby.no_orphan,
        edges.leave_nothing,
        None,
        None,
    )


WITHOUT_EDGES = (linkages.linkage_given, linkages.closer_child, linkages.is_closer,
                 linkages.linkage_of_union, linkages.fit_moments)  # fmt: skip
WITH_EDGES = {
    "closer_child": neighbors.closer_child, "is_closer": neighbors.is_closer,
    "linkage_of_union": neighbors.linkage_of_union, "fit_moments": neighbors.fit_moments,
    "turn": edges.turn_edges, "move": edges.move_edges, "meet_found": edges.meet_found,
}  # fmt: skip
SHARED = (
    linkages.fit_moments_up, linkages.fit_nodes, interchange.interchange_once,
    interchange.interchange_up, interchange.join, interchange.graft_along,
    interchange.repair_linkage, interchange.repair_and_graft, interchange.heal_linkage,
    interchange.heal_and_graft, interchange.settle_copy, interchange.graft_rows,
)  # fmt: skip
CALLED_FROM_PYTHON = (linkages.fit_nodes, interchange.graft_rows)


def _linkage_repairs(by: Rules, note_change: Any) -> Repairs:
    """Interchanges, and grafts."""
    by_edges = by.linkage == "neighbors"
    parts: dict[str, Any] = {"note_change": note_change}
    if by_edges:
        parts |= WITH_EDGES
    else:
        parts |= {"formula": LINKAGES[by.linkage], "turn": links.rotate, "move": links.graft,
                  "meet_found": edges.meet_nobody}  # fmt: skip
    # Each is bound to those before it that it names.
    for function in SHARED if by_edges else WITHOUT_EDGES + SHARED:
        named: Any = function
        used = {name: parts[name] for name in named.__code__.co_names if name in parts}
        make = entry_point if function in CALLED_FROM_PYTHON else kernel
        parts[named.__name__] = make(specialise(named, **used))
    return Repairs(
        parts["repair_and_graft" if by.grafts else "repair_linkage"],
        parts["settle_copy"],
        parts["heal_and_graft" if by.grafts else "heal_linkage"],
        nearby.find_orphan if by.grafts else nearby.no_orphan,
        edges.leave_lists if by_edges else edges.leave_nothing,
        parts["graft_rows"],
        parts["fit_nodes"],
        edges.meet_rows if by_edges else None,
    )


@functools.cache
def rows_kernel(search: Search) -> Callable[[Tree, AStar, Floats, Floats, Ints], None]:
    """Search for many rows in the tree as it stands."""
    return entry_point(specialise(rows.search_rows, search=search))


@functools.cache
def keys_kernel(by: Rules) -> Callable[[Tree, Counts, Counts], None]:
    """The keys of collapsible nodes: what `ClusterTree.check` compares the queue with."""
    return entry_point(specialise(collapse.find_keys, collapse_key=collapse_kernels(by)[0]))


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
