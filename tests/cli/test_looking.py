"""perch clusters, perch changes, and numbers of clusters that stay from one cut to the next."""

import csv
import json
import re

import numpy as np
import pyarrow.parquet as pq
import pytest

from perchtree import Collection, Perch
from perchtree.errors import CorruptFileError
from perchtree.files.contents import Contents
from perchtree.files.locking import lock_for_writing

EVIL = "\x1b[2J\x9b31m\u202e[bold]gnp\u2066\x07 tea"
HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def clusters_in(path):
    return {row["id"]: int(row["cluster"]) for row in rows_of(path)}


@pytest.fixture
def shop(perch):
    """Three clusters in a file, of five, four and one record."""
    X = np.array([0, 1, 2, 3, 4, 50, 51, 52, 53, 99.0])[:, np.newaxis]
    titles = ["green tea", "black tea", "red tea", "tea bag", EVIL, *["wool socks"] * 4, "=1+1"]
    shop = Collection(search="astar")
    shop.add(X, keys=[f"k{i}" for i in range(10)], texts=titles, classes=list("ttttttssss"))
    shop.save("shop.perch")
    return shop


def test_a_table_of_clusters(perch, shop):
    result = perch("clusters", "shop.perch", "-k", 3)
    assert not HARMFUL.search(result.stdout)
    lines = [line.split() for line in result.stdout.splitlines() if line.strip()]
    assert lines[0] == ["cluster", "size", "cohesion", "exemplar", "keywords", "text"]
    assert [line[:2] for line in lines[2:]] == [["0", "5"], ["1", "4"], ["2", "1"]]
    assert lines[2][3:5] == ["k2", "tea"]
    assert "10 points in 3 clusters, 1 of one point" in result.stderr
    assert perch("clusters", "shop.perch", "-k", 3, "--rows", 1).stderr.endswith(
        "1 of 3 rows shown\n"
    )
    for name in ("c.csv", "c.jsonl", "c.parquet"):
        perch("clusters", "shop.perch", "-k", 3, "-o", name, "-q")
    expected = shop.describe(shop.tree.cut(3))
    assert pq.read_table("c.parquet").column("keywords").to_pylist() == list(expected["keywords"])
    with open("c.jsonl") as file:
        assert [json.loads(line)["exemplar"] for line in file] == list(expected["exemplar"])
    assert rows_of("c.csv")[2]["text"] == "'=1+1"


def test_the_loosest_first_and_the_members_of_one(perch, shop):
    perch("clusters", "shop.perch", "-k", 3, "--loosest", "-o", "c.csv")
    cohesion = [float(row["cohesion"]) for row in rows_of("c.csv")]
    assert cohesion == sorted(cohesion)
    result = perch("clusters", "shop.perch", "-k", 3, "--show", 0)
    assert not HARMFUL.search(result.stdout)
    assert r"\x1b[2J" in result.stdout
    assert "cluster 0: 5 points" in result.stderr
    perch("clusters", "shop.perch", "-k", 3, "--show", 0, "-o", "m.csv")
    members = rows_of("m.csv")
    assert {row["id"] for row in members} == {f"k{i}" for i in range(5)}
    assert list(members[0]) == ["id", "confidence", "class", "text"]
    confidence = [float(row["confidence"]) for row in members]
    assert confidence == sorted(confidence, reverse=True)
    error = perch.fails("clusters", "shop.perch", "-k", 3, "--show", 7)
    assert "there is no cluster 7: `perch clusters` lists them" in error


def grow(perch, path, seed, n=200, centres=8):
    rng = np.random.default_rng(seed)
    X = 20 * np.arange(centres)[rng.integers(0, centres, n), np.newaxis] + rng.normal(size=(n, 2))
    lines = [f"r{seed}-{i},{x},{y}" for i, (x, y) in enumerate(X)]
    with open(path, "w") as file:
        file.write("\n".join(["id,x,y", *lines]) + "\n")


