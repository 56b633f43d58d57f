"""Pins, in the turn of the account that owns them. Clients compare the error texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...storage import pins, statuses
from ...storage.statuses import Status
from ..account import AccountActor, AccountChange
from ..facts.marks import MarkedStatus
from ..kernel import Command, Refused, turn
from ..refusals import NOT_FOUND
from ..rules.limits import PINS, PINS_ELSEWHERE
from ..sending.interactions import send_pin
from .interacting import invalid
from .statuses import find_visible

TOO_MANY = invalid("You have already pinned the maximum number of posts")


@dataclass(frozen=True, slots=True)
class Pin(Command[None]):
    """Command: show an own status first on the profile. A repeat changes nothing."""

    status_id: int


@dataclass(frozen=True, slots=True)
class Unpin(Command[None]):
    """Command: remove a pin."""

    status_id: int


@turn(AccountActor, Pin)
async def pin(account: AccountActor, message: Pin) -> Refused | None:
    shown = await find_visible(account, message.status_id)
    if shown is None:
        return NOT_FOUND
    status = shown.status
    if complaints := list(_complaints(account, status)):
        return invalid(", ".join(complaints))
    return await account.change(_pin, status)


def _complaints(account: AccountActor, status: Status) -> Iterator[str]:
    if status.reblog_of_id is not None:
        yield "A boost cannot be pinned"
    if status.account_id != account.id:
        yield "Someone else's post cannot be pinned"
    if status.visibility == "direct":
        yield "Posts that are only visible to mentioned users cannot be pinned"


async def _pin(change: AccountChange, status: Status) -> Refused | None:
    db, account = change.db, change.account
    if not await statuses.hold(db, status.id):
        return NOT_FOUND
    change.publish(MarkedStatus(account.id, status.id, pinned=True))
    pinned = await pins.pinned(db, account.id)
    if status.id in pinned:
        return None
    if len(pinned) >= (PINS if account.is_local else PINS_ELSEWHERE):
        return TOO_MANY
    await pins.insert(db, change.ids.next(), account.id, status.id, change.now)
    change.promise(*await send_pin(db, account, status, pinned=True))
    return None


@turn(AccountActor, Unpin)
async def unpin(account: AccountActor, message: Unpin) -> None:
    await account.change(_unpin, message.status_id)


async def _unpin(change: AccountChange, status_id: int) -> None:
    db, account = change.db, change.account
    change.publish(MarkedStatus(account.id, status_id, pinned=False))
    if await pins.delete(db, account.id, status_id):
        change.promise(*await send_pin(db, account, await statuses.find(db, status_id), pinned=False))
