"""The page in a real browser: Debian's Chromium, without a window."""

import functools
import http.server
import shutil
import threading

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from gapped import GappedTree
from perchtree import ClusterTree

HOSTILE = "</script><script>window.hacked = true</script><img src=x onerror='window.hacked = true'>"
TITLES = [
    HOSTILE,
    "</title>" + HOSTILE,
    "x /*DATA*/ y",
    "<!--TITLE--> {{data}} {{script}} {{title}}",
    "<b>bold</b> & &lt;i&gt; \\u003c \\1 \"'`${1}",
]


@pytest.fixture(scope="module")
def browser():
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("NO BROWSER: THE PAGE IS NOT TESTED; apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (
        "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync",
        "disable-background-networking", "disable-component-update", "disable-dev-shm-usage",
        "window-size=1200,800",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield started
    started.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 10, (6, 4))
    X = np.repeat(centres, 50, axis=0) + rng.normal(0, 1, (300, 4))
    texts = [f"text of group{i // 50} number {i}" for i in range(300)]
    texts[7] = HOSTILE
    tree = ClusterTree(4, linkage="average")
    tree.insert(X)
    path = tmp_path_factory.mktemp("page") / "tree.html"
    tree.to_html(path, texts, [f"class {i // 50}" for i in range(300)], title="<b>A tree</b>")
    assert path.stat().st_size < 2_000_000
    return path


@pytest.fixture
def opened(browser, page):
    wait_for(browser, f"file://{page}")
    yield browser
    assert browser.get_log("browser") == []


def wait_for(browser, address):
    browser.get_log("browser")  # forget what other pages have said
    browser.get(address)
    WebDriverWait(browser, 20).until(lambda b: state(b, "ready") == "yes")


def state(browser, name):
    return browser.execute_script(f"return document.body.dataset.{name}")


def colours(browser):
    """How many different colours are on the canvas."""
    return browser.execute_script(
        "const c = document.getElementById('tree');"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "const seen = new Set();"
        "for (let i = 0; i < d.length; i += 400) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);"
        "return seen.size"
    )


def click_row(browser, row):
    canvas = browser.find_element(By.ID, "tree")
    up = canvas.size["height"] // 2 - (30 * row + 15)
    right = canvas.size["width"] // 4
    ActionChains(browser).move_to_element_with_offset(canvas, -right, -up).click().perform()


def press(browser, *keys):
    for key in keys:
        ActionChains(browser).send_keys(key).perform()


@pytest.mark.jit
class TestPage:
    def test_it_draws(self, opened):
        assert opened.title == "<b>A tree</b>"
        assert colours(opened) > 5
        assert "300 points, 599 nodes" in opened.find_element(By.ID, "summary").text
        panel = opened.find_element(By.ID, "panel").text
        assert "all points" in panel
        assert "class 0" in panel

    def test_a_click_goes_down_and_back_returns(self, opened):
        click_row(opened, 2)
        WebDriverWait(opened, 5).until(lambda b: state(b, "focus") != "0")
        focus = state(opened, "focus")
        assert len(opened.find_elements(By.CSS_SELECTOR, "nav button")) == 3
        opened.back()
        WebDriverWait(opened, 5).until(lambda b: state(b, "focus") == "0")
        opened.forward()
        WebDriverWait(opened, 5).until(lambda b: state(b, "focus") == focus)
        opened.find_elements(By.CSS_SELECTOR, "nav button")[0].click()
        assert state(opened, "focus") == "0"

    def test_keys(self, opened):
        opened.find_element(By.ID, "tree").click()
        press(opened, Keys.HOME, Keys.ARROW_DOWN)
        first = state(opened, "chosen")
        press(opened, Keys.ARROW_RIGHT)
        assert state(opened, "chosen") not in (first, "0")
        press(opened, Keys.ENTER)
        assert state(opened, "focus") == state(opened, "chosen")
        press(opened, Keys.ESCAPE)
        assert state(opened, "focus") == "0"

    def test_search(self, opened):
        press(opened, "/")
        press(opened, "group3")
        assert opened.find_element(By.ID, "found").text == "50 points found"
        press(opened, Keys.ENTER)
        assert "group3" in opened.find_element(By.ID, "panel").text
        press(opened, Keys.ESCAPE)
        assert opened.find_element(By.ID, "found").text == ""

    def test_hostile_text_stays_text(self, opened):
        press(opened, "/")
        press(opened, "onerror")
        press(opened, Keys.ENTER)
        panel = opened.find_element(By.ID, "panel")
        assert HOSTILE in panel.text
        assert opened.execute_script("return window.hacked") is None
        assert panel.find_elements(By.TAG_NAME, "img") == []

    def test_light_and_dark(self, opened):
        backs = []
        for scheme in ("light", "dark"):
            feature = {"name": "prefers-color-scheme", "value": scheme}
            opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            style = "return getComputedStyle(document.body).backgroundColor"
            backs.append(opened.execute_script(style))
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        assert backs[0] != backs[1]

    def test_id_of_a_point(self, opened):
        press(opened, "/")
        press(opened, "number 123")
        press(opened, Keys.ENTER)
        assert "id\n123" in opened.find_element(By.ID, "panel").text


