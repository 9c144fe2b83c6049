"""Compressed files: the same content in fewer bytes, and nothing that is damaged is let through."""

import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from crafting import checksum, crafted, section
from perchtree import ClusterTree, Collection, CorruptFileError, Perch, check_file
from perchtree.files import compression, container
from perchtree.files.container import Reader, Section, write

zstd = pytest.importorskip("backports.zstd" if sys.version_info < (3, 14) else "compression.zstd")

quickly = settings(
    max_examples=max(15, settings.default.max_examples // 5),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
dtypes = st.sampled_from(["<i1", "<i4", ">i8", "<u2", "<f2", "<f4", ">f8"]).map(np.dtype)
arrays = arrays_of.arrays(dtypes, arrays_of.array_shapes(max_dims=3, min_side=0, max_side=5))
X = np.random.default_rng(3).normal(size=(200, 6)).astype(np.float32)


def read_all(path):
    reader = Reader(path)
    return {name: reader.read("a", name) for name in reader.names("a")}


@given(content=st.dictionaries(st.text(max_size=4), arrays, max_size=3))
@quickly
def test_what_was_written_comes_back(tmp_path, content):
    path, turned = tmp_path / "small.perch", tmp_path / "turned.perch"
    write(path, {"a": Section({"k": 1}, content)}, compress=True)
    for name, read in read_all(path).items():
        assert read.dtype == content[name].dtype.newbyteorder("=")
        np.testing.assert_array_equal(read, content[name])
    assert Reader(path).is_compressed == any(array.size for array in content.values())
    fortran = {name: np.asfortranarray(array) for name, array in content.items()}
    write(turned, {"a": Section({"k": 1}, fortran)}, compress=True)
    assert turned.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, lambda a: a.astype(">f8")])
