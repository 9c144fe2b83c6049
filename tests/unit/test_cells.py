"""Search in cells: what the rule says, whatever the batches, threads and restarts."""

import pickle
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core import config

from perchtree import ClusterTree, CorruptFileError
from perchtree._arrays import copied
from perchtree._kernels.opening import REACH
from perchtree._kernels.schema import FIRST, LEFT, NONE, RIGHT, ROOT, SIZE, WORK
from perchtree.search import cells, renewing
from strategies import draw_bytes

MODES = [{}, {"linkage": "box"}]
N_POINTS = 60 if config.DISABLE_JIT else 160


@pytest.fixture(autouse=True)
def _small_trees():
    with (
        mock.patch.object(cells, "SMALLEST_TREE", 16),
        mock.patch.multiple(renewing, CELL_SIZE=4, REGION_SHARE=1, SAMPLE=12),
    ):
        yield


def points(n_points=N_POINTS, reach=9, d=3, seed=0):
    return np.random.default_rng(seed).integers(0, reach, (n_points, d)).astype(np.float32)


# The rule, written for reading


def distance(x, y):
    return float(((x - y) ** 2).sum())


class Oracle:
    """Cells as lists of (id, point), and a search in them by exhaustion.

    On a grid of small integers distances to points are exact; centres are float32, as in the
    search itself.
    """

    def __init__(self, tree):
        nodes = tree._tree.nodes
        size = max(renewing.CELL_SIZE, int(renewing.REGION_SHARE * np.sqrt(tree.n_leaves)))
        self.regions = []
        for region in self._small(nodes, int(tree._tree.state[ROOT]), size):
            self.regions.append([
                self._leaves(tree, cell) for cell in self._small(nodes, region, renewing.CELL_SIZE)
            ])  # fmt: skip
        self.centres = [[self._mean(cell) for cell in region] for region in self.regions]
        self.middles = [
            self._mean([leaf for cell in region for leaf in cell]) for region in self.regions
        ]

    def _small(self, nodes, node, size):
        if nodes[node, SIZE] <= size or nodes[node, LEFT] == NONE:
            return [node]
        return [
            *self._small(nodes, nodes[node, LEFT], size),
            *self._small(nodes, nodes[node, RIGHT], size),
        ]

    def _leaves(self, tree, node):
        ends = self._small(tree._tree.nodes, node, 0)
        return [
            (int(tree._tree.nodes[leaf, FIRST]), tree._tree.points[leaf // 2].copy())
            for leaf in ends
        ]

    @staticmethod
    def _mean(leaves):
        return (np.sum([x for _, x in leaves], axis=0, dtype=np.float64) / len(leaves)).astype("f4")

    def opened(self, x, width):
        """The nearest cells, as (region, cell), the nearest first."""
        order = sorted(range(len(self.regions)), key=lambda r: (distance(x, self.middles[r]), r))
        seen = []
        for region in order:
            if len(seen) >= REACH * width:
                break
            seen += [
                (distance(x, centre), region, cell)
                for cell, centre in enumerate(self.centres[region])
            ]
        return [(region, cell) for _, region, cell in sorted(seen)[:width]]

    def nearest(self, x, width, k):
        near = [
            (distance(x, y), point_id)
            for region, cell in self.opened(x, width)
            for point_id, y in self.regions[region][cell]
        ]
        return [point_id for _, point_id in sorted(near)[:k]]

    def add(self, point_id, x, width):
        if not any((x == y).all() for region in self.regions for cell in region for _, y in cell):
            region, cell = self.opened(x, width)[0]
            self.regions[region][cell].append((point_id, x.copy()))

    def remove(self, point_id, tree):
        """Take a point out; a copy, if there is one, takes its place."""
        for r, region in enumerate(self.regions):
            for c, cell in enumerate(region):
                for place, (own, y) in enumerate(cell):
                    if own == point_id:
                        rest, near = tree.nearest(y[None]) if tree.n_points else ([[NONE]], [[1]])
                        if near[0][0] == 0:
                            cell[place] = int(rest[0][0]), y
                            return
                        del cell[place]
                        nowhere = np.full(len(y), np.inf, np.float32)
                        self.centres[r][c] = self._mean(cell) if cell else nowhere
                        means = [
                            (len(leaves), self.centres[r][i]) for i, leaves in enumerate(region)
                        ]
                        total = sum(n for n, _ in means)
                        self.middles[r] = nowhere
                        if total:
                            whole = sum(n * mean.astype(np.float64) for n, mean in means if n)
                            self.middles[r] = (whole / total).astype(np.float32)
                        return

    def counts(self):
        return [len(cell) for region in self.regions for cell in region]


def renewed(tree, width):
    """Make cells now, of which so many are opened, and keep them."""
    with mock.patch.object(cells, "choose_width", return_value=width):
        tree._search._renew(tree._tree, np.zeros(len(WORK), np.int64))
    tree._search._state = tree._search._state._replace(renewal=2**30, fullest=2**30)


@given(st.data())
@pytest.mark.parametrize("mode", MODES)
def test_it_looks_where_the_rule_says(mode, data):
    n_points = data.draw(st.integers(18, 40))
    X = draw_bytes(data.draw, n_points, 2).astype(np.float32) % data.draw(st.sampled_from([5, 60]))
    width = data.draw(st.integers(1, 5))
    tree = ClusterTree(2, search="cells", **mode)
    tree.insert(X[:16])
    renewed(tree, width)
    oracle = Oracle(tree)
    for row in range(16, n_points):
        expected = oracle.nearest(X[row], width, 2)
        found, _ = tree._search._look(
            tree._tree, tree._search._state, X[row : row + 1], 2, np.zeros(len(WORK), np.int64)
        )
        assert found.ids[0].tolist()[: len(expected)] == expected
        tree.insert(X[row : row + 1])
        oracle.add(row, X[row], width)
        if data.draw(st.booleans()):
            gone = data.draw(st.sampled_from(tree.ids.tolist()))
            tree.remove([gone])
            oracle.remove(gone, tree)
        assert sorted(oracle.counts()) == sorted(tree._search._state.cells.counts.tolist())


@pytest.mark.parametrize("mode", MODES)
def test_any_way_of_inserting_gives_the_same_tree(mode, tmp_path):
    X = points()

    def build(n_rows, n_jobs=1, again=lambda tree: tree):
        tree = ClusterTree(3, search="cells", n_jobs=n_jobs, **mode)
        for first in range(0, len(X), 20):
            for start in range(first, min(first + 20, len(X)), n_rows):
                tree.insert(X[start : min(start + n_rows, first + 20)])
                tree = again(tree)
            tree.remove(tree.ids[first // 4 :: 9])
            tree.check()
        return tree

    def saved(tree):
        tree.save(tmp_path / "tree.perch")
        return ClusterTree.load(tmp_path / "tree.perch")

    one = build(len(X))
    assert one.stats.renewals > 3
    for other in (
        build(1), build(7, n_jobs=2), build(3, again=saved),
        build(9, again=lambda tree: pickle.loads(pickle.dumps(tree))),
    ):  # fmt: skip
        assert np.array_equal(one.children, other.children)
        assert np.array_equal(one.ids, other.ids)
        for count in ("renewals", "cells_checked", "cells_found", "linkages", "grafts"):
            assert getattr(one.stats, count) == getattr(other.stats, count)


def test_cells_are_made_anew_at_fixed_numbers_of_inserts():
    tree = ClusterTree(3, search="cells")
    made = []
    for row, x in enumerate(points(100, reach=1000)):
        tree.insert(x[None])
        if tree.stats.renewals > len(made):
            made.append(row)
    assert made == [16, 20, 25, 31, 38, 47, 58, 72, 90]


def test_a_cell_that_fills_up_is_made_anew():
    """Points that all come to one place would otherwise all be compared with each other."""
    tree = ClusterTree(1, search="cells")
    tree.insert(np.linspace(-900, -100, 400)[:, None])
    before = tree.stats.renewals
    renewed(tree, 1)
    tree._search._state = tree._search._state._replace(fullest=10)
    tree.insert(np.linspace(1, 2, 30)[:, None])
    assert tree.stats.renewals > before


def test_the_width_is_the_smallest_that_finds_enough():
    tree = ClusterTree(3, search="cells")
    tree.insert(points(reach=100))
    state = renewing.new_cells(tree._tree)
    exact = tree._search._exact
    widths = [
        renewing.choose_width(tree._tree, state, None, share, exact)
        for share in (0.01, 0.5, 0.9, 1)
    ]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1] <= len(state.centres)
    same = renewing.new_cells(tree._tree)
    assert all(np.array_equal(one, other) for one, other in zip(state, same, strict=True))


@pytest.mark.parametrize(
    "settings", [{"search": "cells"}, {"search": "beam", "beam_width": 1, "linkage": "box"}]
)
def test_copies_share_a_leaf_whatever_the_search_finds(settings):
    X = np.random.default_rng(1).normal(size=(N_POINTS, 6)).astype(np.float32)
    tree = ClusterTree(6, **settings)
    tree.insert(X)
    tree.insert(np.concatenate([X[::-1], -0.0 * X[:1], 0.0 * X[:1], X]))
    assert tree.n_leaves == len(X) + 1
    tree.remove(np.arange(0, N_POINTS, 2))
    tree.insert(X)
    assert tree.n_leaves == len(X) + 1
    tree.check()


def test_an_empty_cell_is_no_dead_end():
    X = np.concatenate([points(30, reach=5), points(30, reach=5) + 1000])
    tree = ClusterTree(3, search="cells", graft=0)
    tree.insert(X)
    renewed(tree, 1)
    tree.remove(np.arange(30, 60))
    tree.insert(X[30:31])
    assert tree.nearest(X[30:31], exact=False)[1][0, 0] == 0
    ids, _ = tree.nearest(X[31:32], k=5, exact=False)
    assert (ids == tree.nearest(X[31:32], k=5)[0]).all()


def test_an_interrupted_insert_leaves_cells_that_know_all_points():
    X = points(40)
    tree = ClusterTree(3, search="cells")
    tree.insert(X[:25])
    with mock.patch.object(tree._search, "added", return_value=None):
        tree.insert(X[25:27])
    tree.insert(X[27:])
    other = ClusterTree(3, search="cells")
    other.insert(X)
    assert np.array_equal(tree.children, other.children)
    assert tree._search._state.cells.counts.sum() == tree.n_leaves


def test_settings_that_do_not_go_together():
    with pytest.raises(ValueError, match="search='cells' needs the features of all points"):
        ClusterTree(2, search="cells", max_leaves=9)
    with pytest.raises(ValueError, match="recall must be above 0, and at most 1, got 1\\.5"):
        ClusterTree(2, recall=1.5)
    with pytest.raises(TypeError, match="recall must be a number, got 'all'"):
        ClusterTree(2, recall="all")


@pytest.mark.parametrize("name", ["regions", "centres", "starts", "cells", "numbers", "hashes"])
def test_a_broken_index_is_refused(name):
    tree = ClusterTree(3, search="cells")
    tree.insert(points())
    with tree.stored() as stored:
        index = dict(stored.search_index)
        assert set(index) == {"regions", "centres", "starts", "cells", "numbers", "hashes"}
        wrong = index[name].copy()
        wrong[0] = -7
        broken = [index[name][:-1], index[name].astype(np.float64), index[name][None]]
        if name in ("starts", "cells", "numbers", "hashes"):  # values that are used as places
            broken.append(wrong)
        for array in broken:
            with pytest.raises(CorruptFileError, match="cannot be used"):
                ClusterTree.from_stored(stored._replace(search_index=index | {name: array}))
        other = stored._replace(settings=stored.settings.changed(search="auto"))
        with pytest.raises(CorruptFileError, match="index of another search"):
            ClusterTree.from_stored(other)


@pytest.mark.parametrize("has_hashes", [True, False])
def test_copies_are_found_by_hashes_of_the_file(has_hashes):
    """Older files have none, and all points are read; of freed rows there are none either."""
    X = np.random.default_rng(0).normal(size=(N_POINTS, 3)).astype(np.float32)
    tree = ClusterTree(3, search="cells")
    tree.insert(X)
    tree.remove([5, 9])
    with tree.stored() as stored:
        index = dict(stored.search_index)
        assert (index["hashes"] == 0).sum() == 2
        if not has_hashes:
            del index["hashes"]
        loaded = ClusterTree.from_stored(
            stored._replace(tree=copied(stored.tree), search_index=index)
        )
    for each in (tree, loaded):
        each.insert(np.concatenate([X[::3], -X[:40], -X[:40], X[:12]]))
        each.check()
    assert np.array_equal(loaded.children, tree.children)
    assert loaded.n_leaves == N_POINTS + 40


def test_nothing_of_a_removed_point_stays_in_the_index(tmp_path):
    X = np.random.default_rng(0).normal(size=(N_POINTS, 3)).astype(np.float32)
    X[::7] *= 1000  # alone in their cells
    tree = ClusterTree(3, search="cells")
    tree.insert(X)
    with tree.stored() as stored:
        centres = stored.search_index["centres"].tobytes()
    assert any(x.tobytes() in centres for x in X)
    tree.remove(np.arange(0, N_POINTS, 7))
    tree.save(tmp_path / "tree.perch")
    written = (tmp_path / "tree.perch").read_bytes()
    assert not any(x.tobytes() in written for x in X[::7])
    assert ClusterTree.load(tmp_path / "tree.perch").n_points == tree.n_points
