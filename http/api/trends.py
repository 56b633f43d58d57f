"""Trends: hashtags, statuses and links that are discussed now."""

from __future__ import annotations

import orjson

from ...actors.shown.trends import shown_in_trends
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, Headers, array
from ..entities.preview_card import author_of, link_fields
from ..intake.paging import PagedByOffset, offset_links
from ..intake.request import Request
from ..router import api
from ..views.hashtags import render_used_tags
from ..views.statuses import part_of, perspective_of, render_with, without_hidden

TAGS = 10  # on a page, unless the request has a limit
STATUSES = 20
LINKS = 10


@api.get("/api/v1/trends", returns="[Tag]")
@api.get("/api/v1/trends/tags", returns="[Tag]")
async def show_tags(context: HttpContext, request: Request, viewer: Viewer | None, paged: PagedByOffset) -> Answer:
    """The hashtags that more accounts use than before."""
    limit, offset = paged.limit_and_offset(TAGS)
    trending = await context.trends.tags.get()
    page = trending.tags[offset : offset + limit]
    bodies = await render_used_tags(context, viewer, page, trending.days, trending.uses)
    return array(bodies, _links(context, request, limit, offset, len(page)))


@api.get("/api/v1/trends/statuses", returns="[Status]")
async def show_statuses(context: HttpContext, request: Request, viewer: Viewer | None, paged: PagedByOffset) -> Answer:
    """The public statuses with the most favourites and boosts, without statuses that the viewer hides."""
    context.check_preview(viewer)
    limit, offset = paged.limit_and_offset(STATUSES)
    perspective = await perspective_of(viewer)
    found = await context.statuses.show_many(await context.trends.statuses.get())
    shown = [status for status in found.values() if shown_in_trends(status, perspective)]
    part = None if viewer is None else await part_of(context, viewer, shown)
    if part is not None:
        shown = without_hidden(context, part, shown, "public")
    page = shown[offset : offset + limit]
    return array(await render_with(context, part, page), _links(context, request, limit, offset, len(page)))


@api.get("/api/v1/trends/links", returns="[Trends.Link]")
async def show_links(context: HttpContext, request: Request, paged: PagedByOffset) -> Answer:
    """The links that more accounts share than before."""
    limit, offset = paged.limit_and_offset(LINKS)
    trending = await context.trends.links.get()
    page = trending.links[offset : offset + limit]
    accounts = await context.accounts.find_many(id for link in page if (id := link.card.facts.author_account_id))
    base_url, bodies = context.settings.base_url, list[bytes]()
    for link in page:
        account = accounts.get(link.card.facts.author_account_id or 0)
        author = author_of(link.card, account, context.rendered, base_url)
        bodies.append(orjson.dumps(link_fields(link, trending.days, base_url, author)))
    return array(bodies, _links(context, request, limit, offset, len(page)))


def _links(context: HttpContext, request: Request, limit: int, offset: int, count: int) -> Headers:
    url = context.settings.base_url + request.path
    return offset_links(url, request.query_texts, limit, offset, count)
