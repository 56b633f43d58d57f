"""Acts of staff on blocked and allowed domains of the whole server.

A server with limited federation deals with allowed domains alone. Accounts of all others are suspended, as those of
blocked domains are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeGuard

from ...storage import blocked_domains, instance, server_blocks
from ...storage.blocked_domains import AllowedDomain, BlockedDomain, Severity
from ..facts.moderation import ModeratedDomain
from ..kernel import Command, Refused
from ..memory.server_blocks import NOTICE, domain_rules
from ..refusals import NOT_FOUND, OWN_DOMAIN
from ..rules.domains import RANKS, DomainRules, is_stricter, is_within, with_parents
from ..rules.roles import Permission
from ..staff.acts import Staff, StaffAct, Target, act, blocks_in

# The block of domains that are not allowed. Its time is the stamp of the accounts that it has suspended.
NOT_ALLOWED_DOMAIN = BlockedDomain(
    0, "", "suspend", True, True, None, None, False, datetime(1970, 1, 1, tzinfo=UTC)
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DomainTerms:
    """The terms of a block of a domain. None: not said, so that it stays as it is."""

    severity: Severity | None = None
    reject_media: bool | None = None
    reject_reports: bool | None = None
    private_comment: str | None = None
    public_comment: str | None = None
    obfuscate: bool | None = None

    def of(self, block: BlockedDomain) -> BlockedDomain:
        """Return a block with these terms."""
        return replace(
            block,
            severity=block.severity if self.severity is None else self.severity,
            reject_media=block.reject_media if self.reject_media is None else self.reject_media,
            reject_reports=block.reject_reports if self.reject_reports is None else self.reject_reports,
            private_comment=_comment(block.private_comment, self.private_comment),
            public_comment=_comment(block.public_comment, self.public_comment),
            obfuscate=block.obfuscate if self.obfuscate is None else self.obfuscate,
        )


@dataclass(frozen=True, slots=True)
class ListedBlock:
    """A line of a list of blocks."""

    domain: str
    terms: DomainTerms


@dataclass(frozen=True, slots=True)
class ImposedBlock:
    """The answer to a new block: it, or the block that was there and is at least as strict."""

    block: BlockedDomain
    is_new: bool


@dataclass(frozen=True, slots=True)
class ImposeDomainBlock(Command[ImposedBlock]):
    """Command of staff: block a domain and its subdomains."""

    staff: Staff
    domain: str
    terms: DomainTerms


@dataclass(frozen=True, slots=True)
class ImposeListedBlocks(Command[tuple[str, ...]]):
    """Command of staff: block the domains of a list, all or none. The answer is the newly blocked domains."""

    staff: Staff
    lines: tuple[ListedBlock, ...]


@dataclass(frozen=True, slots=True)
class ChangeDomainBlock(Command[BlockedDomain]):
    """Command of staff: change a block of a domain."""

    staff: Staff
    id: int
    terms: DomainTerms


@dataclass(frozen=True, slots=True)
class LiftDomainBlock(Command[None]):
    """Command of staff: end a block of a domain. Accounts that it has silenced or suspended are so no more."""

    staff: Staff
    id: int


@dataclass(frozen=True, slots=True)
class AllowDomain(Command[AllowedDomain]):
    """Command of staff: allow a domain. An allowed domain stays as it is."""

    staff: Staff
    domain: str


@dataclass(frozen=True, slots=True)
class DisallowDomain(Command[AllowedDomain]):
    """Command of staff: remove a domain from the allowed domains. The answer is the former row."""

    staff: Staff
    id: int


@act(ImposeDomainBlock, Permission.MANAGE_FEDERATION, blocks_in)
async def impose(act: StaffAct, message: ImposeDomainBlock) -> ImposedBlock | Refused:
    """Block a domain. A block that is there and forbids more stays as it is.

    The domain of this server can't be blocked, and neither can a domain that it is a part of.
    """
    if is_within(act.server.domain, message.domain):
        return OWN_DOMAIN
    before = await blocked_domains.lock(act.db)
    block = _new(act, message.domain, message.terms)
    existing = DomainRules(before).block_of(message.domain)
    if _keeps(existing, block):
        return ImposedBlock(existing, is_new=False)
    await server_blocks.insert(act.db, block)
    await _mark(act, [block], before)
    await _record(act, "block_domain", block)
    return ImposedBlock(block, is_new=True)


@act(ImposeListedBlocks, Permission.MANAGE_FEDERATION, blocks_in)
async def impose_listed(act: StaffAct, message: ImposeListedBlocks) -> tuple[str, ...] | Refused:
    """Block the domains of a list, and return those that were not blocked as strictly before.

    The order of the lines does not matter: of several lines with the same domain a strictest counts, and a subdomain is
    not blocked less strictly than its parent domain. Lines that would block the domain of this server are left out. The
    servers that are known are looked at once for all lines.
    """
    before = await blocked_domains.lock(act.db)
    known, made = {block.domain: block for block in before}, list[BlockedDomain]()
    for line in strictest(message.lines):
        block = _new(act, line.domain, line.terms)
        existing = next((known[name] for name in with_parents(line.domain) if name in known), None)
        if not is_within(act.server.domain, line.domain) and not _keeps(existing, block):
            known[block.domain] = block
            made.append(block)
    for block in made:
        await server_blocks.insert(act.db, block)
    await _mark(act, made, before)
    for block in made:
        await _record(act, "block_domain", block)
    return tuple(block.domain for block in made)


@act(ChangeDomainBlock, Permission.MANAGE_FEDERATION, blocks_in)
async def change(act: StaffAct, message: ChangeDomainBlock) -> BlockedDomain | Refused:
    """Change a block. A block of this server's domain can only be ended."""
    before = await blocked_domains.lock(act.db)
    block = next((listed for listed in before if listed.id == message.id), None)
    if block is None:
        return NOT_FOUND
    if is_within(act.server.domain, block.domain):
        return OWN_DOMAIN
    changed = message.terms.of(block)
    await blocked_domains.update(act.db, changed)
    await _mark(act, [changed], before)
    await _record(act, "change_domain_block", changed)
    return changed


