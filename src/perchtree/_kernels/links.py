"""Changing the tree: the operations that rewire nodes. Each leaves every invariant true."""

from .features import (
    ONE,
    extend_box,
    fit_box,
    lower_corner,
    resize,
    return_features,
    upper_corner,
)
from .jit import kernel
from .schema import (
    BOX_ROWS,
    CHANGES,
    COUNTED,
    FEATURES,
    FIRST,
    FREE_BOX,
    FREE_POINT,
    LAST,
    LEAF,
    LEFT,
    N_LEAVES,
    N_POINTS,
    NEXT,
    NEXT_ID,
    NONE,
    PARENT,
    POINT_ROWS,
    PREVIOUS,
    RIGHT,
    ROOT,
    SIZE,
    TOUCHED,
    Floats,
    Tree,
)
from .walk import box_node, is_point, point_node, row_of, sibling_of


@kernel
def touch(tree: Tree, node: int) -> None:
    """Note that an internal node changes now."""
    tree.nodes[node, TOUCHED] = tree.state[CHANGES] & COUNTED


@kernel
def touch_up(tree: Tree, node: int) -> None:
    """Touch an internal node and its ancestors.

    Above one that was touched by the same change all have been.
    """
    now = tree.state[CHANGES] & COUNTED
    while node != NONE and tree.nodes[node, TOUCHED] != now:
        tree.nodes[node, TOUCHED] = now
        node = tree.nodes[node, PARENT]


@kernel
def take_node(tree: Tree, free: int, rows: int) -> int:
    """A free node of a kind, which `free` and `rows` count: a freed one or the next new one."""
    node = tree.state[free]
    if node != NONE:
        tree.state[free] = tree.nodes[node, PARENT]
        return node
    row = tree.state[rows]
    tree.state[rows] = row + 1
    if rows != BOX_ROWS:
        return point_node(row)
    tree.nodes[box_node(row), FEATURES] = NONE
    return box_node(row)


@kernel
def erase_features(tree: Tree, node: int) -> None:
    """Overwrite the rows of a node with zeros: nothing removed may be found in a file."""
    row = row_of(node)
    if is_point(node):
        for j in range(tree.points.shape[1]):
            tree.points[row, j] = 0
        return
    return_features(tree, node)
    if tree.moments.shape[0] > 0:
        for part in range(tree.moments.shape[1]):
            tree.moments[row, part] = 0


@kernel
def free_node(tree: Tree, node: int) -> None:
    """Free a node and its rows, and erase them."""
    free = FREE_POINT if is_point(node) else FREE_BOX
    erase_features(tree, node)
    tree.nodes[node, PARENT] = tree.state[free]
    tree.nodes[node, LEFT] = NONE
    tree.nodes[node, RIGHT] = NONE
    tree.nodes[node, SIZE] = 0
    tree.nodes[node, FIRST] = NONE
    tree.nodes[node, LAST] = NONE
    tree.state[free] = node


@kernel
def take_id(tree: Tree, leaf: int) -> int:
    """The next id, given to a leaf."""
    point_id = tree.state[NEXT_ID]
    tree.state[NEXT_ID] = point_id + 1
    tree.state[N_POINTS] += 1
    tree.state[CHANGES] += 1
    tree.ids[point_id, LEAF] = leaf
    tree.ids[point_id, NEXT] = NONE
    tree.ids[point_id, PREVIOUS] = NONE
    return point_id


@kernel
def make_leaf(tree: Tree, x: Floats) -> int:
    """A new leaf, not linked yet, that holds the next id."""
    leaf = take_node(tree, FREE_POINT, POINT_ROWS)
    row = row_of(leaf)
    point_id = take_id(tree, leaf)
    for j in range(x.shape[0]):
        tree.points[row, j] = x[j]
    tree.nodes[leaf, PARENT] = NONE
    tree.nodes[leaf, LEFT] = NONE
    tree.nodes[leaf, RIGHT] = NONE
    tree.nodes[leaf, SIZE] = 1
    tree.nodes[leaf, FIRST] = point_id
    tree.nodes[leaf, LAST] = point_id
    tree.state[N_LEAVES] += 1
    return leaf


@kernel
def join_leaf(tree: Tree, leaf: int) -> None:
    """Give the next id to a leaf that has the same point: counts grow, nothing rotates."""
    point_id = take_id(tree, leaf)
    tree.ids[tree.nodes[leaf, LAST], NEXT] = point_id
    tree.ids[point_id, PREVIOUS] = tree.nodes[leaf, LAST]
    tree.nodes[leaf, LAST] = point_id
    tree.nodes[leaf, SIZE] += 1
    node = tree.nodes[leaf, PARENT]
    while node != NONE:
        was_small = tree.nodes[node, FEATURES] == NONE
        resize(tree, node, tree.nodes[node, SIZE] + 1)
        if was_small:
            fit_box(tree, node)
        touch(tree, node)
        node = tree.nodes[node, PARENT]


@kernel
def replace_child(tree: Tree, parent: int, child: int, by: int) -> None:
    """Put `by` where `child` was below `parent`; with parent NONE, at the root."""
    tree.nodes[by, PARENT] = parent
    if parent == NONE:
        tree.state[ROOT] = by
    elif tree.nodes[parent, LEFT] == child:
        tree.nodes[parent, LEFT] = by
    else:
        tree.nodes[parent, RIGHT] = by


