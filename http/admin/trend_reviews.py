"""Candidates for trends, which staff allow or forbid."""

from __future__ import annotations

from ...actors.commands.trend_reviews import Kind, ReviewTrend
from ...actors.rules.roles import Permission
from ...actors.shown.statuses import ShownStatus
from ...actors.shown.trends import find_links, find_statuses, find_tags, last_days
from ...storage import preview_cards, tags
from ..access.authentication import Viewer
from ..access.context import HttpContext, find_row
from ..answers.answer import Answer, array, json
from ..answers.errors import NotFound
from ..entities.preview_card import card_fields, link_fields
from ..intake.paging import PagedByOffset
from ..intake.request import Request
from ..router import api
from ..views.staff import staff_of
from ..views.statuses import render_all
from .tags import READ, WRITE, find, rendered, tag_answer

MANAGE = Permission.MANAGE_TAXONOMIES
ON_A_PAGE = 20


@api.get("/api/v1/admin/trends/tags", auth="user", scopes=READ, permission=MANAGE, returns="[Admin.Tag]")
async def show_tags(context: HttpContext, paged: PagedByOffset) -> Answer:
    """The hashtags that trend or wait for a decision, the strongest first."""
    limit, offset = paged.limit_and_offset(ON_A_PAGE)
    found = await context.database.read(find_tags, context.clock.now())
    ids = [row.tag.id for row in found[offset : offset + limit]]
    known = await context.database.read(tags.reviewed, ids)
    return json(await rendered(context, [known[id] for id in ids if id in known]))


@api.get("/api/v1/admin/trends/statuses", auth="user", scopes=READ, permission=MANAGE, returns="[Status]")
async def show_statuses(context: HttpContext, viewer: Viewer, paged: PagedByOffset) -> Answer:
    """The statuses that trend, wait for a decision or were forbidden, the strongest first."""
    limit, offset = paged.limit_and_offset(ON_A_PAGE)
    found = await context.database.read(find_statuses, context.clock.now())
    shown = await context.statuses.show_many(row.status.id for row in found[offset : offset + limit])
    return array(await render_all(context, viewer, list(shown.values())))


@api.get("/api/v1/admin/trends/links", auth="user", scopes=READ, permission=MANAGE, returns="[Trends.Link]")
async def show_links(context: HttpContext, paged: PagedByOffset) -> Answer:
    """The links that trend, wait for a decision or were forbidden, the strongest first."""
    limit, offset = paged.limit_and_offset(ON_A_PAGE)
    now, base_url = context.clock.now(), context.settings.base_url
    found = (await context.database.read(find_links, now))[offset : offset + limit]
    return json(
        [
            link_fields(row.link, last_days(now), base_url, None)
            | {"id": str(row.link.card.id), "requires_review": row.trendable is None}
            for row in found
        ]
    )


@api.post("/api/v1/admin/trends/tags/<id>/approve", auth="user", scopes=WRITE, permission=MANAGE, returns="Admin.Tag")
@api.post("/api/v1/admin/trends/tags/<id>/reject", auth="user", scopes=WRITE, permission=MANAGE, returns="Admin.Tag")
async def review_tag(context: HttpContext, request: Request, viewer: Viewer, id: int) -> Answer:
    """Allow or forbid a hashtag in trends."""
    await _review(context, request, viewer, "tag", (await find(context, id)).tag.name)
    return await tag_answer(context, id)


@api.post("/api/v1/admin/trends/statuses/<id>/approve", auth="user", scopes=WRITE, permission=MANAGE, returns="Status")
@api.post("/api/v1/admin/trends/statuses/<id>/reject", auth="user", scopes=WRITE, permission=MANAGE, returns="Status")
async def review_status(context: HttpContext, request: Request, viewer: Viewer, id: int) -> Answer:
    """Allow or forbid a status in trends."""
    shown = await find_public(context, id)
    await _review(context, request, viewer, "status", id)
    return Answer((await render_all(context, viewer, [shown]))[0])


@api.post(
    "/api/v1/admin/trends/links/<id>/approve", auth="user", scopes=WRITE, permission=MANAGE, returns="Trends.Link"
)
@api.post("/api/v1/admin/trends/links/<id>/reject", auth="user", scopes=WRITE, permission=MANAGE, returns="Trends.Link")
async def review_link(context: HttpContext, request: Request, viewer: Viewer, id: int) -> Answer:
    """Allow or forbid a link in trends."""
    card = await find_row(context, preview_cards.find_by_id, id)
    await _review(context, request, viewer, "link", id)
    reviewed: dict[str, object] = {"id": str(id), "requires_review": False, "history": []}
    return json(card_fields(card, context.settings.base_url, None) | reviewed)


async def find_public(context: HttpContext, id: int) -> ShownStatus:
    """Return a public status. Raises NotFound for others, which staff do not review."""
    shown = await context.statuses.show(id)
    if shown is None or shown.is_withdrawn or shown.status.visibility != "public":
        raise NotFound
    return shown


async def _review(context: HttpContext, request: Request, viewer: Viewer, kind: Kind, key: int | str) -> None:
    trendable = request.path.endswith("/approve")
    await viewer.ask(ReviewTrend(await staff_of(context, viewer), kind, key, trendable))
