"""Screenshots of the explorer in all its states: `python -m docs.explorer_pictures`.

The records are invented: shops with an address each, written down several times with mistakes.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path += [f"tests/{folder}" for folder in ("browser", "serve")]

from browsing import (
    choose,
    click,
    click_row,
    click_text,
    find,
    find_all,
    open_page,
    press,
    search,
    settle,
    start_browser,
    state,
    text,
    until,
)  # fmt: skip
from selenium.webdriver.common.keys import Keys
from serving import served

from perchtree import Collection
from perchtree.serve.security import Access

PICTURES = Path(__file__).parent / "pictures" / "explorer"
FIRST = [
    "Anders",
    "Bellini",
    "Carver",
    "Dufour",
    "Eklund",
    "Farago",
    "Gruber",
    "Hansen",
    "Ivanov",
    "Jansen",
    "Keller",
    "Lindt",
]
SECOND = ["& Sons", "Brothers", "and Co", "Trading", "House", "Works", "Supplies", "Market"]
WARES = [
    "tea",
    "coffee",
    "bread",
    "cheese",
    "books",
    "shoes",
    "hats",
    "lamps",
    "clocks",
    "paper",
    "wool",
    "glass",
]
STREETS = [
    "Mill",
    "Church",
    "Station",
    "Harbour",
    "Castle",
    "Garden",
    "Bridge",
    "Market",
    "North",
    "South",
]
TOWNS = [
    "Alderby",
    "Brookton",
    "Carnford",
    "Dunmere",
    "Easthaven",
    "Fernhill",
    "Glenrock",
    "Holmwood",
]


def invented(n_shops: int, seed: int = 0) -> tuple[list[str], list[str], list[int]]:
    """Keys, texts with mistakes, and which shop each text is about."""
    rng = np.random.default_rng(seed)

    def pick(words):
        return str(rng.choice(words))

    texts, shops = [], []
    for shop in range(n_shops):
        ware, town = pick(WARES), pick(TOWNS)
        line = f"{pick(FIRST)} {pick(SECOND)}, {ware}, {rng.integers(1, 99)} {pick(STREETS)} Street"
        for _ in range(int(rng.integers(2, 9))):
            texts.append(_mistaken(f"{line}, {town}", rng))
            shops.append(shop)
    order = rng.permutation(len(texts)).tolist()
    keys = [f"S{place:04d}" for place in range(len(texts))]
    return keys, [texts[i] for i in order], [shops[i] for i in order]


def _mistaken(line: str, rng: np.random.Generator) -> str:
    if rng.random() < 0.4:
        line = line.replace("Street", str(rng.choice(["St", "St.", "Str"])))
    if rng.random() < 0.4:
        line = line.replace("&", "and").replace(" and Co", "")
    for _ in range(int(rng.integers(0, 3))):
        place = int(rng.integers(1, len(line) - 1))
        line = line[:place] + line[place + 1 :]
    return line.lower() if rng.random() < 0.3 else line


def fill(collection: Collection) -> None:
    keys, texts, _ = invented(400)
    collection.add(keys=keys, texts=texts)
    collection.keep_clusters(distance=0.6)


def add(http, records: list[tuple[str, str]]) -> None:
    body = [{"key": key, "text": text} for key, text in records]
    assert http.post("/v1/points", json=body).status_code == 200


class Camera:
    def __init__(self, browser) -> None:
        self.browser = browser

    def __call__(self, name: str) -> None:
        settle(self.browser)
        time.sleep(0.7)
        self.browser.save_screenshot(str(PICTURES / f"{name}.png"))
        print(name, flush=True)

    def media(self, **features: str) -> None:
        listed = [
            {"name": f"prefers-{k.replace('_', '-')}", "value": v} for k, v in features.items()
        ]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": listed})


def live(browser, snap: Camera, folder: Path) -> None:
    with served(folder / "shops.perchdb", encoder="chars", fill=fill) as http:
        open_page(browser, f"http://127.0.0.1:{http.port}/")
        snap("live")
        choose(browser, "#by", "k")
        find(browser, "#exact").clear()
        find(browser, "#exact").send_keys("12", Keys.ENTER)
        until(lambda: state(browser, "clusters") == "12")
        snap("twelve_clusters")
        choose(browser, "#by", "standing")
        click(browser, "#tab-clusters")
        click(browser, "#pane-clusters .cluster")
        until(lambda: len(find_all(browser, "#pane-details input.pick")) > 2)
        time.sleep(0.8)
        for box in find_all(browser, "#pane-details input.pick")[:2]:
            box.click()
        snap("cluster")
        click_text(browser, "#selection", "Compare")
        snap("compare")
        click_text(browser, "#dialog", "Not the same")
        until(lambda: "not the same" in text(browser, "#message"))
        click(browser, "#corrections")
        until(lambda: find_all(browser, "#correction-list li"))
        snap("corrections")
        press(browser, Keys.ESCAPE)
        find_all(browser, "#path button")[0].click()
        until(lambda: not text(browser, "#message"))
        search(browser, "harbour tea")
        snap("search")
        _, texts, _ = invented(400)
        add(http, [(f"N{i}", texts[i] + " new") for i in range(40)])
        add(http, [(f"M{i}", f"quite another thing {i} of some kind") for i in range(4)])
        http.post("/v1/removals", json={"keys": ["N3", "N4"]})
        click(browser, "#tab-events")
        until(lambda: find_all(browser, "#kind-leave"))
        snap("changes")
        click(browser, "#kind-birth")
        until(lambda: not find_all(browser, "#events .join"))
        snap("changes_of_one_kind")
        press(browser, Keys.ESCAPE, "q")
        _answer(browser)
        snap("questions")
        press(browser, "t")
        until(lambda: find_all(browser, "#table-view td"))
        snap("table")
        click(browser, "#table-parts")
        until(lambda: "Parts of" in text(browser, "#table-view caption"))
        snap("table_of_parts")
        press(browser, "p", "?")
        snap("help")
        press(browser, Keys.ESCAPE)
        browser.get("about:blank")


def _answer(browser) -> None:
    """Answer by how much the two texts have in common."""
    for i in range(24):
        until(lambda: find_all(browser, "#questions-view .pair p.big"))
        sides = browser.execute_script(
            "return [...document.querySelectorAll('.pair p.big')].map(p => p.innerText)"
        )
        a, b = (set(side.lower().split()) for side in sides)
        press(browser, "y" if len(a & b) > 0.5 * len(a | b) else "n")
        until(lambda n=i + 1: text(browser, "#progress").strip().startswith(f"{n} answer"))
    until(lambda: "estimated F1" in text(browser, "#estimate"))


def others(browser, snap: Camera, folder: Path) -> None:
    access = Access(write_token="a-token-of-some-length")
    with served(folder / "guarded.perchdb", encoder="chars", fill=fill, access=access) as http:
        browser.get(f"http://127.0.0.1:{http.port}/")
        until(lambda: find(browser, "#token").is_displayed())
        snap("token")
        browser.get("about:blank")
    keys, texts, shops = invented(400)
    with Collection(encoder="chars") as collection:
        collection.add(keys=keys, texts=texts, classes=[f"shop {shop}" for shop in shops])
        page = folder / "shops.html"
        collection.tree.to_html(page, texts, collection.classes, keys=keys, title="Shops")
        small = folder / "small.html"
        collection.tree.to_html(small, texts, keys=keys, title="Shops", megabytes=0.2)
    snap.media(color_scheme="dark")
    open_page(browser, page)
    click_row(browser, 3, 0.4)
    snap("dark")
    snap.media()
    open_page(browser, small)
    search(browser, "castle")
    snap("not_all_records")
    phone = {"width": 390, "height": 800, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    open_page(browser, page)
    snap("phone")


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    browser = start_browser(size="1280,820")
    try:
        with tempfile.TemporaryDirectory() as folder:
            live(browser, Camera(browser), Path(folder))
            others(browser, Camera(browser), Path(folder))
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
