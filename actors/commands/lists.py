"""Lists. The account creates its lists, because it enforces their number; all other changes are turns of the list.

A list refuses every account but its owner. An unfollow removes the memberships of the followed account in its own
transaction.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import accounts, lists
from ...storage.lists import List
from ..account import AccountActor, AccountChange
from ..facts.lists import ChangedList
from ..kernel import Command, Refused, turn
from ..refusals import NOT_FOUND
from ..rules.limits import LISTS
from ..timelines.list import ListChange, ListTimeline

TOO_MANY = Refused(422, "Validation failed: You have reached the maximum number of lists")
NOT_FOLLOWED = Refused(422, "Validation failed: Account must be a followed account")
ON_IT_ALREADY = Refused(422, "Validation failed: Account is already on the list")


@dataclass(frozen=True, slots=True)
class CreateList(Command[List]):
    """Command to an account: create a list. The answer is the List."""

    title: str
    replies_policy: str
    exclusive: bool


@dataclass(frozen=True, slots=True)
class ChangeList(Command[List]):
    """Command to a list: change it. A None value leaves it as it is. The answer is the List.

    `show_replies` is the older form of `replies_policy`, which it does not override.
    """

    viewer_id: int
    title: str | None = None
    replies_policy: str | None = None
    show_replies: bool | None = None
    exclusive: bool | None = None


@dataclass(frozen=True, slots=True)
class DeleteList(Command[List]):
    """Command to a list: delete it."""

    viewer_id: int


@dataclass(frozen=True, slots=True)
class AddToList(Command[List]):
    """Command to a list: add accounts, all or none."""

    viewer_id: int
    account_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RemoveFromList(Command[List]):
    """Command to a list: remove accounts. Accounts that are not members are ignored."""

    viewer_id: int
    account_ids: tuple[int, ...]


def shown_replies(show_replies: bool | None, before: str) -> str | None:
    """Return the replies policy that the older parameter stands for; None if it was not given."""
    if show_replies is None:
        return None
    if not show_replies:
        return "none"
    return "list" if before == "none" else before


@turn(AccountActor, CreateList)
async def create(account: AccountActor, message: CreateList) -> List | Refused:
    return await account.change(_create, message)


@turn(ListTimeline, ChangeList)
async def change(timeline: ListTimeline, message: ChangeList) -> List | Refused:
    before = timeline.owned_by(message.viewer_id)
    return NOT_FOUND if before is None else await timeline.change(_change, before, message)


@turn(ListTimeline, DeleteList)
async def delete(timeline: ListTimeline, message: DeleteList) -> List | Refused:
    before = timeline.owned_by(message.viewer_id)
    return NOT_FOUND if before is None else await timeline.change(_delete, before)


@turn(ListTimeline, AddToList)
async def add(timeline: ListTimeline, message: AddToList) -> List | Refused:
    before = timeline.owned_by(message.viewer_id)
    if before is None:
        return NOT_FOUND
    return await timeline.change(_add, before, list(dict.fromkeys(message.account_ids)))


@turn(ListTimeline, RemoveFromList)
async def remove(timeline: ListTimeline, message: RemoveFromList) -> List | Refused:
    before = timeline.owned_by(message.viewer_id)
    return NOT_FOUND if before is None else await timeline.change(_remove, before, message.account_ids)


async def _create(change: AccountChange, message: CreateList) -> List | Refused:
    new = List(
        change.ids.next(), change.account.id, message.title, message.replies_policy, message.exclusive, change.now
    )  # fmt: skip
    if not await lists.insert(change.db, new, LISTS):
        return TOO_MANY
    change.publish(ChangedList(new.id, new.account_id, change.ids.next()))
    return new


async def _change(change: ListChange, before: List, message: ChangeList) -> List | Refused:
    policy = message.replies_policy or shown_replies(message.show_replies, before.replies_policy)
    changed = await lists.change(change.db, before.account_id, before.id, message.title, policy, message.exclusive)
    return _publish(change, changed)


async def _delete(change: ListChange, before: List) -> List | Refused:
    return _publish(change, await lists.delete(change.db, before.account_id, before.id))


async def _add(change: ListChange, before: List, ids: list[int]) -> List | Refused:
    db = change.db
    if len(await accounts.find_many(db, ids)) < len(ids):
        return NOT_FOUND
    # The owner's account may end a follow at the same time, in its own transaction: with the lock the later
    # transaction waits.
    if len(await lists.known_to(db, before.account_id, ids)) < len(ids):
        return NOT_FOLLOWED
    if await lists.add(db, before.id, ids, [change.ids.next() for _ in ids], change.now) < len(ids):
        return ON_IT_ALREADY
    return _publish(change, before)


async def _remove(change: ListChange, before: List, ids: tuple[int, ...]) -> List | Refused:
    await lists.remove(change.db, before.id, ids)
    return _publish(change, before)


def _publish(change: ListChange, changed: List | None) -> List | Refused:
    """Publish the change of a list, and return the list. Refused if the list does not exist."""
    if changed is None:
        return NOT_FOUND
    change.publish(ChangedList(changed.id, changed.account_id, change.ids.next()))
    return changed
