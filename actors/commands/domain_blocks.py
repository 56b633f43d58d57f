"""Blocking whole domains, in the turn of the account that blocks."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import domain_blocks, follows
from ..account import AccountActor, AccountChange
from ..effects.reminders import DomainBlocked, reminder
from ..facts.relations import ChangedDomainBlocks
from ..kernel import Command, turn
from .follow_requests import AT_ONCE, remove_followers


@dataclass(frozen=True, slots=True)
class BlockDomain(Command[None]):
    """Command: hide everything from a domain and end the follows by its accounts. Own follows there stay."""

    domain: str


@dataclass(frozen=True, slots=True)
class UnblockDomain(Command[None]):
    """Command: end a domain block. The followers do not come back."""

    domain: str


@turn(AccountActor, BlockDomain)
async def block_domain(account: AccountActor, message: BlockDomain) -> None:
    await account.change(_block, message.domain)
    await end_follows(account, message.domain)


@turn(AccountActor, UnblockDomain)
async def unblock_domain(account: AccountActor, message: UnblockDomain) -> None:
    await account.change(_unblock, message.domain)


@turn(AccountActor, DomainBlocked)
async def finish_domain_block(account: AccountActor, message: DomainBlocked) -> None:
    await end_follows(account, message.domain)


async def end_follows(account: AccountActor, domain: str) -> None:
    """End the follows by accounts of a domain, in transactions of a hundred."""
    while await account.change(_sever_some, domain):
        pass


async def _block(change: AccountChange, domain: str) -> None:
    account = change.account
    await domain_blocks.insert(change.db, change.ids.next(), account.id, domain, change.now)
    change.publish(ChangedDomainBlocks(account.id, account.perspective.domain_blocks | {domain}))
    change.promise(reminder(account.id, DomainBlocked(domain)))


async def _unblock(change: AccountChange, domain: str) -> None:
    account = change.account
    await domain_blocks.delete(change.db, account.id, domain)
    change.publish(ChangedDomainBlocks(account.id, account.perspective.domain_blocks - {domain}))


async def _sever_some(change: AccountChange, domain: str) -> bool:
    """End up to a hundred follows. True if there may be more."""
    followers = await follows.from_domain(change.db, change.account.id, domain, AT_ONCE)
    await remove_followers(change, followers)
    return len(followers) == AT_ONCE
