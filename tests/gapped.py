"""A tree whose ids have gaps, as after points were removed."""

import dataclasses

from perchtree import ClusterTree


class GappedTree(ClusterTree):
    """The ids of its points are 7, 10, 13, 16, ..."""

    @property
    def table(self):
        table = super().table
        return dataclasses.replace(table, ids=3 * table.ids + 7)
