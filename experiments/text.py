"""From texts to vectors, how good and how fast: writes docs/text.md (`make text`).

Every run is a line of results/text.jsonl; runs that are there already are not repeated. The texts
lie beside the data, in NAME.texts.txt.gz.
"""

import gzip
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from perchtree import ClusterTree
from perchtree.encode import Chars, Words, make_encoder
from perchtree.encode.choosing import LONG, choose_encoder
from perchtree.encode.hashed import Hashed
from perchtree.metrics import dendrogram_purity, pairwise_f1

from .modes import table

RESULTS = Path(__file__).parent / "results" / "text.jsonl"
PAGE = Path(__file__).parent.parent / "docs" / "text.md"

ROWS = 20_000
JOINED = [1, 2, 4, 8]
MILLION = 1_000_000
LONG_RUN = "a million"
"""Takes minutes, and all cores: only with --million."""
READY = "ready-made vectors"
FEW = "chars, learned from 1,000 texts"

WAYS: dict[str, Callable[[list[str]], Any]] = {
    "chars": lambda texts: Chars(n_jobs=-1).learned(texts),
    "words": lambda texts: Words(n_jobs=-1).learned(texts),
    "chars, not weighted": lambda texts: Chars(n_jobs=-1),
    FEW: lambda texts: Chars(n_jobs=-1).learned(texts[:1000]),
    "words, 512 dimensions": lambda texts: Words(512, n_jobs=-1).learned(texts),
    "wordllama": lambda texts: make_encoder("wordllama"),
}
"""Encoders by the name of a run."""


def load(name: str) -> tuple[list[str], NDArray[Any], NDArray[np.int64]]:
    """Texts, ready-made vectors and classes."""
    folder = Path(os.environ.get("PERCHTREE_DATA", "."))
    with gzip.open(folder / f"{name}.texts.txt.gz", "rt", encoding="utf-8", newline="\n") as file:
        texts = file.read().split("\n")
    with np.load(folder / f"{name}.npz") as file:
        X, y = file["X"], file["y"]
    return texts[: len(y)], X, y


def encode(way: str, texts: list[str]) -> tuple[NDArray[Any], float]:
    """Vectors, and the CPU seconds, of all threads, that learning and encoding took."""
    warm = WAYS[way](texts[:50])
    warm.encode(texts[:50])  # compile, or load, before the clock runs
    start = time.process_time()
    encoder = WAYS[way](texts) if isinstance(warm, Hashed) else warm
    vectors = encoder.encode(texts)
    return vectors, time.process_time() - start


def grow(X: NDArray[Any], y: NDArray[np.int64]) -> dict[str, Any]:
    tree = ClusterTree(X.shape[1], n_jobs=-1)
    tree.insert(X[:200])
    tree = ClusterTree(X.shape[1], n_jobs=-1)
    start = time.process_time()
    tree.insert(X)
    seconds = time.process_time() - start
    labels = tree.cut(len(np.unique(y)))
    return {"purity": dendrogram_purity(tree, y), "f1": pairwise_f1(y, labels), "tree": seconds}


def score(name: str, way: str) -> dict[str, Any]:
    """Encode texts in a random order, grow a tree, and compare it with the classes."""
    texts, X, y = load(name)
    order = np.random.default_rng(0).permutation(len(y))[:ROWS]
    texts, X, y = [texts[i] for i in order], X[order], y[order]
    seconds = None
    if way != READY:
        X, seconds = encode(way, texts)
    rows = {"rows": len(y), "dimensions": X.shape[1], "classes": len(np.unique(y))}
    return rows | {"encode": seconds} | grow(X, y)


def join(name: str, several: int) -> tuple[list[str], NDArray[np.int64]]:
    """Longer texts: so many of one class, one after the other."""
    texts, _, y = load(name)
    rng = np.random.default_rng(0)
    joined, classes = [], []
    for label in np.unique(y):
        own = rng.permutation(np.flatnonzero(y == label))
        for start in range(0, len(own) - several + 1, several):
            joined.append(" ".join(texts[i] for i in own[start : start + several]))
            classes.append(label)
    order = rng.permutation(len(joined))[:6000]
    return [joined[i] for i in order], np.array(classes)[order]


def compare(name: str, several: int) -> dict[str, Any]:
    """`chars` and `words` on texts of several lengths, and which would be chosen."""
    texts, y = join(name, several)
    found = {way: grow(WAYS[way](texts).encode(texts), y)["purity"] for way in ("chars", "words")}
    length = float(np.median([len(text) for text in texts]))
    return found | {"length": length, "rows": len(y), "chosen": choose_encoder(texts).name}


def made_up(rng: np.random.Generator) -> Iterator[str]:
    """Records of about 60 characters: some 200,000 people, with errors."""
    syllables = ["an", "bel", "cor", "da", "el", "fin", "gar", "hol", "is", "jon", "ka", "lu"]
    people = rng.integers(0, len(syllables), (200_000, 16)).tolist()
    while True:
        for person, wrong in rng.integers(0, [len(people), 60], (1000, 2)).tolist():
            own = people[person]
            word = "".join(syllables[i] for i in own)
            text = f"{word[:6]} {word[6:16]}, {own[0]}{own[3]} {word[16:26]} street, {word[26:]}"
            text = text.ljust(60, "x")[:60]
            yield text[:wrong] + "e" + text[wrong + 1 :]


