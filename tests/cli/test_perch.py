"""The `perch` command as such."""

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


def test_usage_error(perch):
    perch("nonsense", code=2)


def test_the_manual_is_current():
    page = Path(cli_page.__file__).with_name("cli.md").read_text()
    assert page == cli_page.write_manual(), "run `make manual`"


@pytest.mark.jit
def test_demo(perch, tmp_path):
    output = perch("demo").output
    for line in ("PERCH", "PERCH-B", "PERCH-C", "PERCH-BC", "grafted", "Birch"):
        assert line in output
    names = sorted(path.name for path in (tmp_path / "perch-demo").glob("[!.]*"))
    assert names == ["clusters.csv", "digits.html", "digits.perch"]
    assert perch.json("score", "perch-demo/digits.perch")["dendrogram_purity"] > 0.8
    assert "exists: use --force" in perch.fails("demo")
    perch("demo", "--force")


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
