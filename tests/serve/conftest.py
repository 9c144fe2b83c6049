import numpy as np
import pytest
from serving import served


@pytest.fixture(scope="session")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(0, 5, (6, 3))[np.arange(120) % 6] + rng.normal(0, 0.3, (120, 3))


@pytest.fixture
def fill(rows):
    def fill(collection):
        collection.add(
            rows, keys=[f"k{i}" for i in range(120)], classes=[i % 6 for i in range(120)],
            texts=[f"group{i % 6} record {i}" for i in range(120)],
        )  # fmt: skip
        collection.keep_clusters(distance=3.0)

    return fill


@pytest.fixture
def http(tmp_path, fill):
    with served(tmp_path / "people.perchdb", fill=fill) as client:
        yield client
