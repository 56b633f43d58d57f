"""Blocking whole domains, in the turn of the account that blocks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...storage import domain_blocks, follows
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..effects.relations import relations_changed
from ..effects.reminders import DomainBlocked, reminder
from ..facts import ChangedDomainBlocks
from ..kernel import Message, Origin, turn
from .follow_requests import AT_ONCE, remove_followers
from .pairs import PairChanges, publish_changes


@dataclass(frozen=True, slots=True)
class BlockDomain(Message[None]):
    """Command: hide everything from a domain and end the follows by its accounts. Own follows there stay."""

    domain: str


@dataclass(frozen=True, slots=True)
class UnblockDomain(Message[None]):
    """Command: end a domain block. The followers do not come back."""

    domain: str


@turn(AccountActor, BlockDomain)
async def block_domain(account: AccountActor, message: BlockDomain) -> None:
    promised = await account.transact(_block, account, message.domain, account.now, account.origin)
    await end_follows(account, message.domain)
    domains = account.perspective.domain_blocks | {message.domain}
    await account.publish(ChangedDomainBlocks(account.id, domains), promised=promised)


@turn(AccountActor, UnblockDomain)
async def unblock_domain(account: AccountActor, message: UnblockDomain) -> None:
    promised = await account.transact(_unblock, account, message.domain, account.origin)
    domains = account.perspective.domain_blocks - {message.domain}
    await account.publish(ChangedDomainBlocks(account.id, domains), promised=promised)


@turn(AccountActor, DomainBlocked)
async def finish_domain_block(account: AccountActor, message: DomainBlocked) -> None:
    await end_follows(account, message.domain)


async def end_follows(account: AccountActor, domain: str) -> None:
    """End the follows by accounts of a domain, in transactions of a hundred."""
    more = True
    while more:
        changes, more = await account.transact(_sever_some, account, domain, account.origin)
        await publish_changes(account, changes)


async def _block(db: Connection, account: AccountActor, domain: str, now: datetime, origin: Origin) -> list[int]:
    await domain_blocks.insert(db, account.context.ids.next(), account.id, domain, now)
    promises = [relations_changed(account.id, ()), reminder(account.id, DomainBlocked(domain))]
    return await account.context.outbox.promise(db, promises, origin)


async def _unblock(db: Connection, account: AccountActor, domain: str, origin: Origin) -> list[int]:
    await domain_blocks.delete(db, account.id, domain)
    return await account.context.outbox.promise(db, [relations_changed(account.id, ())], origin)


async def _sever_some(db: Connection, account: AccountActor, domain: str, origin: Origin) -> tuple[PairChanges, bool]:
    followers = await follows.from_domain(db, account.id, domain, AT_ONCE)
    return await remove_followers(db, account, followers, origin), len(followers) == AT_ONCE
