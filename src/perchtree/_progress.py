"""A progress bar for long work, if it is wanted."""

from typing import Any


class Silent:
    """A bar that shows nothing.

    (One of tqdm's that shows nothing still starts a thread, and takes a lock that forked processes
    share: one of them that is killed while it holds the lock leaves all others waiting forever.)
    """

    def __enter__(self) -> "Silent":
        return self

    def __exit__(self, *_exception: object) -> None:
        pass

    def update(self, n: int) -> None:
        """Note that this much more is done."""


def progress(total: int, verbose: bool) -> Any:
    """A bar that shows how much of `total` is done; it has the methods of `Silent`."""
    if not verbose:
        return Silent()
    from tqdm.auto import tqdm

    return tqdm(total=total, unit="point", unit_scale=True)
