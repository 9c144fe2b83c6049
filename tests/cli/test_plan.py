"""`perch plan`, and the model behind it."""

import numpy as np
import pytest

from perchtree.distributed.job import cut
from perchtree.distributed.measuring import make_rows
from perchtree.distributed.model import (
    Constants,
    axes_of_one_machine,
    cells_plan,
    exact_plan,
    tree_bytes,
    tree_seconds,
)

CONSTANTS = Constants(
    pair=2e-9, first=5e-5, row=1e-4, rotate=1e-5, axes=1.0, image=500, read=1e-5, insert=5e-5,
    growth=0.02, celled=1e-4, look=1e-4, width=64, others=1e-5, renew=0.1,
    measured=16_384, crowd=1.2, task=0.01,
)  # fmt: skip


def test_plan(perch, tmp_path):
    told = perch("plan", "--rows", "1e7", "--dims", 16, "--workers", 50).stdout
    assert "one machine" in told
    assert "50 workers:" in told
    assert told.count("  exact: ") == told.count("  cells: ") == 2
    assert "recommended: perch fit INPUT -o TREE.perch --" in told
    np.save(tmp_path / "x.npy", make_rows(6500, 8))
    told = perch("plan", "--rows", 5000, "--dims", 8, "--like", "x.npy").stdout
    assert "recommended: perch fit INPUT -o TREE.perch --n-jobs -1\n" in told
    assert "rows have 8 features, not 9" in perch.fails(
        "plan", "--rows", 5000, "--dims", 9, "--like", "x.npy"
    )
    assert "not a whole number" in perch.fails("plan", "--rows", "ten", "--dims", 8, code=2)


@pytest.mark.parametrize("plan", [exact_plan, cells_plan])
def test_more_workers_take_less_until_the_tree_decides(plan):
    more = {"held": 2**33} if plan is exact_plan else {}
    plans = [plan(CONSTANTS, 10**7, 384, n, **more) for n in (1, 10, 100, 1000, 10_000)]
    seconds = [found.seconds for found in plans]
    assert seconds == sorted(seconds, reverse=True)
    assert plans[0].bound == "search"
    assert plans[-1].bound == "the tree phase"
    assert seconds[-1] >= plans[-1].tree


def test_search_is_quadratic_and_the_tree_nearly_linear():
    small, large = (exact_plan(CONSTANTS, n, 384, 100, held=2**40) for n in (10**7, 10**8))
    assert 50 < large.search / small.search < 101  # reading is linear
    assert 10 < large.tree / small.tree < 15
    assert tree_seconds(CONSTANTS, 1000) == pytest.approx(0.05)


def test_what_does_not_fit_is_read_again():
    few, many = (exact_plan(CONSTANTS, 10**7, 384, 10, held=held) for held in (2**30, 2**40))
    assert few.read > 10 * many.read
    assert few.worker_memory < many.worker_memory
    assert tree_bytes(10**6, 384) > 10**6 * 384 * 4
    assert cut(10**7, 384, None)[0] == 2**15


@pytest.mark.parametrize("dims", [64, 1024])
@pytest.mark.parametrize("workers", [1, 1000])
@pytest.mark.parametrize("search", ["exact", "cells"])
def test_more_rows_take_more_of_everything(dims, workers, search):
    more = {"held": 2**33} if search == "exact" else {}
    plan = exact_plan if search == "exact" else cells_plan
    for many in (True, False):
        plans = [plan(CONSTANTS, 10**n, dims, workers, many=many, **more) for n in (6, 7, 8, 9)]
        for name in ("seconds", "search", "tree", "memory", "read"):
            figures = [getattr(found, name) for found in plans]
            assert figures == sorted(figures), name
            if many or name != "memory":  # each thread needs some of its own
                assert figures[-1] > 900 * figures[0], name
        assert (plans[0].worker_memory > 0) == many


def test_axes_of_one_machine():
    """They are found at 2,048, 8,192 and 32,768 points, each of which is then rotated again."""
    assert axes_of_one_machine(2048) == (0, 2048)
    assert axes_of_one_machine(60_000) == (3, 60_000 + 2048 + 8192 + 32_768)


def test_four_threads_search_on_one_machine():
    """A batch has no more blocks than that; others are free for the tree."""
    one, four, many = (
        exact_plan(CONSTANTS, 10**6, 384, n, held=2**33, many=False) for n in (1, 4, 16)
    )
    assert one.search > four.search
    assert four.search == many.search
    assert four.seconds > many.seconds
