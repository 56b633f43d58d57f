"""Hashtags for staff: listed, and their permissions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from ...actors.commands.trend_reviews import ChangeTag
from ...actors.kernel.clock import first_id_at
from ...actors.rules.roles import Permission
from ...actors.rules.text import whole_hashtag
from ...actors.shown.trends import last_days
from ...actors.staff.acts import Staff
from ...storage import tags
from ...storage.tags import ReviewedTag
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..answers.errors import NotFound, invalid
from ..entities.tag import reviewed_tag_fields
from ..intake.paging import Paged
from ..intake.parameters import Input, MaybeFlag, MaybeText
from ..intake.request import Request
from ..router import api
from ..views.staff import listed, staff_of

READ = ("admin:read",)
WRITE = ("admin:write",)
LONGEST_NAME = 255


class TagForm(Input):
    """The permissions of a hashtag, and its spelling. A parameter that is not sent keeps its value."""

    display_name: Annotated[MaybeText, Field(max_length=LONGEST_NAME)] = None
    listable: MaybeFlag = None
    trendable: MaybeFlag = None
    usable: MaybeFlag = None

    def changes(self, staff: Staff, before: ReviewedTag) -> ChangeTag:
        """Return the command. Raises HttpError if `display_name` is not a spelling of the hashtag."""
        name = self.display_name or None
        if name is not None and ((hashtag := whole_hashtag(name)) is None or hashtag.name != before.tag.name):
            raise invalid("Display name is invalid")
        return ChangeTag(staff, before.tag.id, name, self.usable, self.listable, self.trendable)


@api.get("/api/v1/admin/tags", auth="user", scopes=READ, permission=Permission.MANAGE_TAXONOMIES, returns="[Admin.Tag]")
async def show_all(context: HttpContext, request: Request, paged: Paged) -> Answer:
    """All hashtags, the newest first."""
    found, links = await listed(context, request, paged, tags.all_reviewed, id_of=lambda row: row.tag.id)
    return json(await rendered(context, found), headers=links)


@api.get(
    "/api/v1/admin/tags/<id>", auth="user", scopes=READ, permission=Permission.MANAGE_TAXONOMIES, returns="Admin.Tag"
)
async def show(context: HttpContext, id: int) -> Answer:
    return await tag_answer(context, id)


@api.put(
    "/api/v1/admin/tags/<id>", auth="user", scopes=WRITE, permission=Permission.MANAGE_TAXONOMIES, returns="Admin.Tag"
)
async def change(context: HttpContext, viewer: Viewer, id: int, wanted: TagForm) -> Answer:
    """Change the permissions of a hashtag, and its spelling."""
    before = await find(context, id)
    await viewer.ask(wanted.changes(await staff_of(context, viewer), before))
    return await tag_answer(context, id)


async def tag_answer(context: HttpContext, id: int) -> Answer:
    """Answer with a hashtag. Raises NotFound."""
    return json((await rendered(context, [await find(context, id)]))[0])


async def find(context: HttpContext, id: int) -> ReviewedTag:
    """Return a hashtag. Raises NotFound."""
    found = (await context.database.read(tags.reviewed, [id])).get(id)
    if found is None:
        raise NotFound
    return found


async def rendered(context: HttpContext, found: Sequence[ReviewedTag]) -> list[dict[str, object]]:
    """Return hashtags for staff, with the history of their uses."""
    days = last_days(context.clock.now())
    ids = [row.tag.id for row in found]
    uses = await context.database.read(tags.uses, ids, [first_id_at(day) for day in days]) if ids else {}
    base_url, review = context.settings.base_url, context.settings.trends_review
    return [reviewed_tag_fields(row, days, uses.get(row.tag.id, {}), base_url, review=review) for row in found]
