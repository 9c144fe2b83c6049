"""--compress: smaller files, which every command reads and keeps so."""

import sys

import numpy as np
import pytest

from perchtree.files.trees import is_compressed


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "rows.npy", np.repeat(rng.normal(size=(40, 6)).round(1), 3, axis=0))
    return tmp_path / "rows.npy"


def test_commands_keep_a_file_as_it_was(perch, tmp_path, rows):
    perch("fit", rows, "-o", "plain.perch")
    perch("fit", rows, "-o", "small.perch", "--compress")
    plain, small = tmp_path / "plain.perch", tmp_path / "small.perch"
    assert not is_compressed(plain)
    assert is_compressed(small)
    assert small.stat().st_size < plain.stat().st_size
    for command in (
        ("add", small, rows),
        ("cut", small, "-k", 3, "-o", tmp_path / "cut.csv"),
        ("remove", small, "--id", 3),
        ("refine", small),
    ):
        before = small.read_bytes()
        perch(*command)
        assert is_compressed(small), command
        assert small.read_bytes() != before, command
    for command in (("add", plain, rows), ("cut", plain, "-k", 3, "-o", tmp_path / "other.csv"),
                    ("remove", plain, "--id", 3), ("refine", plain)):  # fmt: skip
        perch(*command)
    perch("check", small)
    assert (tmp_path / "cut.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()
    perch("export", small, "--to", "perch", "-o", tmp_path / "whole.perch", "--no-compress")
    assert (tmp_path / "whole.perch").read_bytes() == plain.read_bytes()
    perch("add", small, rows, "--no-compress")
    assert not is_compressed(small)
    perch("add", small, rows, "--compress")
    perch("merge", small, plain, "-o", tmp_path / "all.perch", "--compress")
    perch("check", small)
    assert is_compressed(tmp_path / "all.perch")


def test_what_cannot_be_compressed(perch, tmp_path, rows, monkeypatch):
    for output in ("new.perchdb", tmp_path / "new.perchdb"):
        assert "is a folder, and only files are compressed" in perch.fails(
            "fit", rows, "-o", output, "--compress", code=2
        )
    perch("fit", rows, "-o", "kept.perchdb")
    assert "is a folder" in perch.fails("add", "kept.perchdb", rows, "--compress", code=2)
    perch("fit", rows, "-o", "plain.perch")
    assert "only the format perch is compressed" in perch.fails(
        "export", "plain.perch", "--to", "json", "-o", "plain.json", "--compress", code=2
    )
    for name in ("backports", "backports.zstd", "compression", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    for command in (("fit", rows, "-o", "new.perch"), ("add", "plain.perch", rows)):
        assert perch.fails(*command, "--compress") == (
            "perch: error: compressed files need Zstandard: pip install 'perchtree[zstd]'\n"
        )
    assert not (tmp_path / "new.perch").exists()


def test_a_damaged_one_is_one_line(perch, tmp_path, rows):
    perch("fit", rows, "-o", "small.perch", "--compress")
    whole = bytearray((tmp_path / "small.perch").read_bytes())
    for place in range(8, len(whole), 97):
        damaged = whole.copy()
        damaged[place] ^= 16
        (tmp_path / "damaged.perch").write_bytes(damaged)
        assert "damaged.perch" in perch.fails("info", "damaged.perch")
