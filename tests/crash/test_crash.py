"""A part of the crash tests, in seconds; `make crash` runs the whole."""

import contextlib
import shutil

import numpy as np
import pytest
from faults import FaultAt
from harness import run
from workload import SETTINGS, Twin, add, step

from perchtree import Collection, CorruptFileError, ReadOnlyError
from perchtree.store.snapshots import load_snapshot, snapshots_in

pytestmark = [pytest.mark.outer, pytest.mark.jit]

WHAT = ["random", "calls", "failures", "power", "locks", "memory"]


@pytest.fixture
def compiler():
    if shutil.which("cc") is None:
        pytest.skip("crash tests need a C compiler, cc, for the shim between process and disk")


@pytest.mark.usefixtures("compiler")
def test_some_of_everything(tmp_path):
    told = run("all", "quick", folder=tmp_path, timeout=300)
    assert "10 kills, 0 acknowledged operations lost" in told
    assert told.count("\n") == 10


@pytest.mark.slow
@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("what", WHAT)
def test_all_of_it(tmp_path, what):
    assert run(what, folder=tmp_path)


def small_folder(path, seed=3, n=12):
    kept = Collection.open(path, write=True, **SETTINGS)
    for number in range(1, n + 1):
        step(kept, seed, number)
    return kept


@pytest.mark.parametrize("stride", [211, pytest.param(1, marks=pytest.mark.slow)])
def test_every_bit_flip_and_truncation_of_a_snapshot_is_found(tmp_path, stride):
    kept = small_folder(tmp_path / "x.perchdb")
    kept.snapshot()
    kept.close()
    ((_, path),) = snapshots_in(tmp_path / "x.perchdb")
    whole = path.read_bytes()
    for bit in range(0, 8 * len(whole), stride):
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(content)
        with pytest.raises(CorruptFileError):
            load_snapshot(path)
    for length in range(0, len(whole), stride):
        path.write_bytes(whole[:length])
        with pytest.raises(CorruptFileError):
            load_snapshot(path)
    path.write_bytes(whole)
    load_snapshot(path)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("stride", [67, pytest.param(1, marks=pytest.mark.slow)])
def test_an_interruption_at_any_line_loses_nothing(tmp_path, error, stride):
    """Ctrl-C or no memory at any line: what is recorded is what was done, or nothing goes on."""
    small_folder(tmp_path / "start.perchdb").close()
    n, went_on = 1, 0
    while True:
        path = shutil.copytree(tmp_path / "start.perchdb", tmp_path / f"{n}.perchdb")
        kept = Collection.open(path, write=True)
        random = np.random.default_rng(n)

        def work(kept=kept, random=random):
            add(kept, random, 1000, 3)
            kept.remove(kept.keys[:2])

        fault = FaultAt(error, n)
        with contextlib.suppress(error, ReadOnlyError), fault:
            work()
        place, n_acked = fault.place, kept.operation
        try:
            step(kept, 8, 2000)
            went_on += 1
            n_acked = kept.operation
        except ReadOnlyError:
            pass
        with contextlib.suppress(ReadOnlyError):  # something was done that is not on the disk
            kept.close()
        with Collection.open(path) as again:
            assert again.operation >= n_acked, place
            again.verify()
        shutil.rmtree(path)
        if not place:
            break
        n += stride
    assert went_on > 1


def test_a_twin_notices_what_is_missing(tmp_path):
    """The comparison that every crash test relies on can fail."""
    kept = small_folder(tmp_path / "x.perchdb", seed=4)
    Twin(4).compare(kept)
    with pytest.raises(AssertionError):
        Twin(5).compare(kept)
    kept.remove(kept.keys[:1])
    with pytest.raises(AssertionError):
        Twin(4).compare(kept)
    kept.close()