@act(LiftDomainBlock, Permission.MANAGE_FEDERATION, blocks_in)
async def lift(act: StaffAct, message: LiftDomainBlock) -> Refused | None:
    before = await blocked_domains.lock(act.db)
    block = next((listed for listed in before if listed.id == message.id), None)
    if block is None:
        return NOT_FOUND
    await server_blocks.delete(act.db, BlockedDomain, message.id)
    await _mark(act, [block], before)
    await _record(act, "unblock_domain", block)
    return None


@act(AllowDomain, Permission.MANAGE_FEDERATION, blocks_in)
async def allow(act: StaffAct, message: AllowDomain) -> AllowedDomain | Refused:
    """Allow a domain.

    The domain of this server is refused: it needs no permission. A domain that it is a part of can be allowed.
    """
    domain = message.domain
    if domain == act.server.domain:
        return OWN_DOMAIN
    allowed = AllowedDomain(act.ids.next(), domain, act.now)
    if not await server_blocks.insert(act.db, allowed):
        return await server_blocks.find_by_key(act.db, AllowedDomain, domain) or NOT_FOUND
    await _mark_all(act, domain)
    await act.reload(NOTICE)
    await act.log("allow_domain", Target("domain_allow", allowed.id, domain))
    return allowed


@act(DisallowDomain, Permission.MANAGE_FEDERATION, blocks_in)
async def disallow(act: StaffAct, message: DisallowDomain) -> AllowedDomain | Refused:
    gone = await server_blocks.delete(act.db, AllowedDomain, message.id)
    if gone is None:
        return NOT_FOUND
    await _mark_all(act, gone.domain)
    await act.reload(NOTICE)
    await act.log("disallow_domain", Target("domain_allow", gone.id, gone.domain))
    return gone


def strictest(lines: Sequence[ListedBlock]) -> list[ListedBlock]:
    """Return a line for each domain, domains before their subdomains."""
    by_domain: dict[str, ListedBlock] = {}
    for line in lines:
        earlier = by_domain.get(line.domain)
        if earlier is None or RANKS[_severity(line)] > RANKS[_severity(earlier)]:
            by_domain[line.domain] = line
    return sorted(by_domain.values(), key=lambda line: line.domain.count("."))


def _severity(line: ListedBlock) -> Severity:
    return line.terms.severity or "silence"


def _new(act: StaffAct, domain: str, terms: DomainTerms) -> BlockedDomain:
    return terms.of(BlockedDomain(act.ids.next(), domain, "silence", False, False, None, None, False, act.now))


def _keeps(existing: BlockedDomain | None, block: BlockedDomain) -> TypeGuard[BlockedDomain]:
    """True if the block that rules a domain stays: it is of this very domain, or forbids more."""
    return existing is not None and (existing.domain == block.domain or not is_stricter(block, existing))


async def _mark(act: StaffAct, changed: Sequence[BlockedDomain], before: list[BlockedDomain]) -> None:
    """Put the accounts of some domains and their subdomains in the states that the blocks give them now."""
    rules, former = DomainRules(await server_blocks.find_all(act.db, BlockedDomain)), DomainRules(before)
    names, stamps = {block.domain for block in changed}, {block.created_at for block in changed}
    groups: dict[BlockedDomain | None, list[str]] = {}
    for domain in await instance.peers(act.db):
        if not names.isdisjoint(with_parents(domain)):
            groups.setdefault(rules.block_of(domain), []).append(domain)
            stamps |= {block.created_at for block in (*rules.blocks_of(domain), *former.blocks_of(domain))}
    for block, found in groups.items():
        await blocked_domains.mark(act.db, found, [*stamps], block, act.now)
    if changed:  # one fact is enough: timelines read the states of all accounts again
        act.publish(ModeratedDomain(changed[0].domain))


async def _mark_all(act: StaffAct, changed: str) -> None:
    """Suspend the known accounts of all domains that are not allowed, and take that back for the others.

    All domains are looked at, because the server may have known them before its federation was limited.
    """
    await blocked_domains.lock(act.db)
    rules = await domain_rules(act.db, limited=act.server.limited)
    groups: dict[BlockedDomain | None, list[str]] = {}
    for domain in await instance.peers(act.db):
        groups.setdefault(rules.block_of(domain) if rules.allows(domain) else NOT_ALLOWED_DOMAIN, []).append(domain)
    for block, names in groups.items():
        await blocked_domains.mark(act.db, names, [NOT_ALLOWED_DOMAIN.created_at], block, act.now)
    act.publish(ModeratedDomain(changed))


async def _record(act: StaffAct, action: str, block: BlockedDomain) -> None:
    """Write an act into the audit log, and have the blocks read again when it is committed."""
    await act.reload(NOTICE)
    await act.log(
        action, Target("domain_block", block.id, block.domain), block.private_comment or "",
        severity=block.severity, reject_media=block.reject_media, reject_reports=block.reject_reports,
    )  # fmt: skip


def _comment(old: str | None, new: str | None) -> str | None:
    return old if new is None else new or None
