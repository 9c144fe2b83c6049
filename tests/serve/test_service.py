"""What requests do, compared with the collection itself."""

import csv
import io
import json
import threading

import anyio.from_thread
import httpx
import numpy as np
import pyarrow as pa
import pytest
from serving import served

from perchtree import Collection
from perchtree.serve import events
from perchtree.serve.formats import as_npy
from perchtree.serve.handles import Handle, handle_of

pytestmark = [pytest.mark.outer, pytest.mark.jit]


PATH = "/v1/points/a/b%20%C3%BC%3F"


def point(key, vector, text=None, class_=None):
    return {"key": key, "vector": list(vector), "text": text, "class": class_}


def test_a_record_is_added_read_replaced_and_removed(http):
    added = http.post("/v1/points", json=[point("a/b ü?", [0, 0, 0], "hello", 3)]).json()
    assert (added["added"], added["unchanged"]) == (1, 0)
    assert added["operation"] == http.service.collection.operation
    assert http.get("/v1/tree/root").json()["nodes"][0]["size"] == 121  # waits for a version
    found = http.get(f"{PATH}?vector=true").json()
    assert (found["key"], found["text"], found["class"]) == ("a/b ü?", "hello", 3)
    assert found["vector"] == [0, 0, 0]
    assert found["cluster"] == added["points"][0]["cluster"]
    assert found["path"][0]["size"] == 1
    assert found["path"][-1]["size"] == 121
    collection = http.service.collection
    labels = collection.tree.cut(distance=collection.standing.distance)
    place = int(np.searchsorted(collection.ids, collection.ids_of(["a/b ü?"])[0]))
    assert found["confidence"] == round(float(collection.tree.confidence(labels)[place]), 3)
    stored = http.put(PATH, json={"vector": [9, 9, 9], "text": "other"}).json()
    assert stored["created"] is False
    found = http.get(PATH, params={"vector": True}).json()
    assert (found["text"], found["class"], found["vector"]) == ("other", None, [9, 9, 9])
    assert http.delete(PATH).json()["removed"] == 1
    assert http.delete(PATH).status_code == 404
    assert http.get(PATH).status_code == 404


def test_a_repeated_request_does_no_harm(http):
    body = [point(f"new{i}", [i, 1, 2], f"text {i}", "c") for i in range(5)]
    first = http.post("/v1/points", json=body).json()
    again = http.post("/v1/points", json=body).json()
    assert (first["added"], again["added"], again["unchanged"]) == (5, 0, 5)
    assert again["points"] == first["points"]
    more = http.post("/v1/points", json=[*body, point("new9", [1, 1, 1])]).json()
    assert (more["added"], more["unchanged"]) == (1, 5)
    before = len(http.service.collection)
    other = http.post("/v1/points", json=[point("new8", [1, 1, 1]), body[0] | {"text": "no"}])
    assert other.status_code == 409
    assert "'new0'" in other.json()["error"]
    moved = http.post("/v1/points", json=[body[0] | {"vector": [7, 7, 7]}])
    assert moved.status_code == 409
    assert len(http.service.collection) == before
    twice = http.post("/v1/points", json=[point("x", [1, 2, 3]), point("x", [1, 2, 3])])
    assert twice.status_code == 422
    assert len(http.service.collection) == before


def test_putting_the_same_vector_keeps_the_point(http):
    collection = http.service.collection
    before, row = collection.next_id, http.get("/v1/points/k5?vector=true").json()["vector"]
    http.put("/v1/points/k5", json={"vector": row, "text": "another"})
    assert collection.next_id == before
    http.put("/v1/points/k5", json={"text": "once more", "class": 1})
    assert collection.next_id == before
    assert http.get("/v1/points/k5").json()["text"] == "once more"
    assert http.put("/v1/points/never", json={"text": "x"}).status_code == 422


