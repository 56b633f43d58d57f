"""Followed hashtags, whose public statuses are on the viewer's home timeline."""

from __future__ import annotations

from ...actors.commands.followed_tags import FollowTag, UnfollowTag
from ...storage import followed_tags
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, array
from ..intake.paging import Paged
from ..intake.request import Request
from ..router import api
from ..views.hashtags import answer_with_tag, find_tag, render_tags
from ..views.listing import row_links

READ = ("read:follows", "follow")
WRITE = ("write:follows", "follow")
FOLLOWED = 100  # on a page, unless the request has a limit


@api.get("/api/v1/followed_tags", auth="user", scopes=READ, returns="[Tag]")
async def show(context: HttpContext, request: Request, viewer: Viewer, paged: Paged) -> Answer:
    """The hashtags that the viewer follows, the latest first."""
    page = paged.page(FOLLOWED)
    rows = await context.database.read(followed_tags.page, viewer.account_id, page)
    bodies = await render_tags(context, viewer, [tag for _, tag in rows])
    return array(bodies, row_links(context, request, [(id, tag.id) for id, tag in rows], page.limit, "since_id"))


@api.post("/api/v1/tags/<name>/follow", auth="user", scopes=WRITE, returns="Tag")
async def follow(context: HttpContext, viewer: Viewer, name: str) -> Answer:
    """Show public statuses with a hashtag on the viewer's home timeline. The hashtag need not be in use."""
    tag = await find_tag(context, name)
    await viewer.ask(FollowTag(tag.name, tag.display_name))
    return await answer_with_tag(context, viewer, await find_tag(context, tag.name))


@api.post("/api/v1/tags/<name>/unfollow", auth="user", scopes=WRITE, returns="Tag")
async def unfollow(context: HttpContext, viewer: Viewer, name: str) -> Answer:
    tag = await find_tag(context, name)
    await viewer.ask(UnfollowTag(tag.name))
    return await answer_with_tag(context, viewer, tag)
