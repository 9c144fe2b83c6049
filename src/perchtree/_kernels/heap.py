"""A binary min-heap in two parallel arrays."""

from typing import Any

import numpy as np

from .jit import kernel


@kernel
def push(keys: Any, items: Any, count: int, key: Any, item: Any) -> int:
    """Add an item to a heap of `count`; the new count."""
    place = count
    while place > 0:
        above = (place - 1) >> 1
        if keys[above] <= key:
            break
        keys[place] = keys[above]
        items[place] = items[above]
        place = above
    keys[place] = key
    items[place] = item
    return count + 1


@kernel
def pop(keys: Any, items: Any, count: int) -> int:
    """Drop the first of a heap of `count` items; the new count."""
    count -= 1
    key, item = keys[count], items[count]
    place = 0
    child = 1
    while child < count:
        if child + 1 < count and keys[child + 1] < keys[child]:
            child += 1
        if key <= keys[child]:
            break
        keys[place] = keys[child]
        items[place] = items[child]
        place = child
        child = 2 * place + 1
    keys[place] = key
    items[place] = item
    return count


@kernel
def sort_key(distance: np.float32, order: int) -> int:
    """An integer that sorts by a distance, not negative, and then by `order`."""
    return (np.int64(np.float32(distance).view(np.int32)) << 32) | np.int64(order)