def test_a_nightly_job(perch):
    """As many records keep their number as with the estimator: the very same ones."""
    for night in range(3):
        grow(perch, f"{night}.csv", night, centres=8 + night)
    models = {"-k 10": Perch(n_clusters=10), "--min-size 6": Perch(min_cluster_size=6)}
    perch("fit", "0.csv", "-o", "t.perch", "--id", "id", "-q")
    for night in range(3):
        if night:
            perch("add", "t.perch", f"{night}.csv", "--id", "id", "-q")
        X = np.loadtxt(f"{night}.csv", delimiter=",", skiprows=1, usecols=(1, 2))
        for options, model in models.items():
            model.partial_fit(X)
            expected = model.all_labels_.tolist()
            # What only looks gives the same numbers, before and after they are remembered.
            perch("clusters", "t.perch", *options.split(), "-o", "look.csv", "--force", "-q")
            perch("cut", "t.perch", *options.split(), "-o", "c.csv", "--force", "-q")
            assert list(clusters_in("c.csv").values()) == expected
            assert sorted(int(row["cluster"]) for row in rows_of("look.csv")) == sorted(
                set(expected)
            )
            perch("predict", "t.perch", f"{night}.csv", "--id", "id", *options.split(),
                  "-o", "p.csv", "--force", "-q")  # fmt: skip
            assert list(clusters_in("p.csv").values()) == expected[-len(X) :]
    events = models["-k 10"].events_
    perch("changes", "t.perch", "-k", 10, "-o", "changes.csv", "-q")
    rows = rows_of("changes.csv")
    last = [event for event in events if event.tree_size == 600]
    assert last
    assert [(row["kind"], row["after"]) for row in rows if row["kind"] != "move"] == [
        (event.kind, " ".join(map(str, event.after))) for event in last
    ]


def test_nothing_new_changes_nothing(perch, shop, tmp_path):
    file = tmp_path / "shop.perch"
    before = file.read_bytes()
    perch("cut", "shop.perch", "-k", 3, "--no-remember", "-o", "a.csv")
    assert file.read_bytes() == before
    assert "use `perch cut` first" in perch.fails("changes", "shop.perch")
    perch("cut", "shop.perch", "-k", 3, "-o", "b.csv")
    after = file.read_bytes()
    assert after != before
    perch("cut", "shop.perch", "-k", 3, "-o", "c.csv")
    assert file.read_bytes() == after
    assert clusters_in("a.csv") == clusters_in("b.csv") == clusters_in("c.csv")
    assert "there was no earlier clustering" in perch("changes", "shop.perch").stderr
    assert "with -k 2" in perch.fails("changes", "shop.perch", "-k", 2)


def test_several_numbers_have_their_confidences(perch, shop):
    perch("cut", "shop.perch", "-k", 2, "-k", 3, "-o", "c.csv")
    row = rows_of("c.csv")[0]
    assert list(row) == [
        "id", "class", "text", "cluster_2", "confidence_2", "cluster_3", "confidence_3",
    ]  # fmt: skip
    firm = shop.tree.confidence(shop.tree.cut(3)).round(3)
    assert [float(row["confidence_3"]) for row in rows_of("c.csv")] == firm.tolist()
    assert perch.json("info", "shop.perch")["remembered"] == ["perch cut -k 2", "perch cut -k 3"]


def test_corrections_are_changes(perch, shop):
    perch("cut", "shop.perch", "-k", 3, "-o", "a.csv")
    perch("correct", "shop.perch", "--apart", "k4", "k0", "-q")
    perch("cut", "shop.perch", "-k", 3, "-o", "b.csv", "-q")
    result = perch("changes", "shop.perch")
    assert "split" in result.stdout
    told = "perch: cut with -k 3: 1 split; 8 of 10 points kept their cluster's number\n"
    assert result.stderr == told
    perch("changes", "shop.perch", "-o", "changes.csv", "-q")
    (split,) = rows_of("changes.csv")
    clusters = clusters_in("b.csv")
    assert split["id"] == next(k for k in clusters if str(clusters[k]) == split["after"].split()[0])
    assert split["text"] in shop.texts
    tracker = Collection.open("shop.perch").clusterings["-k 3"]
    assert tracker.stayed == (8, 10)


def test_moves_are_told(perch, shop):
    """A single record goes from one cluster to another."""
    with Collection.open("shop.perch", write=True) as opened:
        ids, labels = opened.ids, opened.tree.cut(3)
        labels = np.where(ids == 4, 1, labels)
        opened.clusterings.remember("-k 3", opened.clusterings.matched("-k 3", ids, labels))
        opened.save("shop.perch")
    perch("cut", "shop.perch", "-k", 3, "-o", "b.csv", "-q")
    perch("changes", "shop.perch", "-o", "changes.csv")
    (row,) = rows_of("changes.csv")
    assert [row[name] for name in ("kind", "before", "after", "points", "id", "text")] == [
        "move", "1", "0", "1", "k4", EVIL,
    ]  # fmt: skip
    assert r"\x1b[2J" in perch("changes", "shop.perch").stdout
    perch("remove", "shop.perch", "--id", "k4", "-q")
    perch("changes", "shop.perch", "-o", "none.csv", "-q")
    assert rows_of("none.csv") == []


