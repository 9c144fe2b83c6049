"""A real browser for all tests of pages: Debian's Chromium, without a window."""

import shutil

import pytest
from browsing import start_browser


@pytest.fixture(scope="session")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def browser(downloads):
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("NO BROWSER: THE PAGE IS NOT TESTED; apt-get install chromium chromium-driver")
    started = start_browser(downloads)
    yield started
    started.quit()
