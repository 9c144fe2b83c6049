"""Moving around the tree. Nothing recurses and nothing needs a stack: chains may be N deep."""

from . import numbering
from .jit import kernel
from .schema import (
    LEFT,
    NONE,
    PARENT,
    RIGHT,
    SIZE,
    Tree,
)

is_point = kernel(numbering.is_point)
row_of = kernel(numbering.row_of)
point_node = kernel(numbering.point_node)
box_node = kernel(numbering.box_node)


@kernel
def is_leaf(tree: Tree, node: int) -> bool:
    return bool(tree.nodes[node, LEFT] == NONE)


@kernel
def sibling_of(tree: Tree, node: int) -> int:
    """The other child of the parent; `node` must not be the root."""
    parent = tree.nodes[node, PARENT]
    return (
        tree.nodes[parent, RIGHT] if tree.nodes[parent, LEFT] == node else tree.nodes[parent, LEFT]
    )


@kernel
def has_aunt(tree: Tree, node: int) -> bool:
    """Whether the parent has a sibling, so that a rotation is possible (section 3.2)."""
    parent = tree.nodes[node, PARENT]
    return bool(parent != NONE and tree.nodes[parent, PARENT] != NONE)


@kernel
def lowest_common(tree: Tree, a: int, b: int) -> int:
    """The lowest node that holds both. Sizes grow towards the root, so the smaller one climbs."""
    while a != b:
        if tree.nodes[a, SIZE] <= tree.nodes[b, SIZE]:
            a = tree.nodes[a, PARENT]
        else:
            b = tree.nodes[b, PARENT]
    return a


@kernel
def first_leaf(tree: Tree, node: int) -> int:
    while tree.nodes[node, LEFT] != NONE:
        node = tree.nodes[node, LEFT]
    return node


@kernel
def skip_subtree(tree: Tree, node: int, top: int) -> int:
    """The next node of a preorder walk of `top` that is not below `node`; NONE at the end."""
    while node != top:
        parent = tree.nodes[node, PARENT]
        if tree.nodes[parent, LEFT] == node:
            return tree.nodes[parent, RIGHT]
        node = parent
    return NONE


@kernel
def next_leaf(tree: Tree, leaf: int, top: int) -> int:
    """The leaf after `leaf` in a walk over the leaves below `top`; NONE at the end."""
    node = skip_subtree(tree, leaf, top)
    return node if node == NONE else first_leaf(tree, node)


@kernel
def next_node(tree: Tree, node: int, top: int) -> int:
    """The node after `node` in a preorder walk of `top`; NONE at the end."""
    child = tree.nodes[node, LEFT]
    return child if child != NONE else skip_subtree(tree, node, top)
