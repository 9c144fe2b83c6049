"""Where data sets beyond scikit-learn's own lie."""

import os
from pathlib import Path

import pytest


def data_folder() -> Path:
    """The folder of the data sets beyond scikit-learn's own; skips the test if there is none."""
    folder = os.environ.get("PERCHTREE_DATA")
    if not folder:
        pytest.skip("PERCHTREE_DATA is not set: it names the folder with the data sets")
    return Path(folder)
