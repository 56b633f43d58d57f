"""Pins, in the turn of the account on whose profile they are. The texts are those that clients compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...storage import pins, statuses
from ...storage.engine import Connection
from ...storage.statuses import Status
from ..account import Account
from ..kernel import Refused, turn
from ..rules.limits import PINS
from .interacting import invalid
from .statuses import NOT_FOUND, find_visible

TOO_MANY = invalid("You have already pinned the maximum number of posts")


@dataclass(frozen=True, slots=True)
class Pin:
    """Command: show an own status first on the profile; a repeat is harmless."""

    status_id: int


@dataclass(frozen=True, slots=True)
class Unpin:
    """Command: take a pin out."""

    status_id: int


@turn(Account, Pin)
async def pin(self: Account, message: Pin) -> Refused | None:
    shown = await find_visible(self, message.status_id)
    if shown is None:
        return NOT_FOUND
    status = shown.status
    if complaints := list(_complaints(self, status)):
        return invalid(", ".join(complaints))
    refusal = await self.transact(_pin, self, status.id)
    if refusal is None:
        self.mark(status.id, pinned=True)
    return refusal


def _complaints(self: Account, status: Status) -> Iterator[str]:
    if status.reblog_of_id is not None:
        yield "A boost cannot be pinned"
    if status.account_id != self.id:
        yield "Someone else's post cannot be pinned"
    if status.visibility == "direct":
        yield "Posts that are only visible to mentioned users cannot be pinned"


async def _pin(db: Connection, self: Account, status_id: int) -> Refused | None:
    if not await statuses.hold(db, status_id):
        return NOT_FOUND
    pinned = await pins.pinned(db, self.id)
    if status_id in pinned:
        return None
    if len(pinned) >= PINS:
        return TOO_MANY
    await pins.insert(db, self.backstage.ids.next(), self.id, status_id, self.now)
    return None


@turn(Account, Unpin)
async def unpin(self: Account, message: Unpin) -> None:
    await self.transact(pins.delete, self.id, message.status_id)
    self.mark(message.status_id, pinned=False)
