"""Questions about pairs of records, what people answer, and what they correct."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from ..clusters.calibrating import Estimate
from . import schemas
from .answers import answers
from .bodies import json_body, read_json
from .changes import Changes
from .problems import Problem
from .service import Service
from .versions import Version


def make_router(service: Service, changes: Changes) -> APIRouter:
    router, turns = APIRouter(tags=["questions"]), service.turns
    known = _Said(service)

    @router.get("/questions", responses=answers(409))
    async def get_questions(
        n: Annotated[int, Query(ge=1, le=100)] = 10, seed: Annotated[int, Query(ge=0, lt=2**31)] = 0
    ) -> schemas.Questions:
        """Pairs of records to ask about: are the two the same? The answers so far tell which."""
        return await turns.slow(known.questions, n, seed)

    @router.post("/answers", responses=answers(404), openapi_extra=json_body(schemas.Answers))
    async def answer(request: Request) -> schemas.Answered:
        """Keep answers to questions; of several about a pair, the last counts.

        They choose a clustering (`/v1/calibration`); they do not correct one.
        """
        given = await read_json(request, schemas.Answers, turns)
        said = [(answer.a, answer.b, answer.same) for answer in given]
        n_answers = await turns.write(changes.answer, said)
        return schemas.Answered(operation=service.collection.operation, n_answers=n_answers)

    @router.get("/calibration", responses=answers(409))
    async def calibration() -> schemas.Calibrated:
        """The clustering that fits the answers so far best, and how good it is by them."""
        return await turns.slow(known.calibrated)

    @router.get("/corrections")
    async def get_corrections() -> schemas.Corrections:
        """All corrections of pairs of records."""
        return await turns.quick(known.corrections)

    @router.post("/corrections", responses=answers(404, 409), openapi_extra=json_body(schemas.Said))
    async def correct(request: Request) -> schemas.Corrections:
        """Mark two records as belonging together, or apart, or take back what was said.

        A 409 shows the chain of statements that it would contradict.
        """
        said = await read_json(request, schemas.Said, turns)
        await turns.write(changes.say, said.kind, said.a, said.b)
        service.tell_change()
        return await turns.quick(known.corrections)

    return router


class _Said:
    """What people have said, and what follows from it."""

    def __init__(self, service: Service) -> None:
        self._service, self._collection = service, service.collection

    def questions(self, n: int, seed: int) -> schemas.Questions:
        version, pairs, same = self._answers()
        if version.table.n_points < 2:
            raise Problem(409, "there is only one record: nothing to ask about")
        picked = version.tree.questions(n, pairs, same, seed=seed).tolist()
        shown = self._service.show({i for pair in picked for i in pair})
        found = [
            schemas.Question(a=shown[a], b=shown[b]) for a, b in picked if a in shown and b in shown
        ]
        return schemas.Questions(operation=version.operation, n_answers=len(same), questions=found)

    def _answers(self) -> tuple[Version, list[tuple[int, int]], list[Any]]:
        """The present version, and the answers about records that are in it."""
        version = self._service.versions.current()
        pairs: list[tuple[int, int]] = []
        same: list[Any] = []
        with self._collection.tree.reading():
            answered = list(self._collection.answered)
        for one, other, said, _ in answered:
            if version.place(one) is not None and version.place(other) is not None:
                pairs.append((one, other))
                same.append(said)
        return version, pairs, same

    def calibrated(self) -> schemas.Calibrated:
        version, pairs, same = self._answers()
        told = [answer for answer in same if answer is not None]
        if len(set(told)) < 2:
            raise Problem(409, "answer some questions first: some the same, and some not")
        found = version.tree.calibrate(pairs, same, n_fits=20)
        return schemas.Calibrated(
            operation=version.operation, n_answers=found.n_answers,
            by="min_size" if found.level is None else "level",
            value=float(found.level if found.level is not None else found.min_cluster_size or 0),
            criterion=found.criterion, n_clusters=found.n_clusters,
            precision=_spread(found.precision), recall=_spread(found.recall), f1=_spread(found.f1),
            confidence=float(found.confidence), doubts=list(found.doubts),
        )  # fmt: skip

    def corrections(self) -> schemas.Corrections:
        said = self._collection.corrections if len(self._collection) else []
        return schemas.Corrections(
            operation=self._collection.operation,
            corrections=[
                schemas.Correction(kind=c.kind, a=_plain(c.a), b=_plain(c.b)) for c in said
            ],
        )


def _spread(estimate: Estimate) -> schemas.Spread:
    return schemas.Spread(value=estimate.value, low=estimate.low, high=estimate.high)


def _plain(key: Any) -> Any:
    return key.item() if hasattr(key, "item") else key