def test_records_without_keys_are_recognised_by_a_request_id(tmp_path):
    path = tmp_path / "ids.perchdb"
    body = [{"vector": [i, 0.5]} for i in range(4)]
    with served(path) as http:
        first = http.post("/v1/points", json=body, headers={"Idempotency-Key": "one"}).json()
        assert [point["key"] for point in first["points"]] == [0, 1, 2, 3]
        assert http.get("/v1/points/3").json()["key"] == 3
        assert http.get("/v1/points/x").status_code == 404
    with served(path) as http:  # also after a restart
        again = http.post("/v1/points", json=body, headers={"Idempotency-Key": "one"}).json()
        assert (again["added"], again["unchanged"]) == (0, 4)
        assert again["points"] == first["points"]
        other = http.post("/v1/points", json=body[:2], headers={"Idempotency-Key": "one"})
        assert other.status_code == 409
        wrong = http.post("/v1/points", json=[{"vector": [1]}], headers={"Idempotency-Key": "two"})
        assert wrong.status_code == 422
        right = http.post("/v1/points", json=body[:1], headers={"Idempotency-Key": "two"})
        assert right.json()["added"] == 1
        assert http.post("/v1/points", json=body[:1]).json()["added"] == 1
        assert len(http.service.collection) == 6


def test_bulk_in_arrow_and_npy(http, rows):
    table = pa.table({
        "key": ["arrow0", "arrow1"], "text": ["a", None], "class": [1, 2],
        "vector": pa.array([[1.0, 2, 3], [4, 5, 6]], pa.list_(pa.float32())),
    })  # fmt: skip
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    kind = {"Content-Type": "application/vnd.apache.arrow.stream"}
    added = http.post("/v1/points", content=sink.getvalue(), headers=kind)
    assert added.json()["added"] == 2, added.text
    assert http.get("/v1/points/arrow1?vector=true").json()["vector"] == [4, 5, 6]
    kind = {"Content-Type": "application/x-npy"}
    body = as_npy(rows[:3] + 1, np.array(["n0", "n1", "n2"]))
    assert http.post("/v1/points", content=body, headers=kind).json()["added"] == 3
    assert http.post("/v1/points", content=body, headers=kind).json()["unchanged"] == 3
    vector = http.get("/v1/points/n2?vector=true").json()["vector"]
    assert vector == (rows[2] + 1).astype(np.float32).tolist()
    before = len(http.service.collection)
    for wrong in (body[:-1], body[: len(body) // 2], b"", b"junk", body + b"x", body[:40]):
        assert http.post("/v1/points", content=wrong, headers=kind).status_code == 422
        arrow = kind | {"Content-Type": "application/vnd.apache.arrow.stream"}
        assert http.post("/v1/points", content=wrong, headers=arrow).status_code == 422
    assert len(http.service.collection) == before


def test_npy_that_announces_more_than_it_has(http):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 3)}
    )
    kind = {"Content-Type": "application/x-npy"}
    assert http.post("/v1/points", content=head.getvalue(), headers=kind).status_code == 422


def test_neighbours_and_clusters_of_new_points(http, rows):
    collection = http.service.collection
    asked = (rows[:20] + 0.01).tolist()
    answer = http.post("/v1/nearest", json={"vectors": asked, "k": 3}).json()["neighbors"]
    keys, distances = collection.nearest(asked, k=3)
    assert [[n["key"] for n in row] for row in answer] == keys.tolist()
    assert np.allclose([[n["distance"] for n in row] for row in answer], distances)
    predicted = http.post("/v1/predict", json={"vectors": asked}).json()["predictions"]
    expected = [collection.standing.cluster_of(key) for key in keys[:, 0]]
    assert [row["cluster"] for row in predicted] == expected
    assert http.post("/v1/nearest", json={"vectors": [[1, 2]]}).status_code == 422
    assert http.post("/v1/nearest", json={"texts": ["a"]}).status_code == 422
    assert http.post("/v1/nearest", json={"vectors": asked, "k": 1000}).status_code == 422