@pytest.mark.jit
class TestOtherPages:
    def show(self, browser, path, kind=ClusterTree, n_points=50, **options):
        tree = kind(2, linkage="box")
        tree.insert(np.random.default_rng(0).random((n_points, 2)))
        tree.to_html(path, **options)
        wait_for(browser, f"file://{path}")

    def test_without_texts_and_classes(self, browser, tmp_path):
        self.show(browser, tmp_path / "bare.html", branches=10)
        assert "50 points, 19 nodes" in browser.find_element(By.ID, "summary").text
        assert browser.get_log("browser") == []

    @pytest.mark.parametrize("title", TITLES)
    def test_titles_texts_and_classes_are_text(self, browser, tmp_path, title):
        known = {"title": title, "texts": [title] * 50, "classes": [title[:40]] * 50}
        self.show(browser, tmp_path / "hostile.html", **known)
        assert browser.title == title
        assert browser.find_element(By.ID, "title").text == title
        panel = browser.find_element(By.ID, "panel")
        assert [item.text for item in panel.find_elements(By.TAG_NAME, "bdi")] == [title] * 12
        assert panel.find_element(By.CSS_SELECTOR, ".bar span").text == title[:40]
        assert browser.execute_script("return window.hacked") is None
        assert len(browser.find_elements(By.TAG_NAME, "script")) == 2
        assert browser.find_elements(By.TAG_NAME, "img") == []
        assert browser.get_log("browser") == []

    def test_characters_that_turn_text_around(self, browser, tmp_path):
        title = "photo\u202egpj.exe\u2067\x00\ud800"
        known = {"title": title, "texts": [title] * 49 + ["\u202e"], "classes": [title] * 50}
        self.show(browser, tmp_path / "turned.html", **known)
        assert browser.title == "photogpj.exe"
        everything = browser.execute_script("return document.documentElement.textContent")
        assert not set(everything) & set("\u202e\u2067\x00\ud800")
        assert browser.get_log("browser") == []

    def test_a_count_stays_after_text_from_right_to_left(self, browser, tmp_path):
        known = {"texts": ["\u05e9\u05dc\u05d5\u05dd"] * 50, "branches": 2}
        self.show(browser, tmp_path / "hebrew.html", **known)
        text, count = browser.execute_script(
            "return [...document.querySelector('#panel ul:last-child li').childNodes].map(node => {"
            "const range = document.createRange(); range.selectNodeContents(node);"
            "return range.getBoundingClientRect().left })"
        )
        assert text < count

    def test_empty_texts(self, browser, tmp_path):
        self.show(browser, tmp_path / "empty.html", n_points=3, texts=["", "b", " "])
        items = browser.find_elements(By.CSS_SELECTOR, "#panel bdi")
        assert sorted(item.text for item in items) == ["b", "point 0", "point 2"]
        assert browser.get_log("browser") == []

    def test_ids_with_gaps(self, browser, tmp_path):
        self.show(browser, tmp_path / "gapped.html", GappedTree, n_points=3)
        items = browser.find_elements(By.CSS_SELECTOR, "#panel bdi")
        assert sorted(item.text for item in items) == ["point 10", "point 13", "point 7"]

    def test_policy_stops_what_is_not_the_page(self, browser, page, tmp_path):
        """If markup got in after all, the browser would run and load none of it."""
        injected = (
            "<script>window.hacked = 'script'</script>"
            "<img src=x onerror=\"window.hacked = 'handler'\">"
            "<style>body { display: none !important }</style>"
            "<link rel=stylesheet href='more.css'><script src='more.js'></script><base href='/x/'>"
        )
        (tmp_path / "more.js").write_text("window.hacked = 'file'")
        (tmp_path / "more.css").write_text("header { display: none !important }")
        text = page.read_text("utf-8")
        assert text.count("<header>") == 1
        (tmp_path / "open.html").write_text(text.replace("<header>", injected + "<header>"))
        wait_for(browser, f"file://{tmp_path / 'open.html'}")
        assert browser.execute_script("return window.hacked") is None
        assert browser.find_element(By.ID, "title").is_displayed()
        refused = [entry["message"] for entry in browser.get_log("browser")]
        for directive in ("script-src", "style-src", "base-uri", "img-src"):
            assert any(directive in message for message in refused), directive

    def test_nothing_but_the_page_is_asked_for(self, browser, page):
        """Served by a web server, too, the page works; it asks for nothing more."""
        asked = []

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_request(self, *args):
                asked.append(self.path)

        handler = functools.partial(Handler, directory=page.parent)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            wait_for(browser, f"http://127.0.0.1:{server.server_port}/{page.name}")
            assert colours(browser) > 5
            assert browser.get_log("browser") == []
            fetched = browser.execute_script(
                "return fetch('/more').then(() => 'sent', () => 'refused')"
            )
            server.shutdown()
        assert fetched == "refused"
        assert asked == [f"/{page.name}"]


def test_corrections_are_listed_and_a_name_is_shown_once(browser, tmp_path):
    """Nodes of a chain may all have one name: the path has it once, for the one in focus."""
    tree = ClusterTree(1)
    tree.insert(np.concatenate([np.arange(16) ** 2, 10_000 + np.arange(16)])[:, np.newaxis])
    texts = ["tea " + HOSTILE, *[f"tea {i}" for i in range(15)], *[f"hat {i}" for i in range(16)]]
    path = tmp_path / "tree.html"
    said = [("together", 0, 20), ("apart", 1, 2)]
    tree.to_html(path, texts, corrections=said)
    wait_for(browser, f"file://{path}")
    panel = browser.find_element(By.ID, "panel")
    assert f"tea {HOSTILE}"[:79] + "… belongs with hat 4" in panel.text
    assert "tea 0 does not belong with tea 1" in panel.text
    assert not browser.execute_script("return window.hacked")
    assert "2 corrections" in browser.find_element(By.ID, "summary").text
    for _ in range(3):  # from the root towards the largest parts
        browser.find_element(By.TAG_NAME, "body").send_keys(Keys.ARROW_DOWN)
    browser.find_element(By.TAG_NAME, "body").send_keys(Keys.ENTER)
    names = [button.text for button in browser.find_elements(By.CSS_SELECTOR, "#path button")]
    assert names in (["all points", "tea"], ["all points", "hat"])
    assert browser.get_log("browser") == []
