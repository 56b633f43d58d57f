"""Invites to sign up: acts of staff."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ...storage import invites
from ...storage.invites import Invite
from ..kernel import Command, Refused
from ..refusals import NOT_FOUND
from ..rules.roles import Permission
from ..staff.acts import Staff, StaffAct, Target, act

COMMENT_CHARACTERS = 420
TOO_LONG = Refused(422, f"The comment has more than {COMMENT_CHARACTERS} characters.")


@dataclass(frozen=True, slots=True)
class NewInvite:
    """An invite to make. `code` is a secret; `uses` and `days` are None for no limit; `account_id` is who invites."""

    code: str
    uses: int | None
    days: int | None
    comment: str
    account_id: int | None


@dataclass(frozen=True, slots=True)
class CreateInvite(Command[None]):
    """Command of staff: make an invite."""

    staff: Staff
    wanted: NewInvite


@dataclass(frozen=True, slots=True)
class ExpireInvite(Command[None]):
    """Command of staff: end an invite. Accounts that were made with it stay."""

    staff: Staff
    code: str


@act(CreateInvite, Permission.MANAGE_INVITES)
async def create(act: StaffAct, message: CreateInvite) -> Refused | None:
    wanted = message.wanted
    if len(wanted.comment) > COMMENT_CHARACTERS:
        return TOO_LONG
    ends = act.now + timedelta(days=wanted.days) if wanted.days else None
    invite = Invite(
        act.ids.next(), wanted.code, wanted.account_id, wanted.comment, wanted.uses, 0, act.now, ends
    )  # fmt: skip
    await invites.insert(act.db, invite)
    await act.log("create_invite", Target("invite", invite.id, invite.code), wanted.comment)
    return None


@act(ExpireInvite, Permission.MANAGE_INVITES)
async def expire(act: StaffAct, message: ExpireInvite) -> Refused | None:
    """End an invite. Refused if the invite can't be used any more."""
    ended = await invites.expire(act.db, message.code, act.now)
    if ended is None:
        return NOT_FOUND
    await act.log("expire_invite", Target("invite", ended.id, message.code))
    return None
