"""Trees that stand still: how long they stay in memory."""

import gc
import threading
import weakref

import pytest

from perchtree import Collection
from perchtree.serve.service import Service
from perchtree.serve.versions import How

pytestmark = [pytest.mark.outer, pytest.mark.jit]


@pytest.fixture
def service(tmp_path, fill):
    with Collection.open(tmp_path / "x.perchdb", write=True, search="astar") as collection:
        fill(collection)
        yield Service(collection, "x.perchdb")


@pytest.fixture
def without_cycles():
    """Memory that is only given back when Python looks for cycles stays."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def newest(service):
    """The newest version, when the thread that has made it is done."""
    version = service.versions.current()
    for thread in threading.enumerate():
        if thread.name == "perchtree version":
            thread.join(30)
    return version


@pytest.mark.usefixtures("without_cycles")
def test_a_version_is_freed_as_soon_as_a_newer_one_is_there(service):
    version = newest(service)
    version.clustering(How("k", 3)).members(0)
    kept = version.clustering(How("k", 3)) is version.clustering(How("k", 3))
    assert kept
    version, tree = weakref.ref(version), weakref.ref(version.tree)
    assert version() is not None
    service.collection.remove(["k0"])
    assert newest(service).operation == service.collection.operation
    assert version() is None
    assert tree() is None


@pytest.mark.usefixtures("without_cycles")
def test_whoever_still_looks_at_an_old_version_can(service):
    version = newest(service)
    before = version.clustering(How("k", 3))
    service.collection.remove(["k0"])
    newest(service)
    assert len(before.members(0)) == before.sizes[0]
    assert before.version is version
    other = version.clustering(How("k", 4))
    assert len(other) == 4
    version = weakref.ref(version)
    del before, other
    assert version() is None
