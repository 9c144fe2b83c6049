"""What pages in files and live ones have in common: each of these tests looks at both."""

import csv
import io
import time

import numpy as np
import pytest
from browsing import (
    ROW,
    boundaries,
    choose,
    click,
    click_row,
    click_text,
    clusters,
    drawn,
    errors,
    find,
    find_all,
    open_page,
    press,
    search,
    settle,
    state,
    text,
    until,
)  # fmt: skip
from groups import KINDS, N, cut, saved, shown
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from perchtree import Collection
from perchtree.html.boxes import Boxes

pytestmark = [pytest.mark.outer, pytest.mark.jit]


@pytest.fixture(scope="module")
def groups(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("groups"))


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def address(kind, tmp_path_factory):
    """A page that tests only read."""
    with shown(kind, tmp_path_factory.mktemp(kind)) as made:
        yield made


@pytest.fixture
def opened(browser, address):
    open_page(browser, f"{address}#by=k&value=4")
    until(lambda: state(browser, "clusters") == "3")  # two of four are joined
    until(lambda: len(clusters(browser)) == 3)
    yield browser
    assert errors(browser) == []
    browser.get("about:blank")


def scrolls(element):
    style = element.value_of_css_property("overflow-y")
    return style in ("auto", "scroll") and element.is_displayed()


def test_boundaries_are_where_clusters_end(opened, groups, kind):
    with Collection.open(groups) as collection:
        labels = collection.corrected(collection.tree.cut(4)).labels
        boxes = Boxes(collection.tree.table)
        expected = boxes.runs(labels).starts / N
    found = np.array(boundaries(opened))
    for start in expected[1:]:
        assert np.abs(found - start).min() < 0.004, start
    inside = [place for place in found if np.abs(expected - place).min() > 0.01 and place < 0.99]
    assert inside == []
    choose(opened, "#colour", "classes" if kind == "file" else "heights")
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


def test_a_selection_is_copied(opened, kind):
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
    for action in ("Same", "Not the same", "Remove"):  # a file cannot be changed
        assert (action in text(opened, "#selection")) is (kind == "service"), action
    assert ("perch correct" in text(opened, "#selection")) is (kind == "file")
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
    settle(opened)
    find_all(opened, "#path button")[0].click()
    until(lambda: len(find_all(opened, "#path button")) == 1)


def test_everything_by_keyboard(opened):
    def focused(name):
        return opened.switch_to.active_element.get_attribute(name) or ""

    opened.execute_script("document.getElementById('tree').focus()")
    press(opened, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    first = until(lambda: state(opened, "chosen"))
    press(opened, Keys.ARROW_RIGHT)
    until(lambda: state(opened, "chosen") != first)
    press(opened, Keys.ENTER)
    until(lambda: state(opened, "focus") == state(opened, "chosen"))
    box = state(opened, "focus")
    press(opened, Keys.ESCAPE)
    until(lambda: state(opened, "focus") != box)
    press(opened, Keys.HOME)
    until(lambda: len(find_all(opened, "#path button")) == 1)
    press(opened, "t")
    until(lambda: state(opened, "view") == "table")
    press(opened, "p", "c")
    assert focused("id") == "filter"
    press(opened, Keys.TAB, Keys.TAB, Keys.TAB)  # past both sizes, to the list
    until(lambda: focused("class") == "cluster")
    press(opened, Keys.ARROW_DOWN, Keys.ENTER)
    until(lambda: text(opened, "#pane-details h2").startswith("Cluster"))
    press(opened, Keys.ESCAPE, "/")
    until(lambda: focused("id") == "search")
    press(opened, "k12", Keys.ENTER)
    until(lambda: "record" in focused("class"))
    with_shift = ActionChains(opened).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT)
    with_shift.send_keys(Keys.SPACE).perform()
    until(lambda: text(opened, "#selection").startswith("1 record selected"))
    press(opened, "?")
    until(lambda: "Keys and help" in text(opened, "#dialog"))
    press(opened, Keys.ESCAPE)
    until(lambda: not find(opened, "#dialog").is_displayed())
    press(opened, "q")
    until(lambda: state(opened, "view") == "questions")


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
    with drawn(opened) as told:
        click_row(opened, 2)
        until(lambda: len(find_all(opened, "#path button")) > 1)
        time.sleep(0.5)
        places = told("rows")
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    pictures = []  # the second row of each: before, after, and with what was fetched then
    for left, top, width, height in places:
        if (left, top) == (0, 0) and height > ROW:
            pictures.append([])
        elif top == ROW and height == ROW - 1:
            pictures[-1].append((left, width))
    assert 1 < len({tuple(picture) for picture in pictures}) <= 3
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


