"""PERCH written for reading: one object per node, everything by exhaustion, nothing fast.

Boxes and sizes are never stored, but taken from the leaves below a node whenever they are asked
for. A leaf has ids and a box: a point's box has no extent, a collapsed leaf's has. Distances are
squared float64: exact on small-integer grids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Node:
    def __init__(self, ids: list[int] | None = None, point: Vector | None = None) -> None:
        self.parent: Node | None = None
        self.children: list[Node] = []
        self.ids = ids if ids is not None else []
        self.box = (point, point)
        self.kept: tuple[Vector, float] | None = None
        """Mean and scatter of a collapsed leaf, in a tree with a linkage."""

    @property
    def is_leaf(self) -> bool:
        return not self.children

    @property
    def sibling(self) -> Node:
        assert self.parent is not None
        return next(child for child in self.parent.children if child is not self)

    @property
    def aunt(self) -> Node | None:
        if self.parent is None or self.parent.parent is None:
            return None
        return self.parent.sibling

    def leaves(self) -> Iterator[Node]:
        if self.is_leaf:
            yield self
        for child in self.children:
            yield from child.leaves()

    def nodes(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.nodes()

    @property
    def members(self) -> frozenset[int]:
        return frozenset(point_id for leaf in self.leaves() for point_id in leaf.ids)

    @property
    def size(self) -> int:
        return len(self.members)

    @property
    def corners(self) -> tuple[Vector, Vector]:
        boxes = np.array([leaf.box for leaf in self.leaves()])
        return boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)

    @property
    def height(self) -> float:
        lower, upper = self.corners
        return float(np.sqrt(((upper - lower) ** 2).sum()))


def squared(x: Vector, y: Vector) -> float:
    return float(((x - y) ** 2).sum())


def box_min(x: Vector, node: Node) -> float:
    """Equation 2."""
    lower, upper = node.corners
    return squared(x, np.clip(x, lower, upper))


def box_max(x: Vector, node: Node) -> float:
    """Equation 3."""
    lower, upper = node.corners
    return float(np.maximum((x - lower) ** 2, (x - upper) ** 2).sum())


def min_to_node(x: Vector, node: Node) -> float:
    if node.size > 20:
        return box_min(x, node)
    return min(box_min(x, leaf) for leaf in node.leaves())


def max_to_node(x: Vector, node: Node) -> float:
    if node.size > 20:
        return box_max(x, node)
    return max(box_max(x, leaf) for leaf in node.leaves())


def published_min(a: Node, b: Node) -> float:
    return max(
        min(min_to_node(corner, a) for corner in b.corners),
        min(min_to_node(corner, b) for corner in a.corners),
    )


def published_max(a: Node, b: Node) -> float:
    return min(
        max(max_to_node(corner, a) for corner in b.corners),
        max(max_to_node(corner, b) for corner in a.corners),
    )


def interval_min(a: Node, b: Node) -> float:
    """No point of one box is closer to one of the other."""
    (a_lower, a_upper), (b_lower, b_upper) = a.corners, b.corners
    return float((np.maximum(0, np.maximum(a_lower - b_upper, b_lower - a_upper)) ** 2).sum())


def interval_max(a: Node, b: Node) -> float:
    """No point of one box is farther from one of the other."""
    (a_lower, a_upper), (b_lower, b_upper) = a.corners, b.corners
    return float((np.maximum(a_upper - b_lower, b_upper - a_lower) ** 2).sum())


def exactly_masked(node: Node, sibling: Node, aunt: Node) -> bool:
    """Equation 1."""
    return any(
        max(box_min(x.box[0], y) for y in sibling.leaves())
        > min(box_min(x.box[0], z) for z in aunt.leaves())
        for x in node.leaves()
    )


def ratio(a: int, b: int) -> Fraction:
    """Definition 3 for one node."""
    return Fraction(min(a, b), max(a, b))


class ReferenceTree:
    def __init__(
        self,
        masking: str | None = "published",
        balance: str | None = "size",
        beam_width: int | None = None,
        max_leaves: int | None = None,
    ) -> None:
        self.root: Node | None = None
        self.next_id = 0
        self.masking_rotations = 0
        self.balance_rotations = 0
        self.masking = masking
        self.balance = balance
        self.beam_width = beam_width
        self.max_leaves = max_leaves

    @property
    def n_points(self) -> int:
        return 0 if self.root is None else self.root.size

    def insert(self, x: Vector) -> None:
        point_id = self.next_id
        self.next_id += 1
        if self.root is None:
            self.root = Node([point_id], x)
            return
        nearest = self.nearest_leaf(x)
        if all((corner == x).all() for corner in nearest.box):
            nearest.ids.append(point_id)
            return
        leaf = self.split(nearest, Node([point_id], x))
        self.rotate_masked(leaf.sibling)
        self.rotate_balanced(leaf.sibling)
        if self.max_leaves is not None:
            self.collapse_surplus(self.max_leaves)

    def remove(self, point_id: int) -> None:
        assert self.root is not None
        leaf = next(leaf for leaf in self.root.leaves() if point_id in leaf.ids)
        leaf.ids.remove(point_id)
        if leaf.ids:
            self.thin(leaf)
        elif leaf.parent is None:
            self.depart(leaf)
            self.root = None
        else:
            self.depart(leaf)
            moved_up, leaf.ids = leaf.sibling, [point_id]
            orphan = self.orphan(leaf)
            self.replace(leaf.parent, moved_up)
            self.heal(moved_up, orphan)

    def depart(self, leaf: Node) -> None:
        """Before a leaf is removed; without edges there is nothing to do."""

    def orphan(self, leaf: Node) -> Node | None:
        """By boxes nobody looks for grafts."""

    def thin(self, leaf: Node) -> None:
        """A leaf holds one id less: boxes stay."""

    def heal(self, moved_up: Node, orphan: Node | None) -> None:
        self.rotate_masked(moved_up)
        self.rotate_balanced(moved_up)

    def nearest_leaf(self, x: Vector) -> Node:
        assert self.root is not None
        leaves = self.root.leaves() if self.beam_width is None else self.beam_leaves(x)
        return min(leaves, key=lambda leaf: (box_min(x, leaf), box_max(x, leaf), min(leaf.ids)))

    def beam_leaves(self, x: Vector) -> Iterator[Node]:
        """Leaves that a beam meets, and that of an equal point, which is found by a hash."""
        assert self.root is not None
        yield from (leaf for leaf in self.root.leaves() if all((c == x).all() for c in leaf.box))
        level = [self.root]
        while level:
            yield from (node for node in level if node.is_leaf)
            internal = [node for node in level if not node.is_leaf]
            kept = sorted(internal, key=lambda node: box_min(x, node))[: self.beam_width]
            level = [child for node in kept for child in node.children]

    def split(self, leaf: Node, new_leaf: Node) -> Node:
        parent = Node()
        self.replace(leaf, parent)
        parent.children = [leaf, new_leaf]
        leaf.parent = new_leaf.parent = parent
        return new_leaf

    def replace(self, node: Node, by: Node) -> None:
        by.parent = node.parent
        if node.parent is None:
            self.root = by
        else:
            siblings = node.parent.children
            siblings[siblings.index(node)] = by

    def rotate(self, node: Node) -> None:
        sibling, aunt = node.sibling, node.aunt
        assert aunt is not None
        parent, grandparent = sibling.parent, aunt.parent
        parent.children[parent.children.index(sibling)] = aunt
        grandparent.children[grandparent.children.index(aunt)] = sibling
        aunt.parent, sibling.parent = parent, grandparent

    def is_masked(self, node: Node, sibling: Node, aunt: Node) -> bool:
        if self.masking is None:
            return False
        if self.masking == "exact":
            return exactly_masked(node, sibling, aunt)
        nearest, farthest = self.distances()
        return nearest(node, sibling) > farthest(node, aunt)

    def may_overlap(self, node: Node, sibling: Node, aunt: Node) -> bool:
        if self.masking == "exact":
            return exactly_masked(node, sibling, aunt)
        nearest, farthest = self.distances()
        return farthest(node, sibling) > nearest(node, aunt)

    def distances(self) -> tuple[Callable[[Node, Node], float], Callable[[Node, Node], float]]:
        if self.masking == "interval":
            return interval_min, interval_max
        return published_min, published_max

    def improves_balance(self, node: Node, sibling: Node, aunt: Node) -> bool:
        v, s, a = node.size, sibling.size, aunt.size
        if self.balance is None:
            return False
        if self.balance == "size":
            return abs(s - (v + a)) < abs(v + s - a)
        return ratio(v, a) + ratio(v + a, s) > ratio(v, s) + ratio(v + s, a)

    def rotate_masked(self, node: Node) -> None:
        while node.aunt is not None:
            parent = node.parent
            if self.is_masked(node, node.sibling, node.aunt):
                self.rotate(node)
                self.masking_rotations += 1
            elif not node.is_leaf:
                return
            node = parent

    def rotate_balanced(self, node: Node) -> None:
        while node.aunt is not None:
            parent, aunt = node.parent, node.aunt
            pair = [node, node.sibling]
            if node.sibling.size < node.size:
                pair.reverse()
            for smaller, larger in (pair, pair[::-1]):
                if self.improves_balance(smaller, larger, aunt) and self.may_overlap(
                    smaller, larger, aunt
                ):
                    self.rotate(smaller)
                    self.balance_rotations += 1
                    break
            node = parent

    def collapse_surplus(self, max_leaves: int) -> None:
        assert self.root is not None
        _, farthest = self.distances()
        while len(list(self.root.leaves())) > max_leaves:
            collapsible = [
                node
                for node in self.root.nodes()
                if not node.is_leaf and all(child.is_leaf for child in node.children)
            ]
            node = min(collapsible, key=lambda n: (farthest(*n.children), min(n.members)))
            self.replace(node, self.collapsed(node))

    def collapsed(self, node: Node) -> Node:
        leaf = Node(sorted(node.members))
        leaf.box = node.corners
        return leaf

    def clades(self) -> set[frozenset[int]]:
        """The points below each node. Two trees are the same if and only if these are."""
        return set() if self.root is None else {node.members for node in self.root.nodes()}

    def children(self) -> list[tuple[int, int]]:
        """The tree as merges in scikit-learn's numbering, by the definition."""
        assert self.root is not None
        merges = list(self._merges(self.root))
        known = {frozenset([i]): place for place, i in enumerate(sorted(self.root.members))}
        rows: list[tuple[int, int]] = []
        while merges:
            ready = [m for m in merges if m[2] in known and m[3] in known]
            merge = min(ready, key=lambda m: (m[0], m[1]))
            merges.remove(merge)
            low, high = sorted([known[merge[2]], known[merge[3]]])
            known[merge[2] | merge[3]] = self.n_points + len(rows)
            rows.append((low, high))
        return rows

    def _merges(self, node: Node) -> Iterator[tuple[float, int, frozenset[int], frozenset[int]]]:
        """(height, smallest id, one part, other part) of each merge at or below `node`."""
        if node.is_leaf:
            parts = [frozenset([i]) for i in sorted(node.ids)]
            while len(parts) > 1:
                pairs = list(zip(parts[0::2], parts[1::2], strict=False))
                for a, b in pairs:
                    yield node.height, min(a | b), a, b
                parts = [a | b for a, b in pairs] + parts[2 * len(pairs) :]
            return
        a, b = node.children
        yield node.height, min(node.members), a.members, b.members
        yield from self._merges(a)
        yield from self._merges(b)


def clades_of(tree: object) -> set[frozenset[int]]:
    """The ids below each node of a ClusterTree, read through its public face."""
    n_points = tree.n_points  # type: ignore[attr-defined]
    if n_points == 0:
        return set()
    leaves = {int(leaf) for leaf in tree.leaf_of(tree.ids)}  # type: ignore[attr-defined]
    inner = tree.table.inner  # type: ignore[attr-defined]
    merges = {n_points + int(i) for i in np.flatnonzero(~inner)}
    return {frozenset(tree.members(node).tolist()) for node in leaves | merges}  # type: ignore[attr-defined]
