"""The one place that allocates a tree's arrays and lets them grow."""

import contextlib
import math
import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._kernels.features import MOST_SMALL, SPARES
from ._kernels.nearby import CLIMBED, EXPANDED
from ._kernels.numbering import node_rows
from ._kernels.schema import (
    BOX_ROWS,
    ENTRY,
    FEATURE_ROWS,
    FREE_BOX,
    FREE_FEATURES,
    FREE_POINT,
    ID_COLUMNS,
    MAX_LEAVES,
    MAX_POINTS,
    MOMENTS,
    N_LEAVES,
    NEXT_ID,
    NODE_COLUMNS,
    NONE,
    POINT_ROWS,
    ROOT,
    SMALL,
    STATE,
    WORK,
    AStar,
    Beam,
    Counts,
    Doubles,
    Found,
    Nearby,
    Queue,
    Tree,
    Upkeep,
)
from ._mapped import Mapped

_SHORT = 2**20
"""Bytes below which an array is simply copied when it grows."""

SHORT_ROWS = 64
"""Fewer features take less time to read than links: then a small node holds no more than a pair."""

LARGE = {0: 1.0, 2: 0.65, MOST_SMALL: 0.38}
"""Share of internal nodes that are larger than this: 0.61 to 0.69 and 0.33 to 0.43 in trees of nine
data sets."""

_APART = ("state", "spare")
"""Arrays that do not grow."""


class Growing:
    """An array that grows by whole rows, in place where the system allows it.

    On Linux large arrays are anonymous memory maps, which the kernel enlarges by moving pages, not
    bytes: growing 150 MB takes 0.1 ms instead of 450 to 1,300. Rows of a file that is mapped stay
    where they are. New rows are zeros everywhere, so that no bytes of other owners reach a file.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self._shape, self._dtype = array.shape[1:], array.dtype
        self._map: mmap.mmap | None = None
        self._rows = len(array)
        self._array: NDArray[Any] | None = array

    @property
    def array(self) -> NDArray[Any]:
        if self._array is None:
            assert self._map is not None
            self._array = self._view(self._map)
        return self._array

    def grow(self, rows: int, used: int) -> None:
        """Make it `rows` long; the first `used` of its rows stay as they are."""
        if rows <= self._rows:
            return
        n_bytes = rows * self._row_bytes
        if self._map is not None:
            self._array = None
            try:
                self._map.resize(n_bytes)
                self._rows = rows
                return
            except BufferError:
                pass  # someone still looks at it: copy
            except (OSError, ValueError, OverflowError) as error:
                raise MemoryError(f"cannot allocate {n_bytes:,} bytes: {error}") from None
        old = self.array
        mapped = Mapped.behind(old)
        if mapped is not None and len(np.asarray(mapped)) == len(old):
            self._array, self._rows = mapped.grown(rows, used), rows
            return
        if n_bytes < _SHORT or not hasattr(mmap, "MAP_ANONYMOUS"):
            larger = np.zeros((rows, *self._shape), self._dtype)
            larger[:used] = old[:used]
            self._map, self._rows, self._array = None, rows, larger
            return
        larger_map = _anonymous(n_bytes)
        self._view(larger_map, rows)[:used] = old[:used]
        self._map, self._rows, self._array = larger_map, rows, None

    @property
    def _row_bytes(self) -> int:
        return math.prod(self._shape) * self._dtype.itemsize

    def _view(self, memory: mmap.mmap, rows: int | None = None) -> NDArray[Any]:
        rows = self._rows if rows is None else rows
        values = np.frombuffer(memory, self._dtype, rows * math.prod(self._shape))
        return values.reshape((rows, *self._shape))


def _anonymous(n_bytes: int) -> mmap.mmap:
    try:
        memory = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, ValueError, OverflowError) as error:
        raise MemoryError(f"cannot allocate {n_bytes:,} bytes: {error}") from None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


class Storage:
    """A tree's arrays, which grow as points come in."""

    def __init__(self, tree: Tree) -> None:
        self._growing = {
            name: Growing(array) for name, array in tree._asdict().items() if name not in _APART
        }
        self.state = tree.state
        """It is never replaced, so it can be read at any time."""
        self._spare = make_spare(tree)
        self.shown: Tree | None = tree._replace(spare=self._spare)
        """What `show` made last; None while arrays grow."""

    def show(self) -> Tree:
        """The arrays as kernels take them, with spare capacity.

        Ask for them only while they cannot grow: arrays that were asked for before, and arrive
        after that, would be mistaken for the current ones.
        """
        arrays = {name: growing.array for name, growing in self._growing.items()}
        self.shown = Tree(**arrays, state=self.state, spare=self._spare)
        return self.shown

    @property
    def mapped(self) -> list[Mapped]:
        """What is mapped from a file."""
        tree = self.shown or self.show()
        found = (Mapped.behind(array) for array in (tree.points, tree.boxes, tree.means))
        return [mapped for mapped in found if mapped is not None]

    def make_room(self, n_more: int) -> None:
        """Make room for `n_more` points, and for the features of all nodes that may get some.

        The first call gets exactly the size it asks for; later growth at least doubles, so that
        many small inserts cost linear time. Memory that is not used yet is not resident. Wherever
        this is interrupted, no array loses its content.
        """
        ids, points, boxes = self.state[[NEXT_ID, POINT_ROWS, BOX_ROWS]].tolist()
        most_points, most_boxes = _most_rows(int(self.state[MAX_LEAVES]))
        features = int(self.state[FEATURE_ROWS])
        in_use = points, boxes
        if self.state[MAX_LEAVES] == NONE:  # rows of removed points are used again
            in_use = int(self.state[N_LEAVES]), int(self.state[N_LEAVES])
        tree = self.shown or self.show()
        new_ids = _capacity(len(tree.ids), ids + n_more, MAX_POINTS)
        new_points = _capacity(len(tree.points), in_use[0] + n_more, most_points)
        new_boxes = _capacity(len(tree.boxes), in_use[1] + n_more, most_boxes)
        new_moments = new_boxes if has_moments(tree) else 0
        new_lists = new_points if has_edges(tree) else 0
        if (new_ids, new_points, new_boxes) == (len(tree.ids), len(tree.points), len(tree.boxes)):
            return
        del tree
        self.shown = None  # a map that is shown cannot be enlarged
        grow = self._growing
        grow["ids"].grow(new_ids, ids)
        grow["nodes"].grow(node_rows(new_points, new_boxes), node_rows(points, boxes))
        grow["means"].grow(new_moments, features)
        grow["moments"].grow(new_moments, boxes)
        grow["lists"].grow(new_lists, points)
        # These tell whether there is room: should one of the others fail, it is tried again.
        grow["points"].grow(new_points, points)
        grow["boxes"].grow(new_boxes, features)


