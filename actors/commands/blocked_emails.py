"""Acts of staff on the e-mail addresses that may not sign up."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import blocked_emails
from ...storage.blocked_emails import BlockedEmail
from ..kernel import Message, Refused
from ..refusals import NOT_FOUND
from ..rules.roles import Permission
from ..staff import Staff, StaffAct, Target, act

TAKEN = Refused(422, "Validation failed: Canonical email hash has already been taken")


@dataclass(frozen=True, slots=True)
class BlockEmail(Message[BlockedEmail]):
    """Command of staff: keep an address, in all its spellings, from signing up."""

    staff: Staff
    email_hash: bytes


@dataclass(frozen=True, slots=True)
class UnblockEmail(Message[None]):
    """Command of staff: let an address sign up again."""

    staff: Staff
    id: int


@act(BlockEmail, Permission.MANAGE_BLOCKS)
async def block(act: StaffAct, message: BlockEmail) -> BlockedEmail | Refused:
    made = BlockedEmail(act.ids.next(), message.email_hash, act.now)
    if not await blocked_emails.insert(act.db, made):
        return TAKEN
    await act.log("block_email", _target(made))
    return made


@act(UnblockEmail, Permission.MANAGE_BLOCKS)
async def unblock(act: StaffAct, message: UnblockEmail) -> Refused | None:
    gone = await blocked_emails.delete(act.db, message.id)
    if gone is None:
        return NOT_FOUND
    await act.log("unblock_email", _target(gone))
    return None


def _target(block: BlockedEmail) -> Target:
    return Target("canonical_email_block", block.id, block.email_hash.hex())
