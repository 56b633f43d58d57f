"""Acts of staff on the domains that a server with limited federation deals with.

Accounts of domains that are not allowed are suspended, as those of blocked domains are.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from ...storage import allowed_domains, blocked_domains, instance
from ...storage.allowed_domains import AllowedDomain
from ...storage.blocked_domains import BlockedDomain
from ..facts.moderation import ModeratedDomain
from ..kernel import Message, Refused
from ..refusals import NOT_FOUND, OWN_DOMAIN
from ..rules.domains import DomainRules
from ..rules.roles import Permission
from ..server_blocks import announce_change
from ..staff import Staff, StaffAct, Target, act, blocks_in

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


@act(AllowDomain, Permission.MANAGE_FEDERATION, blocks_in)
async def allow(act: StaffAct, message: AllowDomain) -> AllowedDomain | Refused:
    """Allow a domain.

    The domain of this server is refused: it needs no permission. A domain that it is a part of can be allowed.
    """
    domain = message.domain
    if domain == act.server.domain:
        return OWN_DOMAIN
    allowed = AllowedDomain(act.ids.next(), domain, act.now)
    if not await allowed_domains.insert(act.db, allowed):
        return await allowed_domains.find_by_domain(act.db, domain) or NOT_FOUND
    await _mark(act, domain)
    await announce_change(act.db)
    await act.log("allow_domain", Target("domain_allow", allowed.id, domain))
    return allowed


@act(DisallowDomain, Permission.MANAGE_FEDERATION, blocks_in)
async def disallow(act: StaffAct, message: DisallowDomain) -> AllowedDomain | Refused:
    gone = await allowed_domains.delete(act.db, message.id)
    if gone is None:
        return NOT_FOUND
    await _mark(act, gone.domain)
    await announce_change(act.db)
    await act.log("disallow_domain", Target("domain_allow", gone.id, gone.domain))
    return gone


async def _mark(act: StaffAct, changed: str) -> None:
    """Suspend the known accounts of all domains that are not allowed, and take that back for the others.

    All domains are looked at, because the server may have known them before its federation was limited.
    """
    allowed = [one.domain for one in await allowed_domains.find_all(act.db)] if act.server.limited else None
    rules = DomainRules(await blocked_domains.lock(act.db), allowed)
    groups: dict[BlockedDomain | None, list[str]] = {}
    for domain in await instance.peers(act.db):
        groups.setdefault(rules.block_of(domain) if rules.allows(domain) else NOT_ALLOWED_DOMAIN, []).append(domain)
    for block, names in groups.items():
        await blocked_domains.mark(act.db, names, [NOT_ALLOWED_DOMAIN.created_at], block, act.now)
    act.publish(ModeratedDomain(changed))
