"""Acts of staff on the e-mail domains that may not sign up."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import blocked_email_domains
from ...storage.blocked_email_domains import BlockedEmailDomain
from ..kernel import Message, Refused
from ..refusals import NOT_FOUND
from ..rules.roles import Permission
from ..staff import Staff, StaffAct, Target, act

TAKEN = Refused(422, "Validation failed: Domain has already been taken")


@dataclass(frozen=True, slots=True)
class BlockEmailDomain(Message[BlockedEmailDomain]):
    """Command of staff: keep the addresses of a domain from signing up, or let them in by approval alone."""

    staff: Staff
    domain: str
    allow_with_approval: bool


@dataclass(frozen=True, slots=True)
class UnblockEmailDomain(Message[None]):
    """Command of staff: let the addresses of a domain sign up again."""

    staff: Staff
    id: int


@act(BlockEmailDomain, Permission.MANAGE_BLOCKS)
async def block(act: StaffAct, message: BlockEmailDomain) -> BlockedEmailDomain | Refused:
    made = BlockedEmailDomain(act.ids.next(), message.domain, message.allow_with_approval, act.now)
    if not await blocked_email_domains.insert(act.db, made):
        return TAKEN
    await act.log("block_email_domain", _target(made), allow_with_approval=made.allow_with_approval)
    return made


@act(UnblockEmailDomain, Permission.MANAGE_BLOCKS)
async def unblock(act: StaffAct, message: UnblockEmailDomain) -> Refused | None:
    gone = await blocked_email_domains.delete(act.db, message.id)
    if gone is None:
        return NOT_FOUND
    await act.log("unblock_email_domain", _target(gone))
    return None


def _target(block: BlockedEmailDomain) -> Target:
    return Target("email_domain_block", block.id, block.domain)
