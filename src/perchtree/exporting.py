"""What a tree can be turned into for other programs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._validate import as_count
from .exports.authors import authors_lines
from .exports.frames import as_frame
from .exports.linkage import as_linkage
from .exports.newick import as_newick
from .exports.truncated import as_json, truncated
from .files.replacing import replacing
from .html.content import make_page
from .reading import ReadableTree


class ExportableTree(ReadableTree):
    """A tree that can be handed on: to SciPy, pandas, Newick, JSON, and the authors' evaluator."""

    def to_linkage(self) -> NDArray[np.float64]:
        """The tree as a SciPy linkage matrix of shape (n_points - 1, 4).

        Rows are `children`, the height, and the number of points. Heights are lengths of box
        diagonals, which never shrink towards the root, whatever the tree's own linkage; points
        that share a leaf are joined at the leaf's own height.

        Examples
        --------
        >>> from scipy.cluster.hierarchy import fcluster
        >>> from perchtree import ClusterTree
        >>> tree = ClusterTree(n_features=1)
        >>> _ = tree.insert([[0], [1], [10], [11]])
        >>> fcluster(tree.to_linkage(), 2, "maxclust")
        array([1, 1, 2, 2], dtype=int32)
        """
        return as_linkage(self.table)

    def to_newick(self, names: Sequence[object] | None = None) -> str:
        """The tree in Newick format; branches are as long as heights differ.

        Parameters
        ----------
        names : sequence of n_points, optional
            What to call the points; otherwise their ids.

        Examples
        --------
        >>> from perchtree import ClusterTree
        >>> tree = ClusterTree(n_features=1)
        >>> _ = tree.insert([[0], [1], [5]])
        >>> tree.to_newick(["a", "b", "c d"])
        "('c d':5,(a:1,b:1):4);"
        """
        return as_newick(self.table, self._as_names(names))

    def to_pandas(self) -> Any:
        """A pandas DataFrame of all nodes: parent, size, depth, height, is_leaf.

        The index is the node's number: points are 0 to n_points - 1, as in `children`. Points
        that share a leaf are below the node that is their leaf.
        """
        return as_frame(self.table)

    def to_json(self, max_leaves: int = 1000, names: Sequence[object] | None = None) -> str:
        """The top of the tree as JSON: a list of nodes, parents first.

        Parameters
        ----------
        max_leaves : int
            How many nodes without children to show. The costliest (height x size) are opened.
        names : sequence of n_points, optional
            What to call points; otherwise their ids. Up to ten are listed where the tree is cut.
        """
        as_count("max_leaves", max_leaves)
        names = None if names is None else self._as_names(names)
        return as_json(truncated(self.table, max_leaves), names)

    def to_authors(
        self, path: str | Path, labels: Sequence[object], names: Sequence[object] | None = None
    ) -> None:
        """Write the tree as the authors' program does, for their evaluator.

        One line a node, `node<TAB>parent<TAB>label`. `perchtree.exports.authors.read_authors`
        reads such files.

        Parameters
        ----------
        path : path
        labels : sequence of n_points
            The class of each point.
        names : sequence of n_points, optional
            What to call points; otherwise `p0`, `p1`, ...
        """
        table = self.table
        names = [f"p{i}" for i in range(table.n_points)] if names is None else names
        lines = authors_lines(table, labels, names)
        with replacing(Path(path)) as file:
            file.writelines(line.encode() for line in lines)

    def to_html(
        self,
        path: str | Path,
        texts: Sequence[object] | None = None,
        labels: ArrayLike | None = None,
        *,
        title: str = "Cluster tree",
        max_leaves: int = 25_000,
    ) -> None:
        """Write one page on which a person can walk through the tree; a browser is all it needs.

        Parameters
        ----------
        path : path
        texts : sequence of n_points, optional
            What each point is, to read and to search.
        labels : array-like of n_points, optional
            Classes, if there are any: boxes are coloured by them.
        title : str
        max_leaves : int
            How many nodes without children are shown. Texts are shortened until the page has
            less than 2 MB.
        """
        as_count("max_leaves", max_leaves)
        if texts is not None:
            texts = self._as_names(texts)
        classes: Sequence[str] = []
        numbers = None
        if labels is not None:
            names, numbers = np.unique(np.asarray(labels), return_inverse=True)
            self._as_names(numbers)
            classes = [str(name) for name in names.tolist()]
        page = make_page(truncated(self.table, max_leaves), title, texts, numbers, classes)
        with replacing(Path(path)) as file:
            file.write(page.encode())

    def _as_names(self, names: Any) -> Sequence[object]:
        if names is None:
            return range(self.n_points)
        if len(names) != self.n_points:
            raise ValueError(f"{len(names)} names for a tree of {self.n_points} points")
        return list(names)
