"""Blocking whole domains, in the turn of the account that does it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from ...storage import blocks, follows
from ...storage.engine import Connection
from ..account import Account
from ..kernel import Origin, turn
from ..reminders import DomainBlocked
from .pairs import Dealt, settle
from .requests import AT_ONCE, remove_followers


@dataclass(frozen=True, slots=True)
class BlockDomain:
    """Command: hide everything from a domain, and let none of its people follow. Own follows there stay."""

    domain: str


@dataclass(frozen=True, slots=True)
class UnblockDomain:
    """Command: end that. Followers do not come back."""

    domain: str


@turn(Account, BlockDomain)
async def block_domain(self: Account, message: BlockDomain) -> None:
    promised = await self.transact(_block, self, message.domain, self.now, self.origin)
    await be_without(self, DomainBlocked(message.domain))
    see_without(self, self.perspective.domain_blocks | {message.domain})
    self.backstage.outbox.hand_over(promised)


@turn(Account, UnblockDomain)
async def unblock_domain(self: Account, message: UnblockDomain) -> None:
    promised = await self.transact(_unblock, self, message.domain, self.origin)
    see_without(self, self.perspective.domain_blocks - {message.domain})
    self.backstage.outbox.hand_over(promised)


@turn(Account, DomainBlocked)
async def be_without(self: Account, message: DomainBlocked) -> None:
    """End the follows by people of a domain, a transaction for each hundred."""
    more = True
    while more:
        dealt, more = await self.transact(_sever_some, self, message.domain, self.origin)
        await settle(self, dealt)


def see_without(self: Account, domains: frozenset[str]) -> None:
    """After the commit, before the answer: streams and the home timeline go by the new blocks."""
    self.perspective = replace(self.perspective, domain_blocks=domains)
    self.announce_perspective()
    self.backstage.broadcast.reread_home(self.id)


async def _block(db: Connection, self: Account, domain: str, now: datetime, origin: Origin) -> list[int]:
    outbox = self.backstage.outbox
    await blocks.insert_domain_block(db, self.backstage.ids.next(), self.id, domain, now)
    reminder = outbox.reminder(self.id, DomainBlocked(domain), f"domains/{self.id}", origin)
    return await outbox.promise(db, [outbox.relation(self.id, (), origin), reminder])


async def _unblock(db: Connection, self: Account, domain: str, origin: Origin) -> list[int]:
    await blocks.delete_domain_block(db, self.id, domain)
    return await self.backstage.outbox.promise(db, [self.backstage.outbox.relation(self.id, (), origin)])


async def _sever_some(db: Connection, self: Account, domain: str, origin: Origin) -> tuple[Dealt, bool]:
    followers = await follows.from_domain(db, self.id, domain, AT_ONCE)
    return await remove_followers(db, self, followers, origin), len(followers) == AT_ONCE
