"""The page of announcements: created, shown, hidden and deleted."""

from __future__ import annotations

from ...actors.commands.announcements import (
    AddAnnouncement,
    InvalidAnnouncement,
    NewAnnouncement,
    RemoveAnnouncement,
    ShowAnnouncement,
    state_of,
)
from ...actors.kernel import Refused
from ...actors.rules.limits import ANNOUNCEMENT_CHARACTERS
from ...actors.rules.roles import Permission
from ...storage import announcements
from ..intake.parameters import Flag, Text
from .member import DangerousForm, Question, StaffForm, StaffMember
from .staff_page import Done, Facts, StaffPage

PATH = "/admin/announcements"
ANNOUNCEMENTS = StaffPage(
    PATH,
    Permission.MANAGE_ANNOUNCEMENTS,
    {
        "added": "The announcement is stored.",
        "shown": "The announcement is shown.",
        "withdrawn": "The announcement is a draft again.",
        "removed": "The announcement was deleted.",
    },
)


class AnnouncementForm(StaffForm):
    """A new announcement. Times are in the format of `datetime-local` fields, in UTC."""

    text: Text = ""
    starts: Text = ""
    ends: Text = ""
    at: Text = ""
    all_day: Flag = False
    draft: Flag = False


class ShownForm(StaffForm):
    shown: Flag = False


@ANNOUNCEMENTS.get("announcements.html")
async def show(me: StaffMember, after: Done) -> Facts:
    """Show all announcements, the newest first, and the form for a new announcement."""
    found, now = await me.context.database.read(announcements.find_all), me.context.clock.now()
    return {
        "typed": AnnouncementForm(),
        "announcements": [(announcement, state_of(announcement, now)) for announcement in reversed(found)],
        "most": ANNOUNCEMENT_CHARACTERS,
    }


@ANNOUNCEMENTS.post(typed="typed")
async def add(me: StaffMember, posted: AnnouncementForm) -> str:
    """Create an announcement."""
    try:
        wanted = NewAnnouncement.of(
            posted.text, posted.starts, posted.ends, posted.at, all_day=posted.all_day, draft=posted.draft
        )
    except InvalidAnnouncement as invalid:
        text = str(invalid)
        raise Refused(422, f"{text[:1].upper()}{text[1:]}.") from None
    await me.ask(AddAnnouncement(me.staff, wanted))
    return "added"


@ANNOUNCEMENTS.post("/<id>/show")
async def publish(me: StaffMember, id: int, posted: ShownForm) -> str:
    """Show an announcement, or make it a draft again."""
    await me.ask(ShowAnnouncement(me.staff, id, posted.shown))
    return "shown" if posted.shown else "withdrawn"


@ANNOUNCEMENTS.post("/<id>/remove")
async def remove(me: StaffMember, id: int, posted: DangerousForm) -> str:
    """Delete an announcement with its reactions."""
    question = Question("Delete this announcement", "Its reactions are deleted with it.", "Delete", PATH)
    await me.confirm(posted, question)
    await me.ask(RemoveAnnouncement(me.staff, id))
    return "removed"
