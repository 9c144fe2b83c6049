"""What the documentation shows is what happens."""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs import running

PROJECT = Path(__file__).parents[2]
pytestmark = [pytest.mark.outer, pytest.mark.jit]


@pytest.mark.parametrize("path", running.TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_prints_what_its_page_shows(path):
    page = path.read_text()
    with running.folder_of_its_own(), running.Session() as session:
        now = session.run(page)
    assert running.without_varying(now) == running.without_varying(page), "run `make tutorials`"


def test_the_first_example_runs(tmp_path, monkeypatch):
    """It is the same on the first page and in the README."""
    (code,) = re.findall(
        r"```python\n(.*?)```", (PROJECT / "docs/snippets/quickstart.md").read_text(), re.DOTALL
    )
    assert code in (PROJECT / "README.md").read_text()
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {"__name__": "__main__"})
    assert printed.getvalue().count(" - ") == 3
    assert (tmp_path / "questions.perch").exists()


def test_the_site_is_built_without_a_warning(tmp_path):
    """Strictly: broken links, missing references and remote scripts fail."""
    pytest.importorskip("mkdocs")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-d", str(tmp_path / "site")], cwd=PROJECT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    first = (tmp_path / "site" / "index.html").read_text()
    assert "unpkg" not in first
    assert "Deduplicate records" in first


def test_every_extra_is_in_the_table():
    declared = re.search(
        r"\[project\.optional-dependencies\]\n(.*?)\n\[", (PROJECT / "pyproject.toml").read_text(),
        re.DOTALL,
    )  # fmt: skip
    table = (PROJECT / "docs/install.md").read_text()
    for name in re.findall(r"^(\w+) = \[", declared[1], re.MULTILINE):
        assert f"`{name}`" in table, name


def test_every_setting_and_command_of_the_recipes_exists():
    """Files that the pages for contributors name are there."""
    for page in ("first-change", "recipes"):
        text = (PROJECT / f"docs/contributing/{page}.md").read_text()
        for name in re.findall(r"`((?:src|tests|docs)/[\w/.]+\.(?:py|md))`", text):
            assert (PROJECT / name).exists(), name
