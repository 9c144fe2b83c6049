"""Questions about records, by their keys."""

import numpy as np
import pytest

from perchtree import Collection, Correction

pytestmark = pytest.mark.outer

KEYS = [f"{name}-{i}" for name in ("ann", "bob", "cy") for i in range(4)]


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    people = Collection()
    people.add(np.repeat([[0.0], [50.0], [90.0]], 4, axis=0) + rng.random((12, 1)), keys=KEYS)
    return people


def same_name(pairs):
    return [a[:2] == b[:2] for a, b in pairs]


def test_keys_instead_of_ids(people):
    pairs = people.questions(20)
    ids = people.tree.questions(20)
    assert pairs == [(KEYS[a], KEYS[b]) for a, b in ids.tolist()]
    assert people.questions(5, pairs, same_name(pairs)) == [
        (KEYS[a], KEYS[b]) for a, b in people.tree.questions(5, ids, same_name(pairs)).tolist()
    ]
    found = people.calibrate(pairs, same_name(pairs))
    assert found.f1 == people.tree.calibrate(ids, same_name(pairs)).f1
    assert found.labels.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    with pytest.raises(ValueError, match="no point with the key 'zoe'"):
        people.calibrate([("zoe", "ann-0")], [True])
    with pytest.raises(ValueError, match="the collection is empty"):
        Collection().questions(1)


def test_answers_become_corrections(people):
    pairs = [("ann-0", "bob-0"), ("bob-0", "cy-0"), ("ann-0", "cy-0"), ("cy-1", "cy-2")]
    refused = people.correct_by(pairs, [True, True, False, None])
    assert refused == [Correction("apart", "ann-0", "cy-0")]
    assert [c.kind for c in people.corrections] == ["together", "together"]
    labels = people.calibrate(pairs, [True, True, False, None]).labels
    assert len(set(people.corrected(labels).labels[[0, 4, 8]])) == 1
    people.remove(["bob-0"])  # what was said of a record goes with it
    assert people.corrections == []
    with pytest.raises(ValueError, match="no point with the key"):
        people.correct_by([("bob-0", "cy-0")], [True])
