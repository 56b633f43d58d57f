"""Acts of staff on the e-mail addresses, and on the domains of addresses, that may not sign up."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import server_blocks
from ...storage.blocked_emails import BlockedEmail, BlockedEmailDomain
from ..kernel import Command, Refused
from ..refusals import NOT_FOUND
from ..rules.roles import Permission
from ..staff.acts import Staff, StaffAct, Target, act

TAKEN = Refused(422, "Validation failed: Canonical email hash has already been taken")
TAKEN_DOMAIN = Refused(422, "Validation failed: Domain has already been taken")


@dataclass(frozen=True, slots=True)
class BlockEmail(Command[BlockedEmail]):
    """Command of staff: keep an address, in all its spellings, from signing up."""

    staff: Staff
    email_hash: bytes


@dataclass(frozen=True, slots=True)
class UnblockEmail(Command[None]):
    """Command of staff: let an address sign up again."""

    staff: Staff
    id: int


@dataclass(frozen=True, slots=True)
class BlockEmailDomain(Command[BlockedEmailDomain]):
    """Command of staff: keep the addresses of a domain from signing up, or let them in by approval alone."""

    staff: Staff
    domain: str
    allow_with_approval: bool


@dataclass(frozen=True, slots=True)
class UnblockEmailDomain(Command[None]):
    """Command of staff: let the addresses of a domain sign up again."""

    staff: Staff
    id: int


@act(BlockEmail, Permission.MANAGE_BLOCKS)
async def block(act: StaffAct, message: BlockEmail) -> BlockedEmail | Refused:
    made = BlockedEmail(act.ids.next(), message.email_hash, act.now)
    if not await server_blocks.insert(act.db, made):
        return TAKEN
    await act.log("block_email", _target(made))
    return made


@act(UnblockEmail, Permission.MANAGE_BLOCKS)
async def unblock(act: StaffAct, message: UnblockEmail) -> Refused | None:
    gone = await server_blocks.delete(act.db, BlockedEmail, message.id)
    if gone is None:
        return NOT_FOUND
    await act.log("unblock_email", _target(gone))
    return None


@act(BlockEmailDomain, Permission.MANAGE_BLOCKS)
async def block_domain(act: StaffAct, message: BlockEmailDomain) -> BlockedEmailDomain | Refused:
    made = BlockedEmailDomain(act.ids.next(), message.domain, message.allow_with_approval, act.now)
    if not await server_blocks.insert(act.db, made):
        return TAKEN_DOMAIN
    await act.log("block_email_domain", _domain_target(made), allow_with_approval=made.allow_with_approval)
    return made


@act(UnblockEmailDomain, Permission.MANAGE_BLOCKS)
async def unblock_domain(act: StaffAct, message: UnblockEmailDomain) -> Refused | None:
    gone = await server_blocks.delete(act.db, BlockedEmailDomain, message.id)
    if gone is None:
        return NOT_FOUND
    await act.log("unblock_email_domain", _domain_target(gone))
    return None


def _target(block: BlockedEmail) -> Target:
    return Target("canonical_email_block", block.id, block.email_hash.hex())


def _domain_target(block: BlockedEmailDomain) -> Target:
    return Target("email_domain_block", block.id, block.domain)
