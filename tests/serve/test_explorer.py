"""What the explorer asks for, compared with the collection itself."""

import csv
import io
import json
import struct
from collections import Counter

import numpy as np
import pytest
from commands import Command
from serving import served

from perchtree.html.boxes import Boxes
from perchtree.serve.moments import Moments
from perchtree.serve.search import find_records

pytestmark = [pytest.mark.outer, pytest.mark.jit]

EXPLORER = "/v1/explorer"


def test_boxes_in_view(http):
    tree = http.service.collection.tree
    boxes, labels = Boxes(tree.table), tree.cut(7)
    found = http.get(f"{EXPLORER}/boxes?left=20&right=70&smallest=4&k=7").json()
    expected = boxes.within(20, 70, 4)
    columns = found["columns"]
    assert (found["points"], found["n_clusters"], found["left"]) == (120, 7, 20)
    assert columns["start"] == boxes.starts[expected].tolist()
    assert columns["size"] == boxes.sizes[expected].tolist()
    assert columns["level"] == boxes.levels[expected].tolist()
    assert columns["first"] == boxes.firsts[expected].tolist()
    starts = set(boxes.runs(labels).starts.tolist())
    for start, size, cluster, of, edges in zip(
        *(columns[name] for name in ("start", "size", "cluster", "of", "edges")), strict=True
    ):
        inside = set(labels[boxes.order[start : start + size]].tolist())
        assert ({cluster} if cluster is not None else inside) == inside
        assert (cluster is None) == (len(inside) > 1)
        if cluster is not None:
            assert of == int(np.flatnonzero(labels == cluster)[0])
            assert bool(edges & 1) == (start in starts)
            assert bool(edges & 2) == (start + size in starts | {120})
    on_top = sum(
        size for size, edges in zip(columns["size"], columns["edges"], strict=True) if edges & 4
    )
    assert on_top <= 120


def test_a_box_has_one_name_whatever_else_is_asked_for(http):
    """Boxes of one request are parts of each other."""
    columns = http.get(f"{EXPLORER}/boxes?smallest=4").json()["columns"]
    pairs = zip(columns["first"], columns["order"], strict=True)
    boxes = [f"{first}.{order}" for first, order in pairs]

    def names(*asked):
        return http.get(f"{EXPLORER}/names", params={"box": asked}).json()["names"]

    alone = [name for box in boxes for name in names(box)]
    assert names(*boxes) == alone
    assert sum(bool(name["keywords"]) for name in alone) > 10


def test_boxes_as_bytes_are_the_same(http):
    asked = {"left": 10, "right": 90, "smallest": 2, "k": 7}
    told = http.get(f"{EXPLORER}/boxes", params=asked).json()
    answer = http.get(f"{EXPLORER}/boxes", params=asked | {"packed": True})
    assert answer.headers["content-type"] == "application/octet-stream"
    (length,) = struct.unpack("<I", answer.content[:4])
    values = json.loads(answer.content[4 : 4 + length])
    for name, kind, place, n in values.pop("columns"):
        column = np.frombuffer(answer.content, f"<{kind}", n, 4 + length + place).tolist()
        expected = [2**32 - 1 if v is None else v for v in told["columns"][name]]
        assert column == pytest.approx(expected, rel=1e-3), name
    assert values == {name: value for name, value in told.items() if name != "columns"}


def test_positions_count_from_an_anchor(http):
    """Whatever is added elsewhere, what is around a record is found around it."""
    before = http.get(f"{EXPLORER}/boxes").json()
    place = before["columns"]["first"].index(5)
    start = before["columns"]["start"][place]
    row = http.get("/v1/points/k0?vector=true").json()["vector"]
    http.post("/v1/points", json=[{"key": "new", "vector": row, "text": "new"}])
    window = {"left": 0, "right": 20, "anchor": 5}
    after = http.get(f"{EXPLORER}/boxes", params=window).json()
    assert after["left"] == start + 1  # the new one is on the left of it
    assert after["columns"]["start"][after["columns"]["first"].index(5)] == start + 1
    gone = http.get(f"{EXPLORER}/boxes", params=window | {"anchor": 999})
    assert gone.status_code == 404


def test_standing_numbers(http):
    numbers = set(http.get(f"{EXPLORER}/boxes").json()["columns"]["cluster"]) - {None}
    assert numbers == set(http.service.collection.standing.sizes())
    found = http.get(f"{EXPLORER}/numbered?number=2").json()
    assert http.service.collection.standing.cluster_of(f"k{found['of']}") == 2
    assert http.get(f"{EXPLORER}/numbered?number=99").status_code == 404


