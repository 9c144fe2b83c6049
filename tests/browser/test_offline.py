"""The explorer of a page in a file."""

import functools
import http.server
import threading

import numpy as np
import pytest
from browsing import (
    choose,
    click,
    clusters,
    colours,
    drawn,
    errors,
    find,
    hue_of,
    open_page,
    press,
    rows,
    search,
    settle,
    state,
    text,
    until,
)
from groups import N, cut, run, saved
from selenium.webdriver.common.keys import Keys

from perchtree import ClusterTree, Collection

pytestmark = pytest.mark.jit


@pytest.fixture(scope="module")
def groups(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def page(groups):
    path = groups.with_suffix(".html")
    run("plot", groups, "-o", path, "-k", 4, "--distance", 5.5)
    return path


@pytest.fixture
def opened(browser, page):
    open_page(browser, page)
    yield browser
    assert errors(browser) == []


def test_it_shows_the_clusters_that_were_asked_for(opened, groups):
    assert opened.title == "groups"
    assert "300 records" in text(opened, "#summary")
    assert "1 correction" in text(opened, "#summary")
    assert colours(opened) > 5
    assert (state(opened, "clusters"), text(opened, "#counted")) == (
        "3",
        "3 clusters",
    )  # two joined
    assert clusters(opened) == cut(groups, "-k", 4)[0]


OPTIONS = {"k": "-k", "threshold": "--distance", "min_size": "--min-size"}


def test_numbers_are_those_of_perch_cut(opened, groups):
    """For every clustering that the page offers."""
    offered = opened.execute_script(
        "return [...document.getElementById('by').options].map(o => o.value)"
    )
    assert sorted(offered) == ["k", "min_size", "suggested", "threshold"]
    seen = 0
    for by in offered:
        choose(opened, "#by", by)
        steps = range(int(find(opened, "#step").get_attribute("max")) + 1) if by in OPTIONS else [0]
        for step in steps:
            if by in OPTIONS:
                opened.execute_script(
                    "const s = document.getElementById('step'); s.value = arguments[0];"
                    "s.dispatchEvent(new Event('input'))", step,
                )  # fmt: skip
                until(lambda step=step: find(opened, "#step").get_attribute("value") == str(step))
                settle(opened)
                value = find(opened, "#exact").get_attribute("value")
            expected = cut(groups, *([OPTIONS[by], value] if by in OPTIONS else []))[0]
            until(lambda expected=expected: state(opened, "clusters") == str(len(expected)))
            until(lambda expected=expected: clusters(opened) == expected[: len(clusters(opened))])
            assert len(clusters(opened)) >= min(len(expected), 8)
            seen += 1
    assert seen > 12


def test_every_record_is_found_by_text_and_key(opened, groups):
    _, members = cut(groups, "-k", 4)
    number_of = {key: number for number, keys in members.items() for key in keys}
    for i in (0, 57, 123, 299):
        for query in (f"word{i // 50} number {i}", f"k{i}"):
            assert "found" in search(opened, query)
            first = rows(opened, "search")[0]
            assert first.split("\n")[:2] == [
                f"word{i // 50} number {i}", first.split("\n")[1]
            ], (query, first)  # fmt: skip
            assert f"k{i}" in first
            assert f"#{number_of[f'k{i}']}" in first
    assert search(opened, "word3").startswith("50 records found")
    assert search(opened, "nothing like it") == "No record found among all 300"
    press(opened, Keys.ESCAPE)


def test_a_hit_leads_to_its_cluster(opened, groups):
    search(opened, "k123")
    click(opened, "#pane-search .chip")
    until(lambda: state(opened, "pane") == "details")
    _, members = cut(groups, "-k", 4)
    number = next(n for n, keys in members.items() if "k123" in keys)
    until(lambda: text(opened, "#pane-details h2") == f"Cluster {number}")


def test_records_that_do_not_fit_are_told(browser, groups, tmp_path):
    path = tmp_path / "small.html"
    with Collection.open(groups) as collection:
        rng = np.random.default_rng(0)
        letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
        texts = [f"n{i} " + "".join(rng.choice(letters, 900)) for i in range(N)]
        collection.tree.to_html(path, texts, megabytes=0.22)
    assert path.stat().st_size <= 220_000
    open_page(browser, path)
    told = search(browser, "no such record")
    n = int(told.split("searching ")[1].split(" ")[0])
    assert 50 < n < N
    assert told == f"No record found, searching {n} of 300 records: the others are not in this page"
    assert f"texts of {n} in this page" in text(browser, "#summary")
    assert search(browser, "n0").startswith("1 record found, searching")
    assert errors(browser) == []


def test_many_classes_are_not_noise(browser, tmp_path):
    """Ten classes have colours, all others are grey."""
    tree = ClusterTree(2, search="astar")
    tree.insert(np.random.default_rng(0).random((200, 2)))
    path = tmp_path / "classes.html"
    tree.to_html(path, classes=[f"class {i % 150}" for i in range(200)])
    open_page(browser, path)
    choose(browser, "#colour", "classes")
    settle(browser)
    with drawn(browser) as fills:
        browser.execute_script("document.getElementById('tree').focus()")
        press(browser, "+")
        settle(browser)
    hues = {hue for hue in map(hue_of, fills("fillStyle")) if hue is not None}
    places = [(hue - 10) / 36 for hue in hues]  # of the ten colours
    assert len({round(place) for place in places}) >= 3
    assert max(abs(place - round(place)) for place in places) < 0.2
    assert errors(browser) == []


def test_nothing_but_the_page_is_asked_for(browser, page):
    """Served by a web server, too, the page works; it asks for nothing more."""
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_request(self, *args):
            asked.append(self.path)

    handler = functools.partial(Handler, directory=page.parent)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        open_page(browser, f"http://127.0.0.1:{server.server_port}/{page.name}")
        assert colours(browser) > 5
        assert errors(browser) == []
        fetched = browser.execute_script(
            "return fetch('/more').then(() => 'sent', () => 'refused')"
        )
        server.shutdown()
    assert fetched == "refused"
    assert asked == [f"/{page.name}"]


def test_a_file_says_where_questions_are_answered(opened):
    press(opened, "q")
    until(lambda: "perch serve" in text(opened, "#questions-view"))
