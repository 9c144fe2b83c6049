"""Folders of earlier versions open, with everything they hold."""

import shutil
import sqlite3
import warnings
from pathlib import Path

import numpy as np
import pytest

from kept import ASTAR, assert_same
from perchtree import Collection
from perchtree.store.folder import DATABASE
from perchtree.store.schema import VERSION

pytestmark = [pytest.mark.outer, pytest.mark.jit]

FILES = Path(__file__).parent.parent / "files"


def operate(people):
    """One operation of each kind, and some more."""
    rows = np.random.default_rng(0).integers(0, 6, (60, 3)).astype(np.float32)
    keys = [f"k{i}" for i in range(60)]
    people.add(
        rows[:40], keys=keys[:40], texts=[f"word{i} shared" for i in range(40)],
        classes=[i % 3 for i in range(40)],
    )  # fmt: skip
    people.keep_clusters(2)
    people.remove(keys[5:9])
    people.together("k0", "k1")
    people.apart("k2", "k3")
    people.answer([("k0", "k4"), ("k10", "k11")], [True, None])
    people.update(["k12"], rows[40:41], texts=["another text"])
    people.update(["k13"], texts=["only the text"])
    people.refine(1)
    people.add(rows[41:42], keys=keys[41:42])


@pytest.fixture
def old(tmp_path):
    folder = tmp_path / "old.perchdb"
    folder.mkdir()
    shutil.copy(FILES / "folder-schema-3.sqlite", folder / DATABASE)
    return folder


@pytest.fixture
def same():
    people = Collection(**ASTAR)
    operate(people)
    return people


def opened(path, **options):
    with warnings.catch_warnings():  # on another processor, or with other kernels, it says so
        warnings.filterwarnings("ignore", ".* was made by")
        return Collection.open(path, **options)


def tables(path):
    connection = sqlite3.connect(path / DATABASE)
    facts = {name for (name,) in connection.execute("SELECT name FROM facts")}
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return facts, version


def test_an_old_folder_is_read_as_it_is(old, same):
    with opened(old) as reader:
        assert_same(reader, same)
        assert reader.operation == 10
        reader.verify()
    facts, version = tables(old)
    assert "head" in facts
    assert version == 3


def test_an_old_folder_is_brought_up_to_date_by_whoever_changes_it(old, same):
    kept = opened(old, write=True)
    for people in (kept, same):
        people.add([[1, 2, 3]], keys=["new"], texts=["new words"])
    kept.close()
    with opened(old, write=True) as people:
        assert_same(people, same)
        assert people.search("new") == ["new"]
        assert people.operation == 11
        people.verify()
    facts, version = tables(old)
    assert "head" not in facts
    assert version == VERSION


def test_a_folder_of_version_2_gets_its_tables(old):
    database = sqlite3.connect(old / DATABASE)
    database.execute("DROP TABLE answers")
    database.execute("DELETE FROM facts WHERE name = 'answer changes'")
    database.execute("PRAGMA user_version = 2")
    database.commit()
    database.close()
    with opened(old) as reader:
        assert reader.answers == []
    with opened(old, write=True) as people:
        people.answer([("k0", "k1")], [True])
    with opened(old) as again:
        assert again.answers == [("k0", "k1", True)]