def test_standing_clusters_and_what_becomes_of_them(http):
    standing = http.service.collection.standing
    listed = http.get("/v1/clusters?limit=4").json()
    rest = http.get("/v1/clusters", params={"limit": 100, "after": listed["next"]}).json()
    found = {c["cluster"]: c["size"] for c in listed["clusters"] + rest["clusters"]}
    assert found == standing.sizes()
    assert rest["next"] is None
    sizes = [c["size"] for c in listed["clusters"] + rest["clusters"]]
    assert sizes == sorted(sizes, reverse=True)
    quick = http.get("/v1/clusters?limit=100&describe=false&sort=first").json()
    assert [c["cluster"] for c in quick["clusters"]] == sorted(found)
    largest = listed["clusters"][0]
    assert largest["keywords"]
    assert largest["exemplar"]["cluster"] == largest["cluster"]
    whole = http.get(f"/v1/clusters/{largest['cluster']}?limit=7").json()
    members, after = whole["members"], whole["next"]
    while after is not None:
        page = http.get(f"/v1/clusters/{largest['cluster']}", params={"limit": 7, "after": after})
        members += page.json()["members"]
        after = page.json()["next"]
    assert [m["key"] for m in members] == standing.members(largest["cluster"])
    keys = standing.members(largest["cluster"])
    assert all(0 <= m["confidence"] <= 1 for m in members)
    assert http.post("/v1/removals", json={"keys": keys}).json()["removed"] == len(keys)
    gone = http.get(f"/v1/clusters/{largest['cluster']}")
    assert (gone.status_code, gone.json()["now"]) == (410, [])
    assert http.get("/v1/clusters/999999").status_code == 404
    kinds = {event["kind"] for event in http.get("/v1/events").json()["events"]}
    assert "end" in kinds


def test_a_merged_cluster_says_where_it_went(http):
    http.post("/v1/points", json=[point("far0", [100, 0, 0]), point("far9", [104, 0, 0])])
    one, other = (http.get(f"/v1/points/far{i}").json()["cluster"] for i in (0, 9))
    assert one != other
    for i in range(1, 9):  # a bridge between the two
        http.post("/v1/points", json=[point(f"far{i}", [100 + i / 2, 0, 0])])
    now = http.get("/v1/points/far0").json()["cluster"]
    assert http.get("/v1/points/far9").json()["cluster"] == now
    gone = http.get(f"/v1/clusters/{other if now == one else one}")
    assert (gone.status_code, gone.json()["now"]) == (410, [now])


def test_other_clusterings_are_those_of_the_tree(http):
    collection = http.service.collection
    for query, cut in (
        ({"k": 6}, {"n_clusters": 6}),
        ({"min_size": 5}, {"min_cluster_size": 5}),
        ({"threshold": 2.0}, {"distance": 2.0}),
    ):
        listed = http.get("/v1/clusters", params=query | {"limit": 1000}).json()
        labels = collection.tree.cut(**cut)
        expected = {str(handle_of(np.flatnonzero(labels == i))) for i in range(labels.max() + 1)}
        assert {c["cluster"] for c in listed["clusters"]} == expected
        assert listed["clustering"]["operation"] == collection.operation
        assert listed["clustering"]["event"] == collection.standing.last_event
        cluster = listed["clusters"][0]
        whole = http.get(f"/v1/clusters/{cluster['cluster']}", params=query | {"limit": 1000})
        ids = collection.ids_of([m["key"] for m in whole.json()["members"]])
        assert str(handle_of(ids)) == cluster["cluster"]
        assert whole.json()["cohesion"] == cluster["cohesion"]
    assert http.get("/v1/clusters?k=3&min_size=2").status_code == 422
    assert http.get("/v1/clusters?k=100000").status_code == 422
    http.post("/v1/corrections", json={"a": "k0", "b": "k6", "kind": "apart"})
    corrected = http.get("/v1/clusters?k=6&limit=100").json()
    assert corrected["clustering"]["n_clusters"] == 7


