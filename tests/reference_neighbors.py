"""The linkage by neighbours, written for reading: the weight between two nodes is the sum over all
edges from one to the other."""

from __future__ import annotations

import numpy as np

from reference import Node, squared
from reference_linkage import LinkageTree

APART, ASKED, LISTED = 1e-3, 12, 24

Entry = tuple[int, float]
"""The number of a leaf, and the squared distance to it."""


class NeighborTree(LinkageTree):
    """Numbers of removed leaves are used again, the last one first, but stay in lists."""

    asked = ASKED

    def __init__(self, graft: int = 5, beam_width: int | None = None) -> None:
        super().__init__("average", graft, beam_width)
        self.numbers: dict[Node, int] = {}
        self.free: list[int] = []
        self.lists: dict[Node, list[Entry]] = {}
        self.weights: dict[frozenset[int], float] = {}

    def linkage(self, a: Node, b: Node) -> float:
        return super().linkage(a, b) / (self.edges([a], [b]) / (a.size * b.size) + APART)

    def linkage_of_union(self, a: Node, b: Node, other: Node) -> float:
        pairs = (a.size + b.size) * other.size
        return super().linkage_of_union(a, b, other) / (self.edges([a, b], [other]) / pairs + APART)

    def edges(self, some: list[Node], others: list[Node]) -> float:
        one, two = (
            {self.numbers[leaf] for node in nodes for leaf in node.leaves()}
            for nodes in (some, others)
        )
        return sum(weight for ends, weight in self.weights.items() if ends & one and ends & two)

    def arrive(self, leaf: Node, neighbours: list[Node]) -> None:
        self.numbers[leaf] = self.free.pop() if self.free else len(self.numbers)
        self.lists[leaf] = []
        for neighbour in neighbours:
            self.meet(leaf, neighbour)

    def meet(self, leaf: Node, neighbour: Node) -> None:
        length = np.float32(squared(leaf.box[0], neighbour.box[0]))
        places = [self.enlist(a, b, length) for a, b in ((leaf, neighbour), (neighbour, leaf))]
        ends = frozenset({self.numbers[leaf], self.numbers[neighbour]})
        if None not in places and ends not in self.weights:
            self.weights[ends] = float(np.float32(sum(1 / (place + 1) for place in places)))

    def enlist(self, leaf: Node, neighbour: Node, length: float) -> int | None:
        entries, entry = self.lists[leaf], (self.numbers[neighbour], length)
        if entry in entries:
            return entries.index(entry)
        if len(entries) == LISTED:
            if length >= entries[-1][1]:
                return None
            dropped, _ = entries.pop()
            self.weights.pop(frozenset({self.numbers[leaf], dropped}), None)
        place = sum(other <= length for _, other in entries)
        entries.insert(place, entry)
        return place

    def depart(self, leaf: Node) -> None:
        number = self.numbers.pop(leaf)
        for other, entries in self.lists.items():
            if other is not leaf:
                ends = frozenset({self.numbers[other], number})
                if self.weights.pop(ends, None) is not None:
                    length = np.float32(squared(leaf.box[0], other.box[0]))
                    entries.remove((number, length))
        del self.lists[leaf]
        self.free.append(number)

    def meet_all(self, leaves: list[Node]) -> None:
        for leaf in leaves:
            others = [other for other in self.nearest_leaves(leaf.box[0]) if other is not leaf]
            for other in others[:LISTED]:
                self.meet(leaf, other)