def test_numbers_that_perch_cut_has_given(tmp_path, fill):
    """A clustering that was written before keeps its numbers, also on the page."""
    path, perch = tmp_path / "people.perchdb", Command()

    def listed(client):
        rows = client.get(f"{EXPLORER}/clusters?k=6&limit=9").json()["rows"]
        return {row["number"]: row["size"] for row in rows}

    def written():
        table = csv.DictReader(io.StringIO(perch("cut", path, "-k", 6, "-o", "-").stdout))
        return Counter(int(row["cluster"]) for row in table)

    with served(path, fill=fill) as client:
        client.get("/v1/info")
    written()
    with served(path) as client:
        client.post("/v1/removals", json={"keys": [f"k{i}" for i in range(120) if i % 6 == 0]})
    again = written()
    assert set(again) != set(range(6))  # one is gone, another one is new
    with served(path) as client:
        assert listed(client) == again


def test_clusters_in_order(http):
    tree = http.service.collection.tree
    labels = tree.cut(9)
    sizes = np.bincount(labels)
    firm = tree.confidence(labels)

    def listed(**wanted):
        return http.get(f"{EXPLORER}/clusters", params={"k": 9, "limit": 50} | wanted).json()

    by_size = sorted(range(9), key=lambda c: (-sizes[c], c))
    assert [row["number"] for row in listed()["rows"]] == by_size
    assert [row["size"] for row in listed()["rows"]] == [sizes[c] for c in by_size]
    assert [row["number"] for row in listed(sort="small")["rows"]] == sorted(
        range(9), key=lambda c: (sizes[c], c)
    )
    assert [row["number"] for row in listed(sort="number")["rows"]] == list(range(9))
    cohesion = [row["cohesion"] for row in listed(sort="doubt")["rows"]]
    assert cohesion == sorted(cohesion)
    assert sorted(cohesion) == sorted(round(float(firm[labels == c].mean()), 3) for c in range(9))
    some = listed(least=5, most=19)
    assert some["total"] == ((sizes >= 5) & (sizes <= 19)).sum()
    assert some["n_clusters"] == 9
    assert [row["number"] for row in listed(skip=2, limit=3)["rows"]] == by_size[2:5]
    holders = {int(labels[i]) for i in range(120) if i % 6 == 4}
    assert {row["number"] for row in listed(q="group4")["rows"]} == holders


def test_members_in_the_order_of_the_tree(http):
    tree = http.service.collection.tree
    boxes, labels = Boxes(tree.table), tree.cut(4)
    label = int(labels[17])
    expected = [i for i in boxes.order.tolist() if labels[i] == label]
    found = http.get(f"{EXPLORER}/members?of=17&k=4&skip=3&limit=5").json()
    assert found["total"] == len(expected)
    assert [row["id"] for row in found["rows"]] == expected[3:8]
    first = found["rows"][0]
    assert first["cluster"] == label
    assert first["confidence"] == round(float(tree.confidence(labels)[first["id"]]), 3)
    box = http.get(f"{EXPLORER}/path?first=17&order=1").json()["boxes"][1]
    inside = http.get(f"{EXPLORER}/members?of=17&order={box['order']}&limit=1000").json()
    start = box["start"]
    assert [row["id"] for row in inside["rows"]] == boxes.order[
        start : start + box["size"]
    ].tolist()
    between = http.get(f"{EXPLORER}/records?left=10&right=40").json()["rows"]
    assert [row["id"] for row in between] == boxes.order[10:40].tolist()
    assert [row["level"] for row in between] == [
        int(boxes.levels[boxes.path(at)[-1]]) + 1 for at in range(10, 40)
    ]


def test_a_cluster_tells_what_was_said_and_what_changed(http):
    http.post("/v1/corrections", json={"kind": "apart", "a": "k2", "b": "k8"})
    http.get("/v1/tree/root")
    found = http.get(f"{EXPLORER}/cluster?of=2&threshold=3.0").json()
    assert [(said["kind"], said["a"]["key"], said["b"]["key"]) for said in found["said"]] == [
        ("apart", "k2", "k8")
    ]
    assert found["changes"] is None
    assert sum(count["size"] for count in found["classes"]) == found["size"]
    http.post("/v1/points", json=[{"key": "late", "vector": [70, 70, 70], "text": "late"}])
    late = http.get(f"{EXPLORER}/search?q=late").json()["rows"][0]
    told = http.get(f"{EXPLORER}/cluster?of={late['id']}").json()
    assert [event["kind"] for event in told["changes"]] == ["birth"]
    assert told["changes"][0]["time"] is not None
    since = http.get(f"{EXPLORER}/since?seconds=60").json()
    assert since["counts"] == {"split": 1, "birth": 1}  # by what was said, and by the late one


