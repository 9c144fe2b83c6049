"""Pictures for the docs, from real data: writes docs/gallery.md (`make gallery`)."""

import gzip
import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from perchtree import ClusterTree
from perchtree.plot import plot_dendrogram, plot_profile

from .data import load
from .growth import plot_growth, watch_growth

mpl.use("agg")
PICTURES = Path(__file__).parent.parent / "docs" / "pictures"


def load_texts(name: str, seed: int = 0) -> tuple[Any, list[str]]:
    """X and the text of each row, shuffled alike."""
    X, _ = load(name, seed=seed)
    path = Path(os.environ["PERCHTREE_DATA"]) / f"{name}.texts.txt.gz"
    texts = gzip.decompress(path.read_bytes()).decode().splitlines()
    order = np.random.default_rng(seed).permutation(len(texts))
    return X, [texts[i] for i in order]


def questions_to_an_assistant() -> Any:
    """22,500 questions to an assistant, in 150 classes"""
    X, texts = load_texts("clinc150")
    tree = ClusterTree(X.shape[1], linkage="average", n_jobs=-1)
    tree.insert(X)
    return plot_dendrogram(tree, branches=50, texts=texts)


def handwritten_digits() -> Any:
    """Handwritten digits, coloured by class"""
    X, y = load("digits")
    tree = ClusterTree(X.shape[1], linkage="average")
    tree.insert(X)
    return plot_dendrogram(tree, branches=40, classes=y)


def how_many_clusters() -> Any:
    """How many clusters? The digits again"""
    X, y = load("digits")
    tree = ClusterTree(X.shape[1], linkage="average")
    tree.insert(X)
    return plot_profile(tree, classes=y)


def what_clusters_cost() -> Any:
    """The cost of each number of clusters, without classes"""
    X, _ = load("digits")
    tree = ClusterTree(X.shape[1], linkage="average")
    tree.insert(X)
    return plot_profile(tree)


def half_a_million_rows() -> Any:
    """Growth of a tree of all 581,012 rows of CoverType"""
    X, _ = load("covtype")
    tree = ClusterTree(X.shape[1], linkage="average", n_jobs=-1)
    return plot_growth(watch_growth(tree, X, steps=60))


def half_a_million_rows_at_a_glance() -> Any:
    """The top of that tree"""
    X, y = load("covtype")
    tree = ClusterTree(X.shape[1], linkage="average", n_jobs=-1)
    tree.insert(X)
    return plot_dendrogram(tree, branches=40, classes=y)


GALLERY = [
    questions_to_an_assistant,
    handwritten_digits,
    how_many_clusters,
    what_clusters_cost,
    half_a_million_rows,
    half_a_million_rows_at_a_glance,
]


def page() -> Iterator[str]:
    yield "# Gallery\n"
    yield "Pictures of real data, made by `make gallery`, each with the code that draws it.\n"
    for make in GALLERY:
        axes = np.atleast_1d(make())
        axes[0].figure.savefig(PICTURES / f"{make.__name__}.png", dpi=110)
        source = inspect.getsource(make).split("\n", 2)[2]
        code = inspect.cleandoc(" " * 4 + source).replace("return ", "")
        yield f"## {make.__doc__}\n"
        yield f"![{make.__doc__}](pictures/{make.__name__}.png)\n"
        yield f"```python\n{code}\n```\n"


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    target = PICTURES.parent / "gallery.md"
    target.write_text("\n".join(page()).rstrip() + "\n")
    print(f"wrote {target}")
