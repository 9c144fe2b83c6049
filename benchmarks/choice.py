"""The automatic choice against both searches: whole builds, one thread."""

from .common import Row, best_of, build, load


def run() -> list[Row]:
    rows = []
    for name, n_rows in (
        ("aloi27", 50_000),
        ("covtype", 100_000),
        ("letter", 20_000),
        ("spambase", 4_601),
        ("hist50k", 15_000),
        ("clinc150", 8_000),
        ("omniglot", 5_000),
    ):
        X, _ = load(name, n_rows)
        times = {}
        for search in ("astar", "scan", "auto"):
            build(X[:100], search=search)
            times[search] = best_of(2, lambda X=X, s=search: build(X, search=s))
        share = build(X).stats.scanned / len(X)
        better = min(times["astar"], times["scan"])
        rows.append(
            Row(
                f"{name}, {n_rows:,} rows",
                f"A* {times['astar']:.2f}, scan {times['scan']:.2f}, auto {times['auto']:.2f} s "
                f"({share:.0%} scanned): {times['auto'] / better:.2f} times the better",
                "<= 1.3 times",
            )
        )
    return rows
