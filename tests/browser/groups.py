"""Six groups of fifty records, on a page in a file and on a live one."""

import contextlib
import csv
import io

import numpy as np
from commands import Command
from serving import served

from perchtree import Collection

N = 300
KINDS = ("file", "service")
run = Command()


def fill(collection):
    """Six groups of fifty; two records of different groups are said to be the same."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(0, 10, (6, 4)), 50, axis=0) + rng.normal(0, 1, (N, 4))
    collection.add(
        X, keys=[f"k{i}" for i in range(N)], classes=[f"class {i // 50}" for i in range(N)],
        texts=[f"word{i // 50} number {i}" for i in range(N)],
    )  # fmt: skip
    collection.together("k0", "k299")


def saved(folder, filled=fill):
    """A collection in a file."""
    path = folder / "groups.perch"
    with Collection(search="astar") as collection:
        filled(collection)
        collection.save(path)
    return path


@contextlib.contextmanager
def shown(kind, folder, filled=fill, name="groups"):
    """The address of a page about a collection."""
    if kind == "service":
        with served(folder / f"{name}.perchdb", fill=filled) as http:
            yield f"http://127.0.0.1:{http.port}/"
    else:
        page = folder / "groups.html"
        path = saved(folder, filled)
        run("plot", path.rename(folder / f"{name}.perch"), "-o", page, "-k", 4)
        yield f"file://{page}"


def cut(path, *options):
    """Number and size of the clusters that `perch cut` writes, the largest first, and members."""
    table = list(
        csv.DictReader(io.StringIO(run("cut", path, *options, "-o", "-", "--no-remember").stdout))
    )
    members = {}
    for row in table:
        members.setdefault(int(row["cluster"]), []).append(row["id"])
    sizes = sorted(
        ((number, len(ids)) for number, ids in members.items()), key=lambda c: (-c[1], c[0])
    )
    return sizes, members
