"""perch ask, and the commands that use the answers."""

import csv
import os
import select
import subprocess
import sys
import time

import numpy as np
import pytest
from kinds import Rows

from perchtree import Collection
from perchtree.cli.beside import mark

N_CLASSES, SIZE = 8, 6


def classes_and_rows():
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(N_CLASSES), SIZE)
    return classes, 10 * rng.normal(size=(N_CLASSES, 4))[classes] + rng.normal(size=(48, 4))


@pytest.fixture
def tree(perch, tmp_path):
    classes, X = classes_and_rows()
    people = Collection()
    people.add(
        X,
        keys=[f"{c}-{i}" for i, c in enumerate(classes)],
        texts=[f"person {c} of town {i}" for i, c in enumerate(classes)],
    )
    people.save(tmp_path / "t.perch")
    return "t.perch"


def rows_of(path):
    with open(path, newline="") as file:
        return [tuple(row.values()) for row in csv.DictReader(file)]


def write_rows(path, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("a", "b", "same"), *rows])


def truth(rows):
    return [(a, b, "yes" if a[0] == b[0] else "no") for a, b, _ in rows]


def test_answers_are_kept_and_taken_up_again(perch, tree, tmp_path):
    result = perch("ask", tree, "-o", "a.csv", stdin="y\nn\ns\n")
    first = rows_of(tmp_path / "a.csv")
    assert [same for *_, same in first] == ["yes", "no", "skip"]
    assert "2 answers in a.csv; next: perch cut t.perch --answers a.csv" in result.stderr
    assert result.stdout.count("Best cut after") == 2  # not after a skipped pair
    assert "Question 4" in result.stdout
    asked = [(a, b) for a, b, _ in first]
    for a, b in asked:
        assert f"| {a} " in result.stdout
        assert f"| {b} " in result.stdout
    perch("ask", tree, "-o", "a.csv", stdin="n\nq\ny\n")
    more = rows_of(tmp_path / "a.csv")
    assert more[:3] == first
    assert len(more) == 4
    collection = Collection.open(tmp_path / tree)
    assert [row[:2] for row in more] == collection.questions(10)[:4]


def test_undo_goes_back_over_sessions(perch, tree, tmp_path):
    perch("ask", tree, "-o", "a.csv", "-q", stdin="y\nn\n")
    before = rows_of(tmp_path / "a.csv")
    result = perch("ask", tree, "-o", "a.csv", "-q", stdin="u\nu\nu\nn\ny\nn\n")
    after = rows_of(tmp_path / "a.csv")
    assert [row[:2] for row in after[:2]] == [row[:2] for row in before]
    assert [same for *_, same in after] == ["no", "yes", "no"]
    assert "There is no answer to undo." in result.stdout
    assert result.stdout.count("Last answer undone.") == 2


def test_other_keys_are_refused_and_words_understood(perch, tree, tmp_path):
    result = perch("ask", tree, "-o", "a.tsv", stdin="x\n\n\x1b[31m\nYes\nNO\nquit\n")
    assert result.stdout.count("Press y, n, s, u or q.") == 3
    assert "\x1b" not in result.stdout
    assert (tmp_path / "a.tsv").read_text().splitlines()[0] == "a\tb\tsame"
    assert "2 answers in a.tsv" in result.stderr


def test_a_number_of_answers_is_enough(perch, tree, tmp_path):
    perch("ask", tree, "-o", "a.csv", "-n", 3, "-q", stdin="s\n" + "n\n" * 9)
    assert [same for *_, same in rows_of(tmp_path / "a.csv")] == ["skip", "no", "no", "no"]
    quiet = perch("ask", tree, "-o", "a.csv", "-n", 3, "-q", stdin="n\n")
    assert quiet.output == ""


def test_cut_and_predict_by_answers(perch, tree, tmp_path):
    pairs = Collection.open(tmp_path / tree).questions(40)
    write_rows(tmp_path / "a.csv", truth([(*pair, None) for pair in pairs]))
    result = perch("cut", tree, "--answers", "a.csv", "-o", "c.csv")
    assert "48 points in 8 clusters" in result.stderr
    assert "by 40 answers: 8 clusters (" in result.stderr
    assert "F1 0." in result.stderr or "F1 1." in result.stderr
    clusters = {}
    for row in csv.DictReader((tmp_path / "c.csv").read_text().splitlines()):
        clusters.setdefault(row["cluster"], set()).add(row["id"][0])
    assert sorted(map(len, clusters.values())) == [1] * 8
    rows = Rows(classes_and_rows()[1], [str(i) for i in range(48)]).write(tmp_path, "csv")
    predicted = perch("predict", tree, *rows, "--answers", "a.csv", "-o", "-")
    table = csv.DictReader(predicted.stdout.splitlines())
    assert len({row["cluster"] for row in table}) == 8
    usage = perch.fails("cut", tree, "--answers", "a.csv", "-k", 3, "-o", "d.csv", code=2)
    assert "--min-size and --answers" in usage