def named(label, least, most):
    """Whether a box of so many records, that is no cluster of its own, has a name."""
    size, _, name = label.partition("  ")
    return bool(name) and size.isdecimal() and least <= int(size) <= most


def test_large_parts_show_an_exemplar_and_small_ones_keywords(opened):
    with drawn(opened) as told:
        opened.execute_script("document.getElementById('tree').focus()")
        press(opened, "+", "+", "+")  # then small ones have room for names
        until(lambda: any(label.startswith("300  e.g. word") for label in told("texts")))
        until(lambda: any(named(label, 4, 24) for label in told("texts")))
        labels = told("texts")
    assert not any("e.g." in label for label in labels if named(label, 4, 24))


def test_a_part_of_several_clusters(opened):
    click_row(opened, 0)
    until(lambda: text(opened, "#pane-details h2") == "All records")
    panel = text(opened, "#pane-details")
    for part in ("300", "100 %", "Exemplar", "Classes", "several clusters"):
        assert part in panel, part
    opened.execute_script("document.querySelector('#pane-details').scrollTop = 1e6")
    until(lambda: find_all(opened, "#pane-details .row[data-place='299']"))


def test_what_is_found_is_exported(opened, downloads):
    assert search(opened, "word3").startswith("50 records found")
    click_text(opened, "#pane-search", "Download CSV")
    path = downloads / "found.csv"
    until(path.exists)
    told = list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
    assert sorted(row["key"] for row in told) == sorted(f"k{i}" for i in range(150, 200))
    path.unlink()


def test_an_address_leads_to_the_same_cluster(opened, browser):
    click(opened, "#pane-clusters .cluster")
    until(lambda: "cluster=" in opened.current_url)
    address, title = opened.current_url, text(opened, "#pane-details h2")
    assert not any(secret in address for secret in ("word", "k0", "class"))
    open_page(browser, address)
    until(lambda: text(browser, "#pane-details h2") == title)


def test_chains_of_one_name_are_folded(browser, kind, tmp_path):
    """A chain of 64 merges takes a few rows, and the path shows a name once."""

    def chain(collection):
        rows = np.concatenate([np.arange(64) ** 2, 10**6 + np.arange(64)])[:, np.newaxis]
        collection.add(rows, texts=[f"{word} {i}" for word in ("tea", "hat") for i in range(64)])

    with Collection(search="astar") as collection:
        chain(collection)
        assert Boxes(collection.tree.table).levels.max() <= 7
    with shown(kind, tmp_path, chain) as page:
        open_page(browser, page)
        browser.execute_script("document.getElementById('tree').focus()")
        press(browser, *[Keys.ARROW_DOWN] * 4, Keys.ENTER)
        until(lambda: len(find_all(browser, "#path button")) > 1)
        settle(browser)
        names = [button.text for button in find_all(browser, "#path button")]
        assert len(names) == len(set(names))
        assert errors(browser) == []
        browser.get("about:blank")


def test_many_classes_are_added_up(browser, kind, tmp_path):
    def classes(collection):
        X = np.random.default_rng(0).random((200, 2))
        collection.add(X, classes=[f"class {i % 150}" for i in range(200)])

    with shown(kind, tmp_path, classes) as page:
        open_page(browser, page)
        click_row(browser, 0)
        until(lambda: "144 other classes" in text(browser, "#pane-details"))
        assert len(find_all(browser, "#pane-details .bars li")) == 7
        assert errors(browser) == []
        browser.get("about:blank")
