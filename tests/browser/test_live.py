"""The explorer of a service."""

import json
import time

import numpy as np
import pytest
from browsing import (
    HOSTILE,
    choose,
    click,
    click_row,
    click_text,
    clusters,
    colours,
    errors,
    find,
    find_all,
    open_page,
    press,
    rows,
    search,
    settle,
    state,
    text,
    until,
)
from selenium.webdriver.common.keys import Keys
from serving import served

from perchtree.serve.security import Access

pytestmark = [pytest.mark.outer, pytest.mark.jit]

N = 240
READ, WRITE = "a-token-that-may-read-0123", "a-token-that-may-write-0123"


def make_rows():
    rng = np.random.default_rng(0)
    return rng.normal(0, 8, (6, 3))[np.arange(N) % 6] + rng.normal(0, 0.3, (N, 3))


def fill(collection):
    texts = [f"word{i % 6} record {i}" for i in range(N)]
    texts[11] = HOSTILE
    texts[12] = "\u2014 \u2713"  # without any letter or digit
    collection.add(
        make_rows(), keys=[f"k{i}" for i in range(N)], classes=[i % 6 for i in range(N)],
        texts=texts,
    )  # fmt: skip
    collection.keep_clusters(distance=3.0)


@pytest.fixture
def http(tmp_path):
    with served(tmp_path / "people.perchdb", fill=fill) as client:
        yield client


