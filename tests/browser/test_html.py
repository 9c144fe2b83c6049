"""The page in a real browser: Debian's Chromium, without a window."""

import shutil

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from perchtree import ClusterTree

HOSTILE = "</script><script>window.hacked = true</script><img src=x onerror='window.hacked = true'>"


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
    browser.get(f"file://{page}")
    WebDriverWait(browser, 20).until(lambda b: state(b, "ready") == "yes")
    yield browser
    assert browser.get_log("browser") == []


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

    def test_without_texts_and_labels(self, browser, tmp_path):
        tree = ClusterTree(2)
        tree.insert(np.random.default_rng(0).random((50, 2)))
        tree.to_html(tmp_path / "bare.html", max_leaves=10)
        browser.get(f"file://{tmp_path / 'bare.html'}")
        WebDriverWait(browser, 20).until(lambda b: state(b, "ready") == "yes")
        assert "50 points, 19 nodes" in browser.find_element(By.ID, "summary").text
        assert browser.get_log("browser") == []
