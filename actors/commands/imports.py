"""Imports: each line of the file is stored as a row, then executed by the command that a user would send.

A turn executes a few lines. A repeat of each command changes nothing, and the outcome of a line is stored after it. So
a crash between the two repeats a line, and nothing is done twice. Lines with accounts or posts that are not known
here wait until the queue `lookups` has looked these up at their servers, 1,000 an hour of a domain
(`effects/imports.py`). The transaction that ends a look-up writes its result to the lines and promises the next turn.
So a crash loses no line, and an import whose servers are away ends with a reason for each line.

An import that overwrites removes all that the file does not have, once each line was tried, and only if a line had an
effect. A file whose lines all fail removes nothing. A server that does not answer leaves its accounts and posts
unknown, so nothing of it is removed while its lines wait.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from ...storage import accounts, imports, lists
from ...storage.imports import Import, ImportLine
from ...storage.lists import List
from ..account import AccountActor, AccountChange
from ..effects.imports import ImportSome, import_waits, lookups_of
from ..facts.lists import ChangedList
from ..kernel import Answer, Command, Refused, finished, turn
from ..refusals import NOT_ALLOWED, NOT_FOUND
from ..rules.identity import domain_of
from ..rules.imports import is_account, is_address
from ..rules.limits import LISTS
from .blocks import Block, Unblock, block, unblock
from .bookmarks import Bookmark, Unbookmark, bookmark, unbookmark
from .domain_blocks import BlockDomain, UnblockDomain, block_domain, unblock_domain
from .follows import Follow, Unfollow, follow, unfollow
from .mutes import Mute, Unmute, mute, unmute

# A batch is one turn, for which the account's other requests wait.
BATCH = 20

RUNNING = Refused(422, "Another import of this kind is not finished yet: wait for it, or stop it below")
UNKNOWN = "There is no such account on this server."
NO_ACCOUNT = "This is not the address of an account."
NO_POST = "This post is not known here, or not visible to you."
STOPPED = "You have stopped this import."


class NotHere(Exception):
    """Raised for a line whose account or post is not known here, and must be looked up at its server."""


@dataclass(frozen=True, slots=True)
class StartImport(Command[None]):
    """Command: store an import, to be carried out from now on."""

    kind: str
    overwrite: bool
    lines: tuple[ImportLine, ...]


@turn(AccountActor, StartImport)
async def start(account: AccountActor, message: StartImport) -> Refused | None:
    return await account.change(_start, message)


async def _start(change: AccountChange, message: StartImport) -> Refused | None:
    me, id = change.account.id, change.ids.next()
    if await imports.is_running(change.db, me, message.kind):
        return RUNNING
    await imports.insert(change.db, id, me, message.kind, message.overwrite, message.lines, change.now)
    change.promise(import_waits(id, me))
    return None


@dataclass(frozen=True, slots=True)
class RetryImport(Command[None]):
    """Command: carry out the lines of an import again that had no effect."""

    id: int


@turn(AccountActor, RetryImport)
async def retry(account: AccountActor, message: RetryImport) -> Refused | None:
    return await account.change(_retry, message.id)


async def _retry(change: AccountChange, id: int) -> Refused | None:
    if not await imports.try_again(change.db, id, change.account.id):
        return RUNNING
    change.promise(import_waits(id, change.account.id))
    return None


@dataclass(frozen=True, slots=True)
class StopImport(Command[None]):
    """Command: end an import. Lines that were not carried out by then count as failed. Nothing more is removed."""

    id: int


@turn(AccountActor, StopImport)
async def stop(account: AccountActor, message: StopImport) -> None:
    await account.transact(imports.stop, message.id, account.id, account.now, STOPPED)


@turn(AccountActor, ImportSome)
async def import_some(account: AccountActor, message: ImportSome) -> bool:
    """Execute the lines that wait for nothing. Then, if the import overwrites, remove entries that are not in the file.

    A deleted account executes nothing: other accounts would be notified of changes that are erased at once.
    """
    database = account.context.database
    found = await database.read(imports.find, message.id)
    if found is None or found.finished_at is not None or account.user is None:
        return False
    lines = await database.read(imports.ready, found.id, BATCH)
    if lines:
        await _execute(account, found, lines)
        return True
    standing = await database.read(imports.standing, found.id)
    if found.overwrite and found.cleared_at is None and standing.effective and not standing.untried:
        if not await CLEARING[found.kind](account, found):
            await account.transact(imports.mark_cleared, found.id, account.now)
        return True
    if not standing.open:
        await account.transact(imports.finish, found.id, account.now)
    return False


async def _execute(account: AccountActor, found: Import, lines: Sequence[ImportLine]) -> None:
    missing: list[ImportLine] = []
    for line in lines:
        try:
            error = await CARRYING_OUT[found.kind](account, line)
        except NotHere:
            missing.append(line)
        else:
            await account.transact(imports.mark_done, found.id, line.number, error)
    if missing:
        await account.change(_look_up, found.id, missing)


async def _look_up(change: AccountChange, id: int, lines: Sequence[ImportLine]) -> None:
    await imports.wait(change.db, id, [line.number for line in lines])
    change.promise(*lookups_of(id, change.account.id, [line.target for line in lines]))


# Lines ----------------------------------------------------------------------------------------------------------------


async def _account(account: AccountActor, line: ImportLine) -> int | str:
    """Return the id of the line's account, or why there is none. Raises NotHere."""
    if line.found_id is not None:
        return line.found_id
    if not is_account(line.target):
        return NO_ACCOUNT
    if "://" in line.target:
        raise NotHere
    name, _, domain = line.target.partition("@")
    found = await account.context.database.read(accounts.find_by_acct, name, domain or None)
    if found is not None and found.deleted_at is None and not found.pending:
        return found.id
    if domain:
        raise NotHere
    return UNKNOWN


