"""How long a tree takes and how much memory, on one machine or many, from measured constants.

docs/scale.md says where its limits are.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from .. import _arrays
from .._kernels.opening import REACH
from ..search.cells import AGAIN, PART_ROWS, SMALLEST_TREE, cells_bytes
from ..search.exact import AHEAD_ROWS
from ..search.images import GROWTH, SMALLEST_SAMPLED
from ..search.products import BLOCK_ROWS
from ..search.visiting import KEPT, TASK_ROWS
from ..settings import USUAL, Settings
from ..tree import LARGEST_ROWS
from .celled import range_rows
from .job import cut
from .tasks import SAMPLE

SEARCHING = AHEAD_ROWS // BLOCK_ROWS
"""Threads that search at most, on one machine: a batch has no more blocks."""
WAITING = 1.2
"""How much longer two threads take than half of their processor time, as they wait for each other:
1.13 to 1.22 in whole fits. Measured on the spot, it would tell how busy the machine is."""
PER_ROW = 8
"""Bytes that the driver keeps of each row beside the tree: which id it has."""
_COMPARED = 56
"""Bytes per row that one worker needs for a moment, when copies are looked for."""


class Constants(NamedTuple):
    """What was measured on this machine, in seconds."""

    pair: float
    """One row compared with one point, by products of reduced vectors, once its nearest points are
    nearly known."""
    first: float
    """What the first pairs of a row cost beside that: any point may be the nearest."""
    row: float
    """Everything else about searching for a row, such as comparing it with its own batch."""
    rotate: float
    """Reduced vectors of one row."""
    axes: float
    """Finding the axes of reduced vectors."""
    image: int
    """Bytes of the reduced vectors of one row; 0 if all features are compared."""
    read: float
    """Reading, checking and hashing one row."""
    insert: float
    """The tree phase of one row, in a tree of `measured` points."""
    growth: float
    """How much longer that takes with twice as many points."""
    celled: float
    """Search of one row in cells, on average until there are `measured` points."""
    look: float
    """Looking for one row in the cells of a tree of `measured` points. That grows with the square
    root of the number of points."""
    width: float
    """How many of them are opened for a row. That grows alike."""
    others: float
    """Everything else about a search in cells, such as comparing a row with its own batch."""
    renew: float
    """Making the cells of a tree of `measured` points, and handing them to others. That grew with
    powers of 0 to 1 of the number of points, depending on the data: the model takes the root."""
    measured: int
    crowd: float
    """How much longer everything takes if all processors of a machine are busy."""
    task: float
    """What a task costs beside its work: to be sent, to find its files, to be noticed."""


class Plan(NamedTuple):
    """What a fit will take."""

    seconds: float
    search: float
    """Seconds of searching, all workers at work."""
    tree: float
    """Seconds of inserting, which go on at the same time."""
    memory: int
    """Bytes where the tree grows."""
    worker_memory: int
    """Bytes per worker, if there are any."""
    read: int
    """Bytes that all workers read from the shared path."""
    work: int
    """Bytes of the work folder."""

    @property
    def bound(self) -> str:
        """What decides how long it takes."""
        return "search" if self.search > self.tree else "the tree phase"


def tree_seconds(constants: Constants, n_rows: int) -> float:
    """All inserts, one after the other; each costs a little more the larger the tree is."""
    at, cost = constants.measured, constants.insert
    total = min(n_rows, at) * cost
    while at < n_rows:
        until = min(2 * at, n_rows)
        cost *= 1 + constants.growth * (until - at) / at
        total += (until - at) * cost
        at = until
    return total


def axes_of_one_machine(n_rows: int) -> tuple[int, int]:
    """How often axes are found anew while a tree grows, and how many rows are rotated in all: each
    when it comes, and those that are there whenever there are other axes."""
    times, n_rotated, number = 0, n_rows, SMALLEST_SAMPLED
    while number < n_rows:
        times, n_rotated, number = times + 1, n_rotated + number, GROWTH * number
    return times, n_rotated


def opening_bytes(constants: Constants, n_rows: int) -> int:
    """What a thread needs to see which cells are the nearest ones of its rows."""
    width = constants.width * max(1.0, n_rows / constants.measured) ** 0.5
    return int(4 * min(KEPT, TASK_ROWS * min(REACH * width, n_rows / 8)))


def exact_plan(
    constants: Constants, n_rows: int, n_features: int, n_workers: int, *, held: int, k: int = 5,
    many: bool = True,
) -> Plan:  # fmt: skip
    """A fit with exact search. Work is triangular: half of all pairs.

    `held` is how many bytes a worker keeps of what it has read.
    """
    block_rows, task_blocks = cut(n_rows, n_features, None)
    block_rows = min(block_rows, n_rows)
    n_blocks = -(-n_rows // block_rows)
    n_tasks = n_blocks**2 / 2 / task_blocks + n_blocks / 2
    row_bytes = 4 * n_features
    constants = _crowded(constants) if many or n_workers > 1 else constants
    search = n_rows**2 / 2 * constants.pair
    tree = tree_seconds(constants, n_rows)
    memory = tree_bytes(n_rows, n_features)
    if not many:
        times, n_rotated = axes_of_one_machine(n_rows)
        search += n_rows * (constants.first + constants.row) + n_rotated * constants.rotate
        # Threads search while the tree takes in what was found; one finds axes, others wait.
        seconds = (search + tree) / n_workers
        search /= min(n_workers, SEARCHING)
        seconds = max(seconds, search, tree) * (WAITING if n_workers > 1 else 1)
        seconds, search = seconds + times * constants.axes, search + times * constants.axes
        memory += n_rows * constants.image + LARGEST_ROWS * row_bytes
        return Plan(seconds, search, tree, memory, 0, n_rows * row_bytes, 0)
    # A worker that cannot keep everything reads, and reduces, what each task needs anew.
    everything = n_rows * (row_bytes + constants.image)
    times_read = min(n_workers, n_blocks) + (n_blocks / 2 if everything > held else 0)
    search += n_tasks * (constants.task + block_rows * constants.first)
    search += n_rows * (constants.row + (constants.rotate + constants.read) * times_read)
    search /= n_workers
    before = n_rows * constants.read / n_workers + constants.axes
    return Plan(
        seconds=before + max(search, tree) + min(tree / n_blocks, search),
        search=search,
        tree=tree,
        memory=memory + PER_ROW * n_rows + 2 * block_rows * row_bytes,
        worker_memory=_worker_bytes(min(everything, held), n_rows, block_rows, row_bytes),
        read=int(times_read * n_rows * row_bytes),
        work=int(n_rows * row_bytes + 8 * k * n_rows * max(1.0, n_blocks / 2 / task_blocks)),
    )


def cells_plan(
    constants: Constants, n_rows: int, n_features: int, n_workers: int, *, many: bool = True
) -> Plan:
    """A fit with search in cells. Points that came since cells were made are looked at where the
    tree is, and the tree waits whenever cells are made anew."""
    block_rows = min(cut(n_rows, n_features, None)[0], n_rows)
    row_bytes = 4 * n_features
    constants = _crowded(constants) if many or n_workers > 1 else constants
    n_early = min(n_rows, constants.measured)
    larger = max(1.0, n_rows / constants.measured)
    looking = n_early * constants.celled
    looking += constants.measured * constants.look * (larger**1.5 - 1) / 1.5
    others, tree = (n_rows - n_early) * constants.others, tree_seconds(constants, n_rows)
    made = list(renewals(n_rows))
    late = [n_points for n_points, _ in made if n_points > n_early]
    renewing = sum(constants.renew * (n / constants.measured) ** 0.5 for n in late)
    if many:
        # An eighth of the points of a search is later than the cells.
        tree += others + looking / 8
        n_tasks = sum(-(-length // range_rows(length)) for _, length in made)
        search = (looking * 7 / 8 + n_tasks * constants.task) / n_workers
        # The tree waits for the first rows after each renewal, and workers for the last ones.
        n_waiting = sum(min(length, block_rows, PART_ROWS) for _, length in made)
        waiting = n_waiting * (looking * 7 / 8 + tree) / n_rows + renewing
        seconds = n_rows * constants.read / n_workers + max(search, tree) + waiting
    else:
        search = (looking + others) / n_workers + renewing
        seconds = search + tree
    held = n_rows * (row_bytes * 9 / 8 + 60)
    # The driver has lists of its own, of the points that came since the cells were made. By reduced
    # vectors all points are looked at for a sample of rows.
    memory = tree_bytes(n_rows, n_features) + n_rows * (constants.image + cells_bytes(n_features))
    if many:
        memory += (PER_ROW + 12) * n_rows + 2 * block_rows * row_bytes
    else:
        memory += n_workers * opening_bytes(constants, n_rows) + LARGEST_ROWS * row_bytes
    return Plan(
        seconds=seconds,
        search=search,
        tree=tree,
        memory=memory,
        worker_memory=int(held + block_rows * row_bytes) if many else 0,
        read=int(n_workers * n_rows * row_bytes) if many else n_rows * row_bytes,
        work=int(6.6 * n_rows * row_bytes / 8 + n_rows * row_bytes) if many else 0,
    )


def _crowded(constants: Constants) -> Constants:
    """Costs on machines of which all processors are busy."""
    kept = ("growth", "width", "measured", "crowd", "image")
    slower: dict[str, Any] = {
        name: value * constants.crowd
        for name, value in constants._asdict().items()
        if name not in kept
    }
    return constants._replace(**slower)


def renewals(n_rows: int) -> Iterator[tuple[int, int]]:
    """With how many points cells are made anew, and how many rows are then looked for."""
    n_points = SMALLEST_TREE
    while n_points < n_rows:
        length = min(n_points // AGAIN, n_rows - n_points)
        yield n_points, length
        n_points += n_points // AGAIN


def _worker_bytes(held: float, n_rows: int, block_rows: int, row_bytes: int) -> int:
    """What a worker keeps, and a block that it reads; or more, while one of them looks for copies,
    or for axes."""
    sample = min(n_rows, SAMPLE) * row_bytes
    return int(max(max(held, sample) + block_rows * row_bytes, _COMPARED * n_rows))


def tree_bytes(n_rows: int, n_features: int, settings: Settings = USUAL) -> int:
    """The tree itself, with so many leaves."""
    empty = _arrays.empty_tree(
        n_features, settings.max_leaves, with_moments=settings.has_linkage, listed=settings.listed
    )
    return _arrays.estimate_bytes(empty, n_rows)
