"""Topic models that cluster online: after each batch, `labels_` are the topics of its documents.

BERTopic's `partial_fit` goes on with what `partial_fit` of its clusterer returns, puts `labels_` in
a frame beside the documents of the batch, gives labels that it has not met the next free topics,
and adds up documents by topic from batch to batch. So labels must fit the batch, and must stay.
"""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from perchtree import Perch

pytestmark = pytest.mark.outer

THEMES = {"cats": [0, 0], "boats": [20, 0], "soup": [0, 20], "chess": [20, 20]}


class OnlineTopics:
    """What BERTopic keeps: for each topic, how many documents it has and their words."""

    def __init__(self, clusterer):
        self.clusterer = clusterer
        self.topic_of_label = {}
        self.sizes, self.words = Counter(), {}

    def partial_fit(self, documents, embeddings):
        self.clusterer = self.clusterer.partial_fit(embeddings)
        assert not hasattr(self.clusterer, "probabilities_")  # else it would be asked for them
        frame = pd.DataFrame({"Document": documents, "Topic": None})
        frame["Topic"] = self.clusterer.labels_
        for label in sorted(set(frame["Topic"].to_list()) - set(self.topic_of_label)):
            self.topic_of_label[label] = len(self.topic_of_label)
        frame["Topic"] = [self.topic_of_label[label] for label in frame["Topic"].to_list()]
        for topic, own in frame.groupby("Topic"):
            self.sizes[topic] += len(own)
            self.words.setdefault(topic, set()).update(own["Document"])
        return frame


def batch(rng, *themes):
    documents = [theme for theme in themes for _ in range(8)]
    documents = [documents[i] for i in rng.permutation(len(documents))]
    embeddings = np.array([THEMES[theme] for theme in documents]) + rng.random((len(documents), 2))
    return documents, embeddings


@pytest.mark.parametrize("settings", [{}, {"max_leaves": 25}, {"linkage": "box"}])
def test_topics_of_batches(settings):
    rng = np.random.default_rng(0)
    topics = OnlineTopics(Perch(distance_threshold=5, **settings))
    batches = [("cats", "boats"), ("boats",), ("soup", "cats", "boats"), ("chess", "soup"),
               ("cats",)]  # fmt: skip
    seen, topic_of = Counter(), {}
    for themes in batches:
        documents, embeddings = batch(rng, *themes)
        frame = topics.partial_fit(documents, embeddings)
        seen.update(documents)
        assert len(frame) == len(documents)
        for theme, own in frame.groupby("Document"):
            assert own["Topic"].nunique() == 1
            topic = int(own["Topic"].iloc[0])
            assert topic_of.setdefault(theme, topic) == topic  # the same in every batch
        # What was added up from batch to batch is what the tree says of all documents.
        assert {topic_of[theme]: n for theme, n in seen.items()} == dict(topics.sizes)
        ids, sizes = topics.clusterer.cluster_ids_, topics.clusterer.cluster_sizes_
        assert dict(zip(ids.tolist(), sizes.tolist(), strict=True)) == dict(topics.sizes)
    assert topics.words == {topic: {theme} for theme, topic in topic_of.items()}
    assert sorted(topic_of.values()) == [0, 1, 2, 3]
    documents, embeddings = batch(rng, *THEMES)
    predicted = topics.clusterer.predict(embeddings)
    assert predicted.tolist() == [topic_of[theme] for theme in documents]
    births = [event.after for event in topics.clusterer.events_ if event.kind == "birth"]
    assert births == [(2,), (3,)]


def test_a_number_of_topics_that_is_set():
    """With `n_clusters`, topics whose documents stay together keep their labels, too."""
    rng = np.random.default_rng(1)
    topics = OnlineTopics(Perch(n_clusters=4))
    first = topics.partial_fit(*batch(rng, *THEMES))
    topic_of = dict(zip(first["Document"], first["Topic"], strict=True))
    for themes in (("soup",), ("chess", "cats"), tuple(THEMES)):
        frame = topics.partial_fit(*batch(rng, *themes))
        assert frame["Topic"].tolist() == [topic_of[theme] for theme in frame["Document"]]
    assert sum(topics.sizes.values()) == len(topics.clusterer.all_labels_) == 8 * (4 + 1 + 2 + 4)


def test_batches_of_one_document():
    model = Perch(n_clusters=2).partial_fit([[0.0], [9.0]])
    for value, label in ((0.5, 0), (8.5, 1), (9.0, 1)):
        assert model.partial_fit([[value]]).labels_.tolist() == [label]
    assert model.all_labels_.tolist() == [0, 1, 0, 1, 1]