def test_removed_clusters_end(perch, shop):
    perch("cut", "shop.perch", "-k", 3, "-o", "a.csv")
    perch("remove", "shop.perch", "--id", "k9", "-q")
    assert 9 not in Collection.open("shop.perch").clusterings["-k 3"].points
    perch("cut", "shop.perch", "--distance", 40, "-o", "c.csv", "-q")
    perch("remove", "shop.perch", *[part for i in range(5, 9) for part in ("--id", f"k{i}")], "-q")
    perch("cut", "shop.perch", "--distance", 40, "-o", "e.csv", "-q")
    perch("changes", "shop.perch", "--distance", 40, "-o", "changes.csv", "-q")
    assert [(row["kind"], row["before"], row["points"]) for row in rows_of("changes.csv")] == [
        ("end", "1", "4")
    ]


def test_a_read_only_tree(perch, shop, tmp_path):
    file, beside = tmp_path / "shop.perch", tmp_path / "shop.perch.clusterings"
    file.chmod(0o444)
    before = file.read_bytes()
    result = perch("cut", "shop.perch", "-k", 3, "-o", "a.csv")
    assert f"shop.perch is read-only: numbers of clusters are kept in {beside}" in result.stderr
    assert file.read_bytes() == before
    assert list(Collection.open("shop.perch").clusterings) == ["-k 3"]
    perch("changes", "shop.perch")
    file.chmod(0o644)
    perch("remove", "shop.perch", "--id", "k0", "-q")
    assert not beside.exists()
    assert Collection.open("shop.perch").clusterings["-k 3"].points.tolist() == list(range(1, 10))
    beside.write_bytes(b"no file of ours")
    assert "shop.perch.clusterings" in perch.fails("cut", "shop.perch", "-k", 3, "-o", "b.csv")


def test_a_tree_that_others_are_changing(perch, shop, tmp_path):
    with lock_for_writing(tmp_path / "shop.perch"):
        result = perch("cut", "shop.perch", "-k", 3, "-o", "a.csv")
    assert "numbers of clusters are not remembered: " in result.stderr
    assert set(clusters_in("a.csv").values()) == {0, 1, 2}
    assert len(Collection.open("shop.perch").clusterings) == 0


def test_clusterings_that_make_no_sense_are_refused(shop):
    for meta in ({}, {"clusterings": [{}]}, {"clusterings": [], "suggested": [1, [[0, 0, "x"]]]}):
        shop.sections["clusterings"] = Contents(meta, {}, optional=True)
        shop.save("bad.perch")
        with pytest.raises(CorruptFileError, match="make no sense"):
            Collection.open("bad.perch")


def test_only_so_many_are_remembered(shop):
    ids = shop.ids
    for k in range(1, 25):
        shop.clusterings.remember(f"-k {k}", shop.clusterings.matched(f"-k {k}", ids, 0 * ids))
    assert list(shop.clusterings) == [f"-k {k}" for k in range(9, 25)]
    shop.save("shop.perch")
    again = Collection.open("shop.perch").clusterings
    assert list(again) == list(shop.clusterings)
    assert all((again[own].labels == shop.clusterings[own].labels).all() for own in again)


def test_clusters_that_are_kept(perch, shop):
    shop.save("shop.perchdb")
    new = np.array([[5.0], [200.0]])
    np.savetxt("new.csv", np.column_stack([new, [0, 1]]), delimiter=",", header="x,id", comments="")
    for tree in ("shop.perch", "shop.perchdb"):
        assert "use `perch keep` first" in perch.fails("changes", tree, "--since", 0)
        perch.fails("keep", tree, code=2)
        perch.fails("changes", tree, "--since", 0, "-k", 3, code=2)
        told = perch("keep", tree, "--distance", 8).stderr
        assert "3 clusters at a distance of 8" in told
        with Collection.open(tree, write=True) as shop:
            shop.add(new, keys=["new", "far"], texts=["mint tea", "ship"])
            shop.remove(["k9"])
            shop.save(tree)
        result = perch("changes", tree, "--since", 0, "-o", "-")
        assert result.stdout.splitlines() == [
            "event,kind,before,after,points,id,text",
            "1,birth,,3,1,far,ship",
            "2,join,,0,6,new,mint tea",
            "3,end,2,,1,,",
        ]
        assert "3 events since 0; the last is 3, of 3 clusters in all" in result.stderr
        assert "join" not in perch("changes", tree, "--since", 2).stdout
        perch("keep", tree, "--stop")
        assert "use `perch keep` first" in perch.fails("changes", tree, "--since", 0)


def test_a_folder_without_texts_has_no_column_of_them(perch):
    with Collection.open("plain.perchdb", write=True, search="astar") as plain:
        plain.add([[0.0], [1.0], [50.0]], keys=["a", "b", "c"])
    perch("cut", "plain.perchdb", "-k", 2, "-o", "x.csv")
    assert perch("changes", "plain.perchdb", "-o", "-").stdout == "kind,before,after,points,id\n"
    shown = perch("clusters", "plain.perchdb", "-k", 2, "--show", 0, "-o", "-").stdout
    assert shown.splitlines()[0] == "id,confidence"
