"""Moving read markers, in the turn of their account."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import markers
from ...storage.markers import Marker, Timeline
from ..account import AccountActor, AccountChange
from ..kernel import Command, Refused, turn

CONFLICT = Refused(409, "Conflict during update, please try again")


@dataclass(frozen=True, slots=True)
class MarkerMove:
    """The new position of a marker.

    A client that names a version is refused if another device moved the marker since.
    """

    timeline: Timeline
    last_read_id: int
    seen: int | None = None


@dataclass(frozen=True, slots=True)
class MoveMarkers(Command[list[Marker]]):
    """Command: move markers, all or none. The answer is the moved markers."""

    moves: tuple[MarkerMove, ...]


@turn(AccountActor, MoveMarkers)
async def move_markers(account: AccountActor, message: MoveMarkers) -> list[Marker] | Refused:
    return await account.change(_move, message.moves)


async def _move(change: AccountChange, moves: tuple[MarkerMove, ...]) -> list[Marker] | Refused:
    """Move markers. If another device moved a marker first, the refusal rolls all moves back."""
    moved: list[Marker] = []
    for move in moves:
        marker = await markers.move(
            change.db, change.account.id, move.timeline, move.last_read_id, move.seen, change.now
        )
        if marker is None:
            return CONFLICT
        moved.append(marker)
    return moved
