"""Runs the tutorials: `python -m docs.running` writes their output and pictures into their pages.

In a page, a `console` block has commands, after `$ `, and what they print; a `python` block may be
followed by a `text` block with what it prints. A comment `<!-- shot FILE PICTURE WIDTHxHEIGHT -->`
takes a picture of a page that was made. Everything of one tutorial runs in one folder, in order.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from click.testing import CliRunner

from perchtree.cli import main

FOLDER = Path(__file__).parent
TUTORIALS = [FOLDER / "tutorials" / f"{name}.md" for name in ("deduplicate", "topics", "stream")]

_PART = re.compile(
    r"^```console\n(?P<console>.*?)^```$"
    r"|^```python\n(?P<python>.*?)^```$(?:\n\n^```text\n(?P<text>.*?)^```$)?"
    r"|^<!-- shot (?P<shot>.*?) -->$",
    re.MULTILINE | re.DOTALL,
)
_VARYING = re.compile(r"[\d,]+/s")
"""What differs from run to run: speed."""
_ADDRESS = "http://127.0.0.1:8732"
"""Where a service is by default; here it takes any free port."""


class Session:
    """One run of a tutorial: its folder, its Python names, the services that it has started."""

    def __init__(self, *, pictures: bool = False) -> None:
        self._names: dict[str, object] = {"__name__": "__main__"}
        self._services: list[subprocess.Popen[str]] = []
        self._pictures = pictures
        self._address = _ADDRESS

    def run(self, page: str) -> str:
        """The page with what its blocks print now."""
        return _PART.sub(self._rewritten, page)

    def _rewritten(self, found: re.Match[str]) -> str:
        if found["console"] is not None:
            return f"```console\n{''.join(self._commands(found['console']))}```"
        if found["shot"] is not None:
            if self._pictures:
                _take_picture(*found["shot"].split())
            return found[0]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = found["python"].replace(_ADDRESS, self._address)
            exec(compile(code, "<tutorial>", "exec"), self._names)
        block = f"```python\n{found['python']}```"
        return f"{block}\n\n```text\n{printed.getvalue()}```" if printed.getvalue() else block

    def _commands(self, block: str) -> Iterator[str]:
        for command in re.findall(r"^\$ ((?:.*\\\n)*.*)\n", block, re.MULTILINE):
            yield f"$ {command}\n"
            yield self._printed(command.replace("\\\n", " "))

    def _printed(self, command: str) -> str:
        if command.endswith(" &"):
            return self._started(command.removesuffix(" &"))
        if command.startswith("perch ") and not re.search(r"[|<>;]", command):
            result = CliRunner().invoke(main, shlex.split(command, comments=True)[1:])
            if result.exit_code:
                raise RuntimeError(f"{command}: {result.output}")
            return re.sub(r"[ \t]+$", "", result.output, flags=re.MULTILINE)
        # The `perch` of this environment, whether or not it is the one that a shell would find.
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True, check=True,
            env=os.environ | {"PATH": path},
        )  # fmt: skip
        return done.stdout + done.stderr

    def _started(self, command: str) -> str:
        words = [sys.executable, "-m", "perchtree", *shlex.split(command)[1:], "--port", "0"]
        service = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self._services.append(service)
        assert service.stdout is not None
        line = service.stdout.readline()
        self._address = re.search(r"http\S+", line)[0]  # type: ignore[index]
        return line.replace(self._address, _ADDRESS)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_exception: object) -> None:
        for service in self._services:
            service.terminate()
            service.communicate()


def without_varying(page: str) -> str:
    """A page in which two runs can be compared."""
    return _VARYING.sub("", page)


@contextlib.contextmanager
def folder_of_its_own() -> Iterator[Path]:
    """An empty folder to work in."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="perch-") as name:
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def _take_picture(page: str, picture: str, size: str) -> None:
    """What a page looks like in a browser."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print(f"no browser: {picture} stays as it is", file=sys.stderr)
        return
    target = FOLDER / "pictures" / picture
    target.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--hide-scrollbars", f"--user-data-dir={profile}",
             "--virtual-time-budget=3000", f"--window-size={size.replace('x', ',')}",
             f"--screenshot={target}", Path(page).resolve().as_uri()],
            check=True, capture_output=True,
        )  # fmt: skip


def write_tutorials(names: list[str]) -> None:
    """Run all tutorials, or those that are named."""
    os.environ["PERCHTREE_QUIET"] = "1"
    for path in TUTORIALS:
        if names and path.stem not in names:
            continue
        with folder_of_its_own(), Session(pictures=True) as session:
            path.write_text(session.run(path.read_text()))
        print(path)


if __name__ == "__main__":
    write_tutorials(sys.argv[1:])
