"""The explorer by the rules of axe-core, in all its states, light and dark, wide and narrow."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from browsing import click, click_text, find_all, open_page, press, search, settle, text, until
from serving import served

from perchtree import Collection

pytestmark = [pytest.mark.outer, pytest.mark.jit]

AXE = Path(os.environ.get("PERCHTREE_AXE", Path(sys.prefix, "axe")))
SCRIPT = AXE / "node_modules" / "axe-core" / "axe.min.js"


def fill(collection):
    rng = np.random.default_rng(0)
    rows = rng.normal(0, 8, (6, 3))[np.arange(120) % 6] + rng.normal(0, 0.3, (120, 3))
    collection.add(
        rows, keys=[f"k{i}" for i in range(120)], classes=[i % 6 for i in range(120)],
        texts=[f"word{i % 6} record {i}" for i in range(120)],
    )  # fmt: skip


@pytest.fixture
def serious(browser):
    """Finds serious and critical faults of what is shown."""
    if not SCRIPT.exists():
        pytest.skip(f"NO AXE: ACCESSIBILITY IS NOT TESTED; npm install --prefix {AXE} axe-core")
    source = SCRIPT.read_text("utf-8")

    def faults():
        settle(browser)
        if not browser.execute_script("return typeof axe !== 'undefined'"):
            browser.execute_script(source)
        found = browser.execute_async_script(
            "axe.run(document, {resultTypes: ['violations']}).then(r => arguments[0](r.violations))"
        )
        return [
            (fault["id"], fault["impact"], [node["html"][:200] for node in fault["nodes"]][:3])
            for fault in found
            if fault["impact"] in ("serious", "critical")
        ]

    yield faults
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.get("about:blank")


def dark(browser):
    feature = {"name": "prefers-color-scheme", "value": "dark"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def phone(browser):
    size = {"width": 390, "height": 780, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def test_a_page_in_a_file(browser, tmp_path, serious):
    with Collection(search="astar") as collection:
        fill(collection)
        collection.tree.to_html(tmp_path / "page.html", collection.texts, collection.classes)
    open_page(browser, tmp_path / "page.html")
    assert serious() == []
    search(browser, "word3")
    assert serious() == []
    click(browser, "#pane-search input.pick")
    click(browser, "#tab-clusters")
    click(browser, "#pane-clusters .cluster")
    until(lambda: find_all(browser, "#pane-details .row"))
    dark(browser)
    assert serious() == []
    click(browser, "#view-table")
    until(lambda: find_all(browser, "#table-view td"))
    phone(browser)
    assert serious() == []


def test_a_live_page(browser, tmp_path, serious):
    def kept(collection):
        fill(collection)
        collection.keep_clusters(distance=3.0)

    with served(tmp_path / "people.perchdb", fill=kept) as http:
        open_page(browser, f"http://127.0.0.1:{http.port}/")
        http.post("/v1/points", json=[{"key": "a", "vector": [70, 70, 70], "text": "new"}])
        until(lambda: "121 records" in text(browser, "#summary"))
        click(browser, "#tab-events")
        until(lambda: "New cluster" in text(browser, "#events"))
        assert serious() == []
        press(browser, "q")
        until(lambda: find_all(browser, "#questions-view .pair"))
        dark(browser)
        assert serious() == []
        search(browser, "k1")
        click(browser, "#pane-search input.pick")
        click_text(browser, "#selection", "Remove")
        until(lambda: "cannot be undone" in text(browser, "#dialog"))
        assert serious() == []
        browser.get("about:blank")
