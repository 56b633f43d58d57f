"""Invites to sign up: acts of staff. The command line calls the same acts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ...storage import invites
from ...storage.engine.database import Connection
from ...storage.invites import Invite
from ..account import AccountActor
from ..kernel import Message, Refused, turn
from ..rules.roles import Permission
from ..staff import Staff, StaffAct, Target, act_in_turn, needs

COMMENT_CHARACTERS = 420
TOO_LONG = Refused(422, f"The comment has more than {COMMENT_CHARACTERS} characters.")
NOT_VALID = Refused(404, "Record not found")


@dataclass(frozen=True, slots=True)
class NewInvite:
    """An invite to make. `code` is a secret; `uses` and `days` are None for no limit; `account_id` is who invites."""

    code: str
    uses: int | None
    days: int | None
    comment: str
    account_id: int | None


@dataclass(frozen=True, slots=True)
class CreateInvite(Message[None]):
    """Command of staff: make an invite."""

    staff: Staff
    wanted: NewInvite


@dataclass(frozen=True, slots=True)
class ExpireInvite(Message[None]):
    """Command of staff: end an invite. Accounts that were made with it stay."""

    staff: Staff
    code: str


@turn(AccountActor, CreateInvite)
async def create_invite(account: AccountActor, message: CreateInvite) -> Refused | None:
    made = await act_in_turn(account, message.staff, create, message.wanted)
    return made if isinstance(made, Refused) else None


@turn(AccountActor, ExpireInvite)
async def expire_invite(account: AccountActor, message: ExpireInvite) -> Refused | None:
    return await act_in_turn(account, message.staff, expire, message.code)


@needs(Permission.MANAGE_INVITES)
async def create(db: Connection, act: StaffAct, wanted: NewInvite) -> Invite | Refused:
    """Make an invite, in a transaction."""
    if len(wanted.comment) > COMMENT_CHARACTERS:
        return TOO_LONG
    ends = act.now + timedelta(days=wanted.days) if wanted.days else None
    invite = Invite(
        act.next_id(), wanted.code, wanted.account_id, wanted.comment, wanted.uses, 0, act.now, ends
    )  # fmt: skip
    await invites.insert(db, invite)
    await act.log(db, "create_invite", Target("invite", invite.id, invite.code), wanted.comment)
    return invite


@needs(Permission.MANAGE_INVITES)
async def expire(db: Connection, act: StaffAct, code: str) -> Refused | None:
    """End an invite, in a transaction. Refused for one that can't be used any more."""
    ended = await invites.expire(db, code, act.now)
    if ended is None:
        return NOT_VALID
    await act.log(db, "expire_invite", Target("invite", ended.id, code))
    return None
