"""Acts of staff on the domains that a server with limited federation deals with."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import allowed_domains
from ...storage.allowed_domains import AllowedDomain
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..kernel import Message, Refused, turn
from ..rules.roles import Permission
from ..server_blocks import announce_change
from ..staff import NOT_ALLOWED, Staff, StaffAct, Target, act_in_turn

NOT_FOUND = Refused(404, "Record not found")


@dataclass(frozen=True, slots=True)
class AllowDomain(Message[AllowedDomain]):
    """Command of staff: allow a domain. One that is allowed stays as it is."""

    staff: Staff
    domain: str


@dataclass(frozen=True, slots=True)
class DisallowDomain(Message[AllowedDomain]):
    """Command of staff: allow a domain no more. The answer is what it was."""

    staff: Staff
    id: int


@turn(AccountActor, AllowDomain)
async def allow_domain(account: AccountActor, message: AllowDomain) -> AllowedDomain | Refused:
    async with account.context.blocks.changing():
        return await account.transact(allow, act_in_turn(account, message.staff), message.domain)


@turn(AccountActor, DisallowDomain)
async def disallow_domain(account: AccountActor, message: DisallowDomain) -> AllowedDomain | Refused:
    async with account.context.blocks.changing():
        return await account.transact(disallow, act_in_turn(account, message.staff), message.id)


async def allow(db: Connection, act: StaffAct, domain: str) -> AllowedDomain | Refused:
    """Allow a domain, in a transaction."""
    if not await act.may(db, Permission.MANAGE_FEDERATION):
        return NOT_ALLOWED
    allowed = AllowedDomain(act.next_id(), domain, act.now)
    if not await allowed_domains.insert(db, allowed):
        return await allowed_domains.find_by_domain(db, domain) or NOT_FOUND
    await announce_change(db)
    await act.log(db, "allow_domain", Target("domain_allow", allowed.id, domain))
    return allowed


async def disallow(db: Connection, act: StaffAct, id: int) -> AllowedDomain | Refused:
    """Allow a domain no more, in a transaction."""
    if not await act.may(db, Permission.MANAGE_FEDERATION):
        return NOT_ALLOWED
    gone = await allowed_domains.delete(db, id)
    if gone is None:
        return NOT_FOUND
    await announce_change(db)
    await act.log(db, "disallow_domain", Target("domain_allow", gone.id, gone.domain))
    return gone
