"""Rotations by linkage and grafts, written for reading: means and scatters from all points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reference import Node, ReferenceTree, Vector, box_max, box_min

CLOSER, WORTH_A_GRAFT = 1 - 1e-5, 0.9799
PATIENCE, MOST_GRAFTS = 3, 8
EXPANDED = 16


def weight(n: int, m: int) -> float:
    return n * m / (n + m)


class Moments(NamedTuple):
    n: int
    mean: Vector
    scatter: float


def leaf_moments(leaf: Node) -> Moments:
    """Those that a collapsed leaf keeps; otherwise of copies of one point."""
    return Moments(len(leaf.ids), *(leaf.kept or (leaf.box[0], 0.0)))


class LinkageTree(ReferenceTree):
    asked = 0
    """Neighbours that an insert asks for, beside those it may graft to."""

    def __init__(
        self,
        linkage: str,
        graft: int = 5,
        beam_width: int | None = None,
        max_leaves: int | None = None,
    ) -> None:
        super().__init__(beam_width=beam_width, max_leaves=max_leaves)
        self.kind, self.graft_neighbours = linkage, graft
        self.grafts = self.interchanges = 0
        self.ambiguous = False

    # Linkages, from the number, mean and scatter of points, taken from all leaves

    def moments(self, *nodes: Node) -> Moments:
        parts = [leaf_moments(leaf) for node in nodes for leaf in node.leaves()]
        n = sum(part.n for part in parts)
        mean = sum(part.n * part.mean for part in parts) / n
        around = sum(part.n * ((part.mean - mean) ** 2).sum() for part in parts)
        return Moments(n, mean, sum(part.scatter for part in parts) + around)

    def between(self, a: Moments, b: Moments) -> float:
        gap = ((a.mean - b.mean) ** 2).sum()
        if self.kind == "ward":
            return weight(a.n, b.n) * gap
        mean_square = gap + a.scatter / a.n + b.scatter / b.n
        return mean_square * weight(a.n, b.n) ** 0.25

    def linkage(self, a: Node, b: Node) -> float:
        return self.between(self.moments(a), self.moments(b))

    def linkage_of_union(self, a: Node, b: Node, other: Node) -> float:
        return self.between(self.moments(a, b), self.moments(other))

    def own(self, node: Node) -> float:
        return self.linkage(*node.children)

    # The algorithm

    def insert(self, x: Vector) -> None:
        point_id = self.next_id
        self.next_id += 1
        if self.root is None:
            self.root = Node([point_id], x)
            self.arrive(self.root, [])
            return
        neighbours = self.nearest_leaves(x)[: max(1, self.graft_neighbours, self.asked)]
        if all((corner == x).all() for corner in neighbours[0].box):
            neighbours[0].ids.append(point_id)
            return
        leaf = self.split(neighbours[0], Node([point_id], x))
        self.arrive(leaf, neighbours)
        self.interchange_up(leaf.parent, np.inf)
        self.graft_leaf(leaf, neighbours[: self.graft_neighbours])
        if self.max_leaves is not None:
            self.collapse_surplus(self.max_leaves)

    def arrive(self, leaf: Node, neighbours: list[Node]) -> None:
        """After a leaf is made; without edges there is nothing to do."""

    def nearest_leaves(self, x: Vector) -> list[Node]:
        leaves = self.root.leaves() if self.beam_width is None else self.beam_leaves(x)
        return sorted(leaves, key=lambda leaf: (box_min(x, leaf), box_max(x, leaf), min(leaf.ids)))

    def interchange_up(self, node: Node | None, patience: float) -> None:
        quiet = 0
        while node is not None and node.parent is not None and quiet < patience:
            quiet = 0 if self.interchange_once(node) else quiet + 1
            node = node.parent

    def interchange_once(self, node: Node) -> bool:
        if node.is_leaf:
            return False
        left, right = node.children
        to_left, to_right = (self.linkage(child, node.sibling) for child in (left, right))
        if min(to_left, to_right) >= CLOSER * self.own(node):
            return False
        self.rotate(left if to_left < CLOSER * to_right else right)
        self.interchanges += 1
        return True

    def graft_leaf(self, leaf: Node, neighbours: list[Node]) -> None:
        made = 0
        for neighbour in neighbours:
            made += self.graft_along(leaf, neighbour, MOST_GRAFTS - made)

    def graft_along(self, a: Node, b: Node, most: int) -> int:
        made = 0
        while made < most and not (a.members <= b.members or b.members <= a.members):
            if a.parent is b.parent:
                break
            a_at_top, b_at_top = b.members <= a.parent.members, a.members <= b.parent.members
            own_a, own_b = self.own(a.parent), self.own(b.parent)
            if self.linkage(a, b) < WORTH_A_GRAFT * min(own_a, own_b):
                a, b = self.join(a, b, a_at_top, b_at_top)
                made += 1
            elif b_at_top or (not a_at_top and CLOSER * own_a <= own_b):
                a = a.parent
            else:
                b = b.parent
        return made

    def join(self, a: Node, b: Node, a_at_top: bool, b_at_top: bool) -> tuple[Node, Node]:
        mover, stays = b, a
        if b_at_top:
            mover, stays = a, b
        elif not a_at_top:
            at_a, at_b = (self.linkage_of_union(a, b, v.sibling) for v in (a, b))
            if at_b < CLOSER * at_a:
                mover, stays = a, b
        left_behind, parent = mover.sibling, mover.parent
        self.replace(parent, left_behind)
        self.replace(stays, parent)
        parent.children = [stays, mover]
        stays.parent = parent
        self.grafts += 1
        self.interchange_up(left_behind.parent, PATIENCE)
        self.interchange_up(parent, PATIENCE)
        return parent, left_behind

    # Removing

    def thin(self, leaf: Node) -> None:
        """The mean of a collapsed leaf stays, and so does the variance of a sample."""
        if leaf.kept:
            mean, scatter = leaf.kept
            n = len(leaf.ids) + 1
            leaf.kept = mean, scatter * (n - 2) / (n - 1)

    def orphan(self, leaf: Node) -> Node | None:
        """The leaf beside a leaf: always down to the nearer child, the left one of equals."""
        node = leaf.sibling
        while not node.is_leaf:
            left, right = node.children
            nearer = self.spread(leaf, right) < CLOSER * self.spread(leaf, left)
            node = right if nearer else left
        return node

    def spread(self, leaf: Node, node: Node) -> float:
        """The mean squared distance from a leaf's mean to a node's points."""
        mean, other = self.moments(leaf).mean, self.moments(node)
        return ((mean - other.mean) ** 2).sum() + other.scatter / other.n

    def heal(self, moved_up: Node, orphan: Node | None) -> None:
        parent = moved_up.parent
        if parent is not None:
            self.interchange_once(moved_up)
            self.interchange_once(moved_up.sibling)
            self.interchange_up(parent, np.inf)
        if self.graft_neighbours > 0:
            self.graft_leaf(orphan, self.nearby(orphan))

    def nearby(self, leaf: Node) -> list[Node]:
        """The nearest leaves that a climb and a bounded number of steps down meet."""
        met, waiting, node = [], [], leaf
        while node.parent is not None:
            waiting.append(node.sibling)
            node = node.parent
        for _ in range(EXPANDED + 1):
            met += [node for node in waiting if node.is_leaf]
            waiting = [node for node in waiting if not node.is_leaf]
            if not waiting:
                break
            best = min(waiting, key=lambda node: self.spread(leaf, node))
            waiting.remove(best)
            waiting += best.children
        met.sort(key=lambda other: (self.spread(leaf, other), min(other.ids)))
        near = np.array([self.spread(leaf, other) for other in met[: self.graft_neighbours + 1]])
        close = np.abs(np.diff(near)) <= 1e-9 * near[1:]
        self.ambiguous |= bool(close.any() and any(other.kept for other in [leaf, *met]))
        return met[: self.graft_neighbours]

    def refine(self, passes: int, neighbors: int) -> list[int]:
        made = []
        leaves = sorted(self.root.leaves(), key=lambda leaf: min(leaf.ids))
        for _ in range(passes):
            before = self.grafts
            self.meet_all(leaves)
            for leaf in leaves:
                centre = self.moments(leaf).mean
                others = [v for v in self.nearest_leaves(centre) if v is not leaf]
                self.note_ties(centre, others[: neighbors + 1])
                self.graft_leaf(leaf, others[:neighbors])
            made.append(self.grafts - before)
            if made[-1] == 0:
                break
        return made

    def meet_all(self, leaves: list[Node]) -> None:
        """Before a pass of grafts; without edges there is nothing to do."""

    def note_ties(self, centre: Vector, leaves: list[Node]) -> None:
        """A mean off the grid is rounded to float32: who wins a tie is then up to rounding."""
        near = np.array([box_min(centre, leaf) for leaf in leaves])
        close = np.abs(np.diff(near)) <= 1e-5 * near[1:]
        self.ambiguous |= bool((centre % 1).any() and close.any())

    def distances(self):
        def rounded(a: Node, b: Node) -> np.float32:
            return np.float32(self.linkage(a, b))  # as the queue has it: ties in theory are ties

        return self.linkage, rounded  # collapsing goes by the linkage

    def collapsed(self, node: Node) -> Node:
        leaf = super().collapsed(node)
        leaf.kept = self.moments(node)[1:]
        return leaf
