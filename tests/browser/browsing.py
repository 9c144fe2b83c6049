"""What tests of pages do in a browser: look, click, type, wait."""

import colorsys
import contextlib
import shutil
import time

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

ROW = 30
HOSTILE = "</script><script>window.hacked = true</script><img src=x onerror='window.hacked = true'>"


def start_browser(downloads=None, size="1300,850"):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (
        "headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync",
        "disable-background-networking", "disable-component-update", "disable-dev-shm-usage",
        f"window-size={size}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.add_experimental_option("perfLoggingPrefs", {"enableNetwork": True})
    started = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    if downloads is not None:
        allowed = {"behavior": "allow", "downloadPath": str(downloads)}
        started.execute_cdp_cmd("Browser.setDownloadBehavior", allowed)
    started.set_script_timeout(300)
    return started


def until(condition, seconds=30):
    """What a condition gives as soon as that is true; elements may vanish meanwhile."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = condition()
        except Exception:
            if time.monotonic() > deadline:
                raise
            found = None
        if found:
            return found
        assert time.monotonic() < deadline, "this did not happen in time"
        time.sleep(0.02)


def open_page(browser, address):
    browser.get_log("browser")  # forget what other pages have said
    browser.get("about:blank")
    browser.get(str(address) if "://" in str(address) else f"file://{address}")
    until(lambda: state(browser, "ready") == "yes")
    settle(browser)
    return browser


def settle(browser):
    """Wait until nothing has been drawn for a moment."""
    browser.execute_async_script(
        "const done = arguments[0]; let n = 0;"
        "const tick = () => ++n > 6 ? done() : requestAnimationFrame(tick); tick();"
    )
    time.sleep(0.1)


def errors(browser):
    """What the browser complains about.

    Two things are no faults: tests that read pixels again and again, and a live page that asks for
    a box which is gone by then.
    """
    found = [entry["message"] for entry in browser.get_log("browser")]
    return [
        message
        for message in found
        if "willReadFrequently" not in message
        and not ("/v1/explorer/" in message and "404 (Not Found)" in message)
    ]


def state(browser, name):
    return browser.execute_script("return document.body?.dataset[arguments[0]]", name)


def text(browser, selector):
    return browser.execute_script(
        "return document.querySelector(arguments[0])?.innerText ?? ''", selector
    )


def find(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector)


def find_all(browser, selector):
    return browser.find_elements(By.CSS_SELECTOR, selector)


def click(browser, selector):
    """Click an element as soon as it is there; a live page may replace it meanwhile."""
    until(lambda: find(browser, selector).click() or True)


def click_text(browser, where, words):
    """Click the button that has these words."""

    def press():
        for button in find_all(browser, f"{where} button"):
            if words in button.text:
                button.click()
                return True
        return False

    until(press)


def choose(browser, selector, value):
    Select(find(browser, selector)).select_by_value(value)


def press(browser, *keys):
    for key in keys:
        ActionChains(browser).send_keys(key).perform()


def search(browser, words):
    """Search; the text that tells how many were found."""
    field = find(browser, "#search")
    before = state(browser, "searches") or "0"
    field.clear()
    field.send_keys(words)
    until(lambda: (state(browser, "searches") or "0") != before)
    settle(browser)
    return text(browser, "#found")


def clusters(browser):
    """The clusters in the list: number and size, as far as they are drawn, in order."""
    rows = browser.execute_script(
        "return [...document.querySelectorAll('#pane-clusters .row')]"
        ".sort((a, b) => a.dataset.place - b.dataset.place)"
        ".map(r => r.querySelector('.head').innerText)"
    )
    found = []
    for row in rows:
        parts = row.replace(",", "").split()
        found.append((int(parts[0][1:]), int(parts[1])))
    return found


def rows(browser, pane):
    """The texts of the rows of a list, as far as they are drawn, in order."""
    return browser.execute_script(
        "return [...document.querySelectorAll(`#pane-${arguments[0]} .row`)]"
        ".sort((a, b) => a.dataset.place - b.dataset.place).map(r => r.innerText)",
        pane,
    )


def colours(browser):
    """How many different colours are on the canvas."""
    return browser.execute_script(
        "const c = document.getElementById('tree');"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "const seen = new Set();"
        "for (let i = 0; i < d.length; i += 400) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);"
        "return seen.size"
    )


@contextlib.contextmanager
def drawn(browser):
    """What is drawn meanwhile, in order: `fillStyle`, every text, or the left end, top, width and
    height of all `rows`.
    """
    browser.execute_script(
        "const pen = CanvasRenderingContext2D.prototype;"
        "window.drawn = {fillStyle: [], texts: [], rows: []};"
        "window.undrawn = [pen.fillRect, pen.fillText];"
        "pen.fillRect = function (...a) { drawn.fillStyle.push(this.fillStyle); drawn.rows.push(a);"
        "  return undrawn[0].apply(this, a); };"
        "pen.fillText = function (...a) { drawn.texts.push(a[0]);"
        "  return undrawn[1].apply(this, a); };"
    )
    try:
        yield lambda what: browser.execute_script("return drawn[arguments[0]]", what)
    finally:
        browser.execute_script(
            "const pen = CanvasRenderingContext2D.prototype;"
            "[pen.fillRect, pen.fillText] = window.undrawn;"
        )


def hue_of(colour):
    """The hue in degrees of a colour such as #a0b0c0; None if it is almost grey."""
    rgb = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return None if max(rgb) - min(rgb) < 0.1 else 360 * colorsys.rgb_to_hls(*rgb)[0]


def boundaries(browser):
    """Where there are vertical lines as dark as the text: shares of the width of the picture."""
    found = browser.execute_script(
        "const c = document.getElementById('tree'), w = c.width, h = c.height;"
        "const d = c.getContext('2d').getImageData(0, 0, w, h).data, found = [];"
        "for (let x = 0; x < w; x++) { let run = 0, most = 0;"
        "  for (let y = 0; y < h; y++) { const i = 4 * (y * w + x);"
        "    run = d[i] + d[i + 1] + d[i + 2] < 160 ? run + 1 : 0; most = Math.max(most, run); }"
        "  if (most > 24) found.push(x / w); }"
        "return found"
    )
    merged = []
    for place in found:
        if not merged or place - merged[-1] > 0.004:
            merged.append(place)
    return merged


def click_row(browser, row, share=0.25):
    """Click into a row of the picture."""
    canvas = find(browser, "#tree")
    up = canvas.size["height"] / 2 - (ROW * row + ROW / 2)
    right = canvas.size["width"] * (share - 0.5)
    ActionChains(browser).move_to_element_with_offset(
        canvas, int(right), int(-up)
    ).click().perform()
