"""Acts of staff on the e-mail addresses that may not sign up. The command line calls the same acts."""

from __future__ import annotations

from dataclasses import dataclass

from ...storage import blocked_emails
from ...storage.blocked_emails import BlockedEmail
from ...storage.engine.database import Connection
from ..account import AccountActor
from ..kernel import Message, Refused, turn
from ..refusals import NOT_FOUND
from ..rules.roles import Permission
from ..staff import Staff, StaffAct, Target, act_in_turn, needs

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


@turn(AccountActor, BlockEmail)
async def block_email(account: AccountActor, message: BlockEmail) -> BlockedEmail | Refused:
    return await act_in_turn(account, message.staff, block, message.email_hash)


@turn(AccountActor, UnblockEmail)
async def unblock_email(account: AccountActor, message: UnblockEmail) -> Refused | None:
    ended = await act_in_turn(account, message.staff, unblock, message.id)
    return ended if isinstance(ended, Refused) else None


@needs(Permission.MANAGE_BLOCKS)
async def block(db: Connection, act: StaffAct, email_hash: bytes) -> BlockedEmail | Refused:
    """Block an address, in a transaction."""
    made = BlockedEmail(act.next_id(), email_hash, act.now)
    if not await blocked_emails.insert(db, made):
        return TAKEN
    await act.log(db, "block_email", _target(made))
    return made


@needs(Permission.MANAGE_BLOCKS)
async def unblock(db: Connection, act: StaffAct, id: int) -> BlockedEmail | Refused:
    """End a block, in a transaction."""
    gone = await blocked_emails.delete(db, id)
    if gone is None:
        return NOT_FOUND
    await act.log(db, "unblock_email", _target(gone))
    return gone


def _target(block: BlockedEmail) -> Target:
    return Target("canonical_email_block", block.id, block.email_hash.hex())
