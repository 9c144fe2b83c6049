"""The experiments from end to end, at tiny size; limits, resuming, data."""

import json
import threading

import numpy as np
import pytest
from click.testing import CliRunner
from experiments.__main__ import main
from experiments.page import write_page
from experiments.plan import FULL, QUICK, TINY, everything
from experiments.runs import Results, Run, missing, run_all, run_apart, with_parameters
from experiments.summary import best, one

from experiments import data, published

SOME = Run("digits", 200, "PERCH")


def result(run, purity, status="ok"):
    return {"status": status, "purity": purity, "seconds": 1.0, "date": "2000-01-01"}


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "runs.jsonl")


@pytest.mark.jit
def test_runs_are_kept_and_not_repeated(results, tmp_path):
    planned = [SOME, SOME._replace(seed=1), Run("digits", 200, "HAC average")]
    done = dict(run_all(missing(planned, results), results, run_apart))
    assert list(done) == planned
    assert all(r["status"] == "ok" and 0 < r["purity"] <= 1 for r in done.values())
    again = Results(tmp_path / "runs.jsonl")
    assert missing(planned, again) == []
    assert again.of[SOME]["purity"] == done[SOME]["purity"]


def test_runs_go_side_by_side(results):
    """Two at a time, each result with its own run; what blows up meanwhile is not tried again."""
    both = threading.Barrier(2, timeout=10)

    def runner(runs):
        if runs[0].data != "last":
            both.wait()
        status = "time" if runs[0].algorithm == "slow" else "ok"
        return [result(run, run.seed, status) | {"limit": 5} for run in runs]

    fast = [Run("digits", None, "fast", seed=seed) for seed in (1, 2, 3)]
    slow = Run("digits", None, "slow")
    later = [Run("last", None, "fast"), slow._replace(seed=1)]
    done = dict(run_all([*fast, slow, *later], results, runner, jobs=2))
    assert set(done) == {*fast, slow, later[0]}
    assert [done[run]["purity"] for run in fast] == [1, 2, 3]
    assert str(one(results, slow, "purity")) == "— (over 5 s)"


def test_a_budget_ends_the_work_and_loses_nothing(tmp_path):
    arguments = ["--scale", "tiny", "--budget", "0", "--results", str(tmp_path / "r.jsonl"),
                 "--page", str(tmp_path / "page.md")]  # fmt: skip
    output = CliRunner().invoke(main, arguments, catch_exceptions=False).output
    assert "the same command goes on" in output
    assert not (tmp_path / "r.jsonl").exists()
    assert "Not run." in (tmp_path / "page.md").read_text()


@pytest.mark.jit
def test_a_run_that_blows_up_is_a_result():
    (by_memory,) = run_apart([SOME], time_limit=100, memory_limit=0.05)
    assert by_memory["status"] in ("memory", "failed")
    (unknown,) = run_apart([SOME._replace(algorithm="nonsense")], 100, 16)
    assert unknown["status"] == "failed"
    assert "nonsense" in unknown["message"]
    large = Run("mixture-3000-500-64", None, "HAC average")
    (slow,) = run_apart([large], time_limit=1e-9, memory_limit=16)
    assert slow["status"] == "time"
    (too_large,) = run_apart([large._replace(data="mixture-60000-5-2")], 100, 6)
    assert too_large["status"] == "memory"


def test_what_has_blown_up_is_not_tried_with_other_orders(results):
    results.add(SOME, result(SOME, None, "memory"))
    assert missing([SOME, SOME._replace(seed=3), SOME._replace(data="glass")], results) == [
        SOME._replace(data="glass")
    ]
    assert str(best(results, SOME, "purity")) == "— (memory)"


def test_the_best_setting_counts(results):
    wanted = Run("digits", 200, "HKMeans")
    for iterations, purities in ((10, [0.5, 0.7]), (40, [0.6, 0.65]), (7, [0.9, 0.9])):
        for seed, purity in enumerate(purities):
            run = with_parameters(wanted, iterations=iterations)._replace(seed=seed)
            results.add(run, result(run, purity))
    figure = best(results, wanted, "purity")  # 7 is not in the grid
    assert figure.mean == pytest.approx(0.625)
    assert json.loads(figure.setting) == {"iterations": 40}
    assert figure.count == 2
    assert str(figure) == "0.625 ± 0.025"
    assert one(results, wanted, "purity").status == "not run"


@pytest.mark.jit
def test_everything_at_tiny_size(tmp_path, monkeypatch):
    """`make experiments`, small: every algorithm, table and figure; then nothing is left to do."""
    arguments = ["--scale", "tiny", "--together", "--results", str(tmp_path / "r.jsonl"), "--page",
                 str(tmp_path / "page.md")]  # fmt: skip
    output = CliRunner().invoke(main, arguments, catch_exceptions=False).output
    kept = Results(tmp_path / "r.jsonl")
    assert {r["status"] for r in kept.of.values()} == {"ok"}, output
    assert set(kept.of) == set(everything(TINY))
    page = (tmp_path / "page.md").read_text()
    for text in ("PERCH-BC", "Holds here", "BICO", "[0.614]", "sorted", "![Speed against purity"):
        assert text in page
    for name in ("speed_and_purity", "growth", "time_over_k", "purity_over_memory"):
        for suffix in ("png", "svg"):
            assert (tmp_path / "tiny-figures" / f"{name}.{suffix}").stat().st_size > 5000
    again = CliRunner().invoke(main, arguments, catch_exceptions=False).output
    assert ", 0 of them left" in again.replace("\n", " ")
    forced = CliRunner().invoke(main, [*arguments, "--force", "HAC Ward"], catch_exceptions=False)
    assert "HAC Ward" in forced.output


def test_a_page_without_results(results, tmp_path):
    write_page(tmp_path / "page.md", results, QUICK, "quick")
    page = (tmp_path / "page.md").read_text()
    assert "Not run." in page
    assert "— (not run) |" in page


def test_plans():
    for scale in (FULL, QUICK, TINY):
        runs = list(everything(scale))
        assert len({run.algorithm for run in runs}) >= 20
    assert any(run.data == "covtype" and run.rows is None for run in everything(FULL))


def test_published_numbers():
    assert published.purity("PERCH", "covtype") == 0.45
    assert published.f1("MB-KM", "aloi") == pytest.approx(0.4084)
    assert published.purity("grafted", "covtype") is None
    assert published.purity("PERCH", "clinc150") is None


def test_data_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.setenv("PERCHTREE_DATA", str(tmp_path))
    X = np.arange(12, dtype=np.float32).reshape(6, 2)
    np.save(tmp_path / "speaker.npy", X)
    np.save(tmp_path / "speaker.labels.npy", np.array(list("aabbcc")))
    loaded, y = data.load("speaker")
    assert sorted(loaded.tolist()) == X.tolist()
    assert sorted(y.tolist()) == [0, 0, 1, 1, 2, 2]
    with pytest.raises(FileNotFoundError, match=r"ilsvrc\.npy and ilsvrc\.labels\.npy"):
        data.load("ilsvrc")


def test_data_made_here():
    X, y = data.load("mixture-600-100-5")
    assert X.shape == (600, 5)
    assert len(np.unique(y)) == 100
    sizes = np.sort(np.bincount(y))
    assert sizes[-1] > 3 * np.median(sizes)  # a power law
    X, y = data.load("separable-4-5-3")
    gaps = ((X[:, None] - X) ** 2).sum(2)
    same = y[:, None] == y
    assert gaps[same].max() < gaps[~same].min()
