"""The numbers of the paper's section 6, and which of our data they belong to."""

_LARGE = ["covtype", "ilsvrc50k", "aloi", "ilsvrc", "speaker", "imagenet100k"]

PURITY: dict[str, list[float | None]] = {
    "PERCH": [0.45, 0.53, 0.44, None, 0.37, 0.07],
    "PERCH-BC": [0.45, 0.36, 0.37, 0.21, 0.09, 0.03],
    "BIRCH (online)": [0.44, 0.09, 0.21, 0.11, 0.02, 0.02],
    "MB-HAC-Com. (5K)": [None, 0.43, 0.15, None, 0.01, None],
    "MB-HAC-Cent. (5K)": [0.44, 0.02, 0.30, None, None, None],
    "HAC average": [None, 0.54, None, None, 0.55, None],
    "HAC complete": [None, None, None, None, 0.40, None],
    "HKMeans": [0.44, 0.12, 0.44, 0.11, 0.12, 0.02],
    "BIRCH (rebuild)": [0.44, 0.26, 0.32, None, 0.22, 0.03],
}
"""Table 2 and the text beside it: dendrogram purity."""

F1: dict[str, list[float | None]] = {
    "PERCH": [22.96, 54.30, 44.21, None, 31.80, 6.178],
    "PERCH-BC": [22.97, 37.98, 37.48, 25.75, 1.05, 4.144],
    "SKM++": [23.80, 28.46, 37.53, None, None, None],
    "BICO": [24.53, 45.18, 32.984, None, None, None],
    "MB-KM": [24.27, 51.73, 40.84, 56.17, 1.73, 5.642],
    "DBSCAN": [None, 16.95, None, None, 22.63, None],
    "HAC average": [None, None, None, None, 40.26, None],
    "HAC complete": [None, None, None, None, 44.3, None],
    "K-means": [24.42, 60.4, None, None, 32.19, None],
}
"""Table 3 and the text beside it: pairwise F1, in per cent."""

SMALL: dict[str, dict[str, float]] = {
    "PERCH": {"glass": 0.474, "digits": 0.614, "spambase": 0.611},
    "BIRCH (online)": {"glass": 0.429, "digits": 0.544, "spambase": 0.595},
    "HKMeans": {"glass": 0.508, "digits": 0.586, "spambase": 0.626},
    "HAC complete": {"glass": 0.47, "digits": 0.594, "spambase": 0.628},
}
"""Table 6: dendrogram purity on small benchmarks."""

ROBUST_PURITY = {
    "PERCH": (0.446, 0.351), "MB-HAC-Cent. (5K)": (0.299, 0.464),
    "MB-HAC-Cent. (2K)": (0.171, 0.451),
}  # fmt: skip
ROBUST_F1 = {"PERCH": (0.4477, 0.3528), "o-MB-KM": (0.4109, 0.1940), "SKM++": (0.4333, 0.4667)}
"""Tables 4 and 5, on ALOI: round robin and sorted."""


def purity(method: str, data: str) -> float | None:
    return _large(PURITY, method, data)


def f1(method: str, data: str) -> float | None:
    value = _large(F1, method, data)
    return None if value is None else value / 100


def _large(table: dict[str, list[float | None]], method: str, data: str) -> float | None:
    if data not in _LARGE or method not in table:
        return None
    return table[method][_LARGE.index(data)]