def test_handles_never_name_another_node(http):
    collection, rng = http.service.collection, np.random.default_rng(1)
    top = http.get("/v1/tree/root?size=200").json()
    version = http.service.versions.current()
    known = {
        str(version.handle(number)): set(version.table.ids[version.members(number)].tolist())
        for number in range(len(version.table.parents))
    }
    assert {node["node"] for node in top["nodes"]} <= known.keys()
    for step in range(4):
        keys = rng.choice(collection.keys, 3, replace=False).tolist()
        http.post("/v1/removals", json={"keys": keys})
        http.post("/v1/points", json=[point(f"s{step}-{i}", rng.normal(size=3)) for i in range(3)])
        now = http.service.versions.current()
        assert now.operation == collection.operation
        statuses = set()
        for handle, ids in list(known.items())[step::4]:
            answer = http.get(f"/v1/tree/{handle}?size=1")
            statuses.add(answer.status_code)
            if answer.status_code == 200:
                number = now.find(Handle.parse(handle))
                assert set(now.table.ids[now.members(number)].tolist()) == ids
            elif answer.status_code == 409:
                number = now.find(Handle.parse(answer.json()["now"]))
                held = set(now.table.ids[now.members(number)].tolist())
                assert held != ids
                assert min(ids) in held
            else:
                assert min(ids) not in collection.ids
        assert statuses == {200, 409, 410}
    assert http.get("/v1/tree/99999-1-0000000000000000").status_code == 404
    assert http.get("/v1/tree/nonsense").status_code == 404


def test_handles_of_clusters_never_name_another_one(http):
    collection = http.service.collection
    before = {
        cluster["cluster"]: cluster["size"]
        for cluster in http.get("/v1/clusters?k=6&limit=100").json()["clusters"]
    }
    kept, grown, gone = (handle_of(collection.ids_of([f"k{i + 6 * j}" for j in range(20)]))
                         for i in range(3))  # fmt: skip
    assert {str(kept), str(grown), str(gone)} <= before.keys()
    row = http.get("/v1/points/k1?vector=true").json()["vector"]
    http.post("/v1/points", json=[point("more", row)])
    http.post("/v1/removals", json={"keys": ["k2"]})
    assert http.get(f"/v1/clusters/{kept}?k=6").json()["size"] == 20
    changed = http.get(f"/v1/clusters/{grown}?k=6")
    assert changed.status_code == 409
    now = http.get(f"/v1/clusters/{changed.json()['now']}?k=6&limit=100").json()
    assert {member["key"] for member in now["members"]} >= {"k1", "more"}
    assert changed.json()["operation"] == collection.operation
    assert http.get(f"/v1/clusters/{gone}?k=6").status_code == 410
    assert http.get("/v1/clusters/99999-1-0000000000000000?k=6").status_code == 404
    assert http.get("/v1/clusters/nonsense?k=6").status_code == 404


def test_a_subtree_is_cut_to_its_size(http):
    top = http.get("/v1/tree/root?size=10").json()["nodes"]
    ends = [i for i, node in enumerate(top) if all(other["parent"] != i for other in top)]
    assert len(ends) == 10
    assert sum(top[i]["size"] for i in ends) == 120
    assert top[0]["parent"] is None
    for i, node in enumerate(top[1:], 1):
        assert node["parent"] < i
    below = http.get(f"/v1/tree/{top[ends[0]]['node']}?size=1000").json()
    assert below["nodes"][0]["node"] == top[ends[0]]["node"]
    assert below["above"][-1]["size"] == 120


def test_search_takes_any_text(http):
    assert http.get("/v1/search?q=group3 record 9").json()["hits"][0]["key"] == "k9"
    assert http.get("/v1/search?q=k17").json()["hits"][0]["key"] == "k17"
    assert http.get("/v1/search?q=gro&n=7").json()["n"] == 7
    for query in ('"', "NOT", "a AND", "*", "(", "group3 OR", "key:", "'; DROP TABLE records", "^"):
        assert http.get("/v1/search", params={"q": query}).status_code == 200, query
    assert http.get("/v1/search", params={"q": '"', "syntax": "fts"}).status_code == 422


