"""The trees that a few points span, and how each cluster is cut between them."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from .._kernels.merges import find_spans
from ..table import NodeTable

Numbers = NDArray[np.int64]


class TreeOrder:
    """The points of a tree in its own order: those below a node are neighbours."""

    def __init__(self, table: NodeTable) -> None:
        self.n_points, self.leaves, self.sizes = table.n_points, table.leaves, table.sizes
        self.starts = np.empty(len(table.parents), np.int64)
        """The place of the first point below each number."""
        find_spans(table.children, table.sizes, self.starts, np.empty(self.n_points, np.int64))
        self.middles = self.starts[table.children[:, 1]]
        """For each merge, the place of the first point of its second part."""
        self._meets = np.empty(self.n_points - 1, np.int64)
        """The merge at which each place meets the next one."""
        self._meets[self.middles - 1] = np.arange(self.n_points - 1)

    def meets(self, first: Numbers, last: Numbers) -> Numbers:
        """The lowest merge (0, 1, 2, ...) above each pair of places, `first` before `last`.

        Merges grow towards the root, so it is the largest one in between.
        """
        apart = last - first
        found = np.empty(len(apart), np.int64)
        width, largest = 1, self._meets  # of so many merges, from each one on
        while width <= apart.max(initial=0):
            due = (width <= apart) & (apart < 2 * width)
            found[due] = np.maximum(largest[first[due]], largest[last[due] - width])
            largest = np.maximum(largest[:-width], largest[width:])
            width *= 2
        return found


class Spanned:
    """In each of several clusters, the tree that some of its points, the seeds, span.

    Its nodes are the leaves with seeds, 0, 1, 2, ... in the order of cluster and tree, and then
    the merges where branches with seeds meet, a merge after its parts.

    Parameters
    ----------
    order : TreeOrder
    seeds, clusters : int64 arrays
        The number of each seed, and its cluster.
    """

    def __init__(self, order: TreeOrder, seeds: Numbers, clusters: Numbers) -> None:
        self._order = order
        places = clusters * order.n_points + order.starts[order.leaves[seeds]]
        leaves, leaf_of = np.unique(places, return_inverse=True)
        self.leaf_of: list[int] = leaf_of.tolist()
        """The node of each seed: its leaf."""
        self.n_leaves = len(leaves)
        self._cluster, place = np.divmod(leaves, order.n_points)
        gaps = np.flatnonzero(self._cluster[1:] == self._cluster[:-1])
        merges = order.meets(place[gaps], place[gaps + 1])
        upwards = np.argsort(merges, kind="stable")
        self._merges: list[int] = merges[upwards].tolist()
        self._join(gaps[upwards].tolist())

    def _join(self, gaps: list[int]) -> None:
        """Join the leaves on both sides of each gap, with all that they are joined to by then."""
        self.children: list[tuple[int, int]] = []
        """The two parts of each merge."""
        tops, starts, ends = (list(range(self.n_leaves)) for _ in range(3))
        for node, gap in enumerate(gaps, self.n_leaves):
            first, last = starts[gap], ends[gap + 1]
            self.children.append((tops[first], tops[gap + 1]))
            tops[first], starts[last], ends[first] = node, first, last
        self._roots: list[tuple[int, int]] = []
        """The first leaf of each tree, and its root."""
        first = 0
        while first < self.n_leaves:
            self._roots.append((first, tops[first]))
            first = ends[first] + 1

    def spread(
        self, parts: Numbers, points: Numbers, clusters: Numbers
    ) -> tuple[Numbers, NDArray[np.bool_]]:
        """Give points of the clusters the parts of the seeds they hang on.

        As few branches as possible lie between two parts. A branch without seeds belongs to the
        part of the branch that it hangs on. What is not below the root of the spanned tree
        belongs to the part of the root; the second result says which points are below.
        """
        ends, chosen, below = self._paint(self._fewest_cuts(parts.tolist()))
        places = clusters * self._order.n_points + self._order.starts[points]
        found = np.searchsorted(ends, places, side="right")
        return chosen[found], below[found]

    def _fewest_cuts(self, parts: list[int]) -> list[int]:
        """The part of each node, by parsimony (Fitch; Hartigan for leaves with several seeds).

        Upwards, the parts that a node can have at the least number of cuts below it; downwards,
        the parent's part if that is among them, otherwise the smallest.
        """
        seeds: list[Counter[int]] = [Counter() for _ in range(self.n_leaves)]
        for leaf, part in zip(self.leaf_of, parts, strict=True):
            seeds[leaf][part] += 1
        best = [_most_frequent(counts) for counts in seeds]
        for left, right in self.children:
            best.append(best[left] & best[right] or best[left] | best[right])
        chosen = [0] * len(best)
        for _, root in self._roots:
            chosen[root] = min(best[root])
        for node in range(len(best) - 1, self.n_leaves - 1, -1):
            own = chosen[node]
            for child in self.children[node - self.n_leaves]:
                chosen[child] = own if own in best[child] else min(best[child])
        return chosen

    def _paint(self, chosen: list[int]) -> tuple[Numbers, Numbers, NDArray[np.bool_]]:
        """Stretches of places, cluster after cluster: where each ends, its part, if it is below."""
        order, stretches = self._order, []
        for leaf, root in self._roots:
            base = int(self._cluster[leaf]) * order.n_points
            todo = [(root, base + order.n_points, False)]
            while todo:
                node, end, is_rest = todo.pop()
                if node < self.n_leaves or is_rest:
                    stretches.append((end, chosen[node], node != root or not is_rest))
                    continue
                merge = self._merges[node - self.n_leaves]
                number = order.n_points + merge
                first = base + int(order.starts[number])
                stretches.append((first, chosen[node], node != root))
                left, right = self.children[node - self.n_leaves]
                todo.append((node, end, True))
                todo.append((right, first + int(order.sizes[number]), False))
                todo.append((left, base + int(order.middles[merge]), False))
        ends, parts, below = np.array(stretches, np.int64).T
        return ends, parts, below.astype(bool)


def _most_frequent(counts: Counter[int]) -> set[int]:
    most = max(counts.values())
    return {part for part, count in counts.items() if count == most}
