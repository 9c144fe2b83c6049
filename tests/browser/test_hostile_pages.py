"""Whatever texts, keys, classes and titles are: on a page they are text."""

import time

import numpy as np
import pytest
from browsing import (
    HOSTILE,
    choose,
    click,
    click_row,
    click_text,
    errors,
    find,
    find_all,
    open_page,
    press,
    rows,
    search,
    state,
    text,
    until,
)  # fmt: skip
from groups import KINDS, shown

from perchtree import ClusterTree

pytestmark = pytest.mark.jit

TITLES = [
    HOSTILE,
    "</title>" + HOSTILE,
    "x /*DATA*/ y",
    "<!--TITLE--> {{data}} {{script}} {{title}}",
    "<b>bold</b> & &lt;i&gt; \\u003c \\1 \"'`${1}",
]


def show(browser, path, **options):
    tree = ClusterTree(2, linkage="box", search="astar")
    tree.insert(np.random.default_rng(0).random((50, 2)))
    tree.to_html(path, **options)
    return open_page(browser, path)


@pytest.mark.parametrize("title", TITLES)
def test_titles_keys_texts_and_classes_are_text(browser, tmp_path, title):
    known = {"title": title, "texts": [title] * 50, "classes": [title[:40]] * 50}
    show(browser, tmp_path / "hostile.html", keys=[f"{title}{i}" for i in range(50)], **known)
    assert browser.title == title
    assert text(browser, "#title") == title
    click_row(browser, 0)
    until(lambda: title in text(browser, "#pane-details .exemplar"))
    assert text(browser, "#pane-details .bars .name") == title[:40]
    assert search(browser, title).startswith("50 records found")
    assert title in rows(browser, "search")[0]
    assert browser.execute_script("return window.hacked") is None
    assert len(find_all(browser, "script")) == 2
    assert find_all(browser, "img") == []
    assert errors(browser) == []


def test_characters_that_turn_text_around(browser, tmp_path):
    title = "photo\u202egpj.exe\u2067\x00\ud800"
    known = {"title": title, "texts": [title] * 49 + ["\u202e"], "classes": [title] * 50}
    show(browser, tmp_path / "turned.html", keys=[f"{title}{i}" for i in range(50)], **known)
    assert browser.title == "photogpj.exe"
    click_row(browser, 0)
    until(lambda: "photogpj.exe" in text(browser, "#pane-details"))
    everything = browser.execute_script("return document.body.innerText")
    assert not set(everything) & set("\u202e\u2067\x00\ud800")
    assert errors(browser) == []


def test_empty_texts(browser, tmp_path):
    texts = ["", " ", "b"] + [f"t{i}" for i in range(47)]
    show(browser, tmp_path / "empty.html", texts=texts)
    assert search(browser, "b").startswith("1 record found")
    assert search(browser, "0").startswith("10 records found")  # ids 0 to 40, and t0 to t40
    assert errors(browser) == []


def test_policy_stops_what_is_not_the_page(browser, tmp_path):
    """If markup got in after all, the browser would run and load none of it."""
    tree = ClusterTree(2, linkage="box", search="astar")
    tree.insert(np.random.default_rng(0).random((50, 2)))
    tree.to_html(tmp_path / "page.html")
    injected = (
        "<script>window.hacked = 'script'</script>"
        "<img src=x onerror=\"window.hacked = 'handler'\">"
        "<style>body { display: none !important }</style>"
        "<link rel=stylesheet href='more.css'><script src='more.js'></script><base href='/x/'>"
    )
    (tmp_path / "more.js").write_text("window.hacked = 'file'")
    (tmp_path / "more.css").write_text("header { display: none !important }")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.count("<header>") == 1
    (tmp_path / "open.html").write_text(page.replace("<header>", injected + "<header>"))
    open_page(browser, tmp_path / "open.html")
    assert browser.execute_script("return window.hacked") is None
    assert find_all(browser, "#title")[0].is_displayed()
    refused = errors(browser)
    for directive in ("script-src", "style-src", "base-uri", "img-src"):
        assert any(directive in message for message in refused), directive


TURNED = "photo\u202egpj.exe\u2067\u2028"
NAME = "<img src=x onerror=window.hacked=1> {{data}} *DATA* " + TURNED
"""Of a file: any of these but a slash."""


@pytest.mark.outer
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_shown_of_them_is_text(browser, tmp_path, kind):
    """In lists, tables, panels, dialogs, questions and events."""
    given = [*TITLES, TURNED]

    def hostile(collection):
        X = np.random.default_rng(0).random((60, 2))
        texts = [f"{given[i % len(given)]} {i}" for i in range(60)]
        collection.add(X, keys=[f"{t}!" for t in texts], texts=texts, classes=texts)
        collection.keep_clusters(distance=0.2)
        collection.together(f"{texts[0]}!", f"{texts[1]}!")

    with shown(kind, tmp_path, hostile, NAME) as page:
        open_page(browser, page)
        assert browser.title == text(browser, "#title") == NAME.replace(TURNED, "photogpj.exe")
        choose(browser, "#by", "k")
        click(browser, "#pane-clusters .cluster")
        until(lambda: find_all(browser, "#pane-details .row"))
        for title in (HOSTILE, "x /*DATA*/ y", TURNED):
            search(browser, f"{title} {given.index(title)}")
            shown_as = title.replace(TURNED, "photogpj.exe")
            until(lambda shown_as=shown_as: shown_as in rows(browser, "search")[0])
        search(browser, "img")
        time.sleep(0.5)  # until nothing more is looked for
        for box in find_all(browser, "#pane-search input.pick")[:2]:
            box.click()
        click_text(browser, "#selection", "Compare")
        until(lambda: find(browser, "#dialog").is_displayed())
        click_text(browser, "#dialog", "Close")
        if kind == "service":
            click(browser, "#corrections")
            until(lambda: find_all(browser, "#correction-list li"))
            click_text(browser, "#dialog", "Close")
            click_text(browser, "#selection", "Remove")
            click_text(browser, "#dialog", "Remove")
            until(lambda: "removed" in text(browser, "#events"))
            press(browser, "q")
            until(lambda: find_all(browser, "#questions-view .pair"))
        for table in ("clusters", "parts"):
            click(browser, "#view-table")
            click(browser, f"#table-{table}")
            until(lambda: find_all(browser, "#table-view td"))
            shown_now = browser.execute_script("return document.body.innerText")
            assert not set(shown_now) & set("\u202e\u2067")
        assert state(browser, "ready") == "yes"
        assert browser.execute_script("return window.hacked") is None
        assert find_all(browser, "img") == []
        assert errors(browser) == []
        browser.get("about:blank")
