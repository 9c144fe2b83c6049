"""What two collections need to have in common to be merged."""

from ..settings import FIXED, Settings


def check_settings(one: Settings, other: Settings) -> None:
    """Refuse trees that were made by other rules; `n_jobs` does not matter."""
    for name in FIXED:
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine != theirs:
            raise ValueError(
                f"the two cannot be merged: one has {name}={mine!r}, the other {name}={theirs!r}"
            )


def check_features(
    n_features: int, n_others: int, names: list[str] | None, other_names: list[str] | None
) -> None:
    """Refuse vectors of other features."""
    if n_features != n_others:
        raise ValueError(
            f"the two cannot be merged: one has {n_features} features, the other {n_others}"
        )
    if names is not None and other_names is not None and names != other_names:
        raise ValueError("the two cannot be merged: their features have other names")
