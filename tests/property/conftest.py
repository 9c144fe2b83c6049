"""Points of a few features, in trees like those of many."""

from unittest import mock

import pytest

from perchtree import _arrays


@pytest.fixture(autouse=True, scope="module")
def small_nodes_as_of_long_rows():
    """Nodes of up to four points keep no features, instead of pairs alone."""
    with mock.patch.object(_arrays, "SHORT_ROWS", 0):
        yield
