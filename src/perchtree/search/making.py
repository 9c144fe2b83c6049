"""From settings to a search: the only place that knows searches by their names."""

from ..settings import Settings
from .beam import BeamSearch
from .cells import CellsSearch
from .collapsed import CollapsedSearch, always, if_cheaper, never
from .exact import AStarSearch, AutoSearch, ScanSearch
from .interface import Search

_OF_POINTS: dict[str, type[AutoSearch] | type[AStarSearch] | type[ScanSearch]] = {
    "auto": AutoSearch,
    "astar": AStarSearch,
    "scan": ScanSearch,
}
_OF_BOXES = {"auto": if_cheaper, "astar": never, "scan": always}


def make_search(settings: Settings) -> Search:
    """The search that settings ask for."""
    k, name = settings.neighbors, settings.search
    name = "auto" if name in ("beam", "cells") else name
    exact: Search = (
        CollapsedSearch(k, _OF_BOXES[name]) if settings.collapses else _OF_POINTS[name](k)
    )
    if settings.search == "beam":
        return BeamSearch(k, settings.beam_width, exact)
    return CellsSearch(k, settings.recall, exact) if settings.search == "cells" else exact
