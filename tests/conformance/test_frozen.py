"""Trees are what earlier versions built, however their rows are split into calls."""

import json
from pathlib import Path

import numpy as np
import pytest

from frozen.make import BATCH_FREE_COUNTS, CUTS, RECIPES, build, make_queries, numbered, read

pytestmark = pytest.mark.jit

FROZEN = Path(__file__).parents[1] / "frozen" / "builds-0.1.0.npz"


@pytest.fixture(scope="module")
def frozen():
    with np.load(FROZEN) as file:
        return dict(file)


def test_every_recipe_is_frozen(frozen):
    names = {key.removeprefix("recipe/") for key in frozen if key.startswith("recipe/")}
    assert names == set(RECIPES)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("batch_rows", [None, 1, 7, 100])
@pytest.mark.parametrize("name", RECIPES)
def test_same_tree(frozen, name, batch_rows, n_jobs):
    recipe, counts = (json.loads(str(frozen[f"{part}/{name}"])) for part in ("recipe", "counts"))
    tree = build(recipe, frozen[f"rows/{recipe['data']}"], batch_rows, n_jobs)
    assert np.array_equal(numbered(tree).children, frozen[f"children/{name}"])
    made = {count: getattr(tree.stats, count) for count in BATCH_FREE_COUNTS}
    assert made == {count: counts[count] for count in BATCH_FREE_COUNTS}


def far(rows, queries, ids):
    """Squared distances of queries from points, in float64."""
    gaps = queries[:, np.newaxis].astype(np.float64) - rows[ids]
    return np.einsum("qnj,qnj->qn", gaps, gaps)


@pytest.mark.parametrize("name", RECIPES)
def test_same_readings(frozen, name):
    """Heights, cuts and neighbours, of the tree that is built from all rows at once."""
    recipe = json.loads(str(frozen[f"recipe/{name}"]))
    rows, queries = (frozen[f"{part}/{recipe['data']}"] for part in ("rows", "queries"))
    assert np.array_equal(queries, make_queries(rows))
    readings = read(build(recipe, rows), queries)
    assert np.allclose(readings["heights"], frozen[f"heights/{name}"], rtol=1e-5, atol=0)
    for k in CUTS:
        assert np.array_equal(readings[f"cut-{k}"], frozen[f"cut-{k}/{name}"]), k
    # Some queries lie halfway between two points: which is nearer is a matter of rounding, and so
    # of how many numbers a processor adds at a time.
    found, known = (
        far(rows, queries, ids) for ids in (readings["nearest"], frozen[f"nearest/{name}"])
    )
    assert np.allclose(found, known, rtol=1e-6, atol=0)
