"""Against the authors' Scala program: one thread, the same rows, this kind of machine."""

from .common import Row, best_of, build, load

SCALA = {"covtype": (100_000, 17.6, 5), "aloi27": (50_000, 5.8, 5), "clinc150": (10_000, 33.8, 1)}
"""Data set -> rows, the Scala program's seconds, how many times as fast to be with A*."""


def run() -> list[Row]:
    rows = []
    for name, (n_rows, scala, goal) in SCALA.items():
        X, _ = load(name, n_rows)
        build(X[:10])
        ours = best_of(3 if name != "clinc150" else 1, lambda X=X: build(X, search="astar"))
        rows.append(
            Row(
                f"{name}, {n_rows:,} rows, A*",
                f"{ours:.2f} s; Scala {scala} s: {scala / ours:.1f} times as fast",
                f">= {goal} times",
            )
        )
    return rows
