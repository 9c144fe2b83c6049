"""The explorer of a page in a file."""

import csv
import functools
import http.server
import io
import threading

import numpy as np
import pytest
from browsing import (
    boundaries,
    choose,
    click,
    click_row,
    click_text,
    clusters,
    colours,
    drawn,
    errors,
    find,
    find_all,
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
from commands import Command
from selenium.webdriver.common.keys import Keys

from perchtree import ClusterTree, Collection
from perchtree.html.boxes import Boxes

pytestmark = pytest.mark.jit

N = 300
run = Command()


@pytest.fixture(scope="module")
def groups(tmp_path_factory):
    """Six groups of fifty, in a file; two records of different groups are said to be the same."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(0, 10, (6, 4)), 50, axis=0) + rng.normal(0, 1, (N, 4))
    path = tmp_path_factory.mktemp("page") / "groups.perch"
    with Collection(search="astar") as collection:
        collection.add(
            X, keys=[f"k{i}" for i in range(N)], classes=[f"class {i // 50}" for i in range(N)],
            texts=[f"word{i // 50} number {i}" for i in range(N)],
        )  # fmt: skip
        collection.together("k0", "k299")
        collection.save(path)
    return path


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


def scrolls(element):
    style = element.value_of_css_property("overflow-y")
    return style in ("auto", "scroll") and element.is_displayed()


def cut(path, *options):
    """Number and size of the clusters that `perch cut` writes, the largest first, and members."""
    table = list(
        csv.DictReader(io.StringIO(run("cut", path, *options, "-o", "-", "--no-remember").stdout))
    )
    members = {}
    for row in table:
        members.setdefault(int(row["cluster"]), []).append(row["id"])
    sizes = sorted(
        ((number, len(ids)) for number, ids in members.items()), key=lambda c: (-c[1], c[0])
    )
    return sizes, members


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


def test_boundaries_are_where_clusters_end(opened, groups):
    with Collection.open(groups) as collection:
        labels = collection.corrected(collection.tree.cut(4)).labels
        boxes = Boxes(collection.tree.table)
        expected = boxes.runs(labels).starts / N
    found = np.array(boundaries(opened))
    for start in expected[1:]:
        assert np.abs(found - start).min() < 0.004, start
    inside = [place for place in found if np.abs(expected - place).min() > 0.01 and place < 0.99]
    assert inside == []
    choose(opened, "#colour", "classes")
    settle(opened)
    assert len(boundaries(opened)) >= len(expected) - 1  # whatever the colours


def test_the_list_is_sorted_and_filtered(opened, groups):
    expected, members = cut(groups, "-k", 4)
    choose(opened, "#sort", "small")
    until(lambda: clusters(opened) == sorted(expected, key=lambda c: (c[1], c[0])))
    choose(opened, "#sort", "number")
    until(lambda: clusters(opened) == sorted(expected))
    find(opened, "#filter").send_keys("word2")
    holders = {
        number for number, ids in members.items() if {f"k{i}" for i in range(100, 150)} & {*ids}
    }
    until(lambda: {number for number, _ in clusters(opened)} == holders)
    assert f"{len(holders)} of 3 clusters" in text(opened, "#listed")


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


def test_the_panel_of_a_cluster(opened, groups, downloads):
    click(opened, "#pane-clusters .cluster")
    until(lambda: "Members" in text(opened, "#pane-details"))
    settle(opened)
    panel = text(opened, "#pane-details")
    (number, size), *_ = cut(groups, "-k", 4)[0]
    for part in (f"Cluster {number}", "Keywords", "Exemplar", "Classes", "confidence", str(size)):
        assert part in panel, part
    assert "belongs with" in panel
    drawn = find_all(opened, "#pane-details .row")
    assert 4 < len(drawn) < 40 < size  # only what can be seen
    scrollers = [e for e in find_all(opened, "#pane-details, #pane-details *") if scrolls(e)]
    assert [e.get_attribute("id") for e in scrollers] == ["pane-details"]  # all of it is one
    opened.execute_script("document.querySelector('#pane-details').scrollTop = 1e6")
    until(lambda: find_all(opened, f"#pane-details .row[data-place='{size - 1}']"))
    click_text(opened, "#pane-details", "Download CSV")
    path = downloads / f"cluster-{number}.csv"
    until(path.exists)
    told = list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
    _, members = cut(groups, "-k", 4)
    assert sorted(row["key"] for row in told) == sorted(members[number])
    assert {row["cluster"] for row in told} == {str(number)}
    path.unlink()


def test_clusters_as_a_table(opened, groups, downloads):
    choose(opened, "#by", "k")
    opened.execute_script(
        "const s = document.getElementById('step'); s.value = s.max;"
        "s.dispatchEvent(new Event('input'))"
    )
    until(lambda: int(state(opened, "clusters")) > 90)  # one less: two are joined
    click(opened, "#view-table")
    expected, members = cut(groups, "-k", find(opened, "#exact").get_attribute("value"))

    def told():
        cells = opened.execute_script(
            "return [...document.querySelectorAll('#table-view tbody tr')]"
            ".map(r => [...r.children].map(c => c.innerText))"
        )
        return [(int(row[0][1:]), int(row[1])) for row in cells]

    until(lambda: told() == expected[:50])
    head = [cell.text for cell in find_all(opened, "#table-view thead th")]
    assert head == ["Cluster", "Records ▾", "Confidence", "Keywords", "A typical record"]
    assert f"1 to 50 of {len(expected)} clusters" in text(opened, "#table-view caption")
    click(opened, "#table-after")
    until(lambda: told() == expected[50:100])
    click(opened, "#sort-size")
    until(lambda: told() == sorted(expected, key=lambda c: (c[1], c[0]))[:50])
    assert find(opened, "#sort").get_attribute("value") == "small"  # the list follows
    sorting = find(opened, "#sort-size").find_element("xpath", "..")
    assert sorting.get_attribute("aria-sort") == "ascending"
    find(opened, "#filter").send_keys("word2")
    holders = {n for n, ids in members.items() if {f"k{i}" for i in range(100, 150)} & {*ids}}
    until(lambda: {number for number, _ in told()} == holders)
    click(opened, "#table-download")
    path = downloads / "clusters.csv"
    until(path.exists)
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
    assert {(int(row["cluster"]), int(row["records"])) for row in rows} == {
        cluster for cluster in expected if cluster[0] in holders
    }
    assert all(row["exemplar_text"].startswith("word2") for row in rows)
    path.unlink()
    find_all(opened, "#table-view tbody .chip")[0].click()
    until(lambda: text(opened, "#pane-details h2").startswith("Cluster"))
    assert find(opened, "#picture").is_displayed()


def test_one_cluster_after_the_other(opened, groups):
    expected, _ = cut(groups, "-k", 4)
    click(opened, "#pane-clusters .cluster")
    for place, (number, _) in enumerate(expected):
        until(lambda number=number: text(opened, "#pane-details h2") == f"Cluster {number}")
        until(lambda place=place: f"{place + 1} of {len(expected)}" in text(opened, ".walk"))
        if place + 1 < len(expected):
            click(opened, "#walk-on")
    assert not find(opened, "#walk-on").is_enabled()


def test_the_path_leads_back_from_a_cluster(opened):
    choose(opened, "#by", "threshold")
    settle(opened)
    click(opened, "#pane-clusters .cluster")
    until(lambda: len(find_all(opened, "#path button")) > 1)
    find_all(opened, "#path button")[0].click()
    until(lambda: len(find_all(opened, "#path button")) == 1)
    canvas = find(opened, "#tree")
    for _ in range(12):  # closer by hand: the path tells where that is
        opened.execute_script(
            "const c = arguments[0], b = c.getBoundingClientRect(); c.dispatchEvent(new WheelEvent("
            "'wheel', {deltaY: -240, clientX: b.left + 9, clientY: b.top + 9, cancelable: true}))",
            canvas,
        )
    until(lambda: len(find_all(opened, "#path button")) > 1)


def test_a_selection_is_copied(opened):
    opened.execute_cdp_cmd(
        "Browser.grantPermissions",
        {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
    )
    click(opened, "#pane-clusters .cluster")
    until(lambda: len(find_all(opened, "#pane-details input.pick")) > 2)
    settle(opened)
    for box in find_all(opened, "#pane-details input.pick")[:2]:
        box.click()
    assert text(opened, "#selection").startswith("2 records selected")
    assert "Remove" not in text(opened, "#selection")  # a file cannot be changed
    click_text(opened, "#selection", "Copy as CSV")
    until(lambda: "2 records copied" in text(opened, "#message"))
    copied = opened.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0], e => arguments[0](String(e)))"
    )
    lines = list(csv.DictReader(io.StringIO(copied)))
    assert len(lines) == 2
    assert all(line["key"].startswith("k") for line in lines)
    click_text(opened, "#selection", "Compare")
    assert len(find_all(opened, "#dialog mark")) >= 1
    press(opened, Keys.ESCAPE)
    click_text(opened, "#selection", "Clear")
    assert not find(opened, "#selection").is_displayed()


def test_a_click_goes_down_and_back_returns(opened):
    click_row(opened, 2)
    until(lambda: state(opened, "focus") and len(find_all(opened, "#path button")) > 1)
    focus = state(opened, "focus")
    settle(opened)
    opened.back()
    until(lambda: state(opened, "focus") != focus)
    opened.forward()
    until(lambda: state(opened, "focus") == focus)
    find_all(opened, "#path button")[0].click()
    until(lambda: len(find_all(opened, "#path button")) == 1)


def test_everything_by_keyboard(opened):
    opened.execute_script("document.getElementById('tree').focus()")
    press(opened, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    first = until(lambda: state(opened, "chosen"))
    press(opened, Keys.ARROW_RIGHT)
    until(lambda: state(opened, "chosen") != first)
    press(opened, Keys.ENTER)
    until(lambda: state(opened, "focus") == state(opened, "chosen"))
    press(opened, Keys.ESCAPE)
    until(lambda: state(opened, "focus") != state(opened, "chosen") or True)
    press(opened, "t")
    until(lambda: state(opened, "view") == "table")
    press(opened, "p", "c")
    assert opened.switch_to.active_element.get_attribute("id") == "filter"
    press(opened, Keys.TAB, Keys.TAB, Keys.TAB)  # past both sizes, to the list
    until(lambda: opened.switch_to.active_element.get_attribute("class") == "cluster")
    press(opened, Keys.ARROW_DOWN, Keys.ENTER)
    until(lambda: text(opened, "#pane-details h2").startswith("Cluster"))
    press(opened, Keys.ESCAPE, "/")
    until(lambda: opened.switch_to.active_element.get_attribute("id") == "search")
    press(opened, "k12", Keys.ENTER)
    until(lambda: "record" in (opened.switch_to.active_element.get_attribute("class") or ""))


def test_the_table_says_what_the_picture_shows(opened):
    click(opened, "#view-table")
    click(opened, "#table-parts")
    until(lambda: "the whole tree" in text(opened, "#table-view caption"))
    head = [cell.text for cell in find_all(opened, "#table-view thead th")]
    assert head == ["Part", "Records", "Share", "Height", "Cluster"]
    sizes = [int(cell.text) for cell in find_all(opened, "#table-view tbody td:nth-child(2)")]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) <= N
    find_all(opened, "#table-view tbody th button")[0].click()
    until(lambda: "level 1" in text(opened, "#table-view caption"))
    click_text(opened, "#table-view", "Up one level")
    until(lambda: "the whole tree" in text(opened, "#table-view caption"))


def test_light_dark_phone_and_calm(opened):
    backs = []
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        settle(opened)
        backs.append(
            opened.execute_script("return getComputedStyle(document.body).backgroundColor")
        )
        context = "document.getElementById('tree').getContext('2d')"
        pixel = opened.execute_script(f"return [...{context}.getImageData(9, 500, 1, 1).data]")
        backs.append(tuple(pixel))
    assert len(set(backs)) == 4
    calm = {"name": "prefers-reduced-motion", "value": "reduce"}
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [calm]})
    before = opened.execute_script("return document.getElementById('tree').toDataURL().length")
    click_row(opened, 2)
    opened.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert (
        opened.execute_script("return document.getElementById('tree').toDataURL().length") != before
    )
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    phone = {"width": 390, "height": 780, "deviceScaleFactor": 2, "mobile": True}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        settle(opened)
        wide = opened.execute_script("return document.documentElement.scrollWidth")
        assert wide <= 390
        for part in ("#tree", "#search", "#by", "#tabs", "#views"):
            assert find(opened, part).is_displayed(), part
        assert find(opened, "#tree").size["height"] > 150
    finally:
        opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


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


def test_chains_of_one_name_are_folded(browser, tmp_path):
    """A chain of 64 merges takes a few rows, and the path shows a name once."""
    tree = ClusterTree(1)
    tree.insert(np.concatenate([np.arange(64) ** 2, 10**6 + np.arange(64)])[:, np.newaxis])
    texts = [*[f"tea {i}" for i in range(64)], *[f"hat {i}" for i in range(64)]]
    path = tmp_path / "chains.html"
    tree.to_html(path, texts)
    boxes = Boxes(tree.table)
    assert boxes.levels.max() <= 7
    open_page(browser, path)
    browser.execute_script("document.getElementById('tree').focus()")
    press(browser, *[Keys.ARROW_DOWN] * 4, Keys.ENTER)
    until(lambda: len(find_all(browser, "#path button")) > 1)
    settle(browser)
    names = [button.text for button in find_all(browser, "#path button")]
    assert len(names) == len(set(names))
    assert errors(browser) == []


def test_many_classes_are_not_noise(browser, tmp_path):
    """Ten classes have colours, all others are grey; the panel adds them up."""
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
    click_row(browser, 0)
    until(lambda: "other classes" in text(browser, "#pane-details"))
    assert len(find_all(browser, "#pane-details .bars li")) == 7
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
