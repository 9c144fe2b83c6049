"""From the names a user gives to compiled entry points: which functions make up which mode."""

import functools
from collections.abc import Callable

from . import insert, nearest, rotate, rules, search
from .jit import entry_point, kernel, specialise
from .schema import Counts, Floats, Scratch, Tree

MASKINGS = {"published": (rules.published_masked, rules.published_overlap)}
"""Name -> the test of equation 4, and condition 2 of section 4.1 with the same distances."""

BALANCES = {"size": rules.improves_size}
"""Name -> condition 1 of section 4.1."""

SEARCHES = {"auto": search.astar, "astar": search.astar}


@functools.cache
def insert_kernel(
    masking: str, balance: str, search: str
) -> Callable[[Tree, Scratch, Floats], None]:
    is_masked, may_overlap = MASKINGS[masking]
    repair_masking = kernel(specialise(rotate.rotate_masked, is_masked=is_masked))
    repair_balance = kernel(
        specialise(
            rotate.rotate_balanced,
            improves_balance=BALANCES[balance],
            may_overlap=may_overlap,
        )
    )
    return entry_point(
        specialise(
            insert.insert_rows,
            search=SEARCHES[search],
            repair_masking=repair_masking,
            repair_balance=repair_balance,
        )
    )


@functools.cache
def nearest_kernel(search: str) -> Callable[[Tree, Scratch, Floats, Counts, Floats], None]:
    return entry_point(specialise(nearest.nearest_rows, search=SEARCHES[search]))
