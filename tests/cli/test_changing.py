"""remove, merge and add --update: records go, change and come together."""

import subprocess
import sys

import numpy as np
import pytest

from perchtree import Collection

RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(30, 2)).round(3)


def write_csv(path, numbers, rows=ROWS, text="text"):
    lines = [f"k{n},{text} {n},{rows[n][0]},{rows[n][1]}" for n in numbers]
    path.write_text("\n".join(["key,name,a,b", *lines, ""]))


COLUMNS = ("--id", "key", "--text", "name")


@pytest.fixture
def people(perch, tmp_path):
    """A tree of thirty records with keys and texts."""
    write_csv(tmp_path / "people.csv", range(30))
    perch("fit", "people.csv", "-o", "people.perch", *COLUMNS)
    return tmp_path / "people.perch"


def keys_of(path):
    return Collection.open(path).keys.tolist()


def test_remove(perch, people):
    said = perch("remove", people, "--id", "k3", "--id", "k7").stderr
    assert "2 records removed, 28 left; saved as" in said
    assert keys_of(people) == [f"k{n}" for n in range(30) if n not in (3, 7)]
    assert b"text 3" not in people.read_bytes()
    perch("check", people)
    assert perch.json("info", people)["points"] == 28


def test_remove_by_a_file(perch, people, tmp_path):
    (tmp_path / "gone.txt").write_text("k1\r\n\nk2\n")
    assert "3 records removed" in perch("remove", people, "--ids", "gone.txt", "--id", "k0").stderr
    assert keys_of(people) == [f"k{n}" for n in range(3, 30)]
    command = [sys.executable, "-m", "perchtree", "remove", str(people), "--ids", "-"]
    subprocess.run(command, input=b"k3\nk4\n", check=True)
    assert keys_of(people) == [f"k{n}" for n in range(5, 30)]


def test_remove_what_is_missing(perch, people):
    before = people.read_bytes()
    error = perch.fails("remove", people, "--id", "k3", "--id", "nobody")
    assert "there is no point with the key 'nobody'; nothing has changed" in error
    assert perch("remove", people, code=2).stderr.count("--id or --ids")
    assert people.read_bytes() == before
    said = perch("remove", people, "--id", "nobody", "--missing", "ok").stderr
    assert "0 records removed, 1 not found, 30 left" in said
    assert people.read_bytes() == before
    said = perch("remove", people, "--id", "k3", "--id", "nobody", "--missing", "ok").stderr
    assert "1 record removed, 1 not found, 29 left" in said


def test_ids_that_are_whole_numbers(perch, tmp_path):
    np.save(tmp_path / "x.npy", ROWS)
    perch("fit", "x.npy", "-o", "x.perch")
    perch("remove", "x.perch", "--id", "29", "--id", "0")
    assert keys_of(tmp_path / "x.perch") == list(range(1, 29))
    assert "no keys: use their ids" in perch.fails("remove", "x.perch", "--id", "k3")


def test_the_last_record_can_be_removed_and_others_added(perch, people, tmp_path):
    (tmp_path / "all.txt").write_text("\n".join(f"k{n}" for n in range(30)))
    perch("remove", people, "--ids", "all.txt")
    for command in (("cut", people, "-o", "-"), ("info", people), ("refine", people)):
        assert "holds an empty tree: add points first" in perch.fails(*command)
    perch("check", people)
    perch("add", people, "people.csv", *COLUMNS)
    assert keys_of(people) == [f"k{n}" for n in range(30)]


def test_add_update(perch, people, tmp_path):
    write_csv(tmp_path / "new.csv", [3, 29, 5, 3], ROWS + 1, "new")
    with open(tmp_path / "new.csv", "a") as file:
        file.write("k40,new 40,1,2\n")
    assert "again: ids must be unique" in perch.fails("add", people, "new.csv", *COLUMNS)
    perch("add", people, "new.csv", *COLUMNS, "--update")
    collection = Collection.open(people)
    assert sorted(collection.keys) == sorted([f"k{n}" for n in range(30)] + ["k40"])
    texts = dict(zip(collection.keys, collection.texts, strict=True))
    assert [texts[key] for key in ("k3", "k29", "k4", "k40")] == [
        "new 3",
        "new 29",
        "text 4",
        "new 40",
    ]
    assert b"text 3\n" not in people.read_bytes()
    perch("check", people)
    command = ("add", people, "new.csv", "--features", "a,b", "--update")
    assert "name the column" in perch.fails(*command)


@pytest.mark.parametrize("batch", [1, 2, 7])
def test_updates_do_not_depend_on_batches(perch, people, tmp_path, batch):
    write_csv(tmp_path / "new.csv", [3, 29, 5, 3, 8, 9], ROWS + 1, "new")
    one = Collection.open(people)
    perch("add", people, "new.csv", *COLUMNS, "--update", "--batch", batch)
    rows = (ROWS + 1)[[3, 29, 5, 3, 8, 9]]
    one.update(["k3", "k29", "k5", "k3", "k8", "k9"], rows)
    two = Collection.open(people)
    assert two.keys.tolist() == one.keys.tolist()
    assert np.array_equal(two.tree.children, one.tree.children)


def test_merge(perch, tmp_path):
    write_csv(tmp_path / "a.csv", range(20))
    write_csv(tmp_path / "b.csv", range(15, 30), text="b")
    for name in "ab":
        perch("fit", f"{name}.csv", "-o", f"{name}.perch", *COLUMNS)
    error = perch.fails("merge", "a.perch", "b.perch", "-o", "c.perch")
    assert "both have the key 'k15', one of 5 such: with --update" in error
    assert not (tmp_path / "c.perch").exists()
    said = perch("merge", "a.perch", "b.perch", "-o", "c.perch", "--update").stderr
    assert "20 records and 15 records merged into 30; saved as c.perch" in said
    union = Collection.open("c.perch")
    assert sorted(union.keys) == sorted(f"k{n}" for n in range(30))
    assert dict(zip(union.keys, union.texts, strict=True))["k16"] == "b 16"
    assert keys_of("a.perch") == [f"k{n}" for n in range(20)]
    perch("check", "c.perch")
    assert "exists" in perch.fails("merge", "a.perch", "b.perch", "-o", "c.perch", "--update")
    perch("fit", "b.csv", "-o", "other.perch", *COLUMNS, "--mode", "perch")
    error = perch.fails("merge", "a.perch", "other.perch", "-o", "d.perch")
    assert "cannot be merged: one has linkage='average', the other linkage='box'" in error
