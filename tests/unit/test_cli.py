"""The `perch` command."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

import perchtree
from perchtree.cli import main


def test_version():
    result = CliRunner().invoke(main, ["--version"])
    assert result.output == f"perch, version {perchtree.__version__}\n"


def test_help_lists_the_commands():
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert "demo" in result.output


def test_usage_error():
    assert CliRunner().invoke(main, ["nonsense"]).exit_code == 2


@pytest.mark.jit
def test_demo():
    result = CliRunner().invoke(main, ["demo"])
    assert result.exit_code == 0
    for line in ("dendrogram purity", "pairwise F1", "depth", "rotations", "points per second"):
        assert line in result.output


def test_help_is_quick_because_nothing_heavy_is_imported():
    code = "import sys, perchtree.cli; print('numba' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "False"


def test_names_are_found_when_asked_for():
    assert set(perchtree.__all__) <= set(dir(perchtree))
    for name in perchtree.__all__:
        assert getattr(perchtree, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = perchtree.Nonsense
