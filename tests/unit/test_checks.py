"""`check` finds every kind of damage and names the node."""

import numpy as np
import pytest

from perchtree import ClusterTree, InvariantError
from perchtree._kernels.schema import (
    BOX_ROWS,
    FEATURES,
    FIRST,
    FREE_BOX,
    FREE_POINT,
    LAST,
    LEAF,
    LEFT,
    MAX_LEAVES,
    N_LEAVES,
    NEXT,
    NONE,
    PARENT,
    POINT_ROWS,
    RIGHT,
    ROOT,
    SIZE,
)


@pytest.fixture
def tree():
    tree = ClusterTree(2, linkage="box")
    tree.insert(np.random.default_rng(0).integers(0, 5, (40, 2)))
    tree.check()
    return tree


def internal_nodes(arrays):
    odd = np.arange(1, 2 * int(arrays.state[BOX_ROWS]), 2)
    return odd[arrays.nodes[odd, LEFT] != NONE]


def leaf_with_copies(arrays):
    leaves = np.arange(0, 2 * int(arrays.state[POINT_ROWS]), 2)
    return leaves[np.argmax(arrays.nodes[leaves, SIZE])]


def break_parent(arrays):
    node = internal_nodes(arrays)[3]
    arrays.nodes[arrays.nodes[node, LEFT], PARENT] = 0
    return node


def break_child(arrays):
    node = internal_nodes(arrays)[3]
    arrays.nodes[node, LEFT] = len(arrays.nodes) + 5
    return node


def one_child(arrays):
    node = internal_nodes(arrays)[2]
    arrays.nodes[node, RIGHT] = NONE
    return node


def same_child_twice(arrays):
    node = internal_nodes(arrays)[2]
    arrays.nodes[node, RIGHT] = arrays.nodes[node, LEFT]
    return node


def children_at_a_point(arrays):
    arrays.nodes[4, LEFT] = arrays.nodes[4, RIGHT] = 0
    return 4


def break_size(arrays):
    node = internal_nodes(arrays)[1]
    arrays.nodes[node, SIZE] += 1
    return None


def break_box(arrays):
    """Of its parent it may be said first."""
    nodes = internal_nodes(arrays)
    large = nodes[arrays.nodes[nodes, FEATURES] != NONE]
    arrays.boxes[arrays.nodes[large[4], FEATURES], 1, 0] += 1
    return None


def leaf_count(arrays):
    leaf = leaf_with_copies(arrays)
    arrays.nodes[leaf, SIZE] += 1
    return leaf


def lost_id(arrays):
    leaf = leaf_with_copies(arrays)
    arrays.nodes[leaf, FIRST] = arrays.ids[arrays.nodes[leaf, FIRST], NEXT]
    return leaf


def wrong_end(arrays):
    leaf = leaf_with_copies(arrays)
    arrays.nodes[leaf, LAST] = arrays.nodes[leaf, FIRST]
    return leaf


def cut_list(arrays):
    leaf = leaf_with_copies(arrays)
    arrays.ids[arrays.nodes[leaf, FIRST], NEXT] = NONE
    return leaf


def list_into_another_leaf(arrays):
    leaf = leaf_with_copies(arrays)
    other = int(np.flatnonzero(arrays.ids[:40, LEAF] != leaf)[0])
    arrays.ids[arrays.nodes[leaf, FIRST], NEXT] = other
    return leaf


def id_in_an_internal_node(arrays):
    node = internal_nodes(arrays)[0]
    arrays.ids[7, LEAF] = node
    return node


def id_in_no_node(arrays):
    arrays.ids[7, LEAF] = 10_000
    return 10_000


def ids_at_an_internal_node(arrays):
    node = internal_nodes(arrays)[5]
    arrays.nodes[node, FIRST] = 3
    return node


def root_with_parent(arrays):
    root = arrays.state[ROOT]
    arrays.nodes[root, PARENT] = 0
    return root


def no_root(arrays):
    arrays.state[ROOT] = NONE
    return NONE


def two_trees(arrays):
    """A cycle beside the tree: links are mutual, but the root does not reach it."""
    root = arrays.state[ROOT]
    node = arrays.nodes[root, LEFT]
    node = node if node % 2 else arrays.nodes[root, RIGHT]
    arrays.state[ROOT] = node
    arrays.nodes[node, PARENT] = NONE
    return root


@pytest.mark.parametrize(
    "damage",
    [
        break_parent, break_child, one_child, same_child_twice, children_at_a_point, break_size,
        break_box, leaf_count, lost_id, wrong_end, cut_list, list_into_another_leaf,
        id_in_an_internal_node, id_in_no_node, ids_at_an_internal_node, root_with_parent, no_root,
        two_trees,
    ],
)  # fmt: skip
def test_damage_is_found(tree, damage):
    node = damage(tree._tree)
    named = r"node -?\d+ " if node is None else rf"node {node} "
    with pytest.raises(InvariantError, match=named):
        tree.check()


@pytest.fixture
def collapsed():
    tree = ClusterTree(2, linkage="box", max_leaves=8)
    tree.insert(np.random.default_rng(0).integers(0, 30, (80, 2)))
    tree.check()
    assert tree._tree.state[FREE_POINT] != NONE
    return tree


def lose_free_rows(tree):
    tree._tree.state[FREE_POINT] = NONE


def free_a_row_in_use(tree):
    root = int(tree._tree.state[ROOT])
    tree._tree.state[FREE_BOX] = root


def free_row_with_children(tree):
    free = int(tree._tree.state[FREE_POINT])
    tree._tree.nodes[free, LEFT] = 0


def lower_the_bound(tree):
    tree._tree.state[MAX_LEAVES] = 7


def miscount_leaves(tree):
    tree._tree.state[N_LEAVES] -= 1


def empty_the_queue(tree):
    assert tree._upkeep.queue.count[0] > 0
    tree._upkeep.queue.count[0] = 0


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lose_free_rows, "is free but not listed"),
        (free_a_row_in_use, "is in use but listed as free"),
        (free_row_with_children, "is free but has children"),
        (lower_the_bound, "is the root of more leaves than allowed"),
        (miscount_leaves, "is one of too many leaves"),
        (empty_the_queue, "can be collapsed but is not queued"),
    ],
)
def test_damage_to_a_collapsed_tree_is_found(collapsed, damage, message):
    damage(collapsed)
    with pytest.raises(InvariantError, match=message):
        collapsed.check()