@kernel
def fit_ancestors(tree: Tree, node: int, top: int) -> None:
    """Recompute sizes and boxes of `node` and its ancestors, up to `top`."""
    while True:
        left, right = tree.nodes[node, LEFT], tree.nodes[node, RIGHT]
        resize(tree, node, tree.nodes[left, SIZE] + tree.nodes[right, SIZE])
        fit_box(tree, node)
        touch(tree, node)
        if node == top:
            return
        node = tree.nodes[node, PARENT]


@kernel
def add_to_ancestors(tree: Tree, node: int, x: Floats) -> None:
    """AddPt of Algorithm 1, from `node` to the root.

    Boxes nest: above the first one that holds x already, only counts change.
    """
    growing = True
    while node != NONE:
        was_small = tree.nodes[node, FEATURES] == NONE
        resize(tree, node, tree.nodes[node, SIZE] + 1)
        touch(tree, node)
        if was_small:
            fit_box(tree, node)
        elif growing:
            growing = extend_box(tree.boxes[tree.nodes[node, FEATURES]], x)
        node = tree.nodes[node, PARENT]


@kernel
def touches_box(tree: Tree, leaf: int, node: int) -> bool:
    """Whether what a leaf holds lies on the border of a node's box, not strictly inside it."""
    box = tree.boxes[tree.nodes[node, FEATURES]]
    lower, upper = lower_corner(tree, leaf, ONE), upper_corner(tree, leaf, ONE)  # never small
    for j in range(box.shape[1]):
        if lower[j] <= box[0, j] or upper[j] >= box[1, j]:
            return True
    return False


@kernel
def take_from_ancestors(tree: Tree, node: int, leaf: int) -> None:
    """AddPt of Algorithm 1 undone, from `node` to the root, for a leaf that is not below any more.

    Boxes nest: above the first one that had the leaf strictly inside, only counts change.
    """
    shrinking = True
    while node != NONE:
        resize(tree, node, tree.nodes[node, SIZE] - 1)
        touch(tree, node)
        if shrinking and tree.nodes[node, FEATURES] != NONE:
            shrinking = touches_box(tree, leaf, node)
            if shrinking:
                fit_box(tree, node)
        node = tree.nodes[node, PARENT]


@kernel
def splice(tree: Tree, leaf: int) -> int:
    """Split undone: a leaf that holds no id disappears with its parent; the sibling moves up.

    Returns the sibling; NONE if the leaf was the root.
    """
    parent = tree.nodes[leaf, PARENT]
    tree.state[N_LEAVES] -= 1
    if parent == NONE:
        tree.state[ROOT] = NONE
        free_node(tree, leaf)
        return NONE
    sibling = sibling_of(tree, leaf)
    replace_child(tree, tree.nodes[parent, PARENT], parent, sibling)
    take_from_ancestors(tree, tree.nodes[sibling, PARENT], leaf)
    free_node(tree, leaf)
    free_node(tree, parent)
    return sibling


@kernel
def split(tree: Tree, leaf: int, x: Floats) -> int:
    """Split of section 3.2: a new leaf for x beside `leaf`, under a new parent of both."""
    new_leaf = make_leaf(tree, x)
    parent = take_node(tree, FREE_BOX, BOX_ROWS)
    replace_child(tree, tree.nodes[leaf, PARENT], leaf, parent)
    tree.nodes[parent, LEFT] = leaf
    tree.nodes[parent, RIGHT] = new_leaf
    tree.nodes[leaf, PARENT] = parent
    tree.nodes[new_leaf, PARENT] = parent
    resize(tree, parent, tree.nodes[leaf, SIZE] + 1)
    tree.nodes[parent, FIRST] = NONE
    touch(tree, parent)
    fit_box(tree, parent)
    add_to_ancestors(tree, tree.nodes[parent, PARENT], x)
    return new_leaf


@kernel
def rotate(tree: Tree, node: int) -> None:
    """Rotate of section 3.3: `node` and its aunt become siblings; its old sibling moves up."""
    parent = tree.nodes[node, PARENT]
    grandparent = tree.nodes[parent, PARENT]
    sibling = sibling_of(tree, node)
    aunt = sibling_of(tree, parent)
    replace_child(tree, parent, sibling, aunt)
    replace_child(tree, grandparent, aunt, sibling)
    resize(tree, parent, tree.nodes[node, SIZE] + tree.nodes[aunt, SIZE])
    fit_box(tree, parent)
    touch(tree, parent)
    touch(tree, grandparent)


@kernel
def graft(tree: Tree, node: int, other: int, top: int) -> None:
    """Move `node` away from its sibling and beside `other`, both somewhere below `top`.

    Its parent comes along and is now the parent of both; the sibling takes the parent's place.
    `node` must not be a child of `top`.
    """
    tree.state[CHANGES] += 1
    parent = tree.nodes[node, PARENT]
    grandparent = tree.nodes[parent, PARENT]
    replace_child(tree, grandparent, parent, sibling_of(tree, node))
    replace_child(tree, tree.nodes[other, PARENT], other, parent)
    tree.nodes[parent, LEFT] = other
    tree.nodes[parent, RIGHT] = node
    tree.nodes[other, PARENT] = parent
    fit_ancestors(tree, grandparent, top)
    fit_ancestors(tree, parent, top)
    touch_up(tree, tree.nodes[top, PARENT])
