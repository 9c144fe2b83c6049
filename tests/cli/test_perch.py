"""The `perch` command as such."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from docs import cli_page

import perchtree


def test_help_lists_the_commands(perch):
    output = perch("--help").output
    for name in ("fit", "add", "refine", "cut", "predict", "score", "info", "plot", "export",
                 "check", "demo"):  # fmt: skip
        assert f"  {name} " in output
        assert "Usage:" in perch(name, "--help").output


def test_alone_it_prints_a_short_overview(perch):
    output = perch().output
    assert output.count("\n") < 15
    for command in ("perch fit", "perch clusters", "perch cut", "perch demo", "perch --help"):
        assert command in output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_completes(perch, shell):
    script = perch("completion", shell).output
    assert "_PERCH_COMPLETE" in script


def test_completion_knows_commands_and_options():
    def offered(line):
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        result = subprocess.run(
            [sys.executable, "-c", "from perchtree.cli import main; main(prog_name='perch')"],
            env={**os.environ, **words, "_PERCH_COMPLETE": "bash_complete"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return result.stdout

    assert "plain,clusters" in offered("perch clu")
    assert "plain,--min-size" in offered("perch cut --min")


def test_samples_are_made_from_their_seed(perch, tmp_path):
    for kind in ("people", "questions", "messages"):
        assert perch("sample", kind, "--rows", 20).stdout.count("\n") == 21
        first = perch("sample", kind, "--rows", 9).stdout
        assert first == perch("sample", kind, "--rows", 9).stdout
        assert first != perch("sample", kind, "--rows", 9, "--seed", 1).stdout
    perch("sample", "people", "-o", "people.csv")
    assert "exists: use --force" in perch.fails("sample", "people", "-o", "people.csv")


def test_usage_error(perch):
    perch("nonsense", code=2)


def test_the_manual_is_current():
    page = Path(cli_page.__file__).with_name("cli.md").read_text()
    assert page == cli_page.write_manual(), "run `make manual`"


@pytest.mark.jit
def test_demo(perch, tmp_path):
    output = perch("demo", "--modes").output
    for line in ("PERCH,", "PERCH-B ", "PERCH-C ", "PERCH-BC ", "grafted", "Birch"):
        assert line in output
    assert "Purity" in output
    assert "F1" in output
    assert "perch clusters perch-demo/digits.perch" in output
    names = sorted(path.name for path in (tmp_path / "perch-demo").glob("[!.]*"))
    assert names == ["clusters.csv", "digits.html", "digits.perch"]
    assert perch.json("score", "perch-demo/digits.perch")["dendrogram_purity"] > 0.8
    assert "exists: use --force" in perch.fails("demo")
    assert "PERCH-BC" not in perch("demo", "--force").output


def test_help_is_quick_because_nothing_heavy_is_imported():
    code = (
        "import sys, perchtree.cli; "
        "print([m for m in ('numba', 'numpy', 'sklearn', 'rich', 'pyarrow') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_names_are_found_when_asked_for():
    assert set(perchtree.__all__) <= set(dir(perchtree))
    for name in perchtree.__all__:
        assert getattr(perchtree, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = perchtree.Nonsense
