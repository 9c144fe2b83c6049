"""Options of version 0.1 that have another name now: one line says which."""

import pytest
from kinds import Rows


@pytest.mark.parametrize(
    ("command", "old", "new"),
    [
        (["fit", "rows.csv", "-o", "u.perch", "--label", "class"], "--label", "--class"),
        (["fit", "rows.csv", "-o", "u.perch", "--mode", "b", "--beam", "3"], "--beam",
         "--beam-width"),
        (["score", "t.perch", "--labels", "y.npy"], "--labels", "--classes"),
        (["plot", "t.perch", "-o", "t.html", "--max-leaves", "3"], "--max-leaves", "--branches"),
        (["export", "t.perch", "--to", "json", "-o", "-", "--max-leaves", "3"], "--max-leaves",
         "--branches"),
    ],
)  # fmt: skip
def test_renamed_options(perch, tmp_path, X, command, old, new):
    perch("fit", *Rows(X).write(tmp_path, "csv"), "-o", "t.perch", "-q")
    result = perch(*command, code=2)
    assert f"{old} is now called {new}" in result.stderr


def test_an_unknown_option_is_just_that(perch, tmp_path, X):
    perch("fit", *Rows(X).write(tmp_path, "csv"), "-o", "t.perch", "-q")
    assert "No such option" in perch("info", "t.perch", "--labels", code=2).stderr
