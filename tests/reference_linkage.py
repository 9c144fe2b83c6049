"""Rotations by linkage and grafts, written for reading: means and scatters from all points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reference import Node, ReferenceTree, Vector, box_max, box_min

CLOSER, WORTH_A_GRAFT = 1 - 1e-5, 0.9799
PATIENCE, MOST_GRAFTS = 3, 8


def weight(n: int, m: int) -> float:
    return n * m / (n + m)


class LinkageTree(ReferenceTree):
    def __init__(
        self,
        linkage: str,
        graft: int = 5,
        beam_width: int | None = None,
        max_leaves: int | None = None,
    ) -> None:
        super().__init__(beam_width=beam_width, max_leaves=max_leaves)
        self.kind, self.graft_neighbours = linkage, graft
        self.points: list[Vector] = []
        self.grafts = self.interchanges = 0
        self.ambiguous = False

    # Linkages, by definition

    def points_of(self, *nodes: Node) -> NDArray:
        return np.array([self.points[i] for node in nodes for i in sorted(node.members)])

    def between(self, X: NDArray, Y: NDArray) -> float:
        gap = ((X.mean(axis=0) - Y.mean(axis=0)) ** 2).sum()
        if self.kind == "ward":
            return weight(len(X), len(Y)) * gap
        mean_square = ((X[:, np.newaxis] - Y) ** 2).sum(axis=2).mean()
        return mean_square * weight(len(X), len(Y)) ** 0.25

    def linkage(self, a: Node, b: Node) -> float:
        return self.between(self.points_of(a), self.points_of(b))

    def own(self, node: Node) -> float:
        return self.linkage(*node.children)

    # The algorithm

    def insert(self, x: Vector) -> None:
        point_id = self.n_points
        self.n_points += 1
        self.points.append(x)
        if self.root is None:
            self.root = Node([point_id], x)
            return
        neighbours = self.nearest_leaves(x)[: max(1, self.graft_neighbours)]
        if all((corner == x).all() for corner in neighbours[0].box):
            neighbours[0].ids.append(point_id)
            return
        leaf = self.split(neighbours[0], Node([point_id], x))
        self.interchange_up(leaf.parent, np.inf)
        if self.graft_neighbours > 0:
            self.graft_leaf(leaf, neighbours)
        if self.max_leaves is not None:
            self.collapse_surplus(self.max_leaves)

    def nearest_leaves(self, x: Vector) -> list[Node]:
        leaves = self.root.leaves() if self.beam_width is None else self.beam_leaves(x)
        return sorted(leaves, key=lambda leaf: (box_min(x, leaf), box_max(x, leaf), min(leaf.ids)))

    def interchange_up(self, node: Node | None, patience: float) -> None:
        quiet = 0
        while node is not None and node.parent is not None and quiet < patience:
            left, right = node.children
            to_left, to_right = (self.linkage(child, node.sibling) for child in (left, right))
            quiet += 1
            if min(to_left, to_right) < CLOSER * self.own(node):
                self.rotate(left if to_left < CLOSER * to_right else right)
                self.interchanges += 1
                quiet = 0
            node = node.parent

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
            union = self.points_of(a, b)
            at_a, at_b = (self.between(union, self.points_of(v.sibling)) for v in (a, b))
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

    def refine(self, passes: int, neighbors: int) -> list[int]:
        made = []
        leaves = sorted(self.root.leaves(), key=lambda leaf: min(leaf.ids))
        for _ in range(passes):
            before = self.grafts
            for leaf in leaves:
                centre = self.points_of(leaf).mean(axis=0)
                others = [v for v in self.nearest_leaves(centre) if v is not leaf]
                self.note_ties(centre, others[: neighbors + 1])
                self.graft_leaf(leaf, others[:neighbors])
            made.append(self.grafts - before)
            if made[-1] == 0:
                break
        return made

    def note_ties(self, centre: Vector, leaves: list[Node]) -> None:
        """A mean off the grid is rounded to float32: who wins a tie is then up to rounding."""
        near = np.array([box_min(centre, leaf) for leaf in leaves])
        close = np.abs(np.diff(near)) <= 1e-5 * near[1:]
        self.ambiguous |= bool((centre % 1).any() and close.any())

    def distances(self):
        def rounded(a: Node, b: Node) -> np.float32:
            return np.float32(self.linkage(a, b))  # as the queue has it: ties in theory are ties

        return self.linkage, rounded  # collapsing goes by the linkage
