"""Stores the account that an actor's document describes, under its proven handle."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import accounts, server_blocks
from ...storage.accounts import Account
from ...storage.blocked_domains import BlockedDomain
from ...storage.engine.database import Connection
from ...storage.federation import actor_keys, remote_accounts, tombstones
from ...storage.federation.actor_keys import ActorKey
from ...storage.federation.remote_accounts import KnownRow, RemoteProfile
from ..context import ActorContext
from ..effects.refollows import actor_changed
from ..facts.accounts import ChangedAccount
from ..facts.fact import Fact
from ..facts.moderation import ModeratedAccount
from ..kernel import NOWHERE
from ..remote_emojis import put_emojis
from ..rules.domains import DomainRules


@dataclass(frozen=True, slots=True)
class StoredProfile:
    """An account after its profile was stored.

    `is_moderated` is True if its suspension began or ended, `is_another` if its handle belonged to another actor.
    `before` are deleted accounts that had its names.
    """

    account: Account
    is_moderated: bool
    is_another: bool
    before: tuple[int, ...]


async def store_profile(context: ActorContext, profile: RemoteProfile, keys: list[ActorKey]) -> Account | None:
    """Store a profile and return its account. None if the account was deleted: its URI and its handle stay taken.

    Some hours after the deletion, an account with these names is a new account: its server may have been set up again.
    If the handle belonged to another actor, local followers send their requests again.
    """
    with context.facts.publishing():
        stored = await context.database.transact(_store, context, profile, keys, context.clock.now())
        if stored is None:
            return None
        facts: list[Fact] = [ChangedAccount(id) for id in (*stored.before, stored.account.id)]
        if stored.is_moderated:
            facts.append(ModeratedAccount(stored.account.id, barred=False))
        if stored.is_another:
            context.outbox.wake()
        await context.facts.apply(facts)
    return stored.account


async def _store(
    db: Connection, context: ActorContext, profile: RemoteProfile, keys: list[ActorKey], now: datetime
) -> StoredProfile | None:
    new_id = context.ids.next()
    await remote_accounts.hold_blocked_domains(db)
    rows = await remote_accounts.lock(db, profile.uri, profile.username, profile.domain)
    if before := tuple(row.id for row in rows if is_over(row, now)):
        await remote_accounts.give_up_names(db, before)
        rows = [row for row in rows if row.id not in before]
    if not rows and not await remote_accounts.insert(db, new_id, profile, now):
        rows = await remote_accounts.lock(db, profile.uri, profile.username, profile.domain)
    if any(row.deleted_at is not None for row in rows):
        return None
    row = next((row for row in rows if row.uri == profile.uri), None) or next(iter(rows), None)
    id = new_id if row is None else row.id
    if len(rows) < 2:  # a handle that another account has stays there until that account is refreshed
        await _name(db, id, row, profile)
    known = await accounts.find(db, id)
    await remote_accounts.update(db, id, profile, now)
    await remote_accounts.set_emojis(db, id, await put_emojis(db, context, profile.domain, profile.emojis, now))
    for key in keys:
        await actor_keys.put(db, key)
    after = await accounts.find(db, id)
    if known is None or after is None:
        raise LookupError("the account was deleted while its row was locked")
    is_another = row is not None and row.uri != profile.uri
    if is_another:
        await context.outbox.promise(db, [actor_changed(id)], NOWHERE)
    return StoredProfile(after, known.suspended_at != after.suspended_at, is_another, before)


def is_over(row: KnownRow | Account, now: datetime) -> bool:
    """True for an account that was deleted so long ago that no activity of it is still on its way.

    A limited or suspended account keeps its names, so that it can't come back without its limits.
    """
    is_moderated = row.silenced_at is not None or row.suspended_at is not None
    return row.deleted_at is not None and not is_moderated and row.deleted_at + tombstones.KEPT_FOR <= now


async def _name(db: Connection, id: int, row: KnownRow | None, profile: RemoteProfile) -> None:
    """Give an account its handle, which no other account has.

    A new account on a blocked domain gets the state of the block.
    """
    silenced_at = suspended_at = None
    if row is None or row.domain != profile.domain:
        block = DomainRules(await server_blocks.find_all(db, BlockedDomain)).block_of(profile.domain)
        silenced_at = block.created_at if block is not None and block.severity == "silence" else None
        suspended_at = block.created_at if block is not None and block.severity == "suspend" else None
    await remote_accounts.name(db, id, profile, silenced_at, suspended_at)
