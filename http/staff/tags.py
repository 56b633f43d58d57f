"""The pages of hashtags: found, listed, and what each may do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...actors.kernel import Refused
from ...actors.kernel.clock import first_id_at
from ...actors.rules.roles import Permission
from ...actors.rules.text import tag_name
from ...actors.trends import last_days
from ...storage import tags
from ..access.context import HttpContext
from ..admin.tags import LONGEST_NAME, TagForm, find
from ..answers.answer import Answer, redirect
from ..answers.errors import HttpError
from ..intake.paging import Paged
from ..intake.parameters import Text
from ..intake.request import Request
from ..router import api
from .listing import ON_A_PAGE, Done, page_links, with_done, words_of
from .member import StaffForm, StaffMember, sentence_of, staff_member, staff_sender

PERMISSION = Permission.MANAGE_TAXONOMIES
PATH = "/admin/tags"
DONE = {"changed": "The hashtag was changed."}
TRENDS = [("", "Not decided"), ("true", "May trend"), ("false", "May not trend")]


class TagQuery(Paged):
    """A page of hashtags, or the one with a name."""

    name: Text = ""


class ChangedTagForm(StaffForm, TagForm):
    """The states of a hashtag. A box that is not ticked is not sent, and means no."""


@api.get(PATH, page=True)
async def show(context: HttpContext, request: Request, wanted: TagQuery) -> Answer:
    """Show all hashtags, the newest first, or lead to the one that is named."""
    me = await staff_member(context, request, PERMISSION)
    name = tag_name(wanted.name)
    if name and (found := await context.database.read(tags.find, name)) is not None:
        return redirect(f"{PATH}/{found.id}")
    page = wanted.page(ON_A_PAGE)
    listed = await context.database.read(tags.all_reviewed, page)
    return me.page(
        "tags.html",
        problem="No post here has this hashtag." if name else None,
        name=wanted.name,
        tags=listed,
        page_links=page_links(request, page, [one.tag.id for one in listed]),
    )


@api.get(f"{PATH}/<id>", page=True)
async def show_one(context: HttpContext, request: Request, id: int, after: Done) -> Answer:
    """Show one hashtag, with the days on which it was used."""
    me = await staff_member(context, request, PERMISSION)
    return await _page(me, id, done=words_of(after, DONE))


@api.post(f"{PATH}/<id>", page=True)
async def change(context: HttpContext, request: Request, id: int, posted: ChangedTagForm) -> Answer:
    """Change what a hashtag may do, and how it is written."""
    me = await staff_sender(context, request, posted, PERMISSION)
    before = await find(context, id)
    try:
        command = posted.changes(me.staff, before)
        await me.ask(replace(command, usable=bool(command.usable), listable=bool(command.listable)))
    except (HttpError, Refused) as error:
        return await _page(me, id, problem=sentence_of(error))
    return redirect(with_done(f"{PATH}/{id}", "changed"))


# `Any`: facts of a template.
async def _page(me: StaffMember, id: int, **facts: Any) -> Answer:
    context, found = me.context, await find(me.context, id)
    days = last_days(context.clock.now())
    uses = (await context.database.read(tags.uses, [id], [first_id_at(day) for day in days])).get(id, {})
    return me.page(
        "tag.html",
        tag=found.tag,
        decided=found,
        days=[(day, *uses.get(number, (0, 0))) for number, day in reversed(list(enumerate(days)))],
        trends=TRENDS,
        most=LONGEST_NAME,
        **facts,
    )
