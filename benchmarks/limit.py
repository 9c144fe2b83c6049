"""How far from the physical limit: a whole build against the bare product X X^T / 2."""

from .common import Row, best_of, build, half_product, load

GOALS = {"clinc150": 2.5, "omniglot": 1.6}


def run() -> list[Row]:
    rows = []
    for name, goal in GOALS.items():
        X, _ = load(name)
        build(X[:100], n_jobs=-1)
        ours, bare = best_of(2, lambda X=X: build(X, n_jobs=-1)), half_product(X)
        rows.append(
            Row(
                f"{name}, {len(X):,} x {X.shape[1]}",
                f"{ours:.2f} s; bare product {bare:.2f} s: {ours / bare:.2f} times",
                f"<= {goal} times",
            )
        )
    X, _ = load("clinc150", 10_000)
    ours = best_of(3, lambda: build(X, n_jobs=-1))
    rows.append(
        Row(
            "clinc150, 10,000 rows",
            f"{ours:.2f} s; the authors' program 33.8 s: {33.8 / ours:.0f} times as fast",
            ">= 40 times",
        )
    )
    return rows
