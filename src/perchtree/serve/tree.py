"""Parts of the tree, each cut to a size that can be looked at."""

import heapq
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from . import schemas
from .answers import answers, links
from .handles import Handle
from .problems import Problem
from .service import Service
from .versions import Version


def make_router(service: Service) -> APIRouter:
    router, turns, limits = APIRouter(tags=["tree"]), service.turns, service.limits

    @router.get(
        "/tree/{node}",
        responses=answers(404, 409, 410) | links(get_tree={"node": "$response.body#/nodes/1/node"}),
    )
    async def get_tree(
        node: Annotated[str, Path(max_length=64, description='A handle, or "root".')],
        size: Annotated[
            int, Query(ge=1, le=limits.tree_size, description="Nodes without shown children.")
        ] = 50,
    ) -> schemas.Subtree:
        """A subtree, cut off where it would have more branches: those that tell most are opened.

        Parents come before their children. A node that has changed since is a 409 with the handle
        `now`, one whose first point is gone a 410: never another node.
        """
        return await turns.slow(_subtree, node, size)

    def _subtree(name: str, size: int) -> schemas.Subtree:
        version = service.versions.current()
        handle = Handle.parse(name)
        if handle is None and name != "root":
            raise Problem(404, 'there is no such node: give a handle, or "root"')
        top = version.root if handle is None else version.find(handle)
        numbers, parents, opened = open_nodes(version, top, size)
        alone = [n for n in numbers if n < version.table.n_points]
        shown = service.show(version.table.ids[alone].tolist())
        nodes = []
        for number, parent, is_open in zip(numbers, parents, opened, strict=True):
            inside = version.table.sizes[number] > 1 and not is_open
            point = int(version.table.ids[number]) if number < version.table.n_points else None
            nodes.append(
                schemas.TreeNode(
                    **_node(version, number), parent=parent, cut_off=bool(inside),
                    exemplar=None if point is None else shown.get(point),
                )
            )  # fmt: skip
        above = [schemas.Node(**_node(version, number)) for number in version.path(top)[1:]]
        return schemas.Subtree(operation=version.operation, nodes=nodes, above=above)

    return router


def _node(version: Version, number: int) -> dict[str, Any]:
    table = version.table
    return {
        "node": str(version.handle(number)),
        "size": int(table.sizes[number]),
        "height": float(table.heights[number]),
    }


def open_nodes(
    version: Version, top: int, branches: int
) -> tuple[list[int], list[int | None], list[bool]]:
    """Nodes from one down, always opening the costliest (height x size), as pictures do.

    Returns numbers, the places of their parents, and which of them have their children shown.
    """
    table = version.table
    numbers, opened = [top], [False]
    parents: list[int | None] = [None]
    waiting = [(-float(table.heights[top] * table.sizes[top]), 0)]
    n_branches = 1
    while waiting and n_branches < branches:
        _, place = heapq.heappop(waiting)
        number = numbers[place]
        if number < table.n_points:
            continue
        opened[place] = True
        n_branches += 1
        for child in table.children[number - table.n_points].tolist():
            cost = -float(table.heights[child] * table.sizes[child])
            heapq.heappush(waiting, (cost, len(numbers)))
            numbers.append(child)
            parents.append(place)
            opened.append(False)
    return numbers, parents, opened
