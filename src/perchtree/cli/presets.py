"""The modes by name, and what may be set in each."""

from typing import Any

import click

from ..settings import USUAL, Settings

MODES: dict[str, dict[str, Any]] = {
    "grafted": {},
    "perch": {"linkage": "box"},
    "b": {"linkage": "box", "search": "beam"},
    "c": {"linkage": "box"},
    "bc": {"linkage": "box", "search": "beam"},
}
COLLAPSED = ("c", "bc")
DEFAULT_LEAVES = 50_000


def parameters(mode: str, given: dict[str, Any]) -> dict[str, Any]:
    """The settings; options that were not given are None."""
    given = {name: value for name, value in given.items() if value is not None}
    fixed = dict(MODES[mode])
    for name, value in fixed.items():
        if given.get(name, value) != value:
            raise click.UsageError(
                f"--mode {mode} means --{name} {value}: leave out --{name} {given[name]}, or --mode"
            )
    if mode in COLLAPSED:
        given.setdefault("max_leaves", DEFAULT_LEAVES)
    elif "max_leaves" in given and mode != "grafted":
        raise click.UsageError(f"--mode {mode} has no --max-leaves: use c or bc")
    chosen = given | fixed
    linkage = chosen.get("linkage", USUAL.linkage)
    for name in ("masking", "balance"):
        if name in given and linkage != "box":
            raise click.UsageError(f"--{name} belongs to the paper's modes: add --mode perch")
        if given.get(name) == "none":
            chosen[name] = None
    if "graft" in given and linkage == "box":
        raise click.UsageError("--graft needs a linkage: leave out --mode, or --graft")
    if "beam_width" in given and chosen.get("search") != "beam":
        raise click.UsageError("--beam-width needs --search beam, or --mode b or bc")
    if "recall" in given and chosen.get("search") != "cells":
        raise click.UsageError("--recall needs --search cells")
    return chosen


def mode_name(settings: Settings) -> str:
    """What a mode is called."""
    collapsed, beam = settings.collapses, settings.search == "beam"
    if settings.linkage == "box" and settings.search == "cells":
        return "PERCH, search in cells"
    if settings.linkage == "box":
        return "PERCH" + ("-" if beam or collapsed else "") + "B" * beam + "C" * collapsed
    name = "grafted" if settings.graft else "linkage"
    name += ", search in cells" * (settings.search == "cells")
    return name + ", beam search" * beam + ", collapsed" * collapsed
