"""`perch fit --ray` and `perch add --ray` on a real cluster of two workers."""

import importlib.util
import subprocess
import sys

import numba
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from object_store import object_store
from perchtree import Collection, distributed
from perchtree.inputs import arrays, batches
from perchtree.inputs.batches import File

HAS_RAY = importlib.util.find_spec("ray") is not None
needs_ray = pytest.mark.skipif(
    not HAS_RAY, reason="RAY IS NOT INSTALLED, and nothing about many machines is tested: "
    "pip install 'perchtree[ray]' (there may be no wheel for this system)",
)  # fmt: skip

# Whatever Ray warns about is not ours.
pytestmark = [pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of one worker each, which end with the tests; this process is connected."""
    import ray
    from nodes import Nodes

    from perchtree.distributed.cluster import load_ray

    load_ray()
    with Nodes(1, 1) as nodes:
        ray.init(address=nodes.address, logging_level="FATAL", log_to_driver=False)
        try:
            yield nodes
        finally:
            ray.shutdown()


@pytest.fixture
def vectors(tmp_path):
    """A folder of arrays, in which there are copies."""
    X = np.random.default_rng(0).normal(size=(5000, 8)).astype(np.float32)
    X[3000:3300] = X[:300]
    (tmp_path / "v").mkdir()
    np.save(tmp_path / "v/a.npy", X[:2000])
    np.save(tmp_path / "v/b.npy", X[2000:])
    return tmp_path / "v"


def is_ours(told):
    """Whether nothing of Ray's own messages is among what was said."""
    return all(line.startswith("perch: ") for line in told.splitlines())


def same_files(*names):
    return len({open(name, "rb").read() for name in names}) == 1


@needs_ray
@pytest.mark.parametrize("mode", ["grafted", "perch"])
def test_fit_gives_the_same_file(perch, cluster, vectors, mode):
    told = perch("fit", "v", "-o", "many.perch", "--mode", mode, "--ray", "auto").stderr
    assert "searched by 2 workers; saved as many.perch" in told
    assert is_ours(told)
    perch("fit", "v", "-o", "one.perch", "--mode", mode)
    assert same_files("one.perch", "many.perch")
    assert not (vectors.parent / "many.perch.work").exists()


@needs_ray
def test_add_and_folders(perch, cluster, vectors):
    perch("fit", "v/a.npy", "-o", "many.perch")
    perch("add", "many.perch", "v/b.npy", "--ray", "auto", "-q")
    perch("fit", "v", "-o", "kept.perchdb", "--ray", "auto", "-q")
    perch("fit", "v", "-o", "one.perch", "-q")
    assert same_files("one.perch", "many.perch")
    with Collection.open("kept.perchdb") as kept, Collection.open("one.perch") as one:
        assert np.array_equal(kept.tree.children, one.tree.children)


@needs_ray
def test_texts_ids_and_classes(perch, cluster, tmp_path):
    names = [f"{a} {b} lane" for a in ("rose", "lily", "oak") for b in range(40)]
    table = {"id": list(range(120)), "text": names, "kind": [i % 3 for i in range(120)]}
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    named = ("--id", "id", "--text", "text", "--class", "kind", "-q")
    perch("fit", "t.parquet", "-o", "many.perch", *named, "--ray", "auto")
    perch("fit", "t.parquet", "-o", "one.perch", *named)
    assert same_files("one.perch", "many.perch")


@needs_ray
def test_from_python(perch, cluster, vectors):
    found = distributed.fit(vectors, ray="auto", shuffle=3, block_rows=700)
    perch("fit", "v", "-o", "one.perch", "--shuffle", 3, "-q")
    with Collection.open("one.perch") as one:
        assert np.array_equal(found.tree.children, one.tree.children)
        assert np.array_equal(found.keys, one.keys)
    assert not vectors.with_name("v.work").exists()
    grown = distributed.fit(vectors / "a.npy")
    distributed.add(grown, vectors / "b.npy")
    whole = Collection()
    whole.add(np.concatenate([np.load(vectors / name) for name in ("a.npy", "b.npy")]))
    assert np.array_equal(grown.tree.children, whole.tree.children)
    boxes = distributed.fit(vectors, linkage="box", work=vectors.with_name("other"))
    whole = Collection(linkage="box")
    whole.add(np.concatenate([np.load(vectors / name) for name in ("a.npy", "b.npy")]))
    assert np.array_equal(boxes.tree.children, whole.tree.children)
    with pytest.raises(TypeError, match="linkages"):
        distributed.fit(vectors, linkages="box")


@needs_ray
def test_an_object_store(perch, cluster, tmp_path, monkeypatch):
    """Workers and this process read it, each by itself."""
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    (tmp_path / "in/v").mkdir(parents=True)
    X = np.random.default_rng(0).normal(size=(3000, 4)).astype(np.float32)
    for part in range(3):
        table = pa.table({"v": list(X[1000 * part : 1000 * part + 1000])})
        pq.write_table(table, tmp_path / f"in/v/{part}.parquet")
    with object_store(tmp_path / "in") as (address, _):
        perch("fit", address("v"), "-o", "many.perch", "--ray", "auto", "-q")
    perch("fit", "in/v", "-o", "one.perch", "-q")
    assert same_files("one.perch", "many.perch")


@needs_ray
def test_errors_of_workers_are_one_line(perch, cluster, tmp_path):
    X = np.zeros((50, 2))
    X[7, 1] = np.nan
    np.save(tmp_path / "x.npy", X)
    error = perch.fails("fit", "x.npy", "-o", "t.perch", "--ray", "auto")
    assert "row 7 contains NaN" in error
    assert "--skip-bad" in error
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    assert "a cluster reads" in perch.fails("fit", "x.csv", "-o", "t.perch", "--ray", "auto")


@needs_ray
def test_workers_unlike_this_machine(perch, cluster, vectors, monkeypatch):
    command = ("fit", "v", "-o", "t.perch", "--ray", "auto")
    with monkeypatch.context() as patched:
        patched.setattr(numba.config, "CPU_NAME", "z80")
        error = perch.fails(*command)
    assert "this one has z80: distances could differ in the last bit: set NUMBA_CPU_NAME" in error
    with monkeypatch.context() as patched:
        patched.setattr(np, "__version__", "0.1")
        error = perch.fails(*command)
    assert "this one has 0.1: install the same everywhere" in error

    class Renamed(File):
        """As if another version of perchtree were there."""

    Renamed.__module__, Renamed.__qualname__ = File.__module__, "Renamed"
    monkeypatch.setattr(batches, "Renamed", Renamed, raising=False)
    monkeypatch.setattr(arrays, "File", Renamed)
    error = perch.fails(*command)
    assert "or has another version: install the same everywhere (System error: Can't get" in error


@needs_ray
def test_a_cluster_of_its_own(tmp_path, vectors):
    """It starts, is quiet, and is gone afterwards."""
    command = [sys.executable, "-m", "perchtree", "fit", str(vectors), "-o", "own.perch"]
    result = subprocess.run(
        [*command, "--ray", "local", "--n-jobs", "2"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    assert is_ours(result.stderr)
    assert len(Collection.open(tmp_path / "own.perch")) == 5000
