"""Quotes of a status: listed, and revoked by its author."""

from __future__ import annotations

from ...actors.commands.quotes import RevokeQuote
from ...actors.rules.visibility import belongs_in_thread, shown_at_all
from ...actors.timelines.paging import read_rows
from ...storage import quotes
from ...storage.timeline_entries import TimelineEntry
from ...storage.upkeep.paging import Page
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, array
from ..intake.paging import Paged
from ..intake.request import Request
from ..router import api
from ..views import statuses as views
from ..views.listing import found_links

STATUSES = 20  # on a page, unless the request has a limit


@api.get("/api/v1/statuses/<id>/quotes", auth="user", scopes=("read:statuses",), returns="[Status]")
async def show_quotes(context: HttpContext, request: Request, viewer: Viewer, id: int, paged: Paged) -> Answer:
    """The statuses that quote a status and that the viewer may see, newest first.

    The quoted author also sees statuses that a thread would hide.
    """
    shown = await views.find_visible(context, viewer, id)
    original, perspective, page = shown.boosted or shown, await views.perspective_of(viewer), paged.page(STATUSES)
    belongs = shown_at_all if original.author.id == viewer.account_id else belongs_in_thread

    async def rows(at: Page) -> list[TimelineEntry]:
        return await context.database.read(quotes.page, original.id, at)

    found = await read_rows(rows, lambda entry: belongs(entry, perspective), page)
    quoting = await views.visible_among(context, (entry.id for entry in found.rows), perspective)
    bodies = await views.render_all(context, viewer, quoting)
    return array(bodies, found_links(context, request, found, page.limit, "since_id"))


@api.post(
    "/api/v1/statuses/<id>/quotes/<quoting_status_id>/revoke", auth="user", scopes=("write:statuses",), returns="Status"
)
async def revoke_quote(context: HttpContext, viewer: Viewer, id: int, quoting_status_id: int) -> Answer:
    """Revoke a quote of the viewer's status. The answer is the quoting status."""
    await viewer.ask(RevokeQuote(id, quoting_status_id))
    return await views.answer_with(context, viewer, quoting_status_id)
