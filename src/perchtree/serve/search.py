"""Records by their words or keys."""

import re
from typing import Annotated

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
            keys = service.collection.search(words, n)
            ids += [i for i in service.find(keys).tolist() if i >= 0]
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
