"""Acts of staff on the e-mail domains that may not sign up. The command line calls the same acts."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import blocked_email_domains
from ...storage.blocked_email_domains import BlockedEmailDomain
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..kernel import Message, Refused, turn
from ..refusals import NOT_FOUND
from ..rules.roles import Permission
from ..staff import Staff, StaffAct, Target, act_in_turn, needs

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


@turn(AccountActor, BlockEmailDomain)
async def block_email_domain(account: AccountActor, message: BlockEmailDomain) -> BlockedEmailDomain | Refused:
    return await act_in_turn(account, message.staff, block, message.domain, message.allow_with_approval)


@turn(AccountActor, UnblockEmailDomain)
async def unblock_email_domain(account: AccountActor, message: UnblockEmailDomain) -> Refused | None:
    ended = await act_in_turn(account, message.staff, unblock, message.id)
    return ended if isinstance(ended, Refused) else None


@needs(Permission.MANAGE_BLOCKS)
async def block(db: Connection, act: StaffAct, domain: str, allow_with_approval: bool) -> BlockedEmailDomain | Refused:
    """Block a domain, in a transaction."""
    made = BlockedEmailDomain(act.next_id(), domain, allow_with_approval, act.now)
    if not await blocked_email_domains.insert(db, made):
        return TAKEN
    await act.log(db, "block_email_domain", _target(made), allow_with_approval=allow_with_approval)
    return made


@needs(Permission.MANAGE_BLOCKS)
async def unblock(db: Connection, act: StaffAct, id: int) -> BlockedEmailDomain | Refused:
    """End a block, in a transaction."""
    gone = await blocked_email_domains.delete(db, id)
    if gone is None:
        return NOT_FOUND
    await act.log(db, "unblock_email_domain", _target(gone))
    return gone


def _target(block: BlockedEmailDomain) -> Target:
    return Target("email_domain_block", block.id, block.domain)
