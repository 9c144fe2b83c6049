"""The container: what was written comes back, and whatever else is in a file is refused."""

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from crafting import crafted, entry, section
from perchtree import CorruptFileError
from perchtree.files import container
from perchtree.files.container import Reader, Section, write

pytestmark = pytest.mark.outer

FROZEN = Path(__file__).parent.parent / "files"
# Each example waits for the disk, which is told to keep what is written.
quickly = settings(
    max_examples=max(15, settings.default.max_examples // 5),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]

names = st.text(max_size=8)
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9)
nested = plain | st.lists(plain, max_size=3) | st.dictionaries(names, plain, max_size=3)
metas = st.dictionaries(names, nested, max_size=3)
dtypes = st.builds(lambda order, kind: np.dtype(order + kind), st.sampled_from("<>"),
                   st.sampled_from(DTYPES))  # fmt: skip
arrays = arrays_of.arrays(dtypes, arrays_of.array_shapes(max_dims=3, min_side=0, max_side=5))
sections = st.builds(Section, metas, st.dictionaries(names, arrays, max_size=3), st.booleans())


def read_all(path):
    """Everything in a file, each array compared with its checksum."""
    reader = Reader(path)
    return {
        name: (
            reader.meta(name),
            {array: reader.read(name, array) for array in reader.names(name)},
        )
        for name in reader.sections()
    }


def small_file(path):
    write(
        path,
        {
            "tree": Section({"k": 3}, {"nodes": np.arange(7, dtype=np.int32)}),
            "texts": Section({}, {"bytes": np.arange(70, dtype=np.uint8), "none": np.zeros(0)}),
        },
    )
    return path.read_bytes()


@given(content=st.dictionaries(names, sections, max_size=3))
@quickly
def test_what_was_written_comes_back(tmp_path, content):
    path = tmp_path / "any.perch"
    write(path, content)
    reader = Reader(path)
    assert reader.version == 3
    assert reader.sections() == sorted(content)
    for name, written in content.items():
        assert name in reader
        assert reader.meta(name) == written.meta
        assert reader.names(name) == sorted(written.arrays)
        for key, array in written.arrays.items():
            for mmap in (False, True):
                read = reader.read(name, key, mmap=mmap)
                assert read.dtype == array.dtype.newbyteorder("=")
                np.testing.assert_array_equal(read, array)
            assert reader.part(name, key).shape == array.shape


@given(content=st.dictionaries(names, sections, min_size=1, max_size=3))
@quickly
def test_equal_content_makes_equal_bytes(tmp_path, content):
    """Whatever the order of dictionaries, and however arrays lie in memory."""

    def turned(mapping):
        return dict(reversed(mapping.items()))

    again = {
        name: Section(
            turned(one.meta),
            {key: np.asfortranarray(array) for key, array in turned(one.arrays).items()},
            one.optional,
        )
        for name, one in turned(content).items()
    }
    write(tmp_path / "one.perch", content)
    write(tmp_path / "other.perch", again)
    assert (tmp_path / "one.perch").read_bytes() == (tmp_path / "other.perch").read_bytes()


@pytest.mark.parametrize("layout", ["contiguous", "fortran", "big-endian", "every other row"])
def test_arrays_of_many_pieces(tmp_path, layout):
    array = np.random.default_rng(0).integers(0, 2**31, (3 * container._PIECE // 40 + 1, 5, 4))
    array = {
        "contiguous": array,
        "fortran": np.asfortranarray(array),
        "big-endian": array.astype(">i8"),
        "every other row": np.repeat(array, 2, axis=0)[::2],
    }[layout]
    write(tmp_path / "large.perch", {"a": Section({}, {"x": array})})
    np.testing.assert_array_equal(Reader(tmp_path / "large.perch").read("a", "x"), array)


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, lambda a: a.astype(">f8")])
def test_writing_makes_no_copy_of_an_array(tmp_path, layout):
    array = layout(np.ones((40_000, 50)))
    tracemalloc.start()
    write(tmp_path / "large.perch", {"a": Section({}, {"x": array})})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * container._PIECE < array.nbytes


def test_a_file_as_the_documentation_describes_it(tmp_path):
    path = tmp_path / "by_hand.perch"
    content = bytes(range(5))
    header = {"sections": {"a": section(entry("x", "|u1", [5], content), meta={"k": [1, None]})}}
    path.write_bytes(crafted(header, body=content + bytes(59)))
    reader = Reader(path)
    assert reader.meta("a") == {"k": [1, None]}
    assert reader.read("a", "x").tolist() == [0, 1, 2, 3, 4]


def test_every_truncation_is_refused(tmp_path):
    path = tmp_path / "small.perch"
    whole = small_file(path)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CorruptFileError, match=r"small\.perch"):
            Reader(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(CorruptFileError, match="longer than it should be"):
        Reader(path)
    path.write_bytes(whole)
    assert sorted(read_all(path)) == ["texts", "tree"]


def test_flipped_bits_are_refused(tmp_path):
    path = tmp_path / "small.perch"
    whole = small_file(path)
    rng = np.random.default_rng(0)
    for bit in rng.choice(8 * len(whole), 2000, replace=False).tolist():
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(CorruptFileError, match=r"small\.perch"):
            read_all(path)


def test_the_damaged_array_is_named(tmp_path):
    path = tmp_path / "small.perch"
    whole = bytearray(small_file(path))
    whole[-64] ^= 1
    path.write_bytes(whole)
    reader = Reader(path)
    assert len(reader.read("texts", "bytes")) == 70
    with pytest.raises(
        CorruptFileError, match="in section 'tree', 'nodes' does not match its checksum"
    ):
        reader.read("tree", "nodes")


@pytest.mark.parametrize(
    ("shape", "refusal"),
    [([2**39], "cut short"), ([2**40], "no sense"), ([2**30] * 3, "no sense")],
)
def test_nothing_is_allocated_for_a_header_that_asks_for_too_much(tmp_path, shape, refusal):
    path = tmp_path / "huge.perch"
    header = {"sections": {"a": section(entry("x", "<f8", shape))}}
    path.write_bytes(crafted(header, body=bytes(64)))
    tracemalloc.start()
    with pytest.raises(CorruptFileError, match=refusal):
        Reader(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20


@pytest.mark.parametrize(
    "header",
    [
        b"", b"{", b"[]", b"3", b"null", b"{}", b"[" * 100_000,
        b'{"sections": ' + b"9" * 5000 + b"}",
        {"sections": []},
        {"sections": {"a": None}},
        {"sections": {"a": {"meta": {}, "optional": False}}},
        {"sections": {"a": {"meta": {}, "arrays": []}}},
        {"sections": {"a": {"meta": [], "optional": False, "arrays": []}}},
        {"sections": {"a": {"meta": {}, "optional": 0, "arrays": []}}},
        {"sections": {"a": {"meta": {}, "optional": False, "arrays": {"x": 1}}}},
        {"meta": {}, "arrays": []},
        *({"sections": {"a": section(entry("x", "<f8", shape))}}
          for shape in ([], [1, 1, 1, 1], [-1], [1.0], [True], ["1"], None, [0, 2**39, 2**39])),
        *({"sections": {"a": section(entry("x", dtype, [0]))}}
          for dtype in ("|O", "O", "|b1", "<U1", ">f8", "|V8", "<M8[s]", "", None, ["<f8"])),
        {"sections": {"a": section(entry(3, "<f8", [0]))}},
        {"sections": {"a": section(entry("x", "<f8", [0]), entry("x", "<f8", [0]))}},
        {"sections": {"a": section({"name": "x", "dtype": "<f8", "shape": [0]})}},
    ],
    ids=lambda header: str(header)[:60],
)  # fmt: skip
def test_headers_that_make_no_sense(tmp_path, header):
    path = tmp_path / "crafted.perch"
    path.write_bytes(crafted(header))
    with pytest.raises(CorruptFileError, match="has a header that makes no sense"):
        Reader(path)


def test_other_checksums_than_texts(tmp_path):
    path = tmp_path / "crafted.perch"
    for wrong in (None, 3, "", "00", ["00"]):
        header = {"sections": {"a": section(entry("x", "|u1", [1]) | {"checksum": wrong})}}
        path.write_bytes(crafted(header, body=bytes(64)))
        with pytest.raises(CorruptFileError, match="'x' does not match its checksum"):
            Reader(path).read("a", "x")


def test_sections_that_only_newer_versions_know(tmp_path):
    path = tmp_path / "newer.perch"
    tree = Section({"k": 1}, {"x": np.arange(3)})
    extra = Section({}, {"y": np.arange(100.0)})
    write(path, {"tree": tree, "names": extra._replace(optional=True)})
    assert Reader(path).sections() == ["names", "tree"]
    reader = Reader(path, known=["tree", "corrections"])
    assert reader.sections() == ["tree"]
    assert "names" not in reader
    assert "corrections" not in reader
    assert reader.read("tree", "x").tolist() == [0, 1, 2]
    write(path, {"tree": tree, "encoder": extra})
    with pytest.raises(
        CorruptFileError,
        match=r"newer\.perch was written by a newer version of perchtree, which keeps 'encoder' "
        "in it: update perchtree$",
    ):
        Reader(path, known=["tree"])
    assert Reader(path, known=["tree", "encoder"]).sections() == ["encoder", "tree"]


def test_newer_formats(tmp_path):
    path = tmp_path / "newer.perch"
    for version in (0, 4):
        path.write_bytes(crafted({}, version=version))
        with pytest.raises(CorruptFileError, match=f"has format {version}, .* update perchtree$"):
            Reader(path)


def test_files_of_format_1():
    frozen = sorted(FROZEN.glob("*-format-1.perch"))
    assert len(frozen) == 3
    for path in frozen:
        reader = Reader(path, known=["tree"])
        assert reader.version == 1
        assert reader.sections() == ["format 1"]
        assert reader.meta("format 1")["settings"]["n_features"] == 2
        nodes = reader.read("format 1", "tree.nodes")
        assert nodes.shape == reader.part("format 1", "tree.nodes").shape
        assert {"tree.points", "tree.counts"} <= set(reader.names("format 1"))
        read_all(path)


def test_what_is_not_there(tmp_path):
    path = tmp_path / "small.perch"
    small_file(path)
    reader = Reader(path)
    for ask in (reader.meta, reader.names, lambda name: reader.read(name, "nodes")):
        with pytest.raises(CorruptFileError, match=r"small\.perch has no section 'encoder'"):
            ask("encoder")
    for ask in (reader.part, reader.read):
        with pytest.raises(CorruptFileError, match="has no array 'points' in section 'tree'"):
            ask("tree", "points")
    with pytest.raises(FileNotFoundError):
        Reader(tmp_path / "nothing.perch")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Section({}, {"x": np.array(3)}), "'x' .* with 0 dimensions cannot be saved: make it"),
        (Section({}, {"x": np.zeros((1, 1, 1, 1))}), "with 4 dimensions cannot be saved"),
        (Section({}, {"x": np.array(["a"])}), "dtype <U1 .* cannot be saved"),
        (Section({}, {"x": np.array([None])}), "dtype object .* cannot be saved"),
        (Section({}, {"x": np.array([True])}), "dtype bool .* cannot be saved"),
        (Section({"a": {1, 2}}, {}), "JSON cannot hold cannot be saved: .*set"),
        (Section({"names": ["name"] * 200_000}, {}), "keep long lists in arrays"),
    ],
)
def test_what_cannot_be_saved_leaves_the_old_file(tmp_path, wrong, message):
    path = tmp_path / "small.perch"
    before = small_file(path)
    with pytest.raises(ValueError, match=message) as error:
        write(path, {"a": wrong})
    assert "\n" not in str(error.value)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["small.perch"]


def test_a_file_cut_short_after_it_was_opened(tmp_path):
    path = tmp_path / "large.perch"
    write(path, {"a": Section({}, {"x": np.arange(100_000)})})  # more than is read ahead
    reader = Reader(path)
    os.truncate(path, 700_000)
    with pytest.raises(CorruptFileError, match="'x' does not match its checksum"):
        reader.read("a", "x")


def test_maps_outlive_a_replaced_file(tmp_path):
    path = tmp_path / "small.perch"
    small_file(path)
    reader = Reader(path)
    mapped = reader.read("tree", "nodes", mmap=True)
    write(path, {"tree": Section({}, {"nodes": np.zeros(7, np.int32)})})
    assert mapped.tolist() == list(range(7))
    mapped[0] = 9
    assert reader.read("tree", "nodes").tolist() == list(range(7))
