"""Pins, in the turn of the account that owns them. Clients compare the error texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...storage import pins, statuses
from ...storage.engine.database import Connection
from ...storage.statuses import Status
from ..account import AccountActor
from ..facts import MarkedStatus
from ..kernel import Message, Origin, Refused, turn
from ..refusals import NOT_FOUND
from ..rules.limits import PINS, PINS_ELSEWHERE
from ..sending.interactions import send_pin
from .interacting import invalid
from .statuses import find_visible

TOO_MANY = invalid("You have already pinned the maximum number of posts")


@dataclass(frozen=True, slots=True)
class Pin(Message[None]):
    """Command: show an own status first on the profile. A repeat changes nothing."""

    status_id: int


@dataclass(frozen=True, slots=True)
class Unpin(Message[None]):
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
    refusal = await account.transact(_pin, account, status, account.origin)
    if refusal is None:
        await account.publish(MarkedStatus(account.id, status.id, pinned=True))
    return refusal


def _complaints(account: AccountActor, status: Status) -> Iterator[str]:
    if status.reblog_of_id is not None:
        yield "A boost cannot be pinned"
    if status.account_id != account.id:
        yield "Someone else's post cannot be pinned"
    if status.visibility == "direct":
        yield "Posts that are only visible to mentioned users cannot be pinned"


async def _pin(db: Connection, account: AccountActor, status: Status, origin: Origin) -> Refused | None:
    if not await statuses.hold(db, status.id):
        return NOT_FOUND
    pinned = await pins.pinned(db, account.id)
    if status.id in pinned:
        return None
    if len(pinned) >= (PINS if account.is_local else PINS_ELSEWHERE):
        return TOO_MANY
    await pins.insert(db, account.context.ids.next(), account.id, status.id, account.now)
    await account.context.outbox.promise(db, await send_pin(db, account, status, pinned=True), origin)
    return None


@turn(AccountActor, Unpin)
async def unpin(account: AccountActor, message: Unpin) -> None:
    await account.transact(_unpin, account, message.status_id, account.origin)
    await account.publish(MarkedStatus(account.id, message.status_id, pinned=False))


async def _unpin(db: Connection, account: AccountActor, status_id: int, origin: Origin) -> None:
    if await pins.delete(db, account.id, status_id):
        sent = await send_pin(db, account, await statuses.find(db, status_id), pinned=False)
        await account.context.outbox.promise(db, sent, origin)