def empty_tree(
    n_features: int,
    max_leaves: int | None,
    *,
    with_moments: bool = False,
    listed: int = 0,
) -> Tree:
    state = np.zeros(len(STATE), np.int64)
    state[[ROOT, FREE_POINT, FREE_BOX, FREE_FEATURES]] = NONE
    state[MAX_LEAVES] = NONE if max_leaves is None else max_leaves
    state[SMALL] = small_size(n_features, max_leaves)
    return Tree(
        nodes=np.zeros((0, NODE_COLUMNS), np.int32),
        points=np.zeros((0, n_features), np.float32),
        boxes=np.zeros((0, 2, n_features), np.float32),
        means=np.zeros((0, n_features if with_moments else 0)),
        moments=np.zeros((0, MOMENTS + (listed > 0))),
        ids=np.zeros((0, ID_COLUMNS), np.int32),
        state=state,
        lists=np.zeros((0, listed, ENTRY), np.int32),
    )


def small_size(n_features: int, max_leaves: int | None) -> int:
    """The most points of a node that keeps no features: see `SMALL` in the schema."""
    if max_leaves is not None:
        return 0
    return MOST_SMALL if n_features >= SHORT_ROWS else 2


def used_rows(tree: Tree) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays by name, not copied, without their spare capacity and what is no part of it."""
    ids, points, boxes = tree.state[[NEXT_ID, POINT_ROWS, BOX_ROWS]].tolist()
    features = int(tree.state[FEATURE_ROWS])
    lengths = {
        "nodes": node_rows(points, boxes), "points": points, "boxes": features, "means": features,
        "moments": boxes, "ids": ids, "state": None, "lists": points,
    }  # fmt: skip
    for name, length in lengths.items():
        if name != "lists" or has_edges(tree):
            yield name, getattr(tree, name)[:length]


def copied(tree: Tree) -> Tree:
    """An independent copy, without spare capacity."""
    return Tree(**{name: array.copy() for name, array in used_rows(tree)})


def make_spare(tree: Tree) -> Doubles:
    """Working memory for kernels that change the tree: see `Tree.spare`."""
    return np.zeros((SPARES, tree.points.shape[1]))


def has_moments(tree: Tree) -> bool:
    """Whether means and scatters are kept: trees with a linkage do."""
    return bool(tree.means.shape[1] > 0)


def has_edges(tree: Tree) -> bool:
    """Whether leaves list their nearest neighbours."""
    return bool(tree.lists.shape[1] > 0)


def estimate_bytes(tree: Tree, n_points: int) -> int:
    """What the arrays will take with this many points, all different, spare capacity aside."""
    most_points, most_boxes = _most_rows(int(tree.state[MAX_LEAVES]))
    points, boxes = min(n_points, most_points), min(n_points, most_boxes)
    large = int(LARGE[int(tree.state[SMALL])] * boxes)
    n_features = tree.points.shape[1]
    of_point = 4 * n_features + 4 * tree.lists.shape[1] * ENTRY
    of_large = 8 * n_features + 8 * tree.means.shape[1]
    of_box = 8 * tree.moments.shape[1] if has_moments(tree) else 0
    of_nodes = node_rows(points, boxes) * 4 * NODE_COLUMNS
    of_ids = n_points * 4 * ID_COLUMNS
    return int(points * of_point + large * of_large + boxes * of_box + of_nodes + of_ids)


def _capacity(length: int, needed: int, most: int) -> int:
    needed = min(needed, most)
    return length if needed <= length else min(max(needed, 2 * length), most)


def _most_rows(max_leaves: int) -> tuple[int, int]:
    """Most points and boxes at any time: with one leaf too many, all of them collapsed but one."""
    if max_leaves == NONE:
        return MAX_POINTS, MAX_POINTS
    return max_leaves + 1, 2 * max_leaves + 1


# Working memory


def make_work() -> Counts:
    """Counters of work, all zero."""
    return np.zeros(len(WORK), np.int64)


def make_astar(tree: Tree, k: int, done: Counts) -> AStar:
    """Working memory for exact searches of k leaves in a tree of this capacity."""
    frontier = _frontier(tree)
    return AStar(np.empty(frontier, np.float32), np.empty(frontier, np.int32), make_found(k), done)


def suits(memory: AStar, tree: Tree) -> bool:
    """Whether working memory is large enough for a tree of this capacity."""
    return len(memory.keys) >= _frontier(tree)


def _frontier(tree: Tree) -> int:
    return len(tree.points) // 2 + 2


def make_beam(width: int, n_features: int, k: int, done: Counts) -> Beam:
    """Working memory for beam searches of k leaves, with no rows."""
    return Beam(
        np.empty((2, 2 * width), np.int64), np.empty((2, 2 * width), np.int32),
        np.empty((2, n_features), np.float32), np.empty(0, np.int32), np.zeros(1, np.int64),
        make_found(k), done,
    )  # fmt: skip


def make_upkeep(tree: Tree, neighbors: int, done: Counts) -> Upkeep:
    """For repairs: room for four times the nodes that can be collapsible at once."""
    length = max(0, 2 * int(tree.state[MAX_LEAVES]) + 4)
    count = np.full(1, NONE, np.int64)
    queue = Queue(np.empty(length, np.int64), np.empty(length, np.int32), count)
    n_nodes = CLIMBED + EXPANDED
    nearby = Nearby(
        np.empty(n_nodes), np.empty(n_nodes, np.int32),
        np.empty(neighbors), np.empty(neighbors, np.int32),
    )  # fmt: skip
    return Upkeep(queue, nearby, done)


def make_found(k: int) -> Found:
    return Found(np.empty((k, 2), np.float32), np.empty((k, 2), np.int32))
