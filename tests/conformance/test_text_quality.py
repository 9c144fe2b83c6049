"""What encoders are worth, on the texts that lie beside the data."""

import gzip

import numpy as np
import pytest

from data_sets import data_folder
from perchtree import ClusterTree
from perchtree.encode import Chars
from perchtree.encode.choosing import choose_encoder
from perchtree.metrics import dendrogram_purity


def texts_of(name):
    path = data_folder() / f"{name}.texts.txt.gz"
    if not path.exists():
        pytest.skip(f"there is no {path.name}")
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")


@pytest.mark.jit
@pytest.mark.slow
def test_names_with_errors_are_found(data):
    texts, (_, y) = texts_of("hist50k"), data("hist50k")
    order = np.random.default_rng(0).permutation(len(y))[:20_000]
    texts = [texts[i] for i in order]
    tree = ClusterTree(256, n_jobs=-1)
    tree.insert(Chars(256).learned(texts).encode(texts))
    assert dendrogram_purity(tree, y[order]) >= 0.88


@pytest.mark.parametrize("name", ["hist50k", "clinc150"])
def test_the_better_encoder_is_chosen(name):
    """docs/text.md has the figures: pieces of words for single texts, words for several joined."""
    texts = texts_of(name)
    assert choose_encoder(texts).name == "chars"
    assert choose_encoder([" ".join(texts[i : i + 8]) for i in range(0, 8000, 8)]).name == "words"
