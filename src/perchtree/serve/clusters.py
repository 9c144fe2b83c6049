"""Clusters: lists of them, and what is in one."""

import csv
import io
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Path, Query, Response

from ..outputs import guarded
from . import schemas
from .answers import answers, links
from .describing import Topics
from .listing import Listed, listed
from .problems import Problem
from .service import Service
from .versions import How

_CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}}}
}

K = Annotated[int | None, Query(ge=1, le=2**31, description="So many clusters.")]
MinSize = Annotated[
    int | None, Query(ge=1, le=2**31, description="Those that persist, of at least so many points.")
]
Threshold = Annotated[
    float | None, Query(ge=0, le=1e30, allow_inf_nan=False, description="At most so far apart.")
]


async def asked(k: K = None, min_size: MinSize = None, threshold: Threshold = None) -> How | None:
    """How a clustering is asked for; None for the standing one."""
    given = {"k": k, "min_size": min_size, "threshold": threshold}
    named = [How(by, float(value)) for by, value in given.items() if value is not None]
    if len(named) > 1:
        raise Problem(422, "give at most one of k, min_size and threshold")
    return named[0] if named else None


Asked = Annotated[How | None, Depends(asked)]
"""The clustering that a request is about."""


def make_router(service: Service) -> APIRouter:
    router, turns, limits = APIRouter(tags=["clusters"]), service.turns, service.limits
    reader = _Reader(service)

    @router.get(
        "/clusters",
        responses=answers(409)
        | links(get_cluster={"cluster": "$response.body#/clusters/0/cluster"}),
    )
    async def list_clusters(
        how: Asked,
        sort: Annotated[
            str, Query(pattern="^(size|first)$", description="size: the largest first")
        ] = "size",
        after: Annotated[
            str | None, Query(max_length=64, description="`next` of the page before.")
        ] = None,
        limit: Annotated[int, Query(ge=1, le=limits.page)] = 50,
        describe: Annotated[
            bool, Query(description="false: only sizes; of standing clusters, in milliseconds")
        ] = True,
    ) -> schemas.Clusters:
        """Clusters: those that stand, or others by number, minimum size or threshold.

        Other clusterings than the standing one are of a recent state of the tree: `operation` says
        which. A page goes on after the cluster before it, also if the clustering has changed.
        """
        quick = how is None and service.standing.is_kept and not describe
        turn = turns.quick if quick else turns.slow
        return await turn(reader.page, how, sort, after, limit, describe)

    @router.get(
        "/clusters/{cluster}",
        responses=answers(404, 409, 410) | _CSV,
        response_model=schemas.OneCluster,
    )
    async def get_cluster(
        cluster: Annotated[str, Path(max_length=64)],
        how: Asked,
        after: Annotated[int, Query(ge=-1, le=2**62, description="`next` before.")] = -1,
        limit: Annotated[int, Query(ge=1, le=limits.page)] = 50,
        form: Annotated[
            str, Query(alias="format", pattern="^(json|csv)$", description="csv: all members")
        ] = "json",
    ) -> schemas.OneCluster | Response:
        """A cluster and its members, in the order in which they came.

        The handle of a cluster goes with the clustering it was listed in: give the same k, min_size
        or threshold. A 409 or 410 says what became of it.
        """
        if form == "csv":
            return await turns.slow(reader.table, cluster, how)
        return await turns.slow(reader.show, cluster, how, after, limit)

    return router


class _Reader:
    """Makes answers about clusters."""

    def __init__(self, service: Service) -> None:
        self._service, self._topics = service, Topics(service)

    def page(
        self, how: How | None, sort: str, after: str | None, limit: int, describe: bool
    ) -> schemas.Clusters:
        clustering = listed(self._service, how)
        clusters, more = clustering.page(sort, after, limit)
        if describe:
            clusters = self._described(clustering, clusters)
        return schemas.Clusters(clustering=clustering.cut(), clusters=clusters, next=more)

    def _described(
        self, clustering: Listed, clusters: list[schemas.Cluster]
    ) -> list[schemas.Cluster]:
        """Clusters with exemplars and keywords, without those that are gone by now."""
        members, kept = [], []
        for cluster in clusters:
            try:
                members.append(clustering.members(cluster.cluster))
                kept.append(cluster)
            except Problem:  # it has just been merged into another one
                continue
        exemplars, keywords = self._topics.exemplars(members), self._topics.keywords(members)
        shown = self._service.show([i for i in exemplars if i is not None])
        for place, cluster in enumerate(kept):
            exemplar = exemplars[place]
            cluster.exemplar = None if exemplar is None else shown.get(exemplar)
            cluster.keywords = keywords[place]
            cluster.cohesion = clustering.cohesion(cluster.cluster, members[place])
        return kept

    def show(self, name: str, how: How | None, after: int, limit: int) -> schemas.OneCluster:
        clustering = listed(self._service, how)
        ids = clustering.members(name)
        start = int(np.searchsorted(ids, after, "right"))
        page = ids[start : start + limit].tolist()
        shown = self._service.show(page)
        members = [
            schemas.Member(**shown[i].model_dump(by_alias=False), confidence=firm)
            for i, firm in zip(page, clustering.confidences(page), strict=True)
            if i in shown
        ]
        named = int(name) if name.isdigit() else name
        cluster = schemas.Cluster(cluster=named, size=len(ids))
        for described in self._described(clustering, [cluster]):
            cluster = described
        return schemas.OneCluster(
            **cluster.model_dump(by_alias=False), clustering=clustering.cut(), members=members,
            next=str(page[-1]) if start + limit < len(ids) else None,
        )  # fmt: skip

    def table(self, name: str, how: How | None) -> Response:
        """All members of a cluster as a table that no spreadsheet takes for formulas."""
        ids = listed(self._service, how).members(name).tolist()
        text = io.StringIO()
        writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
        writer.writerow(["key", "text", "class"])
        found = self._service.read(ids)
        writer.writerows(list(map(guarded, found[i])) for i in ids if i in found)
        headers = {"Content-Disposition": 'attachment; filename="cluster.csv"'}
        return Response(text.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)