def test_names(http):
    path = http.get(f"{EXPLORER}/path?first=3&order=4").json()["boxes"]
    wanted = [f"{box['first']}.{box['order']}" for box in path]
    names = http.get(f"{EXPLORER}/names", params={"box": wanted}).json()["names"]
    assert names[-1]["keywords"][0] == "group3"
    assert names[-1]["exemplar"]["text"].startswith("group3")
    assert http.get(f"{EXPLORER}/box?first=3&order=4").json()["keywords"] == names[-1]["keywords"]
    for wrong in ("x", "1", "1.", ".2", "1.2.3", "-1.2", "1" * 30 + ".2", "\u00b2.1"):
        assert http.get(f"{EXPLORER}/names", params={"box": wrong}).status_code == 422
    assert http.get(f"{EXPLORER}/names?box=3.60").status_code == 404


@pytest.mark.parametrize(
    "text",
    [
        "\u2014 \u2713", "o'neill \"the\" tea*", "NEAR(a b) AND NOT", "a_b __ c",
        "caf\u00e9 CAF\u00c9",
        "\u0939\u093f\u0928\u094d\u0926\u0940", "\U0001f600", "x\ty", "100% {curly} [x]",
        "\u00b2\u00bd", "-", "' OR 1=1",
    ],
)  # fmt: skip
def test_every_text_is_found_by_itself(http, text):
    http.post("/v1/points", json=[{"key": "odd key", "vector": [1, 2, 3], "text": text}])
    ids, more = find_records(http.service, text)
    assert not more
    assert http.service.collection.next_id - 1 in ids
    found = http.get(f"{EXPLORER}/search", params={"q": text}).json()
    assert "odd key" in [row["key"] for row in found["rows"]]
    assert (found["searched"], found["of"]) == (121, 121)


def test_search_is_counted_and_paged(http):
    found = http.get(f"{EXPLORER}/search?q=group2&limit=7&k=5").json()
    assert (found["total"], len(found["rows"])) == (20, 7)
    labels = http.service.collection.tree.cut(5)
    assert [row["cluster"] for row in found["rows"]] == [
        int(labels[r["id"]]) for r in found["rows"]
    ]
    rest = http.get(f"{EXPLORER}/search?q=group2&skip=7&limit=50").json()["rows"]
    assert len({row["id"] for row in [*found["rows"], *rest]}) == 20
    assert http.get(f"{EXPLORER}/search?q=").json()["total"] == 0
    assert http.get(f"{EXPLORER}/search?q=k7").json()["rows"][0]["key"] == "k7"


def test_the_page_and_its_parts(http):
    page = http.get("/")
    assert page.headers["content-type"].startswith("text/html")
    parts = {part.split('"')[0] for part in page.text.split('href="')[1:]}
    for part in sorted(parts - {"#aside"}):
        assert http.get(part).status_code == 200, part
    assert "//" not in page.text.replace("<!doctype", "")


def test_moments_outlive_the_service(tmp_path, fill):
    path = tmp_path / "people.perchdb"
    with served(path, fill=fill) as http:
        http.post("/v1/points", json=[{"key": "a", "vector": [80, 80, 80]}])
        (event,) = http.get("/v1/events").json()["events"]
        assert event["time"] is not None
        http.service.moments.save()
    with served(path) as http:
        (again,) = http.get("/v1/events").json()["events"]
        assert again["time"] == event["time"]


def test_moments(tmp_path):
    class Kept:
        def __init__(self):
            self.sections = {}

        def note_section(self, name, contents):
            self.sections[name] = contents

    now = [1000.0]
    kept = Kept()
    moments = Moments(kept, lambda: now[0])
    for event, later in ((None, 0), (3, 0), (5, 1), (9, 100), (9, 100), (12, 100)):
        now[0] += later
        moments.note(event)
    assert [moments.time_of(event) for event in (1, 3, 4, 5, 6, 9, 10, 13)] == [
        1000, 1000, 1001, 1001, 1101, 1101, 1301, None,
    ]  # fmt: skip
    assert moments.event_at(999) == (0, False)
    assert moments.event_at(1150) == (9, True)
    moments.save()
    assert Moments(kept, lambda: now[0]).time_of(10) == 1301
    fresh = Moments(Kept(), lambda: now[0])
    assert fresh.event_at(999) == (0, False)
    fresh.note(0)  # when it is noted for the first time, nothing has happened
    assert fresh.event_at(999) == (0, True)
