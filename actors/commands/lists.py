"""Lists. The account creates its lists, because it enforces their number; all other changes are turns of the list."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import accounts, lists
from ...storage.engine.database import Connection
from ...storage.lists import List
from ..account import AccountActor
from ..effects.lists import list_changed
from ..entity import EntityActor
from ..facts import ChangedList
from ..kernel import Message, Origin, Refused, turn
from ..refusals import NOT_FOUND
from ..rules.limits import LISTS
from ..timelines.list import ListTimeline

TOO_MANY = Refused(422, "Validation failed: You have reached the maximum number of lists")
NOT_FOLLOWED = Refused(422, "Validation failed: Account must be a followed account")
ON_IT_ALREADY = Refused(422, "Validation failed: Account is already on the list")


@dataclass(frozen=True, slots=True)
class CreateList(Message[List]):
    """Command to an account: create a list. The answer is the List."""

    title: str
    replies_policy: str
    exclusive: bool


@dataclass(frozen=True, slots=True)
class ChangeList(Message[List]):
    """Command to a list: change it. A None value leaves it as it is. The answer is the List.

    `show_replies` is the older form of `replies_policy`, which it does not override.
    """

    viewer_id: int
    title: str | None = None
    replies_policy: str | None = None
    show_replies: bool | None = None
    exclusive: bool | None = None


@dataclass(frozen=True, slots=True)
class DeleteList(Message[List]):
    """Command to a list: delete it."""

    viewer_id: int


@dataclass(frozen=True, slots=True)
class AddToList(Message[List]):
    """Command to a list: add accounts, all or none."""

    viewer_id: int
    account_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RemoveFromList(Message[List]):
    """Command to a list: remove accounts; those that are not members are ignored."""

    viewer_id: int
    account_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ListChange:
    """The outcome of a transaction: the list, and the ids of the effects that it promised."""

    list: List
    promised: list[int]


class AlreadyMember(Exception):
    """Raised to roll back a transaction that would add a member twice."""


def shown_replies(show_replies: bool | None, before: str) -> str | None:
    """Return the replies policy that the older parameter stands for; None if it was not given."""
    if show_replies is None:
        return None
    if not show_replies:
        return "none"
    return "list" if before == "none" else before


@turn(AccountActor, CreateList)
async def create(account: AccountActor, message: CreateList) -> List | Refused:
    new = List(
        account.context.ids.next(), account.id, message.title, message.replies_policy, message.exclusive, account.now
    )  # fmt: skip
    return await _publish(account, await account.transact(_create, account, new, account.origin))


@turn(ListTimeline, ChangeList)
async def change(timeline: ListTimeline, message: ChangeList) -> List | Refused:
    before = timeline.owned_by(message.viewer_id)
    if before is None:
        return NOT_FOUND
    return await _publish(timeline, await timeline.transact(_change, timeline, before, message, timeline.origin))


@turn(ListTimeline, DeleteList)
async def delete(timeline: ListTimeline, message: DeleteList) -> List | Refused:
    before = timeline.owned_by(message.viewer_id)
    if before is None:
        return NOT_FOUND
    return await _publish(timeline, await timeline.transact(_delete, timeline, before, timeline.origin))


@turn(ListTimeline, AddToList)
async def add(timeline: ListTimeline, message: AddToList) -> List | Refused:
    before = timeline.owned_by(message.viewer_id)
    if before is None:
        return NOT_FOUND
    ids = list(dict.fromkeys(message.account_ids))
    try:
        return await _publish(
            timeline, await timeline.transact(_add, timeline, before, ids, timeline.now, timeline.origin)
        )
    except AlreadyMember:
        return ON_IT_ALREADY


@turn(ListTimeline, RemoveFromList)
async def remove(timeline: ListTimeline, message: RemoveFromList) -> List | Refused:
    before = timeline.owned_by(message.viewer_id)
    if before is None:
        return NOT_FOUND
    removed = timeline.transact(_remove, timeline, before, message.account_ids, timeline.origin)
    return await _publish(timeline, await removed)


async def _create(db: Connection, account: AccountActor, new: List, origin: Origin) -> ListChange | Refused:
    if not await lists.insert(db, new, LISTS):
        return TOO_MANY
    return await _promise(db, account, new, origin)


async def _change(
    db: Connection, timeline: ListTimeline, before: List, message: ChangeList, origin: Origin
) -> ListChange | Refused:
    policy = message.replies_policy or shown_replies(message.show_replies, before.replies_policy)
    changed = await lists.change(db, before.account_id, before.id, message.title, policy, message.exclusive)
    return await _promise(db, timeline, changed, origin)


async def _delete(db: Connection, timeline: ListTimeline, before: List, origin: Origin) -> ListChange | Refused:
    return await _promise(db, timeline, await lists.delete(db, before.account_id, before.id), origin)


async def _add(
    db: Connection, timeline: ListTimeline, before: List, ids: list[int], now: datetime, origin: Origin
) -> ListChange | Refused:
    if len(await accounts.find_many(db, ids)) < len(ids):
        return NOT_FOUND
    # The owner's account may end a follow at the same time, in its own transaction: the lock lets one wait for the
    # other.
    if len(await lists.known_to(db, before.account_id, ids)) < len(ids):
        return NOT_FOLLOWED
    fresh = [timeline.context.ids.next() for _ in ids]
    if await lists.add(db, before.id, ids, fresh, now) < len(ids):
        raise AlreadyMember
    return await _promise(db, timeline, before, origin)


async def _remove(
    db: Connection, timeline: ListTimeline, before: List, ids: tuple[int, ...], origin: Origin
) -> ListChange | Refused:
    await lists.remove(db, before.id, ids)
    return await _promise(db, timeline, before, origin)


async def _promise(db: Connection, actor: EntityActor, list: List | None, origin: Origin) -> ListChange | Refused:
    """Promise to tell of the change, in the same transaction. None if the list does not exist."""
    if list is None:
        return NOT_FOUND
    promises = [list_changed(list.id, list.account_id, actor.address)]
    return ListChange(list, await actor.context.outbox.promise(db, promises, origin))


async def _publish(actor: EntityActor, changed: ListChange | Refused) -> List | Refused:
    """Have the list and its owner's home timeline read their rows again, after the commit and before the answer."""
    if isinstance(changed, Refused):
        return changed
    fact = ChangedList(changed.list.id, changed.list.account_id, actor.context.ids.next())
    await actor.publish(fact, promised=changed.promised)
    return changed.list
