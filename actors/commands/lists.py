"""Lists, in the turn of their owner."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import accounts, lists
from ...storage.engine.database import Connection
from ...storage.lists import List
from ..account import AccountActor
from ..effects.lists import list_changed
from ..kernel import Message, Origin, Refused, turn
from ..rules.limits import LISTS

NOT_FOUND = Refused(404, "Record not found")
TOO_MANY = Refused(422, "Validation failed: You have reached the maximum number of lists")
NOT_FOLLOWED = Refused(422, "Validation failed: Account must be a followed account")
ON_IT_ALREADY = Refused(422, "Validation failed: Account is already on the list")


@dataclass(frozen=True, slots=True)
class CreateList(Message[List]):
    """Command: make a list; answered with the List."""

    title: str
    replies_policy: str
    exclusive: bool


@dataclass(frozen=True, slots=True)
class ChangeList(Message[List]):
    """Command: change a list; what is None stays as it is. Answered with the List."""

    id: int
    title: str | None
    replies_policy: str | None
    exclusive: bool | None


@dataclass(frozen=True, slots=True)
class DeleteList(Message[List]):
    """Command: delete a list."""

    id: int


@dataclass(frozen=True, slots=True)
class AddToList(Message[List]):
    """Command: put accounts on a list, all or none."""

    id: int
    account_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RemoveFromList(Message[List]):
    """Command: take accounts from a list, those that are on it."""

    id: int
    account_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ListChange:
    """What a transaction came to, and what it promised."""

    list: List
    promised: list[int]


@turn(AccountActor, CreateList)
async def create(account: AccountActor, message: CreateList) -> List | Refused:
    new = List(
        account.context.ids.next(), account.id, message.title, message.replies_policy, message.exclusive, account.now
    )  # fmt: skip
    return new if await account.transact(lists.insert, new, LISTS) else TOO_MANY


@turn(AccountActor, ChangeList)
async def change(account: AccountActor, message: ChangeList) -> List | Refused:
    return _settle(account, await account.transact(_change, account, message, account.origin))


@turn(AccountActor, DeleteList)
async def delete(account: AccountActor, message: DeleteList) -> List | Refused:
    return _settle(account, await account.transact(_delete, account, message.id, account.origin))


@turn(AccountActor, AddToList)
async def add(account: AccountActor, message: AddToList) -> List | Refused:
    try:
        return _settle(account, await account.transact(_add, account, message, account.now, account.origin))
    except Doubled:
        return ON_IT_ALREADY


@turn(AccountActor, RemoveFromList)
async def remove(account: AccountActor, message: RemoveFromList) -> List | Refused:
    return _settle(account, await account.transact(_remove, account, message, account.origin))


class Doubled(Exception):
    """Somebody is on the list already: nothing of the transaction holds."""


async def _change(db: Connection, account: AccountActor, message: ChangeList, origin: Origin) -> ListChange | Refused:
    changed = await lists.change(
        db, account.id, message.id, message.title, message.replies_policy, message.exclusive
    )  # fmt: skip
    return await _changed(db, account, changed, origin)


async def _delete(db: Connection, account: AccountActor, id: int, origin: Origin) -> ListChange | Refused:
    return await _changed(db, account, await lists.delete(db, account.id, id), origin)


async def _add(
    db: Connection, account: AccountActor, message: AddToList, now: datetime, origin: Origin
) -> ListChange | Refused:
    ids = list(dict.fromkeys(message.account_ids))
    found = await _own(db, account, message.id)
    if found is None or len(await accounts.find_many(db, ids)) < len(ids):
        return NOT_FOUND
    if len(await lists.known_to(db, account.id, ids)) < len(ids):
        return NOT_FOLLOWED
    fresh = [account.context.ids.next() for _ in ids]
    if await lists.add(db, message.id, ids, fresh, now) < len(ids):
        raise Doubled
    return await _changed(db, account, found, origin)


async def _remove(
    db: Connection, account: AccountActor, message: RemoveFromList, origin: Origin
) -> ListChange | Refused:
    found = await _own(db, account, message.id)
    if found is not None:
        await lists.remove(db, message.id, message.account_ids)
    return await _changed(db, account, found, origin)


async def _own(db: Connection, account: AccountActor, id: int) -> List | None:
    found = await lists.find(db, id)
    return found if found is not None and found.account_id == account.id else None


async def _changed(db: Connection, account: AccountActor, list: List | None, origin: Origin) -> ListChange | Refused:
    if list is None:
        return NOT_FOUND
    promises = [list_changed(list.id, account.id)]
    return ListChange(list, await account.context.outbox.promise(db, promises, origin))


def _settle(account: AccountActor, changed: ListChange | Refused) -> List | Refused:
    """After the commit, before the answer: the list's timeline and the home read their rows again."""
    if isinstance(changed, Refused):
        return changed
    account.context.broadcast.list_changed(changed.list.id, account.id)
    account.context.outbox.hand_over(changed.promised)
    return changed.list
