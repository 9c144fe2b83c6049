"""Checks that two collections can be merged."""

import numpy as np

from ..encode.interface import Encoder, name_of
from ..encode.making import store_encoder
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


def check_encoders(one: Encoder | None, other: Encoder | None) -> None:
    """Reject vectors that were made from texts in another way."""
    if one is None or other is None:
        if one is not other:
            raise ValueError("the two cannot be merged: one has an encoder, the other none")
        return
    (meta, columns), (other_meta, other_columns) = store_encoder(one), store_encoder(other)
    if name_of(one) != name_of(other):
        raise ValueError(
            f"the two cannot be merged: vectors of one were made by the encoder {name_of(one)}, "
            f"those of the other by {name_of(other)}"
        )
    if meta != other_meta or not all(
        np.array_equal(values, other_columns[name]) for name, values in columns.items()
    ):
        raise ValueError(
            "the two cannot be merged: their encoders have learned rarity from other texts"
        )
