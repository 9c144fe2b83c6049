"""What has happened to the standing clusters: as a list, and as a stream."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse

from . import schemas
from .problems import busy
from .service import Service
from .standing import as_events

_PULSE = 15.0
"""Seconds after which a stream says that it is still there."""
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}
}


def make_router(service: Service) -> APIRouter:
    router, turns, limits = APIRouter(tags=["events"]), service.turns, service.limits

    @router.get("/events", responses=_STREAM, response_model=schemas.Events)
    async def get_events(
        since: Annotated[
            int, Query(ge=0, le=2**62, description="The last event that is known already.")
        ] = 0,
        limit: Annotated[int, Query(ge=1, le=limits.page)] = 100,
        changes: Annotated[
            bool, Query(description="Of a stream: also tell of every other change.")
        ] = False,
        accept: Annotated[str, Header()] = "application/json",
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Any:
        """What has happened to standing clusters since an event, the oldest first.

        With `Accept: text/event-stream` they come as server-sent events, as they happen; a browser
        that was cut off goes on after the last one it has seen. With `changes`, an event "change"
        without a number follows whatever has changed the collection.
        """
        if "text/event-stream" not in accept:
            return await turns.quick(_read, since, limit)
        if service.n_streams >= limits.streams:
            raise busy("too many event streams")
        if last_event_id is not None and last_event_id.isascii() and last_event_id.isdigit():
            since = max(since, min(int(last_event_id[:18]), 2**62))
        return StreamingResponse(_stream(since, changes), media_type="text/event-stream")

    def _read(since: int, limit: int) -> schemas.Events:
        found = service.standing.events(since, limit)
        last = service.standing.last_event or 0
        return schemas.Events(last=last, events=as_events(found, service.moments.time_of))

    async def _stream(since: int, changes: bool) -> AsyncIterator[str]:
        service.n_streams += 1
        operation = service.collection.operation
        try:
            yield ": perchtree\n\n"
            while True:
                changed = service.next_change()
                if not service.is_open:
                    break
                found = await turns.quick(_read, since, limits.page)
                for event in found.events:
                    data = json.dumps(event.model_dump(mode="json"))
                    yield f"id: {event.event}\nevent: {event.kind}\ndata: {data}\n\n"
                    since = event.event
                if not found.events:
                    now = service.collection.operation
                    told = f'event: change\ndata: {{"operation": {now}}}\n\n'
                    yield told if changes and now != operation else ": \n\n"
                    operation = now
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(changed.wait(), _PULSE)
        finally:
            service.n_streams -= 1

    return router
