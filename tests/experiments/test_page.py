"""What the page says about results made by hand."""

import pytest
from experiments.plan import QUICK, contenders, over_k, separable, watched
from experiments.runs import DEFAULT_LIMITS, Results, Run

from experiments import claims, page, published

SCALE = QUICK._replace(large={"covtype": None, "letter": None}, small={"digits": 200})
RIVALS = ["BIRCH (online)", "MB-HAC-Com. (2K)", "MB-HAC-Com. (5K)", "MB-HAC-Cent. (2K)",
          "MB-HAC-Cent. (5K)"]  # fmt: skip


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "runs.jsonl")


@pytest.fixture
def add(results):
    def add(run, status="ok", **values):
        for setting in contenders(run, 0, results):
            limits = DEFAULT_LIMITS._asdict()
            known = {"status": status, "seconds": 1.0, "limits": limits, "date": "2000-01-01"}
            results.add(setting._replace(seed=run.seed), known | values)

    return add


def lines(text, *parts):
    return [line for line in text.splitlines() if all(part in line for part in parts)]


def test_more_accurate_trees(results, add):
    for name, ours, grafted, theirs in (("covtype", 0.45, 0.5, 0.46), ("letter", 0.4, 0.5, 0.3)):
        add(Run(name, None, "PERCH"), purity=ours)
        add(Run(name, None, "grafted"), purity=grafted)
        for method in RIVALS[:-1]:
            add(Run(name, None, method), purity=theirs - 0.1)
        add(Run(name, None, RIVALS[-1]), purity=theirs)
    text = claims.judge(results, SCALE)
    (paper,) = lines(text, "“Constructs more accurate trees")
    assert "Holds here on 1 of 2" in paper
    assert "covtype 0.450 against 0.460 (MB-HAC-Cent. (5K)); letter 0.400 against 0.300" in paper
    (ours,) = lines(text, "Our own claim")
    assert "**Holds here.**" in ours


def test_rivals_that_could_not_run_are_counted(results, add):
    add(Run("letter", None, "PERCH"), purity=0.5)
    add(Run("letter", None, RIVALS[0]), "time")
    add(Run("letter", None, RIVALS[1]), purity=0.6)
    (line,) = lines(claims.judge(results, SCALE), "“Constructs more accurate trees")
    assert "Does not hold here" in line
    assert "(MB-HAC-Com. (2K), 1 of 5 rivals ran)" in line


def test_higher_quality_in_half_the_time(results, add):
    """Against the strongest flat method, not against one that ran out of time."""
    add(Run("covtype", None, "PERCH"), f1=0.5, seconds=1.0)
    add(Run("covtype", None, "MB-KM"), "time")
    add(Run("covtype", None, "faiss k-means"), f1=0.6, seconds=9.0)
    add(Run("letter", None, "PERCH"), f1=0.5, seconds=1.0)
    add(Run("letter", None, "MB-KM"), f1=0.4, seconds=3.0)
    (line,) = lines(claims.judge(results, SCALE), "in nearly half")
    assert "Holds here on 1 of 2" in line
    assert "against 0.600 in 9.0 s (faiss k-means) and MB-KM — (over 200 s)" in line
    assert "against 0.400 in 3.0 s (MB-KM)" in line


def test_scaling(results, add):
    for run in over_k(SCALE):
        k = int(run.data.split("-")[2])
        add(run, seconds=1.0 if run.algorithm == "PERCH" else 0.1 * k)
    for run in watched(SCALE):
        points = list(range(1000, 41_000, 1000))
        times = [10.0] * 39 + [99.0]  # one step was disturbed
        add(run, growth={"points": points, "microseconds": times, "depth": [20] * 40})
    text = claims.judge(results, SCALE)
    (over,) = lines(text, "both N and K”: K")
    assert "Holds here on 1 of 2" in over
    assert "PERCH 1.0 (1.0), PERCH, A* 50.0 (50.0)" in over
    (n,) = lines(text, "both N and K”: N")
    assert "**Holds here.**" in n
    assert "10 microseconds per insert at 10,000 points, 10 at 40,000, depth 20" in n


def test_perfect_purity(results, add):
    for run in separable(SCALE):
        add(run, purity=1.0 if "exact" in run.parameters else 0.9)
    (line,) = lines(claims.judge(results, SCALE), "Perfect dendrogram purity")
    assert "**Holds here.** Perfect in 6 of 6" in line
    assert "in 0 of 6 with the approximate" in line


def test_differences_have_the_reason_of_their_data(results, add):
    add(Run("digits", 200, "PERCH"), purity=0.7)
    add(Run("covtype", None, "PERCH"), purity=0.3)
    add(Run("covtype", None, "HKMeans"), purity=0.441)
    text = claims.differences(results, SCALE)
    assert "- digits, PERCH, purity: 0.700 here, 0.614 there; 200 of the 1,797 digits" in text
    assert "- covtype, PERCH, purity: 0.300 here, 0.450 there; the reason is unknown." in text
    assert "HKMeans" not in text


def test_tables(results, add, tmp_path):
    for seed in range(2):
        add(Run("covtype", None, "PERCH", seed=seed), purity=0.4 + 0.02 * seed, f1=0.2)
    add(Run("covtype", None, "grafted"), purity=0.43, f1=0.21)
    add(Run("covtype", None, "HAC Ward"), purity=0.5)
    add(Run("covtype", None, "MB-KM"), f1=0.3)
    add(Run("covtype", None, "BIRCH (online)"), "time")
    page.write_page(tmp_path / "page.md", results, SCALE, "quick")
    text = (tmp_path / "page.md").read_text()
    assert lines(text, "| **PERCH** | 0.410 ± 0.010 [0.45] |")
    assert lines(text, "| **grafted** | **0.430** (1) |")
    assert lines(text, "| HAC Ward | 0.500 |")  # the best, but no online tree
    assert lines(text, "| BIRCH (online) | — (over 200 s) [0.44] |")
    assert lines(text, "| MB-KM | **0.300** (1) [0.243] |")
    assert lines(text, "| HKMeans | — (not run) [0.44] |")


def test_published_orders():
    assert published.ROBUST_PURITY["MB-HAC-Cent. (5K)"] == (0.299, 0.464)
    assert "MB-HAC-Com. (5K)" not in published.ROBUST_PURITY