def test_doubts_are_said(perch, tree, tmp_path):
    write_rows(
        tmp_path / "a.csv",
        [("0-0", "0-1", "yes"), ("0-1", "1-6", "yes"), ("0-0", "1-6", "no"), ("zoe", "0-0", "no")],
    )
    said = perch("cut", tree, "--answers", "a.csv", "-o", "-").stderr
    assert "by 3 answers: " in said
    assert "but 1 of 3 answers contradict others" in said
    assert "1 answer about records that no longer exist" in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,same\n", "a.csv: there are no answers"),
        ("a,b,same\n0-0,0-1,skip\n", "a.csv: there are no answers"),
        ("a,b,same\n0-0,0-0,yes\n", "a.csv: line 2 pairs a record with itself"),
        ("a,b,same\n0-0,0-1,maybe\n", "a.csv: line 2 has 'maybe' for same"),
        ("x,y\n1,2\n", "a.csv: the first line must name the columns"),
    ],
)
def test_answers_that_cannot_be_used(perch, tree, tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    assert message in perch.fails("cut", tree, "--answers", "a.csv", "-o", "-")


def test_a_file_that_is_not_ours_stays_as_it_is(perch, tree, tmp_path):
    text = "a,b,same,note\n0-0,0-1,yes,sure\n"
    (tmp_path / "a.csv").write_text(text)
    assert "which would be lost" in perch.fails("ask", tree, "-o", "a.csv")
    assert (tmp_path / "a.csv").read_text() == text
    assert "must end with one of .csv, .tsv" in perch.fails("ask", tree, "-o", "a.parquet")
    assert "is the input" in perch.fails("ask", tree, "-o", tree)


def test_answers_about_removed_records_stay_in_the_file(perch, tree, tmp_path):
    perch("ask", tree, "-o", "a.csv", "-q", stdin="y\nn\ny\n")
    before = rows_of(tmp_path / "a.csv")
    gone = before[1][0]
    perch("remove", tree, "--id", gone, "-q")
    result = perch("ask", tree, "-o", "a.csv", stdin="n\n")
    assert "about records that are not in t.perch" in result.stderr
    after = rows_of(tmp_path / "a.csv")
    assert set(before) < set(after)
    assert len(after) == 4
    assert gone.encode() not in (tmp_path / tree).read_bytes()


def test_keys_that_look_like_formulas_and_numbers(perch, tmp_path):
    _, X = classes_and_rows()
    people = Collection()
    people.add(X, keys=[f"=key {i}" if i % 2 else f"'=key {i}" for i in range(48)])
    people.save(tmp_path / "t.perch")
    perch("ask", "t.perch", "-o", "a.csv", "-q", stdin="y\nn\n" * 4)
    assert all(row[0].startswith("'") for row in rows_of(tmp_path / "a.csv"))
    result = perch("ask", "t.perch", "-o", "a.csv", stdin="y\n")
    assert "9 answers in a.csv" in result.stderr
    assert "gone" not in perch("cut", "t.perch", "--answers", "a.csv", "-o", "-").stderr
    numbers = Collection()
    numbers.add(X)  # no keys: ids are whole numbers
    numbers.save(tmp_path / "n.perch")
    result = perch("ask", "n.perch", "-o", "n.csv", stdin="y\nn\n")
    assert "feature 1" in result.stdout  # there are no texts to show
    assert "by 2 answers" in perch("cut", "n.perch", "--answers", "n.csv", "-o", "-").stderr


def test_answers_become_corrections_if_wanted(perch, tree, tmp_path):
    write_rows(
        tmp_path / "a.csv",
        [
            ("0-0", "1-6", "yes"),
            ("0-0", "0-1", "no"),
            ("1-6", "0-1", "yes"),
            ("2-12", "0-0", "skip"),
        ],
    )
    before = (tmp_path / tree).read_bytes()
    perch("ask", tree, "-o", "a.csv", stdin="q\n")
    assert (tmp_path / tree).read_bytes() == before
    result = perch("ask", tree, "-o", "a.csv", "--correct", stdin="q\n")
    assert "1 answer contradicting others not made into corrections" in result.stderr
    assert "2 corrections; saved as t.perch" in result.stderr
    listed = perch("correct", tree, "--list").stdout
    assert listed == "a,b,same\n0-0,0-1,no\n0-0,1-6,yes\n"
    perch("correct", tree, "--take-back", "0-0", "0-1", "--take-back", "0-0", "1-6", "-q")
    write_rows(tmp_path / "a.csv", [("0-0", "1-6", "yes"), ("2-12", "0-0", "skip")])
    assert "1 change, 1 correction" in perch("correct", tree, "--from", "a.csv").stderr


def test_a_folder_keeps_its_answers_itself(perch, tree, tmp_path):
    perch("fit", tree, "-o", "t.perchdb", "-q")
    assert "give a file for the answers with -o" in perch.fails("ask", tree, code=2)
    result = perch("ask", "t.perchdb", stdin="y\nn\ns\nq\n")
    assert "2 answers in t.perchdb; next: perch cut t.perchdb --answers t.perchdb" in result.stderr
    with Collection.open(tmp_path / "t.perchdb") as people:
        first = people.answers
    assert [answer.same for answer in first] == [True, False, None]
    perch("ask", "t.perchdb", "-q", stdin="u\nu\ny\nq\n")
    with Collection.open(tmp_path / "t.perchdb") as people:
        assert people.answers[0] == first[0]
        assert [answer.same for answer in people.answers] == [True, True]
        assert {*people.answers[1][:2]} == {*first[1][:2]}
    perch("ask", "t.perchdb", "-n", 12, "-q", "--correct", stdin="n\n" * 20)
    cut = perch("cut", "t.perchdb", "--answers", "t.perchdb", "-o", "-").stderr
    assert "by 12 answers: " in cut
    assert "is another folder" in perch.fails("cut", tree, "--answers", "t.perchdb", "-o", "-")
    perch("export", "t.perchdb", "--to", "perch", "-o", "back.perch")
    with Collection.open(tmp_path / "t.perchdb") as people:
        assert Collection.open(tmp_path / "back.perch").answers == people.answers
        assert len(people.corrections)


def test_what_differs_is_marked():
    a, b = mark("ann lee of kent", "ann leigh of  kent\x1b[2J", plain=True)
    assert a.plain == "ann *lee* of *kent*"
    assert b.plain == "ann *leigh* of *kent\\x1b[2J*"
    a, b = mark("one two", "two", plain=False)
    assert (a.plain, b.plain) == ("one two", "two")
    assert [(span.start, span.end) for span in a.spans] == [(0, 3)]
    assert b.spans == []


def start(tree, tmp_path):
    """`perch ask` in a terminal: its process, and our end of the terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "perchtree", "ask", tree, "-o", "a.csv"],
        cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "80"},
    )  # fmt: skip
    os.close(theirs)
    return process, ours


def press(ours, key):
    """Press a key once the question stands: what is typed before that is dropped."""
    time.sleep(0.5)
    os.write(ours, key)


def read_until(ours, text, seconds=60):
    shown, end = b"", time.monotonic() + seconds
    while text.encode() not in shown and time.monotonic() < end:
        if not select.select([ours], [], [], 1.0)[0]:
            continue
        try:
            shown += os.read(ours, 10_000)
        except OSError:  # it has ended
            break
    return shown.decode()


def test_in_a_terminal_one_key_is_enough_and_an_interrupt_loses_nothing(tree, tmp_path):
    process, ours = start(tree, tmp_path)
    try:
        shown = read_until(ours, "q = quit:")
        assert "╭" in shown
        assert "\x1b[1;4;33m" in shown  # bold, underlined, yellow
        press(ours, b"y")
        read_until(ours, "q = quit:")
        press(ours, b"n")
        read_until(ours, "q = quit:")
        press(ours, b"\x03")  # Ctrl-C
        end = read_until(ours, "perch: stopped")
        assert "2 answers in a.csv" in end
        assert process.wait(30) == 1
    finally:
        process.kill()
        os.close(ours)
    assert [same for *_, same in rows_of(tmp_path / "a.csv")] == ["yes", "no"]
