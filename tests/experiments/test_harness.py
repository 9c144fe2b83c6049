"""The experiments from end to end, at tiny size; limits, resuming, data."""

import json
import threading

import numpy as np
import pytest
from click.testing import CliRunner
from experiments.__main__ import main
from experiments.page import write_page
from experiments.plan import FULL, QUICK, TINY, contenders, everything
from experiments.runs import (
    DEFAULT_LIMITS,
    Limits,
    Results,
    Run,
    missing,
    run_all,
    run_apart,
    with_parameters,
)
from experiments.summary import best, one

from experiments import data, published

SOME = Run("digits", 200, "PERCH")


def result(run, purity, status="ok"):
    limits = DEFAULT_LIMITS._asdict()
    return {
        "status": status, "purity": purity, "seconds": 1.0, "date": "2000-01-01", "limits": limits,
    }  # fmt: skip


def left(planned, results, limits=DEFAULT_LIMITS):
    return list(missing(planned, results, limits))


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "runs.jsonl")


@pytest.mark.jit
def test_runs_are_kept_and_not_repeated(results, tmp_path):
    planned = [SOME, SOME._replace(seed=1), Run("digits", 200, "HAC average")]
    done = dict(run_all(left(planned, results), results, run_apart))
    assert list(done) == planned
    assert all(r["status"] == "ok" and 0 < r["purity"] <= 1 for r in done.values())
    again = Results(tmp_path / "runs.jsonl")
    assert left(planned, again) == []
    assert again.of[SOME]["purity"] == done[SOME]["purity"]


def test_runs_go_side_by_side(results):
    """Two at a time, each result with its own run; what blows up meanwhile is not tried again."""
    both = threading.Barrier(2, timeout=10)

    def runner(runs):
        if runs[0].data != "last":
            both.wait()
        status = "time" if runs[0].algorithm == "slow" else "ok"
        return [result(run, run.seed, status) for run in runs]

    fast = [Run("digits", None, "fast", seed=seed) for seed in (1, 2, 3)]
    slow = Run("digits", None, "slow")
    later = [Run("last", None, "fast"), slow._replace(seed=1)]
    done = dict(run_all([*fast, slow, *later], results, runner, jobs=2))
    assert set(done) == {*fast, slow, later[0]}
    assert [done[run]["purity"] for run in fast] == [1, 2, 3]
    assert str(one(results, slow, "purity")) == "— (over 200 s)"


def test_a_budget_ends_the_work_and_loses_nothing(results):
    """What is under way is kept, nothing more is started."""
    over = []

    def runner(runs):
        over.append(True)
        return [result(run, 0.5) for run in runs]

    planned = [SOME._replace(data=name) for name in "abc"]
    done = dict(run_all(iter(planned), results, runner, is_over=lambda: bool(over)))
    assert list(done) == planned[:1]


def test_no_budget_at_all(tmp_path):
    arguments = ["--scale", "tiny", "--budget", "0", "--results", str(tmp_path / "r.jsonl"),
                 "--page", str(tmp_path / "page.md")]  # fmt: skip
    output = CliRunner().invoke(main, arguments, catch_exceptions=False).output
    assert "the same command goes on" in output
    assert Results(tmp_path / "r.jsonl").of == {}
    assert "Not run." in (tmp_path / "page.md").read_text()


def test_a_line_cut_short_is_dropped(results, tmp_path):
    results.add(SOME, result(SOME, 0.5))
    path = tmp_path / "runs.jsonl"
    whole = path.read_text()
    path.write_text(whole + whole[:30])
    again = Results(path)
    again.add(SOME._replace(seed=1), result(SOME, 0.7))
    assert [r["purity"] for r in Results(path).of.values()] == [0.5, 0.7]


def test_one_process_at_a_time(tmp_path):
    arguments = ["--scale", "tiny", "--budget", "0", "--results", str(tmp_path / "r.jsonl"),
                 "--page", str(tmp_path / "page.md")]  # fmt: skip
    with Results(tmp_path / "r.jsonl").alone():
        outcome = CliRunner().invoke(main, arguments)
    assert outcome.exit_code == 1
    assert "another process is at work" in outcome.output


def test_nothing_is_forced_without_running(tmp_path):
    outcome = CliRunner().invoke(main, ["--scale", "tiny", "--page-only", "--force", "PERCH"])
    assert outcome.exit_code == 2
    assert "--force runs something, --page-only nothing" in outcome.output


@pytest.mark.jit
def test_a_run_that_blows_up_is_a_result():
    (unknown,) = run_apart([SOME._replace(algorithm="nonsense")])
    assert unknown["status"] == "failed"
    assert "nonsense" in unknown["message"]
    slow = Run("mixture-3000-500-64", None, "HAC average")
    (late,) = run_apart([slow, slow._replace(seed=1)], Limits(time=0.01, memory=16))
    assert late["status"] == "time"
    assert late["limits"]["time"] == 0.01
    (too_large,) = run_apart([slow._replace(data="mixture-60000-5-2")], Limits(100, memory=6))
    assert too_large["status"] == "memory"