@pytest.fixture
def opened(browser, http):
    open_page(browser, f"http://127.0.0.1:{http.port}/")
    yield browser
    assert errors(browser) == []
    browser.get("about:blank")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A service that tests only read; answers to questions are no records."""
    with served(tmp_path_factory.mktemp("shared") / "people.perchdb", fill=fill) as client:
        yield client


@pytest.fixture
def looking(browser, shared):
    open_page(browser, f"http://127.0.0.1:{shared.port}/")
    yield browser
    assert errors(browser) == []
    browser.get("about:blank")


def standing(http):
    found = http.get("/v1/clusters", params={"describe": False, "limit": 1000}).json()["clusters"]
    return [(cluster["cluster"], cluster["size"]) for cluster in found]


def add(http, *records):
    body = [
        {"key": key, "vector": [float(v) for v in vector], "text": words}
        for key, vector, words in records
    ]
    assert http.post("/v1/points", json=body).status_code == 200


def test_it_shows_standing_clusters_and_others(looking, shared):
    assert "240 records · live" in text(looking, "#summary")
    assert colours(looking) > 5
    assert clusters(looking) == standing(shared)
    assert text(looking, "#counted") == f"{len(standing(shared))} clusters at distance 3"
    choose(looking, "#by", "k")
    find(looking, "#exact").clear()
    find(looking, "#exact").send_keys("9", Keys.ENTER)
    until(lambda: text(looking, "#counted") == "9 clusters")
    labels = shared.service.collection.tree.cut(9)
    sizes = sorted(enumerate(np.bincount(labels).tolist()), key=lambda c: (-c[1], c[0]))
    until(lambda: clusters(looking) == sizes[: len(clusters(looking))] != [])
    for by, value in (("min_size", "20"), ("threshold", "2.5")):
        choose(looking, "#by", by)
        find(looking, "#exact").clear()
        find(looking, "#exact").send_keys(value, Keys.ENTER)
        wanted = {"min_size": {"min_cluster_size": 20}, "threshold": {"distance": 2.5}}[by]
        expected = len(set(shared.service.collection.tree.cut(**wanted).tolist()))
        until(lambda expected=expected: state(looking, "clusters") == str(expected))
    find(looking, "#exact").clear()
    find(looking, "#exact").send_keys("-1", Keys.ENTER)
    until(lambda: "at least 0" in text(looking, "#message"))


def test_every_record_is_found(looking, shared):
    for query, key in (
        ("word3 record 9", "k9"),
        ("k77", "k77"),
        ("\u2014 \u2713", "k12"),
        (HOSTILE, "k11"),
    ):
        assert "found" in search(looking, query)
        first = rows(looking, "search")[0]
        assert key in first, (query, first)
        cluster = shared.get(f"/v1/points/{key}").json()["cluster"]
        assert f"#{cluster}" in first
    assert looking.execute_script("return window.hacked") is None
    assert search(looking, "word4").startswith("40 records found")
    assert search(looking, "zebra") == "No record found among all 240"


def test_new_points_appear_within_a_second_and_nothing_moves(opened, http):
    row = make_rows()
    click_row(opened, 3, 0.7)
    until(lambda: text(opened, "#pane-details h2").startswith("Cluster"))
    settle(opened)
    time.sleep(0.5)
    script = (
        "const c = document.getElementById('tree'), pen = c.getContext('2d');"
        "return [...pen.getImageData(0, 3 * 30 * devicePixelRatio + 3, c.width, 1).data]"
    )
    before, panel = opened.execute_script(script), text(opened, "#pane-details h2")
    opened.execute_script("document.querySelector('#pane-details').scrollTop = 404")
    settle(opened)
    begin = time.monotonic()
    add(http, ("new one", row[0] + 0.01, "word0 fresh"), ("far away", [90, 90, 90], "a new thing"))
    until(lambda: "242 records" in text(opened, "#summary"), 5)
    until(
        lambda: (
            "New cluster" in text(opened, "#events") or not find(opened, "#events").is_displayed()
        )
    )
    until(lambda: state(opened, "operation") == str(http.service.collection.operation), 5)
    assert time.monotonic() - begin < 5  # `make explorer` measures it
    settle(opened)
    same = np.mean(np.array(before) == np.array(opened.execute_script(script)))
    assert same > 0.98, same
    assert text(opened, "#pane-details h2") == panel
    assert opened.execute_script("return document.querySelector('#pane-details').scrollTop") == 404
    click(opened, "#tab-events")
    told = text(opened, "#pane-events")
    assert "live: changes appear as they happen" in told
    assert "new one" in told
    assert "New cluster" in told
    assert "1 new cluster (1 record)" in text(opened, "#kinds")
    click(opened, "#view-table")
    click(opened, "#table-parts")
    find_all(opened, "#path button")[0].click()
    until(lambda: "the whole tree: 242 records" in text(opened, "#table-view caption"))
    click(opened, "#view-picture")
    click(opened, "#tab-events")
    click(opened, "#events .event.birth .link")
    until(lambda: "a new thing" in text(opened, "#pane-details"))
    assert "What changed" in text(opened, "#pane-details")


def test_the_focus_and_what_one_reads_stay_where_they_are(opened, http):
    """While records arrive, for somebody at the keyboard."""

    def focused():
        return opened.execute_script("return document.activeElement.innerText")

    def grown(n=1):
        add(http, *[(f"g{i}", [70 + 9 * i, 70, 70], "far") for i in range(grown.n, grown.n + n)])
        grown.n += n
        until(lambda: state(opened, "operation") == str(http.service.collection.operation), 5)
        until(lambda: f"{N + grown.n} records" in text(opened, "#summary"))
        settle(opened)

    grown.n = 0
    opened.execute_script("document.querySelectorAll('#pane-clusters .cluster')[2].focus()")
    before = focused()
    grown()
    assert focused() == before != ""
    click(opened, "#pane-clusters .cluster")
    until(lambda: find_all(opened, "#pane-details .row"))
    for what in ("Download CSV", "word"):
        opened.execute_script(
            "[...document.querySelectorAll('#pane-details button')]"
            ".find(b => b.innerText.startsWith(arguments[0])).focus()", what,
        )  # fmt: skip
        before = focused()
        grown()
        assert focused() == before, what
    opened.execute_script("document.querySelectorAll('#path button')[0].focus()")
    grown()
    assert focused() == "all records"
    grown(30)
    click(opened, "#tab-events")
    until(lambda: text(opened, "#events").count("New cluster") > 30)
    opened.execute_script(
        "const read = document.querySelectorAll('#events .link')[8];"
        "read.focus(); read.scrollIntoView(true);"
    )
    settle(opened)
    place = "return [document.activeElement.innerText, document.activeElement.offsetParent"
    place += " && document.activeElement.getBoundingClientRect().top | 0]"
    before = opened.execute_script(place)
    grown()
    until(lambda: f"{grown.n} new clusters" in text(opened, "#kinds"))
    (name, top), (same, there) = before, opened.execute_script(place)
    assert same == name
    assert abs(there - top) < 3


def test_merges_and_splits_are_told(opened, http):
    """Points between two clusters join them; without those, they part again."""
    click(opened, "#tab-events")
    ends = [(f"e{x}.{i}", [x + 0.01 * i, 50, 50], "end") for x in (50, 54) for i in range(5)]
    add(http, *ends)
    until(lambda: text(opened, "#events").count("New cluster") == 2, 5)
    n_clusters = len(standing(http))
    add(http, *[(f"b{i}", [52 + 0.01 * i, 50, 50], "bridge") for i in range(30)])
    until(lambda: "merged into" in text(opened, "#events"), 5)
    until(lambda: text(opened, "#counted").startswith(f"{n_clusters - 1} clusters"), 5)
    http.post("/v1/removals", json={"keys": [f"b{i}" for i in range(30)]})
    until(lambda: "split into" in text(opened, "#events"), 5)
    until(lambda: text(opened, "#counted").startswith(f"{n_clusters} clusters"), 5)
    click(opened, "#tab-clusters")
    until(lambda: clusters(opened) == standing(http), 5)


def test_a_record_is_removed(opened, http):
    search(opened, "k30")
    click(opened, "#pane-search input.pick")
    click_text(opened, "#selection", "Remove")
    until(lambda: "cannot be undone" in text(opened, "#dialog"))
    click_text(opened, "#dialog", "Cancel")
    assert http.get("/v1/points/k30").status_code == 200
    click_text(opened, "#selection", "Remove")
    click_text(opened, "#dialog", "Remove")
    until(lambda: http.get("/v1/points/k30").status_code == 404)
    until(lambda: "239 records" in text(opened, "#summary"))


def test_a_wrong_pair_is_corrected(opened, http):
    search(opened, "k0")
    find_all(opened, "#pane-search .row[data-place='0'] input.pick")[0].click()
    search(opened, "k6")
    find_all(opened, "#pane-search .row[data-place='0'] input.pick")[0].click()
    click_text(opened, "#selection", "Not the same")
    until(lambda: len(http.get("/v1/corrections").json()["corrections"]) == 1)
    said = http.get("/v1/corrections").json()["corrections"][0]
    assert said == {"kind": "apart", "a": "k0", "b": "k6"}
    until(lambda: "1 correction" in text(opened, "#summary"))
    assert find(opened, "#by").get_attribute("value") == "standing"  # they follow it, too

    def clusters():
        found = []
        for key in ("k0", "k6"):
            search(opened, key)
            found.append(rows(opened, "search")[0].split("#")[1].split()[0])
        return found

    until(lambda: len(set(clusters())) == 2)
    click(opened, "#pane-search .chip")
    until(lambda: "does not belong with" in text(opened, "#pane-details"))
    click_text(opened, "#pane-details", "Take back")
    until(lambda: http.get("/v1/corrections").json()["corrections"] == [])


def test_what_came_of_a_correction_is_told_when_it_is_known(opened, http):
    """Not from a picture that does not have it yet, as those of large trees."""
    click(opened, "#pane-clusters .cluster")
    until(lambda: len(find_all(opened, "#pane-details input.pick")) > 2)
    settle(opened)
    for box in find_all(opened, "#pane-details input.pick")[:2]:
        box.click()
    opened.execute_script(
        "window.told = []; new MutationObserver(() => told.push("
        "document.getElementById('message').innerText)).observe("
        "document.getElementById('message'), {childList: true})"
    )
    http.service.versions._cost = 0.2  # as if it took so long: others are made two seconds later
    click_text(opened, "#selection", "Not the same")
    until(lambda: "they are in clusters" in text(opened, "#message"))
    told = opened.execute_script("return told")
    assert told[0] == "marked as not the same"
    assert not any("both are in" in message for message in told)


def test_all_corrections_are_listed_and_can_be_taken_back(opened, http):
    for kind, a, b in (("together", "k0", "k6"), ("apart", "k1", "k7")):
        assert http.post("/v1/corrections", json={"kind": kind, "a": a, "b": b}).is_success
    until(lambda: "2 corrections" in text(opened, "#summary"))
    click(opened, "#corrections")
    until(lambda: find_all(opened, "#dialog #correction-list button"))
    listed = text(opened, "#correction-list").splitlines()
    assert [line.removesuffix("Take back").strip() for line in listed if "belong" in line] == [
        "k0 belongs with k6", "k1 does not belong with k7",
    ]  # fmt: skip
    find_all(opened, "#correction-list button")[0].click()
    until(lambda: len(http.get("/v1/corrections").json()["corrections"]) == 1)
    until(lambda: "1 correction" in text(opened, "#summary"))
    until(lambda: "k0" not in text(opened, "#correction-list"))
    click_text(opened, "#dialog", "Close")


def test_questions(looking, shared):
    press(looking, "q")
    until(lambda: find_all(looking, "#questions-view .pair .side"))
    assert len(find_all(looking, "#questions-view .pair .side")) == 2
    assert find_all(looking, "#questions-view mark")
    told = []
    for i in range(16):
        shown = until(lambda: [side.text for side in find_all(looking, "#questions-view .pair h3")])
        same = len({int(key[1:]) % 6 for key in shown}) == 1
        press(looking, "s" if i == 3 else "y" if same else "n")
        told.append((shown, None if i == 3 else same))
        until(lambda n=i + 1: text(looking, "#progress").strip().startswith(f"{n} answer"))
    assert len({tuple(sorted(keys)) for keys, _ in told}) == 16
    until(lambda: "estimated F1" in text(looking, "#estimate"))
    assert find_all(looking, "#estimate canvas")
    click_text(looking, "#estimate", "Show")  # the best clustering, as that is called
    until(lambda: find(looking, "#by").get_attribute("value") in ("k", "min_size"))
    last = told[-1][0]
    press(looking, "u")
    until(lambda: text(looking, "#progress").strip().startswith("15 answers"))
    until(lambda: [s.text for s in find_all(looking, "#questions-view .pair h3")] == last)
    kept = {frozenset(pair[:2]): pair[2] for pair in shared.service.collection.answers}
    assert kept[frozenset(last)] is None  # until it is answered again
    for keys, same in told[:-1]:
        assert kept[frozenset(keys)] is same


@pytest.mark.parametrize(("token", "writes"), [(READ, False), (WRITE, True)])
def test_a_token_is_asked_for_and_is_in_no_address(browser, tmp_path, token, writes):
    access = Access(write_token=WRITE, read_token=READ)
    with served(tmp_path / "people.perchdb", fill=fill, access=access) as http:
        browser.get_log("performance")
        browser.get(f"http://127.0.0.1:{http.port}/")
        until(lambda: find(browser, "#token").is_displayed())
        assert "records" not in text(browser, "#summary")
        press(browser, "wrong-token-of-some-length", Keys.ENTER)
        until(lambda: "does not know that token" in text(browser, "#dialog"))
        find(browser, "#token").send_keys(token, Keys.ENTER)
        until(lambda: state(browser, "ready") == "yes")
        until(lambda: state(browser, "live") == "on")
        settle(browser)
        assert text(browser, "#summary").endswith("live" if writes else "live, read only")
        search(browser, "k1")
        click(browser, "#pane-search input.pick")
        assert ("Remove" in text(browser, "#selection")) is writes
        events = [
            json.loads(entry["message"])["message"] for entry in browser.get_log("performance")
        ]
        sent = [
            e["params"]["request"] for e in events if e["method"] == "Network.requestWillBeSent"
        ]
        mine = [request["url"] for request in sent if str(http.port) in request["url"]]
        assert len(mine) > 10
        assert not any(token in url for url in mine)
        assert token not in browser.current_url
        assert browser.execute_script("return [sessionStorage.length, localStorage.length]") == [
            0,
            0,
        ]
        browser.get("about:blank")
    errors(browser)  # answers without a token are told there


def test_everything_comes_from_the_service(browser, shared):
    browser.get_log("performance")
    open_page(browser, f"http://127.0.0.1:{shared.port}/")
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [
        e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"
    ]
    own = [url for url in sent if not url.startswith(("about:", "data:", "blob:"))]
    assert own
    assert all(url.startswith(f"http://127.0.0.1:{shared.port}/") for url in own)
    policy = shared.get("/").headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    refused = browser.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.hacked = 1';"
        "document.body.append(s); return window.hacked ?? null"
    )
    assert refused is None
    assert any("script-src" in message for message in errors(browser))
    browser.get("about:blank")


def test_an_empty_collection_comes_to_life(browser, tmp_path):
    with served(tmp_path / "new.perchdb") as http:
        open_page(browser, f"http://127.0.0.1:{http.port}/")
        assert "no records yet" in text(browser, "#counted")
        add(http, ("a", [0, 0], "first"), ("b", [1, 0], "second"), ("c", [9, 9], "third"))
        until(lambda: "3 records" in text(browser, "#summary"))
        until(lambda: colours(browser) > 2)
        browser.get("about:blank")
    errors(browser)
