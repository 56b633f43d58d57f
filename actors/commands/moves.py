"""Moves of accounts, of this server and of others, the followers here who go along, and aliases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ...storage import accounts, moves, outbox
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..effects.mail import MAIL, notice
from ..effects.moderation import account_moderated
from ..effects.moves import FollowMoved, account_moved, moving
from ..facts import ChangedAccount
from ..kernel import Message, Origin, Refused, finished, turn
from ..mail.templates import ACCOUNT_MOVED
from ..rules.limits import ALIASES
from ..sending.accounts import send_account, send_move
from .moderation import publish_moderation
from .relations import Follow, Unfollow, follow, unfollow

EVERY = timedelta(days=7)  # an account does not move more often


@dataclass(frozen=True, slots=True)
class Move(Message[None]):
    """Command to an account of another server: it has moved to another account, which knows of it."""

    target_id: int


@dataclass(frozen=True, slots=True)
class MoveAway(Message[None]):
    """Command to an account of this server: move to another account. That this one is its alias was checked.

    Its user can't use the API until the move is taken back, as on Mastodon.
    """

    target_id: int


@dataclass(frozen=True, slots=True)
class MoveBack(Message[None]):
    """Command: use the account again. Followers who went along don't come back."""


@dataclass(frozen=True, slots=True)
class AddAlias(Message[None]):
    """Command: say that the account with a URI is of the same person, and may move here. A repeat changes nothing."""

    uri: str


@dataclass(frozen=True, slots=True)
class RemoveAlias(Message[None]):
    """Command: remove an alias. A repeat changes nothing."""

    uri: str


TOO_SOON = Refused(422, "This account has moved in the last seven days")
TOO_MANY = Refused(422, "This account has the maximum number of aliases")


@turn(AccountActor, Move)
async def move(account: AccountActor, message: Move) -> None:
    if await account.transact(_move, account, message.target_id, account.now, account.origin):
        await account.publish(ChangedAccount(account.id))
        account.context.outbox.wake()


async def _move(db: Connection, account: AccountActor, target_id: int, now: datetime, origin: Origin) -> bool:
    if account.is_local or not await moves.begin(db, account.id, target_id, now, now - EVERY):
        return False
    await account.context.outbox.promise(db, [account_moved(account.id, target_id)], origin)
    return True


@turn(AccountActor, MoveAway)
async def move_away(account: AccountActor, message: MoveAway) -> Refused | None:
    if not await account.transact(_move_away, account, message.target_id, account.now, account.origin):
        return TOO_SOON
    await publish_moderation(account)
    account.context.outbox.wake(MAIL)
    return None


async def _move_away(
    db: Connection, account: AccountActor, target_id: int, now: datetime, origin: Origin
) -> bool:  # fmt: skip
    """Other servers get the new actor first: it proves the Move to those who look."""
    target = await accounts.find(db, target_id)
    if target is None:
        return False
    if not await moves.begin(db, account.id, target_id, now, now - EVERY):
        me = await accounts.find(db, account.id)
        return me is not None and me.moved_to_id == target_id  # a turn that crashed after its commit is repeated
    sent = [
        *await send_account(db, account.context, account.id),
        *await send_move(db, account, target.uri),
        account_moved(account.id, target_id),
        account_moderated(account.id),
        notice(ACCOUNT_MOVED, account.owner),
    ]
    await account.context.outbox.promise(db, sent, origin)
    return True


@turn(AccountActor, MoveBack)
async def move_back(account: AccountActor, message: MoveBack) -> None:
    if await account.transact(_move_back, account, account.origin):
        await publish_moderation(account)


async def _move_back(db: Connection, account: AccountActor, origin: Origin) -> bool:
    """Followers who have not gone along yet stay."""
    if not await moves.end(db, account.id):
        return False
    await outbox.forget(db, moving(account.id))
    sent = [*await send_account(db, account.context, account.id), account_moderated(account.id)]
    await account.context.outbox.promise(db, sent, origin)
    return True


@turn(AccountActor, AddAlias)
async def add_alias(account: AccountActor, message: AddAlias) -> Refused | None:
    refusal = await account.transact(_add_alias, account, message.uri, account.origin)
    await account.publish(ChangedAccount(account.id))
    return refusal


async def _add_alias(db: Connection, account: AccountActor, uri: str, origin: Origin) -> Refused | None:
    before = [one.uri for one in await moves.aliases(db, account.id)]
    if uri in before:
        return None
    if len(before) >= ALIASES:
        return TOO_MANY
    await moves.add_alias(db, account.id, uri)
    await account.context.outbox.promise(db, await send_account(db, account.context, account.id), origin)
    return None


@turn(AccountActor, RemoveAlias)
async def remove_alias(account: AccountActor, message: RemoveAlias) -> None:
    if await account.transact(_remove_alias, account, message.uri, account.origin):
        await account.publish(ChangedAccount(account.id))


async def _remove_alias(db: Connection, account: AccountActor, uri: str, origin: Origin) -> bool:
    if not await moves.remove_alias(db, account.id, uri):
        return False
    await account.context.outbox.promise(db, await send_account(db, account.context, account.id), origin)
    return True


@turn(AccountActor, FollowMoved)
async def follow_moved(account: AccountActor, message: FollowMoved) -> None:
    """Follow the new account, unless it is the own one or may not be followed, and then the old one no more.

    Nothing is done if the old account is of this server and has come back meanwhile.
    """
    terms = account.perspective.following.get(message.account_id)
    if terms is None or await account.context.database.read(moves.has_come_back, message.account_id):
        return
    if message.target_id not in account.perspective.following and message.target_id != account.id:
        asked = Follow(message.target_id, terms.show_reblogs, terms.notify, terms.languages)
        await finished(follow(account, asked))
    await finished(unfollow(account, Unfollow(message.account_id)))
