"""Records by their words or keys."""

import contextlib
import re
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query

from . import schemas
from .problems import Problem
from .service import Service

_WORD = re.compile(r"\w+")


def make_router(service: Service) -> APIRouter:
    router, turns, limits = APIRouter(tags=["search"]), service.turns, service.limits

    @router.get("/search")
    async def search(
        q: Annotated[str, Query(min_length=1, max_length=2000)],
        n: Annotated[int, Query(ge=1, le=limits.page)] = 20,
        syntax: Annotated[
            str, Query(pattern="^(plain|fts)$", description="fts: OR, NOT, prefix*, of SQLite")
        ] = "plain",
    ) -> schemas.Hits:
        """Records whose text or key has all these words, best first; that with this very key first.

        The last word may be the beginning of one.
        """
        return await turns.slow(_search, q, n, syntax == "fts")

    def _search(query: str, n: int, as_given: bool) -> schemas.Hits:
        ids = [] if as_given else _with_key(query)
        words = query if as_given else plain_query(query)
        if words and len(service.collection):
            # By ids: what is removed before it is shown is left out.
            service.collection.barrier()
            ids += service.records.rows.search(words, n)
        ids = list(dict.fromkeys(ids))[:n]
        shown = service.show(ids)
        hits = [shown[i] for i in ids if i in shown]
        return schemas.Hits(n=len(hits), hits=hits)

    def _with_key(query: str) -> list[int]:
        try:
            return [i for i in service.find([service.as_key(query)]).tolist() if i >= 0]
        except Problem:  # keys are numbers, and this is none
            return []

    return router


def plain_query(text: str) -> str:
    """Words as a query that has no operators: all must occur, the last one as a beginning.

    >>> plain_query('green "tea" NOT')
    '"green" "tea" "NOT"*'
    """
    words = _WORD.findall(text)
    return " ".join(f'"{word}"' for word in words) + "*" if words else ""


MOST_FOUND = 10_000
"""Records that a search counts."""


def find_records(service: Service, query: str) -> tuple[list[int], bool]:
    """The ids of records that have all words of a query in text or key, best first.

    That with this very key comes first. Also whether there are more than are counted. A query
    without any letter or digit is looked for as it is.
    """
    query = query.strip()
    if not query or len(service.collection) == 0:
        return [], False
    ids = []
    with contextlib.suppress(Problem):  # keys are numbers, and this is none
        ids = [i for i in service.find([service.as_key(query)]).tolist() if i >= 0]
    service.collection.barrier()
    rows = service.records.rows
    words = phrases_query(query)
    found = rows.search(words, MOST_FOUND + 1) if words else rows.containing(query, MOST_FOUND + 1)
    living = service.collection.tree.holds(np.array(found, np.int64)).tolist()
    ids += [i for i, lives in zip(found, living, strict=True) if lives]
    ids = list(dict.fromkeys(ids))
    return ids[:MOST_FOUND], len(ids) > MOST_FOUND


def phrases_query(text: str) -> str:
    """What stands between spaces as phrases that must all occur, the last one as a beginning.

    SQLite itself divides them into words, exactly as it did with the texts.

    >>> phrases_query('red "tea" | -')
    '"red" "tea"*'
    """
    pieces = [piece.replace('"', " ").strip() for piece in text.split()]
    pieces = [piece for piece in pieces if any(character.isalnum() for character in piece)]
    return " ".join(f'"{piece}"' for piece in pieces) + "*" if pieces else ""
