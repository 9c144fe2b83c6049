"""A tree as merges: points 0 .. n-1 first, then one number per merge, as in scikit-learn."""

from .jit import entry_point
from .schema import NONE, Bools, Counts


@entry_point
def join_groups(members: Counts, starts: Counts, merges: Counts, tops: Counts) -> None:
    """Join each group of points by a balanced subtree.

    Group g is `members[starts[g]:starts[g + 1]]` (overwritten). Its merges go to the next rows
    of `merges`, pairs of numbers; `tops[g]` is the number of the last, or the only point.
    """
    n_points = members.shape[0]
    made = 0
    for group in range(starts.shape[0] - 1):
        first = starts[group]
        count = starts[group + 1] - first
        while count > 1:
            for pair in range(count // 2):
                merges[made, 0] = members[first + 2 * pair]
                merges[made, 1] = members[first + 2 * pair + 1]
                members[first + pair] = n_points + made
                made += 1
            if count % 2:
                members[first + count // 2] = members[first + count - 1]
            count = (count + 1) // 2
        tops[group] = members[first]


@entry_point
def find_smallest_ids(n_points: int, parents: Counts, smallest: Counts) -> None:
    """The smallest point below each number, where `smallest` is NONE to begin with."""
    for point in range(n_points):
        number = point
        while number != NONE and smallest[number] == NONE:
            smallest[number] = point
            number = parents[number]


@entry_point
def order_by_smallest(parents: Counts, smallest: Counts, order: Counts) -> None:
    """Merges by the smallest point below them; of those with the same, parts before wholes."""
    n_points = order.shape[0] + 1
    placed = 0
    for point in range(n_points):
        number = parents[point]
        while number != NONE and smallest[number] == point:
            order[placed] = number - n_points
            placed += 1
            number = parents[number]


@entry_point
def add_sizes(children: Counts, sizes: Counts) -> None:
    """The number of points below each merge, where `sizes` is 1 for points."""
    n_points = children.shape[0] + 1
    for merge in range(children.shape[0]):
        sizes[n_points + merge] = sizes[children[merge, 0]] + sizes[children[merge, 1]]


@entry_point
def arrange(parents: Counts, waiting: Counts, by_rank: Counts, rank: Counts, order: Counts) -> None:
    """Put merges into an order in which a merge comes after its parts, else by rank.

    Of the merges whose parts are placed, the one of lowest rank is always placed next.

    - `parents`: the merge above each merge, NONE at the top;
    - `waiting`: how many of a merge's two parts are merges (overwritten);
    - `by_rank`: the merges, lowest rank first, and `rank`, its inverse;
    - `order`: the result.
    """
    placed = 0
    for turn in range(by_rank.shape[0]):
        merge = by_rank[turn]
        # A merge whose turn came too early is placed right after the last of its parts.
        while merge != NONE and waiting[merge] == 0 and rank[merge] <= turn:
            order[placed] = merge
            placed += 1
            merge = parents[merge]
            if merge != NONE:
                waiting[merge] -= 1


@entry_point
def find_tops(parents: Counts, joined: Bools, tops: Counts) -> None:
    """The highest joined merge above each number, or the number itself.

    Numbers grow towards the root; `joined` is true for merges that are carried out.
    """
    for number in range(parents.shape[0] - 1, -1, -1):
        above = parents[number]
        tops[number] = tops[above] if above != NONE and joined[above] else number


@entry_point
def find_spans(children: Counts, sizes: Counts, starts: Counts, order: Counts) -> None:
    """Put the points into the order of the tree; where those below each number start."""
    n_points = children.shape[0] + 1
    starts[2 * n_points - 2] = 0
    for merge in range(children.shape[0] - 1, -1, -1):
        left, right = children[merge, 0], children[merge, 1]
        starts[left] = starts[n_points + merge]
        starts[right] = starts[left] + sizes[left]
    for point in range(n_points):
        order[starts[point]] = point