def test_what_is_removed_while_it_is_found_is_left_out(http, monkeypatch):
    rows = http.service.records.rows
    search = rows.search

    def search_and_remove(query, most):
        found = search(query, most)
        http.service.collection.remove(["k9"])
        return found

    monkeypatch.setattr(rows, "search", search_and_remove)
    answer = http.get("/v1/search?q=group3&n=100")
    assert answer.status_code == 200
    assert {hit["key"] for hit in answer.json()["hits"]} == {
        f"k{i}" for i in range(3, 120, 6) if i != 9
    }


def test_questions_answers_and_corrections(http):
    asked = http.get("/v1/questions?n=20").json()["questions"]
    assert len(asked) == 20
    said = [
        {"a": q["a"]["key"], "b": q["b"]["key"], "same": q["a"]["class"] == q["b"]["class"]}
        for q in asked
    ]
    assert http.get("/v1/calibration").status_code == 409
    assert http.post("/v1/answers", json=said).json()["n_answers"] == 20
    assert http.post("/v1/answers", json=said[:1]).json()["n_answers"] == 20
    more = http.get("/v1/questions?n=5").json()
    assert more["n_answers"] == 20
    pairs = {frozenset((s["a"], s["b"])) for s in said}
    assert all(frozenset((q["a"]["key"], q["b"]["key"])) not in pairs for q in more["questions"])
    found = http.get("/v1/calibration").json()
    assert 0 <= found["f1"]["low"] <= found["f1"]["value"] <= found["f1"]["high"] <= 1
    http.post("/v1/removals", json={"keys": [said[0]["a"]]})
    assert http.get("/v1/questions?n=1").json()["n_answers"] < 20
    assert http.post("/v1/answers", json=said[:1]).status_code == 404
    a, b = http.service.collection.keys[[0, 6]].tolist()
    said = {"a": a, "b": b, "kind": "together"}
    assert http.post("/v1/corrections", json=said).json()["corrections"][-1] == said
    contradiction = http.post("/v1/corrections", json=said | {"kind": "apart"})
    assert contradiction.status_code == 409
    assert a in contradiction.json()["error"]
    assert http.post("/v1/corrections", json=said | {"kind": "neither"}).json()["corrections"] == []
    assert http.post("/v1/corrections", json=said | {"a": "nobody"}).status_code == 404


def test_events_as_a_stream(http):
    last = http.get("/v1/info").json()["event"]
    seen, ready = [], threading.Event()

    def listen():
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(last)}
        url = f"http://127.0.0.1:{http.port}/v1/events"
        with httpx.stream("GET", url, headers=headers, timeout=20, trust_env=False) as answer:
            ready.set()
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    seen.append(json.loads(line[6:]))
                    if len(seen) == 2:
                        return

    thread = threading.Thread(target=listen)
    thread.start()
    assert ready.wait(20)
    http.post("/v1/points", json=[point("zoe", [500, 500, 500])])
    http.post("/v1/points", json=[point("zoë", [500, 500, 500.5])])
    thread.join(20)
    assert [event["kind"] for event in seen] == ["birth", "join"]
    assert seen[1]["keys"] == ["zoë"]
    listed = http.get("/v1/events", params={"since": last}).json()["events"]
    assert listed == seen
    assert seen[0]["event"] == last + 1


def test_a_prediction_whose_nearest_is_removed_meanwhile_asks_again(http, rows, monkeypatch):
    read, missed = http.service.read, []

    def read_late(ids):
        missed.append(ids)
        return {} if len(missed) == 1 else read(ids)

    monkeypatch.setattr(http.service, "read", read_late)
    answer = http.post("/v1/predict", json={"vectors": rows[:1].tolist()})
    assert answer.status_code == 200
    assert answer.json()["predictions"][0]["nearest"] == "k0"


