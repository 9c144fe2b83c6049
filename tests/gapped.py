"""Trees whose ids have gaps, as after points were removed."""

import contextlib
from unittest import mock

import numpy as np

from perchtree import ClusterTree
from perchtree._kernels.schema import CHANGES, NEXT_ID, NONE
from perchtree.collection import changing


def skip_ids(tree, n_ids):
    """Let the next ids go to no point, as if the points that had them were removed again."""
    if n_ids == 0:
        return
    with tree.lock():
        tree._forget()
        tree._storage.make_room(n_ids)
        first = tree.next_id
        tree._tree.ids[first : first + n_ids] = NONE
        tree._tree.state[NEXT_ID] += n_ids
        tree._tree.state[CHANGES] += 1


def insert_with_gaps(tree, X, gaps, batch_rows):
    """Insert X in batches, with the next of `gaps`, again and again, before each; the ids."""
    ids = []
    for number, start in enumerate(range(0, len(X), batch_rows)):
        skip_ids(tree, gaps[number % len(gaps)])
        ids.append(tree.insert(X[start : start + batch_rows]))
    return np.concatenate(ids)


@contextlib.contextmanager
def late_ids(first_id):
    """Collections that are begun in this context begin with this id."""

    def begin(n_features, **settings):
        tree = ClusterTree(n_features, **settings)
        skip_ids(tree, first_id)
        return tree

    with mock.patch.object(changing, "ClusterTree", begin):
        yield


class GappedTree(ClusterTree):
    """The ids of its points are 7, 10, 13, 16, ..."""

    def insert_checked(self, rows, *, verbose=False):
        ids = []
        for start in range(len(rows)):
            skip_ids(self, 7 if self.next_id == 0 else 2)
            ids.append(super().insert_checked(rows[start : start + 1]))
        return np.concatenate(ids)
