"""Cuts chosen by answers about pairs."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from perchtree import ClusterTree
from perchtree.clusters.calibrating import Calibrator, Estimate, count_contradictions
from perchtree.clusters.questions import pick
from perchtree.clusters.sameness import Answers, Meetings
from perchtree.metrics import pairwise_scores
from strategies import grids

pytestmark = pytest.mark.outer


def grow(X, **settings):
    tree = ClusterTree(np.shape(X)[1], **settings)
    tree.insert(X)
    return tree


def blobs(n_clusters, size, seed=0):
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.repeat(np.arange(n_clusters), size))
    centres = 10 * rng.normal(size=(n_clusters, 6))
    return centres[classes] + rng.normal(size=(len(classes), 6)), classes


def answered(tree, classes, n, at_once=10, **options):
    """Pairs, and answers by someone who knows the classes."""
    pairs, same = np.empty((0, 2), int), []
    while len(same) < n:
        asked = tree.questions(at_once, pairs, same, **options)
        pairs = np.concatenate([pairs, asked])
        same += (classes[asked[:, 0]] == classes[asked[:, 1]]).tolist()
    return pairs, same


def meeting(table, a, b):
    """The smallest merge that holds both points."""
    n = table.n_points
    return min(m for m in range(n - 1) if {a, b} <= set(table.members(n + m).tolist()))


@given(X=grids(min_points=2, max_points=10))
@settings(max_examples=50)
def test_pairs_meet_where_they_should(X):
    tree = grow(X)
    table, meetings = tree.table, Meetings(tree._cuts())
    pairs = np.array(list(itertools.combinations(range(table.n_points), 2)))
    found = meetings.find(*pairs.T)
    assert found.tolist() == [meeting(table, a, b) for a, b in pairs.tolist()]
    assert np.array_equal(meetings.find(*pairs.T[::-1]), found)
    assert np.array_equal(np.bincount(found, minlength=table.n_points - 1), meetings.n_pairs)
    rng = np.random.default_rng(0)
    drawn = np.array([meetings.draw(merge, rng) for merge in range(table.n_points - 1)])
    assert np.array_equal(meetings.find(*drawn.T), np.arange(table.n_points - 1))


@given(
    X=grids(min_points=2, max_points=12),
    linkage=st.sampled_from(["average", "box"]),
    data=st.data(),
)
@settings(max_examples=50)
def test_scores_are_those_of_the_cuts(X, linkage, data):
    tree = grow(X, linkage=linkage)
    n = tree.n_points
    classes = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    calibrator = Calibrator(tree._cuts())
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    merges = calibrator.meetings.find(*pairs.T)
    shares = np.bincount(merges, same) / np.bincount(merges)
    if not same.any():
        return
    scores = calibrator.scores(shares)
    assert scores.shape == (3, len(calibrator.candidates))
    for number in range(len(calibrator.candidates)):
        labels = calibrator.labels(number)
        if len(np.unique(labels)) == n:
            assert not scores[:, number].any()
        else:
            assert scores[:, number] == pytest.approx(pairwise_scores(classes, labels))


def test_candidates_are_cuts_of_every_criterion_and_number():
    tree = grow(blobs(6, 10)[0])
    calibrator = Calibrator(tree._cuts())
    by = {}
    for number, (criterion, level) in enumerate(calibrator.candidates):
        labels = calibrator.labels(number)
        if criterion == "persistence":
            assert np.array_equal(labels, tree.cut(min_cluster_size=level))
        else:
            assert np.array_equal(labels, tree.cut(level=level, criterion=criterion))
        by.setdefault(criterion, set()).add(int(labels.max()) + 1)
    assert set(by) == {"blend", "cost", "diameter", "height", "persistence", "scatter",
                       "size", "ward"}  # fmt: skip
    assert by["cost"] >= set(range(1, 21))


def test_a_collapsed_tree_has_fewer_criteria():
    tree = grow(blobs(6, 20)[0], linkage="box", max_leaves=30)
    found = tree.calibrate(*answered(tree, blobs(6, 20)[1], 40))
    assert found.criterion not in ("scatter", "ward")
    assert len(tree.questions(5)) == 5


def test_the_fit_is_the_best_one():
    X, classes = blobs(8, 12)
    tree = grow(X)
    meetings = Meetings(tree._cuts())
    pairs, same = answered(tree, classes, 60)
    answers = Answers(meetings.find(*pairs.T), np.array(same, float), np.ones(len(same)))

    def loss(coefficients):
        chances = meetings.probabilities(coefficients)[answers.merges]
        fit = -np.where(answers.same, np.log(chances), np.log1p(-chances)).sum()
        slopes = coefficients[1:].reshape(-1, 8)
        steps = (np.diff(slopes, axis=1) ** 2).sum()
        return fit + 5 * steps + 0.00625 * (slopes**2).sum() + 0.005 * coefficients[0] ** 2

    found = meetings.fit(answers)
    assert (found[1:] <= 0).all()
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(50):
            other = found + size * rng.normal(size=len(found))
            other[1:] = np.minimum(other[1:], 0)
            assert loss(other) >= loss(found) - 1e-5
    # An answer that weighs twice is one given twice.
    doubled = Answers(answers.merges, answers.same, np.full(len(same), 2.0))
    twice = Answers(*(np.tile(part, 2) for part in answers))
    assert meetings.fit(doubled) == pytest.approx(meetings.fit(twice), abs=1e-3)


def test_probabilities_are_those_of_the_ramps():
    tree = grow([[0], [1], [10], [11], [50]])
    meetings = Meetings(tree._cuts())
    coefficients = np.zeros(33)
    coefficients[0] = 2.0
    assert meetings.probabilities(coefficients) == pytest.approx(np.full(4, expit(2.0)))
    coefficients[1:9] = -1.0  # by size: all pairs are joined at the last merge
    chances = meetings.probabilities(coefficients)
    assert chances[-1] == pytest.approx(expit(2.0 - 8.0))
    assert (np.diff(chances) <= 0).all()


@given(
    pairs=st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda p: p[0] != p[1]), min_size=1
    ),
    data=st.data(),
)
@settings(max_examples=50)
def test_contradictions_are_counted(pairs, data):
    same = data.draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    groups = {i: {i} for i in range(6)}
    for (a, b), yes in zip(pairs, same, strict=True):
        if yes:
            union = groups[a] | groups[b]
            groups |= dict.fromkeys(union, union)
    expected = sum(b in groups[a] for (a, b), yes in zip(pairs, same, strict=True) if not yes)
    assert count_contradictions(*np.array(pairs).T, np.array(same, float)) == expected


# Calibrating


@pytest.mark.parametrize(("n_clusters", "size"), [(5, 60), (60, 5)])
def test_finds_what_is_obvious(n_clusters, size):
    X, classes = blobs(n_clusters, size)
    tree = grow(X)
    found = tree.calibrate(*answered(tree, classes, 100))
    true = pairwise_scores(classes, found.labels)
    assert true.f1 > 0.95
    assert found.n_clusters == found.labels.max() + 1
    assert found.n_answers == 100
    assert found.n_contradictions == 0
    for figure in ("precision", "recall", "f1"):
        estimate = getattr(found, figure)
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert found.precision.low - 0.05 <= true.precision <= found.precision.high + 0.05
    if found.level is None:
        assert np.array_equal(found.labels, tree.cut(min_cluster_size=found.min_cluster_size))
    else:
        cut = tree.cut(level=found.level, criterion=found.criterion)
        assert np.array_equal(found.labels, cut)


def test_says_how_unsure_it_is():
    X, classes = blobs(10, 12)
    tree = grow(X)
    pairs, same = answered(tree, classes, 150)
    few, many = tree.calibrate(pairs[:6], same[:6]), tree.calibrate(pairs, same)
    assert few.f1.high - few.f1.low > 2 * (many.f1.high - many.f1.low)
    assert few.doubts
    assert not many.doubts
    assert many.confidence > 0.9
    one = tree.calibrate([(0, 1)], [True])
    assert any("all answers so far are yes" in doubt for doubt in one.doubts)
    assert one.f1.high - one.f1.low > 0.3
    nothing_same = tree.calibrate(pairs[:20], [False] * 20)
    assert any("all answers so far are no" in doubt for doubt in nothing_same.doubts)


def test_contradictory_answers_leave_doubts():
    X, classes = blobs(10, 12)
    tree = grow(X)
    pairs, same = answered(tree, classes, 60)
    a, b = pairs[0]
    c = next(i for i in range(120) if i not in (a, b))
    contradictory = tree.calibrate(
        [*pairs, (a, b), (b, a), (b, c), (a, c)], [*same, True, False, True, False]
    )
    assert contradictory.n_contradictions >= 2
    assert "contradict others" in contradictory.doubts[0]
    # Answers at random: nothing can be told, and it does not pretend.
    rng = np.random.default_rng(0)
    confused = tree.calibrate(pairs, rng.random(60) < 0.5)
    clear = tree.calibrate(pairs, same)
    assert confused.f1.value < clear.f1.value
    assert confused.doubts


def test_pairs_of_any_kind_are_accepted():
    X, classes = blobs(4, 10)
    tree = grow(X)
    rng = np.random.default_rng(0)
    pairs = np.array([rng.choice(40, 2, replace=False) for _ in range(150)])
    found = tree.calibrate(pairs.tolist(), classes[pairs[:, 0]] == classes[pairs[:, 1]])
    assert pairwise_scores(classes, found.labels).f1 > 0.9
    same = [bool(classes[a] == classes[b]) for a, b in pairs]
    again = tree.calibrate([*pairs.tolist(), (0, 1), (0, 2)], [*same, None, math.nan])
    assert again.n_answers == 150
    assert again.f1 == found.f1  # the same answers give the same, always
    assert again.confidence == found.confidence


def test_ids_may_have_gaps():
    X, classes = blobs(4, 12)
    tree = grow(X)
    tree.remove(range(0, 48, 3))
    pairs, same = answered(tree, classes, 30)
    assert (pairs % 3 != 0).all()
    labels = tree.calibrate(pairs, same).labels
    assert len(labels) == tree.n_points
    with pytest.raises(ValueError, match="no point has the id 3"):
        tree.calibrate([(1, 3)], [True])


@pytest.mark.parametrize(
    ("pairs", "same", "message"),
    [
        ([], [], "there are no answers"),
        ([(0, 1)], [None], "there are no answers"),
        ([(0, 1)], [True, False], "an answer for each"),
        ([0, 1], [True, False], "an answer for each"),
        ([(0, 1)], ["perhaps"], "true, false or None, got 'perhaps'"),
        ([(0, 0)], [True], "0 is paired with itself"),
        ([(0, 9)], [True], "no point has the id 9"),
    ],
)
def test_what_cannot_be_used_is_refused(pairs, same, message):
    tree = grow([[0], [1], [10], [11], [50]])
    with pytest.raises(ValueError, match=message):
        tree.calibrate(pairs, same)


def test_trees_without_pairs_are_refused():
    tree = ClusterTree(1)
    with pytest.raises(ValueError, match="insert points first"):
        tree.questions()
    tree.insert([[0]])
    with pytest.raises(ValueError, match="a tree of one point has no pairs"):
        tree.questions()
    with pytest.raises(ValueError, match="a tree of one point has no pairs"):
        tree.calibrate([], [])
    tree.insert([[0]])  # a copy: nothing can be cut
    assert tree.questions(5).tolist() == [[0, 1]]
    found = tree.calibrate([(0, 1)], [False])
    assert found.labels.tolist() == [0, 0]
    assert found.precision.value < 0.5


@pytest.mark.parametrize("same", [True, False])
def test_two_points(same):
    tree = grow([[0], [1]])
    found = tree.calibrate([(0, 1)] * 12, [same] * 12)
    assert found.doubts
    assert len(found.labels) == 2


def test_all_in_one_cluster_has_a_recall_of_one():
    tree = grow(np.random.default_rng(0).normal(size=(60, 3)))
    found = tree.calibrate(tree.questions(30), [True] * 30)
    assert found.n_clusters == 1
    assert found.recall.value == pytest.approx(1)
    assert found.recall.high == 1


def test_estimates_read_well():
    assert str(Estimate(0.5, 0.25, 0.754)) == "0.50 (0.25 to 0.75)"
    tree = grow(blobs(4, 10)[0])
    found = tree.calibrate(*answered(tree, blobs(4, 10)[1], 60))
    assert str(found).startswith("4 clusters (")
    assert f"F1 {found.f1}, precision {found.precision}, recall {found.recall}" in str(found)


# Questions


def test_questions_repeat_and_go_on():
    X, classes = blobs(10, 12)
    tree = grow(X)
    first = tree.questions(40)
    assert first.shape == (40, 2)
    assert first.dtype == np.int64
    assert (first[:, 0] < first[:, 1]).all()
    assert np.array_equal(tree.questions(15), first[:15])
    assert not np.array_equal(tree.questions(40, seed=1), first)
    assert len({tuple(pair) for pair in first.tolist()}) == 40
    same = (classes[first[:, 0]] == classes[first[:, 1]]).tolist()
    more = tree.questions(30, first, same)
    assert not {tuple(p) for p in more.tolist()} & {tuple(p) for p in first.tolist()}
    # So few answers are not followed yet: it goes on as if it had been asked for more at once.
    later = {tuple(p) for p in tree.questions(70)[40:].tolist()}
    assert len(later & {tuple(p) for p in more.tolist()}) >= 27
    unknown = tree.questions(30, first[:, ::-1], [None] * 40)
    assert np.array_equal(unknown, more)


def test_questions_are_spread_over_the_tree():
    tree = grow(np.random.default_rng(0).normal(size=(300, 3)))
    calibrator = tree._calibrator()
    pairs = pick(calibrator, 100, *np.empty((2, 0), np.int64), np.empty(0), 0)
    merges = calibrator.meetings.find(*pairs.T)
    for criterion in calibrator.criteria:
        turns = np.argsort(calibrator.cuts.sequence(criterion)[0])[merges]
        n_clusters = 299 - turns
        for low, high in itertools.pairwise([1, 3, 10, 30, 100, 300]):
            assert ((low <= n_clusters) & (n_clusters < high)).sum() >= 5, (criterion, low)


def test_later_questions_follow_the_answers():
    X, classes = blobs(40, 12, seed=1)
    tree = grow(X)
    pairs, same = answered(tree, classes, 100)
    chances = []
    meetings = tree._calibrator().meetings
    every = np.array(list(itertools.combinations(range(480), 2)))
    met = meetings.find(*every.T)
    shares = np.bincount(met, classes[every[:, 0]] == classes[every[:, 1]]) / np.bincount(met)
    for asked in (tree.questions(200), tree.questions(200, pairs, same)):
        level = meetings._levels[0][meetings.find(*asked.T)]
        edge = meetings._levels[0][shares > 0.5].max()
        chances.append(np.abs(level - edge).mean())
    assert chances[1] < 0.8 * chances[0]


def test_all_pairs_of_a_small_tree_are_asked_once():
    tree = grow([[0], [1], [10], [11], [50]])
    pairs = tree.questions(100)
    assert {tuple(p) for p in pairs.tolist()} == set(itertools.combinations(range(5), 2))
    assert tree.questions(3, pairs, [True] * 10).shape == (0, 2)


def test_what_was_made_is_kept_until_the_tree_changes():
    tree = grow(blobs(4, 12)[0])
    made = tree._calibrator()
    assert tree._calibrator() is made
    tree.insert([[0.0] * 6])
    assert tree._calibrator() is not made
    assert len(tree.calibrate([(0, 48)], [True]).labels) == 49