def test_a_stream_does_not_miss_what_happens_while_it_reads(http, monkeypatch):
    monkeypatch.setattr(events, "_PULSE", 1000.0)
    service, read = http.service, http.service.standing.events

    def read_while_the_service_closes(since, limit):
        found = read(since, limit)
        if service.is_open:
            service.is_open = False
            anyio.from_thread.run_sync(service.tell_change)
        return found

    monkeypatch.setattr(service.standing, "events", read_while_the_service_closes)
    last = http.get("/v1/info").json()["event"]
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(last)}
    assert http.get("/v1/events", headers=headers).text.startswith(": perchtree")


def test_downloads_are_inert_in_spreadsheets(http):
    evil = ["=cmd|' /C calc'!A0", "+1+1", "@SUM(A1)", "-2+3", "\t=1", "<script>alert(1)</script>"]
    body = [point(text, [300, 300, 300], text, text) for text in evil]
    cluster = http.post("/v1/points", json=body).json()["points"][0]["cluster"]
    answer = http.get(f"/v1/clusters/{cluster}?format=csv")
    assert answer.headers["content-type"].startswith("text/csv")
    assert "attachment" in answer.headers["content-disposition"]
    rows = list(csv.reader(io.StringIO(answer.text, newline="")))
    assert len(rows) == 7
    assert all(cell[0] == "'" for row in rows[1:-1] for cell in row)


def test_texts_become_vectors_where_there_is_an_encoder(tmp_path):
    with served(tmp_path / "texts.perchdb", encoder="chars") as http:
        body = [{"key": name, "text": name} for name in ("anna", "anne", "bob", "rob")]
        assert http.post("/v1/points", json=body).json()["added"] == 4
        assert http.post("/v1/points", json=body).json()["unchanged"] == 4
        near = http.post("/v1/nearest", json={"texts": ["annn"], "k": 2}).json()["neighbors"][0]
        assert {n["key"] for n in near} == {"anna", "anne"}
        assert http.post("/v1/nearest", json={"vectors": [[1.0]]}).status_code == 422
        assert http.put("/v1/points/bob", json={"text": "bobby"}).status_code == 200
        assert http.get("/v1/points/bob").json()["text"] == "bobby"
        assert http.get("/v1/info").json()["encoder"] == "chars"


def test_an_empty_collection_says_so(tmp_path):
    with served(tmp_path / "new.perchdb") as http:
        assert http.get("/v1/info").json()["points"] == 0
        for path in ("clusters", "tree/root", "questions", "calibration"):
            assert http.get(f"/v1/{path}").status_code == 409, path
        assert http.get("/v1/points/a").status_code == 404
        assert http.delete("/v1/points/a").status_code == 404
        assert http.post("/v1/nearest", json={"vectors": [[1]]}).status_code == 409
        assert http.get("/v1/search?q=a").json()["hits"] == []
        assert http.put("/v1/points/a", json={"vector": [1, 2]}).json()["created"] is True
        assert http.get("/v1/tree/root").json()["nodes"][0]["size"] == 1
        assert http.get("/v1/questions").status_code == 409


def test_what_was_acknowledged_is_in_the_folder(http, tmp_path):
    http.post("/v1/points", json=[point("late", [1, 2, 3], "last")])
    http.post("/v1/corrections", json={"a": "late", "b": "k1", "kind": "together"})
    with Collection.open(tmp_path / "people.perchdb") as reader:
        assert reader.nearest([[1, 2, 3]])[0].tolist() == [["late"]]
        assert len(reader.corrections) == 1


def test_health_readiness_numbers_and_pages(http):
    assert http.get("/health").json() == {"status": "alive"}
    assert http.get("/ready").json() == {"status": "ready"}
    http.get("/v1/points/secret-key-17")
    text = http.get("/metrics").text
    assert "perchtree_points 120.0" in text
    assert (
        'perchtree_requests_total{method="GET",route="/v1/points/{key}",status="404"} 1.0' in text
    )
    assert "secret-key-17" not in text
    for path in ("/about", "/docs"):
        page = http.get(path)
        assert page.status_code == 200
        assert "<script" not in page.text
        assert "//" not in page.text.replace("http://127.0.0.1:8732", "")
    for path in http.get("/openapi.json").json()["paths"]:
        assert path.split("{")[0] in http.get("/docs").text
