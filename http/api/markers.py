"""Read markers: how far the viewer has read the home timeline and the notifications."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from ...actors.commands.markers import MarkerMove, MoveMarkers
from ...storage import markers
from ...storage.markers import Marker, Timeline
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..entities.timeline import marker_fields
from ..intake.parameters import Count, Input, Maybe, Position, Texts
from ..router import api


class Timelines(Input):
    timeline: Texts = ()


class ReadUpTo(Input):
    last_read_id: Position = None
    version: Count = None


NOWHERE = ReadUpTo()


class Positions(Input):
    home: Annotated[ReadUpTo, Maybe] = NOWHERE
    notifications: Annotated[ReadUpTo, Maybe] = NOWHERE

    def moves(self) -> tuple[MarkerMove, ...]:
        given: tuple[tuple[Timeline, ReadUpTo], ...] = (("home", self.home), ("notifications", self.notifications))
        return tuple(MarkerMove(name, at.last_read_id, at.version) for name, at in given if at.last_read_id is not None)


@api.get("/api/v1/markers", auth="user", scopes=("read:statuses",), returns="{Marker}")
async def show(context: HttpContext, viewer: Viewer, wanted: Timelines) -> Answer:
    """The markers that the request names."""
    return _answer(await context.database.read(markers.find, viewer.account_id, wanted.timeline))


@api.post("/api/v1/markers", auth="user", scopes=("write:statuses",), returns="{Marker}")
async def move(viewer: Viewer, positions: Positions) -> Answer:
    """Move markers. 409 if the client's version is not the current version."""
    return _answer(await viewer.ask(MoveMarkers(positions.moves())))


def _answer(found: Iterable[Marker]) -> Answer:
    return json({marker.timeline: marker_fields(marker) for marker in found})
