"""A progress bar for long work, if it is wanted."""

from typing import Any


def progress(total: int, verbose: bool) -> Any:
    if verbose:
        from tqdm.auto import tqdm
    else:
        from tqdm import tqdm  # tqdm.auto complains in notebooks without widgets
    return tqdm(total=total, unit="point", unit_scale=True, disable=not verbose)
