"""Lists, in the turn of their owner."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import accounts, lists
from ...storage.engine import Connection
from ...storage.lists import List
from ..account import Account
from ..kernel import Origin, Refused, turn
from ..rules.limits import LISTS

NOT_FOUND = Refused(404, "Record not found")
TOO_MANY = Refused(422, "Validation failed: You have reached the maximum number of lists")
NOT_FOLLOWED = Refused(422, "Validation failed: Account must be a followed account")
ON_IT_ALREADY = Refused(422, "Validation failed: Account is already on the list")


@dataclass(frozen=True, slots=True)
class CreateList:
    """Command: make a list; answered with the List."""

    title: str
    replies_policy: str
    exclusive: bool


@dataclass(frozen=True, slots=True)
class ChangeList:
    """Command: change a list; what is None stays as it is. Answered with the List."""

    id: int
    title: str | None
    replies_policy: str | None
    exclusive: bool | None


@dataclass(frozen=True, slots=True)
class DeleteList:
    """Command: delete a list."""

    id: int


@dataclass(frozen=True, slots=True)
class AddToList:
    """Command: put accounts on a list, all or none."""

    id: int
    account_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RemoveFromList:
    """Command: take accounts from a list, those that are on it."""

    id: int
    account_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Changed:
    """What a transaction came to, and what it promised."""

    list: List
    promised: list[int]


@turn(Account, CreateList)
async def create(self: Account, message: CreateList) -> List | Refused:
    new = List(
        self.backstage.ids.next(), self.id, message.title, message.replies_policy, message.exclusive, self.now
    )  # fmt: skip
    return new if await self.transact(lists.insert, new, LISTS) else TOO_MANY


@turn(Account, ChangeList)
async def change(self: Account, message: ChangeList) -> List | Refused:
    return _settle(self, await self.transact(_change, self, message, self.origin))


@turn(Account, DeleteList)
async def delete(self: Account, message: DeleteList) -> List | Refused:
    return _settle(self, await self.transact(_delete, self, message.id, self.origin))


@turn(Account, AddToList)
async def add(self: Account, message: AddToList) -> List | Refused:
    try:
        return _settle(self, await self.transact(_add, self, message, self.now, self.origin))
    except Doubled:
        return ON_IT_ALREADY


@turn(Account, RemoveFromList)
async def remove(self: Account, message: RemoveFromList) -> List | Refused:
    return _settle(self, await self.transact(_remove, self, message, self.origin))


class Doubled(Exception):
    """Somebody is on the list already: nothing of the transaction holds."""


async def _change(db: Connection, self: Account, message: ChangeList, origin: Origin) -> Changed | Refused:
    changed = await lists.change(
        db, self.id, message.id, message.title, message.replies_policy, message.exclusive
    )  # fmt: skip
    return await _changed(db, self, changed, origin)


async def _delete(db: Connection, self: Account, id: int, origin: Origin) -> Changed | Refused:
    return await _changed(db, self, await lists.delete(db, self.id, id), origin)


async def _add(db: Connection, self: Account, message: AddToList, now: datetime, origin: Origin) -> Changed | Refused:
    ids = list(dict.fromkeys(message.account_ids))
    found = await _own(db, self, message.id)
    if found is None or len(await accounts.find_many(db, ids)) < len(ids):
        return NOT_FOUND
    if len(await lists.known_to(db, self.id, ids)) < len(ids):
        return NOT_FOLLOWED
    fresh = [self.backstage.ids.next() for _ in ids]
    if await lists.add(db, message.id, ids, fresh, now) < len(ids):
        raise Doubled
    return await _changed(db, self, found, origin)


async def _remove(db: Connection, self: Account, message: RemoveFromList, origin: Origin) -> Changed | Refused:
    found = await _own(db, self, message.id)
    if found is not None:
        await lists.remove(db, message.id, message.account_ids)
    return await _changed(db, self, found, origin)


async def _own(db: Connection, self: Account, id: int) -> List | None:
    found = await lists.find(db, id)
    return found if found is not None and found.account_id == self.id else None


async def _changed(db: Connection, self: Account, list: List | None, origin: Origin) -> Changed | Refused:
    if list is None:
        return NOT_FOUND
    outbox = self.backstage.outbox
    return Changed(list, await outbox.promise(db, [outbox.list_changed(list.id, self.id, origin)]))


def _settle(self: Account, changed: Changed | Refused) -> List | Refused:
    """After the commit, before the answer: the list's timeline and the home read their rows again."""
    if isinstance(changed, Refused):
        return changed
    self.backstage.broadcast.list_changed(changed.list.id, self.id)
    self.backstage.outbox.hand_over(changed.promised)
    return changed.list
