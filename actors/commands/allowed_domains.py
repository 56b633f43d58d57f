"""Acts of staff on the domains that a server with limited federation deals with.

Accounts of domains that are not allowed are suspended, as those of blocked domains are.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from ...storage import allowed_domains, blocked_domains, instance
from ...storage.allowed_domains import AllowedDomain
from ...storage.blocked_domains import BlockedDomain
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..facts import ModeratedDomain
from ..kernel import Message, Refused, turn
from ..refusals import NOT_FOUND, OWN_DOMAIN
from ..rules.domains import DomainRules
from ..rules.roles import Permission
from ..server_blocks import announce_change
from ..staff import Staff, StaffAct, Target, act_in_turn, needs

# What holds for domains that are not allowed. Its time is the stamp of the accounts that it has suspended.
NOT_ALLOWED_DOMAIN = BlockedDomain(
    0, "", "suspend", True, True, None, None, False, datetime(1970, 1, 1, tzinfo=UTC)
)  # fmt: skip


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
    blocks = account.context.blocks
    async with blocks.changing():
        return await act_in_turn(
            account, message.staff, allow, message.domain,
            limited=blocks.limited, here=account.context.local_domain,
        )  # fmt: skip


@turn(AccountActor, DisallowDomain)
async def disallow_domain(account: AccountActor, message: DisallowDomain) -> AllowedDomain | Refused:
    blocks = account.context.blocks
    async with blocks.changing():
        return await act_in_turn(account, message.staff, disallow, message.id, limited=blocks.limited)


@needs(Permission.MANAGE_FEDERATION)
async def allow(db: Connection, act: StaffAct, domain: str, *, limited: bool, here: str) -> AllowedDomain | Refused:
    """Allow a domain, in a transaction. `limited` says if the server has limited federation.

    The domain of this server, `here`, is refused: it needs no permission. A domain that it is a part of can be allowed.
    """
    if domain == here:
        return OWN_DOMAIN
    allowed = AllowedDomain(act.next_id(), domain, act.now)
    if not await allowed_domains.insert(db, allowed):
        return await allowed_domains.find_by_domain(db, domain) or NOT_FOUND
    await _mark(db, act, domain, limited=limited)
    await announce_change(db)
    await act.log(db, "allow_domain", Target("domain_allow", allowed.id, domain))
    return allowed


@needs(Permission.MANAGE_FEDERATION)
async def disallow(db: Connection, act: StaffAct, id: int, *, limited: bool) -> AllowedDomain | Refused:
    """Allow a domain no more, in a transaction. `limited` says if the server has limited federation."""
    gone = await allowed_domains.delete(db, id)
    if gone is None:
        return NOT_FOUND
    await _mark(db, act, gone.domain, limited=limited)
    await announce_change(db)
    await act.log(db, "disallow_domain", Target("domain_allow", gone.id, gone.domain))
    return gone


async def _mark(db: Connection, act: StaffAct, changed: str, *, limited: bool) -> None:
    """Suspend the known accounts of all domains that are not allowed, and take that back for the others.

    All domains are looked at, because the server may have known them before its federation was limited.
    """
    allowed = [one.domain for one in await allowed_domains.find_all(db)] if limited else None
    rules = DomainRules(await blocked_domains.lock(db), allowed)
    groups: dict[BlockedDomain | None, list[str]] = {}
    for domain in await instance.peers(db):
        groups.setdefault(rules.block_of(domain) if rules.allows(domain) else NOT_ALLOWED_DOMAIN, []).append(domain)
    for block, names in groups.items():
        await blocked_domains.mark(db, names, [NOT_ALLOWED_DOMAIN.created_at], block, act.now)
    await act.publish(db, [ModeratedDomain(changed)])
