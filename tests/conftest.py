"""Shared by all tests: how much hypothesis tries, and where large data lies."""

import os
import shutil
import signal

import numpy as np
import pytest
from hypothesis import settings
from numba.core import config

from data_sets import data_folder

# Tests compare what is written to stderr, in this process and in those that they start.
os.environ.setdefault("PERCHTREE_QUIET", "1")

# In the background of a shell, or under nohup, signals that tests send would be ignored.
for number, handler in (
    (signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)
):  # fmt: skip
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, handler)

# Where CI is set, every run tries the same inputs; elsewhere each tries new ones.
always = {"deadline": None, "derandomize": bool(os.environ.get("CI"))}
examples = int(os.environ.get("PERCHTREE_EXAMPLES", "100"))  # `make test-all` asks for more
settings.register_profile("compiled", max_examples=examples, **always)
settings.register_profile("plain", max_examples=25, **always)
settings.load_profile("plain" if config.DISABLE_JIT else "compiled")


def pytest_collection_modifyitems(items):
    for item in items:
        if "cli" in item.path.parts:
            item.add_marker("outer")
    if config.DISABLE_JIT:
        skip = pytest.mark.skip(reason="needs compiled kernels")
        for item in items:
            if "jit" in item.keywords:
                item.add_marker(skip)


@pytest.fixture
def data():
    """Load a data set: name -> X (float32), y."""

    def load(name):
        with np.load(data_folder() / f"{name}.npz") as file:
            X = file["X"].astype(np.float32)
            return (X / np.float32(255) if name == "omniglot" else X), file["y"]

    return load


@pytest.fixture
def perch(tmp_path, monkeypatch):
    """The command line, in a folder of its own."""
    from commands import Command

    monkeypatch.chdir(tmp_path)
    return Command()


@pytest.fixture
def X():  # noqa: N802
    return np.random.default_rng(0).normal(size=(18, 3)).astype(np.float32)


@pytest.fixture(scope="session")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def browser(downloads):
    """A real browser for all tests of pages: Debian's Chromium, without a window."""
    from browsing import start_browser

    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("NO BROWSER: THE PAGE IS NOT TESTED; apt-get install chromium chromium-driver")
    started = start_browser(downloads)
    yield started
    started.quit()
