"""Builds wheel and sdist and checks them in empty environments: `make dist`.

For every Python from 3.11 on that is found, the wheel is installed with all extras of users, once
with the newest versions of its dependencies that the installer finds and once with the oldest that
it allows, and used. Others are skipped, and that is said. The demo runs once, from the wheel.

`python -m tools.dist 3.12 3.13:oldest` checks only these.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

from packaging.markers import default_environment
from packaging.requirements import Requirement

PROJECT = Path(__file__).parents[1]
DIST = PROJECT / "dist"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
WHICH = ("newest", "oldest")
EXTRA = "all"

SMOKE = """
import numpy as np
from perchtree import Collection, Perch
from perchtree.samples import make_people

people = make_people(200, 0)
collection = Collection(encoder="chars")
collection.add(texts=people["name"], keys=people["id"])
labels = collection.tree.cut(min_cluster_size=2)
assert len(collection.describe(labels)) == len(set(labels.tolist()))
collection.save("people.perch")
with Collection.open("people.perchdb", write=True) as kept:
    kept.add(np.eye(3), keys=["a", "b", "c"])
    kept.remove(["b"])
assert len(Collection.open("people.perchdb")) == 2
assert Perch(n_clusters=2).fit(np.eye(4)).labels_.max() == 1
import perchtree.plot, perchtree.serve.application, pyarrow
"""


def main(only: list[str]) -> int:
    wheel = build()
    checked, skipped = [], []
    for version in PYTHONS:
        wanted = [which for which in WHICH if not only or {version, f"{version}:{which}"} & {*only}]
        python = find_python(version)
        if python is None:
            skipped += [version] if wanted else []
            continue
        for which in wanted:
            with environment(python) as folder:
                print(f"== Python {version}, {which} dependencies", flush=True)
                install(folder, wheel, oldest(wheel, version) if which == "oldest" else [])
                use(folder)
                if not checked:
                    run([folder / "bin/perch", "demo", "-o", folder / "demo"], folder)
                checked.append(f"{version} {which}")
    print(f"checked: {', '.join(checked)}")
    for version in skipped:
        print(f"SKIPPED: there is no Python {version} on this machine")
    return 0 if checked else 1


def build() -> Path:
    """Make wheel and sdist, and let twine look at both."""
    shutil.rmtree(DIST, ignore_errors=True)
    run([sys.executable, "-m", "build", "--outdir", DIST, PROJECT])
    files = sorted(DIST.iterdir())
    run([sys.executable, "-m", "twine", "check", "--strict", *files])
    (wheel,) = (file for file in files if file.suffix == ".whl")
    return wheel


def find_python(version: str) -> Path | None:
    """An interpreter of this version that starts: on the path, or among those of pyenv."""
    found = [shutil.which(f"python{version}")]
    found += sorted(map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python")))
    for name in filter(None, found):
        code = "import sys; print(*sys.version_info[:2], sep='.')"
        result = subprocess.run([name, "-c", code], capture_output=True, text=True)
        if result.stdout.strip() == version:
            return Path(name)
    return None


class environment:  # noqa: N801
    """An empty virtual environment, which is removed in the end."""

    def __init__(self, python: Path) -> None:
        self._held = tempfile.TemporaryDirectory(prefix="perch-dist-")
        run([python, "-m", "venv", self._held.name])

    def __enter__(self) -> Path:
        return Path(self._held.name)

    def __exit__(self, *_exception: object) -> None:
        self._held.cleanup()


def install(folder: Path, wheel: Path, pinned: list[str]) -> None:
    """Install the wheel from the wheel alone, and let pip check what came with it."""
    pip = [folder / "bin/python", "-m", "pip", "-qq", "--disable-pip-version-check"]
    run([*pip, "install", "--only-binary", ":all:", f"{wheel}[{EXTRA}]", *pinned])
    run([*pip, "check"])


def use(folder: Path) -> None:
    """Do what a user does first, away from the sources, with an empty cache."""
    run([folder / "bin/perch", "--version"], folder)
    (folder / "smoke.py").write_text(SMOKE)
    run([folder / "bin/python", "smoke.py"], folder)
    run([folder / "bin/perch", "clusters", "people.perch", "-k", "5"], folder)


def oldest(wheel: Path, version: str) -> list[str]:
    """Every dependency of the wheel for this Python, pinned to the oldest version it allows."""
    with ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        lines = HeaderParser().parsestr(archive.read(name).decode()).get_all("Requires-Dist") or []
    return list(_pinned(map(Requirement, lines), version, {"", EXTRA}))


def _pinned(all_of_them: Iterator[Requirement], version: str, extras: set[str]) -> Iterator[str]:
    requirements = list(all_of_them)
    for requirement in requirements:  # extras that are made of other extras
        if requirement.name == "perchtree" and _applies(requirement, version, extras):
            extras |= requirement.extras
    for requirement in requirements:
        if requirement.name != "perchtree" and _applies(requirement, version, extras):
            least = re.search(r">=([\w.]+)", str(requirement.specifier))
            if least is None:
                raise ValueError(f"{requirement} has no oldest version: say which one it needs")
            yield f"{requirement.name}=={least[1]}"


def _applies(requirement: Requirement, version: str, extras: set[str]) -> bool:
    marker = requirement.marker
    place = {**default_environment(), "python_version": version, "python_full_version": version}
    return marker is None or any(marker.evaluate(place | {"extra": extra}) for extra in extras)


def run(command: list[object], folder: Path | None = None) -> None:
    """Run a command, without this project's sources and caches if a folder is given."""
    env = dict(os.environ)
    env.pop("PYTHONPATH", None)
    if folder is not None:
        env["NUMBA_CACHE_DIR"] = str(folder / "cache")
    subprocess.run([str(part) for part in command], cwd=folder, env=env, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
