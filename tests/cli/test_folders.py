"""`perch` on folders: every command takes one where it takes a file."""

import os
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

from perchtree import Collection
from perchtree._arrays import used_rows


def write_people(path, n=60, start=0):
    random = np.random.default_rng(0)
    X = random.normal(size=(start + n, 3))[start:]
    lines = ["id,name,kind,a,b,c"]
    lines += [
        f"p{start + i},person {start + i},{i % 3},{row[0]},{row[1]},{row[2]}"
        for i, row in enumerate(X)
    ]
    path.write_text("\n".join(lines) + "\n")


COLUMNS = ("--id", "id", "--text", "name", "--class", "kind", "--features", "a,b,c")


@pytest.fixture
def both(perch, tmp_path):
    write_people(tmp_path / "people.csv")
    perch("fit", "people.csv", "-o", "people.perch", *COLUMNS)
    perch("fit", "people.csv", "-o", "people.perchdb", *COLUMNS)
    return perch


def test_every_command_takes_a_folder(both, tmp_path):
    perch = both
    write_people(tmp_path / "more.csv", 10, 60)
    for tree in ("people.perch", "people.perchdb"):
        perch("add", tree, "more.csv", *COLUMNS)
        perch("remove", tree, "--id", "p3", "--id", "p61")
        perch("correct", tree, "--together", "p1", "p2", "--apart", "p1", "p5")
        perch("refine", tree, "--passes", "2")
    outputs = [
        [
            perch("cut", tree, "-k", 5, "-o", "-").stdout,
            perch("predict", tree, "more.csv", "-k", 5, "-o", "-", *COLUMNS).stdout,
            perch("score", tree).stdout,
            perch("correct", tree, "--list").stdout,
            perch("export", tree, "--to", "newick", "-o", "-").stdout,
            {
                key: value
                for key, value in perch.json("info", tree).items()
                if key not in ("file", "bytes", "operations")
            },
        ]
        for tree in ("people.perch", "people.perchdb")
    ]
    assert outputs[0] == outputs[1]
    assert "68 points" in perch("check", "people.perchdb").stdout
    perch("plot", "people.perchdb", "-o", "people.html")
    assert (tmp_path / "people.html").exists()


def test_clusters_of_a_folder_are_looked_at_and_keep_their_numbers(both, tmp_path):
    perch = both
    write_people(tmp_path / "more.csv", 10, 60)
    told = []
    for tree in ("people.perch", "people.perchdb"):
        first = perch("cut", tree, "-k", 6, "-o", "-").stdout
        perch("add", tree, "more.csv", *COLUMNS)
        perch("remove", tree, "--id", "p0")
        answers = f"{tree}.csv"
        told.append([
            first,
            perch("cut", tree, "-k", 6, "-o", "-").stdout,
            perch("changes", tree).stdout,
            perch("clusters", tree, "-k", 6).stdout,
            perch("clusters", tree, "-k", 6, "--show", 1).stdout,
            perch("ask", tree, "-o", answers, "-q", stdin="y\nn\nn\n").exit_code,
            (tmp_path / answers).read_text(),
            perch.json("info", tree)["remembered"],
        ])  # fmt: skip
    assert told[0] == told[1]
    assert told[0][-1] == ["perch cut -k 6"]
    perch("compact", "people.perchdb")
    with Collection.open("people.perchdb") as people:
        tracker = people.clusterings["-k 6"]
        assert tracker.points.tolist() == people.ids.tolist() == list(range(1, 70))
        labels = people.tree.cut(6)
        assert len(people.names(labels)) == 6


def test_a_folder_that_others_write_to_is_cut_all_the_same(both):
    with Collection.open("people.perchdb", write=True):
        result = both("cut", "people.perchdb", "-k", 2, "-o", "c.csv")
        assert "not remembered" in result.stderr
    assert "remembered" not in both.json("info", "people.perchdb")


def test_files_and_folders_are_converted(both):
    perch = both
    perch("export", "people.perchdb", "--to", "perch", "-o", "back.perch")
    perch("fit", "people.perch", "-o", "again.perchdb")
    cuts = [
        perch("cut", tree, "-k", 7, "-o", "-").stdout
        for tree in ("people.perch", "people.perchdb", "back.perch", "again.perchdb")
    ]
    assert cuts.count(cuts[0]) == 4
    perch("add", "again.perchdb", "people.csv", *COLUMNS, "--update")
    assert "is whole" in perch("check", "again.perchdb").stdout
    assert "exists" in perch.fails("fit", "people.perch", "-o", "again.perchdb")


def test_merged_into_a_folder(perch, tmp_path):
    write_people(tmp_path / "a.csv", 30)
    write_people(tmp_path / "b.csv", 20, 30)
    perch("fit", "a.csv", "-o", "a.perchdb", *COLUMNS)
    perch("fit", "b.csv", "-o", "b.perch", *COLUMNS)
    perch("merge", "a.perchdb", "b.perch", "-o", "all.perchdb")
    assert "50 points" in perch("check", "all.perchdb").stdout
    assert "remove the folder first" in perch.fails(
        "merge", "a.perchdb", "b.perch", "-o", "all.perchdb"
    )


