"""The page of announcements: made, shown, taken back and deleted."""

from __future__ import annotations

from typing import Any

from ...actors.commands.announcements import (
    AddAnnouncement,
    InvalidAnnouncement,
    NewAnnouncement,
    RemoveAnnouncement,
    ShowAnnouncement,
    state_of,
)
from ...actors.kernel import Message
from ...actors.rules.limits import ANNOUNCEMENT_CHARACTERS
from ...actors.rules.roles import Permission
from ...storage import announcements
from ..access.context import HttpContext
from ..answers.answer import Answer, redirect
from ..intake.parameters import Flag, Text
from ..intake.request import Request
from ..router import api
from .listing import Done, with_done, words_of
from .member import DangerousForm, Question, StaffForm, StaffMember, staff_member, staff_sender

PERMISSION = Permission.MANAGE_ANNOUNCEMENTS
PATH = "/admin/announcements"
DONE = {
    "added": "The announcement is stored.",
    "shown": "The announcement is shown.",
    "withdrawn": "The announcement is a draft again.",
    "removed": "The announcement was deleted.",
}


class AnnouncementForm(StaffForm):
    """Times are as `datetime-local` fields send them, in UTC."""

    text: Text = ""
    starts: Text = ""
    ends: Text = ""
    at: Text = ""
    all_day: Flag = False
    draft: Flag = False


class ShownForm(StaffForm):
    shown: Flag = False


@api.get(PATH, page=True)
async def show(context: HttpContext, request: Request, after: Done) -> Answer:
    """Show all announcements, the newest first, and the form that makes one."""
    return await _page(await staff_member(context, request, PERMISSION), done=words_of(after, DONE))


@api.post(PATH, page=True)
async def add(context: HttpContext, request: Request, posted: AnnouncementForm) -> Answer:
    """Make an announcement."""
    me = await staff_sender(context, request, posted, PERMISSION)
    try:
        wanted = NewAnnouncement.of(
            posted.text, posted.starts, posted.ends, posted.at, all_day=posted.all_day, draft=posted.draft
        )
    except InvalidAnnouncement as invalid:
        text = str(invalid)
        return await _page(me, problem=f"{text[:1].upper()}{text[1:]}.", typed=posted)
    return await _done(me, AddAnnouncement(me.staff, wanted), "added")


@api.post(f"{PATH}/<id>/show", page=True)
async def publish(context: HttpContext, request: Request, id: int, posted: ShownForm) -> Answer:
    """Show an announcement, or take it back."""
    me = await staff_sender(context, request, posted, PERMISSION)
    return await _done(me, ShowAnnouncement(me.staff, id, posted.shown), "shown" if posted.shown else "withdrawn")


@api.post(f"{PATH}/<id>/remove", page=True)
async def remove(context: HttpContext, request: Request, id: int, posted: DangerousForm) -> Answer:
    """Delete an announcement with its reactions."""
    me = await staff_sender(context, request, posted, PERMISSION)
    question = Question("Delete this announcement", "Its reactions are deleted with it.", "Delete", PATH)
    if (asking := await me.confirmed(posted, question)) is not None:
        return asking
    return await _done(me, RemoveAnnouncement(me.staff, id), "removed")


async def _done(me: StaffMember, message: Message[object], done: str) -> Answer:
    problem = await me.attempt(message)
    return redirect(with_done(PATH, done)) if problem is None else await _page(me, problem=problem)


# `Any`: facts of a template.
async def _page(me: StaffMember, *, typed: AnnouncementForm | None = None, **facts: Any) -> Answer:
    found, now = await me.context.database.read(announcements.find_all), me.context.clock.now()
    return me.page(
        "announcements.html",
        typed=typed or AnnouncementForm(),
        announcements=[(one, state_of(one, now)) for one in reversed(found)],
        most=ANNOUNCEMENT_CHARACTERS,
        **facts,
    )