def test_what_has_hit_a_limit_is_not_tried_with_other_orders(results):
    results.add(SOME, result(SOME, None, "memory"))
    planned = [SOME, SOME._replace(seed=3), SOME._replace(data="glass")]
    assert left(planned, results) == [SOME._replace(data="glass")]
    assert left(planned, results, DEFAULT_LIMITS._replace(time=1000)) == [planned[2]]
    assert left(planned, results, DEFAULT_LIMITS._replace(memory=17)) == planned
    assert str(best(results, SOME, "purity")) == "— (memory)"


def test_what_begins_with_something_that_hit_a_limit_is_not_tried(results):
    online = with_parameters(Run("digits", 200, "BIRCH (online)"), branching=5, share=0.5)
    rebuild = online._replace(algorithm="BIRCH (rebuild)")
    results.add(online, result(online, None, "time"))
    planned = contenders(Run("digits", 200, "BIRCH (rebuild)"), 0, results)
    assert len(planned) == 4
    assert rebuild not in planned
    assert str(one(results, rebuild, "purity")) == "— (over 200 s)"


def test_what_has_failed_is_tried_again(results):
    results.add(SOME, result(SOME, None, "failed"))
    assert left([SOME, SOME._replace(seed=3)], results) == [SOME, SOME._replace(seed=3)]


def test_the_winner_on_the_first_order_goes_on_to_the_others(results):
    wanted = Run("digits", 200, "HKMeans")
    ten, forty = contenders(wanted, 0, results)
    assert contenders(wanted, 1, results) == []
    results.add(ten, result(ten, 0.7))
    results.add(forty, result(forty, 0.6))
    assert contenders(wanted, 1, results) == [ten._replace(seed=1)]
    results.add(ten._replace(seed=1), result(ten, 0.4))
    assert best(results, wanted, "purity").mean == pytest.approx(0.55)


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
    birch = with_parameters(Run("digits", 200, "BIRCH (online)"), branching=5, share=0.5)
    results.add(birch, result(birch, 0.5))
    assert best(results, birch._replace(parameters="{}"), "purity").status == "not run"


@pytest.mark.slow
@pytest.mark.jit
def test_everything_at_tiny_size(tmp_path, monkeypatch):
    """`make experiments`, small: every algorithm, table and figure; then nothing is left to do."""
    arguments = ["--scale", "tiny", "--together", "--results", str(tmp_path / "r.jsonl"), "--page",
                 str(tmp_path / "page.md")]  # fmt: skip
    output = CliRunner().invoke(main, arguments, catch_exceptions=False).output
    kept = Results(tmp_path / "r.jsonl")
    assert {r["status"] for r in kept.of.values()} == {"ok"}, output
    assert set(kept.of) == set(everything(TINY, kept))
    page = (tmp_path / "page.md").read_text()
    for text in ("PERCH-BC", "Holds here", "BICO", "[0.614]", "sorted", "![Speed against purity"):
        assert text in page
    for name in ("speed_and_purity", "growth", "time_over_k", "purity_over_memory"):
        for suffix in ("png", "svg"):
            assert (tmp_path / "tiny-figures" / f"{name}.{suffix}").stat().st_size > 5000
    again = CliRunner().invoke(main, arguments, catch_exceptions=False).output
    assert "0 runs left" in again
    forced = CliRunner().invoke(
        main, [*arguments, "--force", '"iterations": 160', "--budget", "5"], catch_exceptions=False
    )
    assert "1 runs left" in forced.output
    assert set(Results(tmp_path / "r.jsonl").of) == set(kept.of)


def test_a_page_without_results(results, tmp_path):
    write_page(tmp_path / "page.md", results, QUICK, "quick")
    page = (tmp_path / "page.md").read_text()
    assert "Not run." in page
    assert "— (not run) |" in page


def test_plans(results):
    for scale in (FULL, QUICK, TINY):
        runs = list(everything(scale, results))
        assert len({run.algorithm for run in runs}) >= 20
    full = list(everything(FULL, results))
    assert any(run.data == "covtype" and run.rows is None for run in full)
    online = {run.order for run in full if run.algorithm == "o-MB-KM"}
    assert online == {"random", "round robin", "sorted"}


def test_published_numbers():
    assert published.purity("PERCH", "covtype") == 0.45
    assert published.f1("MB-KM", "aloi") == pytest.approx(0.4084)
    assert published.purity("grafted", "covtype") is None
    assert published.purity("PERCH", "clinc150") is None
    assert published.purity("HAC average", "speaker") == 0.55


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