def test_compact_erases(both, tmp_path):
    perch = both
    (tmp_path / "one.csv").write_text("id,name,kind,a,b,c\nqx,Zarathustra,1,0.5,0.25,7.0\n")
    perch("add", "people.perchdb", "one.csv", *COLUMNS)
    told = perch("remove", "people.perchdb", "--id", "qx").stderr
    assert "perch compact" in told
    perch("compact", "people.perchdb")
    content = b"".join(file.read_bytes() for file in (tmp_path / "people.perchdb").iterdir())
    vector = np.array([0.5, 0.25, 7.0], np.float32).tobytes()
    assert b"arathustra" not in content
    assert vector not in content
    assert perch.fails("compact", "people.perch", code=2)


def test_what_exists_is_not_replaced(both):
    assert "perch add" in both.fails("fit", "people.csv", "-o", "people.perchdb", *COLUMNS)
    assert "remove it first" in both.fails(
        "fit", "people.csv", "-o", "people.perchdb", "--force", *COLUMNS
    )


def test_other_folders_are_refused(perch, tmp_path):
    (tmp_path / "photos").mkdir()
    assert "is a directory" in perch.fails("cut", "photos", "-k", 2, "-o", "-", code=2)
    (tmp_path / "empty.perchdb").mkdir()
    assert "no collection" in perch.fails("cut", "empty.perchdb", "-k", 2, "-o", "-")


def test_a_failed_fit_leaves_no_folder(perch, tmp_path):
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3,what\n")
    assert "bad.csv" in perch.fails("fit", "bad.csv", "-o", "bad.perchdb")
    assert not (tmp_path / "bad.perchdb").exists()
    perch.fails("fit", "missing.csv", "-o", "missing.perchdb")
    assert not (tmp_path / "missing.perchdb").exists()


def test_texts_in_a_folder(perch, tmp_path):
    (tmp_path / "titles.csv").write_text("id,title\n1,red socks\n2,green tea\n3,black tea\n")
    perch("fit", "titles.csv", "-o", "titles.perchdb", "--id", "id", "--text", "title")
    (tmp_path / "more.csv").write_text("id,title\n4,blue socks\n")
    perch("add", "titles.perchdb", "more.csv", "--id", "id", "--text", "title")
    assert "4 points" in perch("check", "titles.perchdb").stdout


@pytest.mark.parametrize(
    ("bad", "most_kills"), [(True, 1), pytest.param(False, 5, marks=pytest.mark.slow)]
)
def test_a_killed_fit_goes_on_by_itself(perch, tmp_path, bad, most_kills):
    write_people(tmp_path / "people.csv", 1000 + 1000 * most_kills)
    if bad:
        lines = (tmp_path / "people.csv").read_text().splitlines()
        lines[100::7] = ["broken,line"] * len(lines[100::7])
        (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    more = ["--skip-bad"] if bad else []
    command = ["fit", "people.csv", "-o", "people.perchdb", *COLUMNS, "--batch", "50", *more]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    kills = 0
    while kills < most_kills:
        process = subprocess.Popen(
            [sys.executable, "-m", "perchtree", *command], env=environment, stderr=subprocess.PIPE
        )
        size = _rows(tmp_path)
        while process.poll() is None and _rows(tmp_path) < size + 500:
            time.sleep(0.01)
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stderr.close()
        kills += 1
    assert kills
    told = perch(*command).stderr
    assert "continuing at row" in told
    perch("fit", "people.csv", "-o", "whole.perch", *COLUMNS, *more)
    with Collection.open("people.perchdb") as one, Collection.open("whole.perch") as other:
        assert list(one.keys) == list(other.keys)
        with one.tree.reading() as a, other.tree.reading() as b:
            for (name, mine), (_, theirs) in zip(used_rows(a), used_rows(b), strict=True):
                np.testing.assert_array_equal(mine, theirs, err_msg=name)
        one.verify()


def _rows(folder):
    """Bytes of the log of the database, in rows: how far the other process has come."""

    try:
        connection = sqlite3.connect(
            f"file:{folder}/people.perchdb/collection.sqlite?mode=ro", uri=True
        )
        try:
            return connection.execute("SELECT count(*) FROM records").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.Error:
        return 0


def test_a_stream_into_a_folder_goes_on_with_what_comes(perch, tmp_path):
    def stream(*numbers):
        rows = "".join(f'{{"id": {i}, "v": [{i}, {i * 7 % 5}]}}\n' for i in range(*numbers))
        command = ["fit", "-", "-o", "s.perchdb", "--format", "jsonl", "--id", "id"]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run(
            [sys.executable, "-m", "perchtree", *command, "--features", "v"],
            env=environment, input=rows, text=True, capture_output=True, check=False,
        ).stderr  # fmt: skip

    assert "durable up to row 20" in stream(20)
    with Collection.open("s.perchdb", write=True) as kept:
        kept.note_progress(input="", id=20, runs=[], end=20)  # as if it had been killed
    assert "continuing with new rows" in stream(20, 25)
    assert "25 points" in perch("check", "s.perchdb").stdout