def test_arrays_of_many_pieces(tmp_path, layout):
    array = np.round(np.random.default_rng(0).normal(size=(3 * container._PIECE // 80 + 1, 10)), 1)
    path = tmp_path / "large.perch"
    tracemalloc.start()
    write(path, {"a": Section({}, {"x": layout(array)})}, compress=True)
    read = read_all(path)["x"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(read, array)
    assert peak < 2 * array.nbytes + 8 * container._PIECE
    assert path.stat().st_size < array.nbytes / 2


def test_arrays_that_nearly_vanish_leave_room_behind_them(tmp_path):
    """So that what a file may ask for is bounded by its size."""
    zeros = np.zeros(5_000_000, np.int32)
    write(tmp_path / "zeros.perch", {"a": Section({}, {"x": zeros})}, compress=True)
    size = (tmp_path / "zeros.perch").stat().st_size
    assert zeros.nbytes / compression.MOST < size < zeros.nbytes / compression.MOST + 1000
    np.testing.assert_array_equal(read_all(tmp_path / "zeros.perch")["x"], zeros)
    content = bytearray((tmp_path / "zeros.perch").read_bytes())
    content[-70] ^= 4
    (tmp_path / "zeros.perch").write_bytes(content)
    with pytest.raises(CorruptFileError, match="'x' does not match its checksum"):
        read_all(tmp_path / "zeros.perch")


@pytest.fixture(params=["tree", "collection", "estimator"])
def saved(request, tmp_path):
    """A compressed file."""
    path = tmp_path / "small.perch"
    if request.param == "tree":
        tree = ClusterTree(6, search="cells")
        tree.insert(X[:80])
        tree.save(path, compress=True)
    elif request.param == "collection":
        collection = Collection()
        collection.add(X[:80], keys=[f"key {i}" for i in range(80)], texts=["text"] * 80)
        collection.save(path, compress=True)
    else:
        Perch(n_clusters=3).fit(X[:80]).save(path, compress=True)
    return path


def test_every_truncation_is_refused(saved):
    whole = saved.read_bytes()
    for length in [*range(0, len(whole), 61), len(whole) - 1]:
        saved.write_bytes(whole[:length])
        with pytest.raises(CorruptFileError, match=r"small\.perch"):
            ClusterTree.load(saved)
    saved.write_bytes(whole + b"\0")
    with pytest.raises(CorruptFileError, match="longer than it should be"):
        ClusterTree.load(saved)


def test_flipped_bits_are_refused(saved):
    whole = saved.read_bytes()
    rng = np.random.default_rng(0)
    for bit in rng.choice(8 * len(whole), 400, replace=False).tolist():
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        saved.write_bytes(damaged)
        with pytest.raises(CorruptFileError, match=r"small\.perch") as error:
            Collection.open(saved)
        assert "\n" not in str(error.value)


def forged(path, content, stored, *, length=None, room=None):
    """A file whose one array has these bytes, and right checksums."""
    length = len(content) if length is None else length
    entry = {"name": "x", "dtype": "|u1", "shape": [length], "zstd": len(stored),
             "checksum": checksum(stored).hex()}  # fmt: skip
    room = max(len(stored), -(-length // compression.MOST)) if room is None else room
    body = stored.ljust(room, b"\0")
    path.write_bytes(crafted({"sections": {"a": section(entry)}}, body=body + bytes(-room % 64)))
    return path


def test_a_file_as_the_documentation_describes_it(tmp_path):
    content = bytes(range(200))
    path = forged(tmp_path / "by_hand.perch", content, zstd.compress(content))
    assert read_all(path)["x"].tobytes() == content


CONTENT = b"perch" * 1000


@pytest.mark.parametrize(
    "stored",
    [
        zstd.compress(CONTENT[:-1]),
        zstd.compress(CONTENT + b"!"),
        zstd.compress(CONTENT) + b"more",
        zstd.compress(CONTENT) + zstd.compress(b"more"),
        zstd.compress(CONTENT)[:-1],
        zstd.compress(CONTENT * 10**6),
        b"no frame at all",
    ],
    ids=["shorter", "longer", "followed", "two", "cut", "bomb", "other"],
)
def test_checksums_that_are_right_do_not_help(tmp_path, stored):
    """What is stored has to be exactly the array; nothing beyond it is decompressed."""
    path = forged(tmp_path / "wrong.perch", CONTENT, stored)
    tracemalloc.start()
    with pytest.raises(CorruptFileError, match="'x' does not match its checksum"):
        read_all(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * container._PIECE


@pytest.mark.parametrize("length", [10**6, 2**39])
def test_a_small_file_cannot_ask_for_much(tmp_path, length):
    """Its size is compared with what the header says before anything is allocated."""
    stored = zstd.compress(bytes(10**6))
    path = forged(tmp_path / "bomb.perch", b"", stored, length=length, room=len(stored))
    tracemalloc.start()
    with pytest.raises(CorruptFileError, match="is cut short"):
        Reader(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20


@pytest.mark.parametrize("zstd_field", [0, -1, 1.5, True, "3", 2**60, [1]])
def test_lengths_that_make_no_sense(tmp_path, zstd_field):
    entry = {"name": "x", "dtype": "|u1", "shape": [4], "zstd": zstd_field, "checksum": "00"}
    path = tmp_path / "small.perch"
    path.write_bytes(crafted({"sections": {"a": section(entry)}}, body=bytes(64)))
    with pytest.raises(CorruptFileError, match="makes no sense"):
        Reader(path)


def test_it_cannot_be_mapped(saved):
    for load in (ClusterTree.load, Collection.open, Perch.load):
        with pytest.raises(ValueError, match=r"small\.perch is compressed, so it cannot be mapped"):
            load(saved, mmap=True)
    check_file(saved)


def test_it_stays_compressed(tmp_path):
    path = tmp_path / "small.perch"
    collection = Collection()
    collection.add(np.repeat(X, 3, axis=0))
    collection.save(path)
    plain = path.read_bytes()
    collection.save(path, compress=True)
    small = path.stat().st_size
    assert small < len(plain)
    opened = Collection.open(path)
    opened.save(path)
    assert path.stat().st_size == small
    opened.save(path, compress=False)
    assert path.read_bytes() == plain
    Collection.open(path).save(path)
    assert path.read_bytes() == plain
    with pytest.raises(ValueError, match="is a folder, and only files are compressed"):
        collection.save(tmp_path / "small.perchdb", compress=True)
    assert not (tmp_path / "small.perchdb").exists()


def test_what_was_removed_is_not_in_it(tmp_path):
    """Neither as it is nor decompressed."""
    collection = Collection()
    collection.add(X, keys=[f"secret key {i}" for i in range(200)], texts=["secret text"] * 200)
    collection.remove([f"secret key {i}" for i in range(1, 200)])
    path = tmp_path / "small.perch"
    collection.save(path, compress=True)
    stored = path.read_bytes()
    reader = Reader(path)
    arrays = [
        reader.read(part, name).tobytes()
        for part in reader.sections()
        for name in reader.names(part)
    ]
    for content in (stored, *arrays):
        assert b"secret key 1" not in content
        for row in X[1:]:
            assert row.tobytes()[:8] not in content
    assert any(X[0].tobytes() in content for content in arrays)


def test_without_the_library(saved, monkeypatch, tmp_path):
    for name in ("backports", "backports.zstd", "compression", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"^compressed files need Zstandard: pip install"):
        ClusterTree.load(saved)
    tree = ClusterTree(2)
    tree.insert([[0, 1]])
    with pytest.raises(ImportError, match=r"pip install 'perchtree\[zstd\]'$"):
        tree.save(tmp_path / "new.perch", compress=True)
    assert not [file for file in tmp_path.iterdir() if "new" in file.name]
    tree.save(tmp_path / "new.perch")
