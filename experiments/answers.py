"""How good a cut is that was chosen by a few answers: a section of docs/cuts.md (`make tables`).

python -m experiments.answers [--rows N] [--orders N] [--only NAME ...]

Answers are simulated from the classes. Questions are asked for ten at a time.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from perchtree import ClusterTree
from perchtree.metrics import pairwise_scores

from .cuts import CHOOSING, Kept, Labels, best_cut, f1, means
from .data import NAMES, load
from .modes import table

COUNTS = (100, 300)
AT_ONCE = 10
TITLE = "## With a few answers"
FIGURES = ("precision", "recall", "f1")

Run = dict[str, Any]


def ask(tree: ClusterTree, classes: Labels, n: int, seed: int) -> tuple[Labels, list[bool]]:
    """Pairs and answers, as someone gives them who knows the classes."""
    pairs, same = np.empty((0, 2), np.int64), []
    while len(same) < n:
        asked = tree.questions(min(AT_ONCE, n - len(same)), pairs, same, seed=seed)
        if len(asked) == 0:
            break
        pairs = np.concatenate([pairs, asked])
        same += (classes[asked[:, 0]] == classes[asked[:, 1]]).tolist()
    return pairs, same


def run(name: str, rows: int | None, seed: int) -> Run:
    """What answers yield on one order of a data set."""
    X, classes = load(name, rows, seed)
    tree = ClusterTree(X.shape[1], n_jobs=-1)
    tree.insert(X)
    found: Run = {"classes": len(np.unique(classes)), "best": best_cut(tree, classes),
                  "one": f1(classes, np.zeros(len(X), np.int64)),
                  "own": f1(classes, tree.cut())}  # fmt: skip
    pairs, same = ask(tree, classes, max(COUNTS), seed)
    for n in COUNTS:
        calibrated = tree.calibrate(pairs[:n], same[:n])
        score = f1(classes, calibrated.labels)
        found |= {f"f1_{n}": score, f"share_{n}": score / found["best"],
                  f"clusters_{n}": calibrated.n_clusters,
                  f"confidence_{n}": calibrated.confidence,
                  f"nearly_{n}": score >= 0.9 * found["best"],
                  f"criterion_{n}": calibrated.criterion,
                  f"value_{n}": calibrated.f1.value}  # fmt: skip
        true = pairwise_scores(classes, calibrated.labels)
        for figure in FIGURES:
            low, high = getattr(calibrated, figure)[1:]
            found |= {f"{figure}_inside_{n}": low <= getattr(true, figure) <= high,
                      f"{figure}_width_{n}": high - low}  # fmt: skip
    return found


def section(results: dict[str, list[Run]], rows: int, orders: int) -> Iterator[str]:
    yield f"{TITLE}\n"
    yield (
        "`tree.questions`, `tree.calibrate`, `perch ask`, `perch cut --answers`: answers simulated "
        f"from the classes, {AT_ONCE} questions at a time, trees of up to {rows:,} rows, mean over "
        f"{orders} orders, each with questions of its own. F1, its share of the best cut at any "
        "level of any criterion, and the least share of any order; what `tree.cut()` yields "
        "without answers; the criteria that were chosen. The constants were chosen on data "
        "without *; data with * only checked them.\n"
    )
    lines, shares = [], {n: [] for n in COUNTS}
    names = [name for name in NAMES if name in results]
    for name in names:
        runs = results[name]
        mean = means([{k: v for k, v in r.items() if not isinstance(v, str)} for r in runs])
        cells = []
        for n in COUNTS:
            share = [r[f"share_{n}"] for r in runs]
            shares[n].append(float(np.mean(share)))
            cells.append(f"{mean[f'f1_{n}']:.3f} / {np.mean(share):.0%} / {min(share):.0%}")
        chosen = sorted({r[f"criterion_{max(COUNTS)}"] for r in runs})
        star = "" if name in CHOOSING else " *"
        lines.append([
            f"{name} (K = {mean['classes']:,.0f}){star}", *cells, f"{mean['best']:.3f}",
            f"{mean['own']:.3f}", ", ".join(chosen),
        ])  # fmt: skip
    titles = [f"{n} answers: F1 / share / least" for n in COUNTS]
    yield from table(["data", *titles, "best cut", "no answers", "criteria"], lines)
    for n in COUNTS:
        good = sum(share >= 0.9 for share in shares[n])
        yield (
            f"With {n} answers: at least 90 % of the best cut on {good} of {len(names)}, the "
            f"least {min(shares[n], default=0):.0%}."
        )
    yield (
        "\nThe intervals are meant to hold the true figure in 90 % of cases. How often they do, "
        "their mean width, and how often the cut had at least 90 % of the best F1, beside the "
        "confidence that was given for that:\n"
    )
    lines = []
    for name in names:
        runs = results[name]
        star = "" if name in CHOOSING else " *"
        cells = [
            f"{np.mean([r[f'{figure}_inside_{n}'] for r in runs]):.0%}, "
            f"{np.mean([r[f'{figure}_width_{n}'] for r in runs]):.2f}"
            for n in COUNTS for figure in FIGURES
        ]  # fmt: skip
        nearly = [
            f"{np.mean([r[f'nearly_{n}'] for r in runs]):.0%}, "
            f"{np.mean([r[f'confidence_{n}'] for r in runs]):.0%}"
            for n in COUNTS
        ]
        lines.append([name + star, *cells[:3], nearly[0], *cells[3:], nearly[1]])
    heads = [
        f"{n}: {what}" for n in COUNTS for what in ("precision", "recall", "F1", "nearly best")
    ]
    yield from table(["data", *heads], lines)


def measure(rows: int, orders: int, names: list[str], kept: Kept) -> dict[str, list[Run]]:
    """What is not kept yet of the data sets."""
    for name in tqdm(names):
        for seed in kept.missing(name, orders):
            kept.add(name, run(name, rows, seed))
    return kept.runs


def write(results: dict[str, list[Run]], rows: int, orders: int, page: Path) -> None:
    """Put the section at its place in the page, or at its end."""
    before, _, after = page.read_text().partition(TITLE)
    _, found, rest = after.partition("\n## ")
    text = "\n".join(section(results, rows, orders)).rstrip()
    page.write_text(f"{before.rstrip()}\n\n{text}\n" + (f"\n## {rest}" if found else ""))
    print(f"wrote {page}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--orders", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=NAMES)
    parser.add_argument("--page", type=Path, default=Path(__file__).parent.parent / "docs/cuts.md")
    options = parser.parse_args()
    results = measure(options.rows, options.orders, options.only, Kept(None))
    write(results, options.rows, options.orders, options.page)


if __name__ == "__main__":
    main()
