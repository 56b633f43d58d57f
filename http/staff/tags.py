"""The pages of hashtags: the list, and a hashtag with its permissions."""

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
    """A page of hashtags, or the name of a hashtag."""

    name: Text = ""


class ChangedTagForm(StaffForm, TagForm):
    """The permissions of a hashtag. Browsers do not send unchecked boxes, so a missing flag is False."""


@TAGS.get("tags.html")
async def show(me: StaffMember, wanted: TagQuery) -> Facts | Answer:
    """Show all hashtags, the newest first, or redirect to the hashtag with the name."""
    name = tag_name(wanted.name)
    if name and (found := await me.context.database.read(tags.find, name)) is not None:
        return redirect(f"{PATH}/{found.id}")
    problem = "No post here has this hashtag." if name else None
    rows, links = await listed(me, wanted, tags.all_reviewed, id_of=lambda row: row.tag.id)
    return {"problem": problem, "name": wanted.name, "tags": rows, "page_links": links}


@TAG.get("tag.html")
async def show_one(me: StaffMember, id: int, after: Done) -> Facts:
    """Show a hashtag with the history of its uses."""
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
    """Change the permissions and the spelling of a hashtag."""
    command = posted.changes(me.staff, await find(me.context, id))
    await me.ask(replace(command, usable=bool(command.usable), listable=bool(command.listable)))
    return "changed"
