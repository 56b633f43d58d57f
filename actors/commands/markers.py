"""Moving read markers, in the turn of their account."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import markers
from ...storage.engine.database import Connection
from ...storage.markers import Marker, Timeline
from ..account import AccountActor
from ..kernel import Message, Refused, turn

CONFLICT = Refused(409, "Conflict during update, please try again")


@dataclass(frozen=True, slots=True)
class MarkerMove:
    """The new position of one marker.

    A client that names a version is refused if another device moved the marker since.
    """

    timeline: Timeline
    last_read_id: int
    seen: int | None = None


@dataclass(frozen=True, slots=True)
class MoveMarkers(Message[list[Marker]]):
    """Command: move markers, all or none. The answer is the moved markers."""

    moves: tuple[MarkerMove, ...]


class MarkerConflict(Exception):
    """Raised to roll back the transaction because another device was first."""


@turn(AccountActor, MoveMarkers)
async def move_markers(account: AccountActor, message: MoveMarkers) -> list[Marker] | Refused:
    try:
        return await account.transact(_move, account.id, message.moves, account.now)
    except MarkerConflict:
        return CONFLICT


async def _move(db: Connection, account_id: int, moves: tuple[MarkerMove, ...], now: datetime) -> list[Marker]:
    moved: list[Marker] = []
    for move in moves:
        marker = await markers.move(db, account_id, move.timeline, move.last_read_id, move.seen, now)
        if marker is None:
            raise MarkerConflict
        moved.append(marker)
    return moved