def _reason(refusal: Refused | None) -> str | None:
    if refusal is None:
        return None
    if refusal == NOT_FOUND:
        return "This account is gone or suspended."
    if refusal == NOT_ALLOWED:
        return "You can't follow this account: it has moved, or one of you has blocked the other."
    return refusal.text.removeprefix("Validation failed: ")


async def _follow(account: AccountActor, line: ImportLine) -> str | None:
    target = await _account(account, line)
    if isinstance(target, str):
        return target
    options = line.options
    languages = options.get("languages")
    command = Follow(
        target, options.get("reblogs"), options.get("notify"), None if languages is None else tuple(languages)
    )
    return _reason(await finished(follow(account, command)))


async def _block(account: AccountActor, line: ImportLine) -> str | None:
    target = await _account(account, line)
    return target if isinstance(target, str) else _reason(await finished(block(account, Block(target))))


async def _mute(account: AccountActor, line: ImportLine) -> str | None:
    target = await _account(account, line)
    if isinstance(target, str):
        return target
    return _reason(await finished(mute(account, Mute(target, line.options.get("notifications", True)))))


async def _bookmark(account: AccountActor, line: ImportLine) -> str | None:
    """Bookmark the post at an address. Addresses of this server were replaced by URIs, and need no look-up."""
    status_id = line.found_id or await account.context.database.read(imports.status_of, line.target)
    if status_id is None:
        if account.context.names.is_local(line.target) or not is_address(line.target):
            return NO_POST
        raise NotHere
    return NO_POST if await finished(bookmark(account, Bookmark(status_id))) is not None else None


async def _block_domain(account: AccountActor, line: ImportLine) -> str | None:
    if domain_of(line.target) != line.target or line.target == account.context.local_domain:
        return "This is not a domain of another server."
    await finished(block_domain(account, BlockDomain(line.target)))
    return None


async def _add_to_list(account: AccountActor, line: ImportLine) -> str | None:
    """Add an account to a list, and follow it if needed: lists have only followed accounts.

    A request is enough. The account is on the list from then on, and its posts come when it has accepted.
    """
    target = await _account(account, line)
    if isinstance(target, str):
        return target
    if not await account.transact(lists.known_to, account.id, [target]):
        refusal = await finished(follow(account, Follow(target)))
        if refusal is not None:
            return _reason(refusal)
    return await account.change(_add, line.options["title"], target)


async def _add(change: AccountChange, title: str, member: int) -> str | None:
    """Add a followed account to the list with a title, which is made if there is none. Return why it failed."""
    db, me, now = change.db, change.account.id, change.now
    if not await lists.known_to(db, me, [member]):
        return "You do not follow this account."  # it has removed this follower in between
    list_id = await imports.list_of(db, me, title)
    if list_id is None:
        list_id = change.ids.next()
        if not await lists.insert(db, List(list_id, me, title, "list", exclusive=False, created_at=now), LISTS):
            return "You have reached the maximum number of lists."
    await lists.add(db, list_id, [member], [change.ids.next()], now)
    return change.publish(ChangedList(list_id, me, change.ids.next()))


CARRYING_OUT: Mapping[str, Callable[[AccountActor, ImportLine], Awaitable[str | None]]] = {
    "following": _follow,
    "blocks": _block,
    "mutes": _mute,
    "lists": _add_to_list,
    "bookmarks": _bookmark,
    "domain_blocks": _block_domain,
}


# Clearing -------------------------------------------------------------------------------------------------------------


async def _surplus(account: AccountActor, found: Import) -> list[int]:
    return await account.context.database.read(imports.surplus, found, BATCH)


def _ends_with(undo: Callable[[AccountActor, int], Answer[None]]) -> Callable[[AccountActor, Import], Awaitable[bool]]:
    """Return a function that removes a batch of rows. `undo` removes the row with an id."""

    async def clear(account: AccountActor, found: Import) -> bool:
        surplus = await _surplus(account, found)
        for id in surplus:
            await finished(undo(account, id))
        return bool(surplus)

    return clear


async def _clear_domain_blocks(account: AccountActor, found: Import) -> bool:
    domains = await account.context.database.read(imports.surplus_domains, found, BATCH)
    for domain in domains:
        await finished(unblock_domain(account, UnblockDomain(domain)))
    return bool(domains)


async def _clear_lists(account: AccountActor, found: Import) -> bool:
    members = await account.context.database.read(imports.surplus_members, found, BATCH)
    for list_id, member in members:
        await account.change(_remove, list_id, member)
    if members:
        return True
    surplus = await _surplus(account, found)
    for list_id in surplus:
        await account.change(_delete, list_id)
    return bool(surplus)


async def _remove(change: AccountChange, list_id: int, member: int) -> None:
    await lists.remove(change.db, list_id, [member])
    change.publish(ChangedList(list_id, change.account.id, change.ids.next()))


async def _delete(change: AccountChange, list_id: int) -> None:
    await lists.delete(change.db, change.account.id, list_id)
    change.publish(ChangedList(list_id, change.account.id, change.ids.next()))


CLEARING: Mapping[str, Callable[[AccountActor, Import], Awaitable[bool]]] = {
    "following": _ends_with(lambda account, id: unfollow(account, Unfollow(id))),
    "blocks": _ends_with(lambda account, id: unblock(account, Unblock(id))),
    "mutes": _ends_with(lambda account, id: unmute(account, Unmute(id))),
    "lists": _clear_lists,
    "bookmarks": _ends_with(lambda account, id: unbookmark(account, Unbookmark(id))),
    "domain_blocks": _clear_domain_blocks,
}
