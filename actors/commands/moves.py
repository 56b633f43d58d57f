"""Moves of accounts, of this server and of others, the followers here who go along, and aliases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ...storage import accounts, moves, outbox
from ..account import AccountActor, AccountChange
from ..effects.mail import notice
from ..effects.moves import FollowMoved, account_moved, moving
from ..facts.accounts import ChangedAccount
from ..kernel import Command, Refused, finished, turn
from ..mail.templates import ACCOUNT_MOVED
from ..rules.limits import ALIASES
from ..sending.accounts import send_account, send_move
from .follows import Follow, Unfollow, follow, unfollow
from .moderation import publish_states

EVERY = timedelta(days=7)  # an account does not move more often


@dataclass(frozen=True, slots=True)
class Move(Command[None]):
    """Command to an account of another server: it has moved to another account, which knows of it."""

    target_id: int


@dataclass(frozen=True, slots=True)
class MoveAway(Command[None]):
    """Command to an account of this server: move to another account.

    The caller has checked that this account is an alias of the other account. Its user can't use the API until the move
    is taken back, as on Mastodon.
    """

    target_id: int


@dataclass(frozen=True, slots=True)
class MoveBack(Command[None]):
    """Command: use the account again. Followers who went along don't come back."""


@dataclass(frozen=True, slots=True)
class AddAlias(Command[None]):
    """Command: say that the account with a URI is of the same person, and may move here. A repeat changes nothing."""

    uri: str


@dataclass(frozen=True, slots=True)
class RemoveAlias(Command[None]):
    """Command: remove an alias. A repeat changes nothing."""

    uri: str


TOO_SOON = Refused(422, "This account has moved in the last seven days")
TOO_MANY = Refused(422, "This account has the maximum number of aliases")


@turn(AccountActor, Move)
async def move(account: AccountActor, message: Move) -> None:
    await account.change(_move, message.target_id)


async def _move(change: AccountChange, target_id: int) -> None:
    account, now = change.account, change.now
    if not account.is_local and await moves.begin(change.db, account.id, target_id, now, now - EVERY):
        change.publish(ChangedAccount(account.id))
        change.promise(account_moved(account.id, target_id))


@turn(AccountActor, MoveAway)
async def move_away(account: AccountActor, message: MoveAway) -> Refused | None:
    return await account.change(_move_away, message.target_id)


async def _move_away(change: AccountChange, target_id: int) -> Refused | None:
    """Move. Other servers get the new actor first: it proves the Move to those who look.

    A repeat publishes the states of the account again: an earlier turn may have crashed before it did so.
    """
    db, account, now = change.db, change.account, change.now
    target = await accounts.find(db, target_id)
    if target is None:
        return TOO_SOON
    if await moves.begin(db, account.id, target_id, now, now - EVERY):
        change.promise(
            *await send_account(db, account.context, account.id),
            *await send_move(db, account, target.uri),
            account_moved(account.id, target_id),
            notice(ACCOUNT_MOVED, account.owner),
        )
    else:
        me = await accounts.find(db, account.id)
        if me is None or me.moved_to_id != target_id:
            return TOO_SOON
    return await publish_states(change)


@turn(AccountActor, MoveBack)
async def move_back(account: AccountActor, message: MoveBack) -> None:
    await account.change(_move_back)


async def _move_back(change: AccountChange) -> None:
    """Followers who have not gone along yet stay."""
    db, account = change.db, change.account
    if await moves.end(db, account.id):
        await outbox.forget(db, moving(account.id))
        change.promise(*await send_account(db, account.context, account.id))
        await publish_states(change)


@turn(AccountActor, AddAlias)
async def add_alias(account: AccountActor, message: AddAlias) -> Refused | None:
    return await account.change(_add_alias, message.uri)


async def _add_alias(change: AccountChange, uri: str) -> Refused | None:
    """Add an alias.

    A repeat is published too: an earlier turn may have crashed before it did so.
    """
    db, account_id = change.db, change.account.id
    change.publish(ChangedAccount(account_id))
    before = [alias.uri for alias in await moves.aliases(db, account_id)]
    if uri in before:
        return None
    if len(before) >= ALIASES:
        return TOO_MANY
    await moves.add_alias(db, account_id, uri)
    change.promise(*await send_account(db, change.context, account_id))
    return None


@turn(AccountActor, RemoveAlias)
async def remove_alias(account: AccountActor, message: RemoveAlias) -> None:
    await account.change(_remove_alias, message.uri)


async def _remove_alias(change: AccountChange, uri: str) -> None:
    db, account_id = change.db, change.account.id
    if await moves.remove_alias(db, account_id, uri):
        change.publish(ChangedAccount(account_id))
        change.promise(*await send_account(db, change.context, account_id))


@turn(AccountActor, FollowMoved)
async def follow_moved(account: AccountActor, message: FollowMoved) -> None:
    """Follow the new account, unless it is the own account or may not be followed, and then unfollow the old account.

    Nothing is done if the old account is of this server and has come back meanwhile.
    """
    terms = account.perspective.following.get(message.account_id)
    if terms is None or await account.context.database.read(moves.has_come_back, message.account_id):
        return
    if message.target_id not in account.perspective.following and message.target_id != account.id:
        asked = Follow(message.target_id, terms.show_reblogs, terms.notify, terms.languages)
        await finished(follow(account, asked))
    await finished(unfollow(account, Unfollow(message.account_id)))
