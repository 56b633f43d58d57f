"""The pages of hashtags: found, listed, and what each may do."""

from __future__ import annotations

from dataclasses import replace

from ...actors.kernel.clock import first_id_at
from ...actors.rules.roles import Permission
from ...actors.rules.text import tag_name
from ...actors.shown.trends import last_days
from ...storage import tags
from ..admin.tags import LONGEST_NAME, TagForm, find
from ..answers.answer import Answer, redirect
from ..intake.paging import Paged
from ..intake.parameters import Text
from .member import StaffForm, StaffMember
from .staff_page import Done, Facts, StaffPage, listed

PATH = "/admin/tags"
TAGS = StaffPage(PATH, Permission.MANAGE_TAXONOMIES)
TAG = StaffPage(f"{PATH}/<id>", Permission.MANAGE_TAXONOMIES, {"changed": "The hashtag was changed."})
TRENDS = [("", "Not decided"), ("true", "May trend"), ("false", "May not trend")]


class TagQuery(Paged):
    """A page of hashtags, or the one with a name."""

    name: Text = ""


class ChangedTagForm(StaffForm, TagForm):
    """The states of a hashtag. A box that is not ticked is not sent, and means no."""


@TAGS.get("tags.html")
async def show(me: StaffMember, wanted: TagQuery) -> Facts | Answer:
    """Show all hashtags, the newest first, or lead to the one that is named."""
    name = tag_name(wanted.name)
    if name and (found := await me.context.database.read(tags.find, name)) is not None:
        return redirect(f"{PATH}/{found.id}")
    problem = "No post here has this hashtag." if name else None
    rows, links = await listed(me, wanted, tags.all_reviewed, id_of=lambda one: one.tag.id)
    return {"problem": problem, "name": wanted.name, "tags": rows, "page_links": links}


@TAG.get("tag.html")
async def show_one(me: StaffMember, id: int, after: Done) -> Facts:
    """Show one hashtag, with the days on which it was used."""
    context, found = me.context, await find(me.context, id)
    days = last_days(context.clock.now())
    uses = (await context.database.read(tags.uses, [id], [first_id_at(day) for day in days])).get(id, {})
    return {
        "tag": found.tag,
        "decided": found,
        "days": [(day, *uses.get(number, (0, 0))) for number, day in reversed(list(enumerate(days)))],
        "trends": TRENDS,
        "most": LONGEST_NAME,
    }


@TAG.post()
async def change(me: StaffMember, id: int, posted: ChangedTagForm) -> str:
    """Change what a hashtag may do, and how it is written."""
    command = posted.changes(me.staff, await find(me.context, id))
    await me.ask(replace(command, usable=bool(command.usable), listable=bool(command.listable)))
    return "changed"
