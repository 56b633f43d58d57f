"""Acts of staff on the domains that the whole server blocks. The command line calls the same acts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from ...storage import blocked_domains, instance
from ...storage.blocked_domains import BlockedDomain, Severity
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..facts import ModeratedDomain
from ..kernel import Message, Refused, turn
from ..refusals import NOT_FOUND, OWN_DOMAIN
from ..rules.domains import RANKS, DomainRules, is_stricter, is_within, with_parents
from ..rules.roles import Permission
from ..server_blocks import announce_change
from ..staff import Staff, StaffAct, Target, act_in_turn, needs


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
class ImposeDomainBlock(Message[ImposedBlock]):
    """Command of staff: block a domain and its subdomains."""

    staff: Staff
    domain: str
    terms: DomainTerms


@dataclass(frozen=True, slots=True)
class ImposeListedBlocks(Message[tuple[str, ...]]):
    """Command of staff: block the domains of a list, all or none. The answer is those that are blocked by it."""

    staff: Staff
    lines: tuple[ListedBlock, ...]


@dataclass(frozen=True, slots=True)
class ChangeDomainBlock(Message[BlockedDomain]):
    """Command of staff: change a block of a domain."""

    staff: Staff
    id: int
    terms: DomainTerms


@dataclass(frozen=True, slots=True)
class LiftDomainBlock(Message[None]):
    """Command of staff: end a block of a domain. Accounts that it has silenced or suspended are so no more."""

    staff: Staff
    id: int


@turn(AccountActor, ImposeDomainBlock)
async def impose_domain_block(account: AccountActor, message: ImposeDomainBlock) -> ImposedBlock | Refused:
    here = account.context.local_domain
    async with account.context.blocks.changing():
        return await act_in_turn(account, message.staff, impose, message.domain, message.terms, here=here)


@turn(AccountActor, ImposeListedBlocks)
async def impose_listed_blocks(account: AccountActor, message: ImposeListedBlocks) -> tuple[str, ...] | Refused:
    here = account.context.local_domain
    async with account.context.blocks.changing():
        return await act_in_turn(account, message.staff, impose_listed, message.lines, here=here)


@turn(AccountActor, ChangeDomainBlock)
async def change_domain_block(account: AccountActor, message: ChangeDomainBlock) -> BlockedDomain | Refused:
    here = account.context.local_domain
    async with account.context.blocks.changing():
        return await act_in_turn(account, message.staff, change, message.id, message.terms, here=here)


@turn(AccountActor, LiftDomainBlock)
async def lift_domain_block(account: AccountActor, message: LiftDomainBlock) -> Refused | None:
    async with account.context.blocks.changing():
        lifted = await act_in_turn(account, message.staff, lift, message.id)
    return lifted if isinstance(lifted, Refused) else None


@needs(Permission.MANAGE_FEDERATION)
async def impose(
    db: Connection, act: StaffAct, domain: str, terms: DomainTerms, *, here: str
) -> ImposedBlock | Refused:
    """Block a domain, in a transaction. A block that is there and forbids more stays as it is.

    `here` is the domain of this server. It can't be blocked, and neither can a domain that it is a part of.
    """
    if is_within(here, domain):
        return OWN_DOMAIN
    before = await blocked_domains.lock(db)
    block = _new(act, domain, terms)
    existing = DomainRules(before).block_of(domain)
    if _keeps(existing, block):
        return ImposedBlock(existing, is_new=False)
    await blocked_domains.insert(db, block)
    await _mark(db, act, [block], before)
    await _record(db, act, "block_domain", block)
    return ImposedBlock(block, is_new=True)


@needs(Permission.MANAGE_FEDERATION)
async def impose_listed(
    db: Connection, act: StaffAct, lines: Sequence[ListedBlock], *, here: str
) -> tuple[str, ...] | Refused:
    """Block the domains of a list, in a transaction, and return those that were not blocked as strictly before.

    The order of the lines does not matter: of several lines with one domain a strictest counts, and a subdomain is not
    blocked less strictly than a domain that it is a part of. Lines that would block the domain of this server, `here`,
    are left out. The servers that are known are looked at once for all lines.
    """
    before = await blocked_domains.lock(db)
    known, made = {one.domain: one for one in before}, list[BlockedDomain]()
    for line in strictest(lines):
        block = _new(act, line.domain, line.terms)
        existing = next((known[name] for name in with_parents(line.domain) if name in known), None)
        if not is_within(here, line.domain) and not _keeps(existing, block):
            known[block.domain] = block
            made.append(block)
    for block in made:
        await blocked_domains.insert(db, block)
    await _mark(db, act, made, before)
    for block in made:
        await _record(db, act, "block_domain", block)
    return tuple(block.domain for block in made)


@needs(Permission.MANAGE_FEDERATION)
async def change(db: Connection, act: StaffAct, id: int, terms: DomainTerms, *, here: str) -> BlockedDomain | Refused:
    """Change a block, in a transaction. `here` is the domain of this server, whose block can only be ended."""
    before = await blocked_domains.lock(db)
    block = next((one for one in before if one.id == id), None)
    if block is None:
        return NOT_FOUND
    if is_within(here, block.domain):
        return OWN_DOMAIN
    changed = terms.of(block)
    await blocked_domains.update(db, changed)
    await _mark(db, act, [changed], before)
    await _record(db, act, "change_domain_block", changed)
    return changed


@needs(Permission.MANAGE_FEDERATION)
async def lift(db: Connection, act: StaffAct, id: int) -> BlockedDomain | Refused:
    """End a block, in a transaction."""
    before = await blocked_domains.lock(db)
    block = next((one for one in before if one.id == id), None)
    if block is None:
        return NOT_FOUND
    await blocked_domains.delete(db, id)
    await _mark(db, act, [block], before)
    await _record(db, act, "unblock_domain", block)
    return block


def strictest(lines: Sequence[ListedBlock]) -> list[ListedBlock]:
    """Return one line for each domain, domains before their subdomains."""
    by_domain: dict[str, ListedBlock] = {}
    for line in lines:
        earlier = by_domain.get(line.domain)
        if earlier is None or RANKS[_severity(line)] > RANKS[_severity(earlier)]:
            by_domain[line.domain] = line
    return sorted(by_domain.values(), key=lambda line: line.domain.count("."))


def _severity(line: ListedBlock) -> Severity:
    return line.terms.severity or "silence"


def _new(act: StaffAct, domain: str, terms: DomainTerms) -> BlockedDomain:
    return terms.of(BlockedDomain(act.next_id(), domain, "silence", False, False, None, None, False, act.now))


def _keeps(existing: BlockedDomain | None, block: BlockedDomain) -> TypeGuard[BlockedDomain]:
    """True if the block that rules a domain stays: it is of this very domain, or forbids more."""
    return existing is not None and (existing.domain == block.domain or not is_stricter(block, existing))


async def _mark(db: Connection, act: StaffAct, changed: Sequence[BlockedDomain], before: list[BlockedDomain]) -> None:
    """Put the accounts of some domains and their subdomains in the states that the blocks give them now."""
    rules, former = DomainRules(await blocked_domains.find_all(db)), DomainRules(before)
    names, stamps = {one.domain for one in changed}, {one.created_at for one in changed}
    groups: dict[BlockedDomain | None, list[str]] = {}
    for domain in await instance.peers(db):
        if not names.isdisjoint(with_parents(domain)):
            groups.setdefault(rules.block_of(domain), []).append(domain)
            stamps |= {block.created_at for block in (*rules.blocks_of(domain), *former.blocks_of(domain))}
    for block, found in groups.items():
        await blocked_domains.mark(db, found, [*stamps], block, act.now)
    if changed:  # one tells of all: timelines read the states of every account again
        await act.publish(db, [ModeratedDomain(changed[0].domain)])


async def _record(db: Connection, act: StaffAct, action: str, block: BlockedDomain) -> None:
    """Write an act into the audit log, and have the blocks read again when it is committed."""
    await announce_change(db)
    await act.log(
        db, action, Target("domain_block", block.id, block.domain), block.private_comment or "",
        severity=block.severity, reject_media=block.reject_media, reject_reports=block.reject_reports,
    )  # fmt: skip


def _comment(old: str | None, new: str | None) -> str | None:
    return old if new is None else new or None