def stream_million() -> dict[str, Any]:
    """`perch fit` of a million texts with bounded leaves: time, and the most memory it held."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "million.csv"
        texts = made_up(np.random.default_rng(0))
        with source.open("w") as file:
            file.write("text\n")
            file.writelines(f'"{next(texts)}"\n' for _ in range(MILLION))
        options = ["--encode", "chars", "--max-leaves", "20000", "--n-jobs", "-1", "--text", "text"]
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "perchtree", "fit", source, "-o", source.with_suffix(".perch"),
             *options], check=True,
        )  # fmt: skip
        seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss * 1024,
        "load": os.getloadavg()[1],
    }  # fmt: skip


PLAN: dict[str, Callable[[], dict[str, Any]]] = {
    **{
        f"{name} / {way}": (lambda name=name, way=way: score(name, way))  # type: ignore[misc]
        for name, ways in {
            "hist50k": ["chars", "words", "chars, not weighted", FEW, READY],
            "clinc150": ["chars", "words", "words, 512 dimensions", "wordllama", READY],
        }.items()
        for way in ways
    },
    **{
        f"{name} x {several}": (
            lambda name=name, several=several: compare(name, several)  # type: ignore[misc]
        )
        for name in ("hist50k", "clinc150")
        for several in JOINED
    },
}
"""All runs by name."""


def read_results() -> dict[str, dict[str, Any]]:
    if not RESULTS.exists():
        return {}
    lines = map(json.loads, RESULTS.read_text().splitlines())
    return {line.pop("run"): line for line in lines}


def run_missing(plan: dict[str, Callable[[], dict[str, Any]]]) -> None:
    done = read_results()
    for name in tqdm([name for name in plan if name not in done], desc="text"):
        result = {"run": name} | plan[name]()
        with RESULTS.open("a") as file:
            file.write(json.dumps(result) + "\n")


def scores(results: dict[str, dict[str, Any]]) -> Iterator[str]:
    rows = []
    for name, run in results.items():
        if " / " not in name:
            continue
        data, way = name.split(" / ")
        if way == READY:
            way = {"clinc150": "MiniLM sentence embeddings", "hist50k": "n-grams, SVD"}[data]
        seconds = run["encode"]
        encoding = "-" if seconds is None else f"{seconds:.2f}"
        speed = "-" if seconds is None else f"{run['rows'] / seconds:,.0f}"
        rows.append([
            f"{data}, {run['rows']:,} of {run['classes']:,} classes", way, f"{run['dimensions']}",
            f"{run['purity']:.3f}", f"{run['f1']:.3f}", encoding, speed, f"{run['tree']:.1f}",
        ])  # fmt: skip
    head = ["data", "vectors", "dimensions", "purity", "F1 at the true K", "encoding, CPU s",
            "texts per CPU second", "tree, CPU s"]  # fmt: skip
    yield from table(head, rows)


def choices(results: dict[str, dict[str, Any]]) -> Iterator[str]:
    rows = []
    for name, run in results.items():
        if " x " in name:
            rows.append([
                name, f"{run['rows']:,}", f"{run['length']:.0f}", f"{run['chars']:.3f}",
                f"{run['words']:.3f}", run["chosen"],
            ])  # fmt: skip
    yield from table(["texts", "rows", "length, median", "chars", "words", "auto takes"], rows)


def page() -> Iterator[str]:
    done = read_results()
    results = {name: done[name] for name in (*PLAN, LONG_RUN) if name in done}
    guide = (Path(__file__).parent / "text_guide.md").read_text()
    yield guide
    yield "## How good and how fast\n"
    yield (
        f"Written by `make text` from `experiments/results/text.jsonl`, where every run is kept. "
        f"{platform.machine()}, two threads, {time.strftime('%Y-%m-%d')}, one random order "
        "(seed 0); purity of the default (grafted) tree.\n"
    )
    yield from scores(results)
    yield (
        f"`auto` takes `words` where the median text has more than {LONG} characters. Purity of "
        "both on texts of several lengths, made by joining 1, 2, 4 or 8 texts of one class:\n"
    )
    yield from choices(results)
    million = results.get(LONG_RUN)
    if million is not None:
        yield (
            f"{MILLION:,} texts of 60 characters through `perch fit --encode chars --max-leaves "
            f"20000`: {million['cpu']:,.0f} s of CPU time, {million['peak'] / 1e9:.2f} GB at most; "
            f"{million['seconds']:,.0f} s, {MILLION / million['seconds']:,.0f} texts per second, "
            f"on two cores with a load of {million['load']:.0f} processes, itself among them.\n"
        )


if __name__ == "__main__":
    run_missing(PLAN | {LONG_RUN: stream_million} if "--million" in sys.argv else PLAN)
    PAGE.write_text("\n".join(page()).rstrip() + "\n")
    print(f"wrote {PAGE}")
