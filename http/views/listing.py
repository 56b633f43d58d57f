"""Lists that are paged by ids of rows which the API does not show: favourites, bookmarks and boosts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ...actors.rules.visibility import shown_at_all
from ...actors.timelines.paging import AdmittedRows, read_rows
from ...storage.timeline_entries import ListedEntry
from ...storage.upkeep.paging import Page
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, Headers, array
from ..intake.paging import PREV, Paged, links
from ..intake.request import Request
from .accounts import PEOPLE, render_accounts
from .statuses import find_visible, perspective_of, render_all, visible_among

STATUSES = 20  # on a page, unless the request has a limit

Rows = Sequence[tuple[int, int]]  # the paging id and the id of the account or status, newest first


async def statuses_of(
    context: HttpContext,
    request: Request,
    viewer: Viewer,
    paged: Paged,
    page_of: Callable[..., Awaitable[list[ListedEntry]]],
) -> Answer:
    """Answer with a page of favourites or bookmarks, without statuses that are hidden from the viewer."""
    page, perspective = paged.page(STATUSES), await perspective_of(viewer)

    async def read(at: Page) -> list[ListedEntry]:
        return await context.database.read(page_of, viewer.account_id, at)

    found = await read_rows(read, lambda row: shown_at_all(row.entry, perspective), page)
    shown = await visible_among(context, (row.entry.id for row in found.rows), perspective)
    bodies = await render_all(context, viewer, shown)
    return array(bodies, found_links(context, request, found, page.limit, "min_id"))


async def people_of_status(
    context: HttpContext,
    request: Request,
    viewer: Viewer | None,
    id: int,
    paged: Paged,
    page_of: Callable[..., Awaitable[list[tuple[int, int]]]],
) -> Answer:
    """Answer with a page of the accounts that favourited or boosted a status."""
    status = await find_visible(context, viewer, id)
    page = paged.page(PEOPLE)
    without = (await perspective_of(viewer)).shunned
    rows = await context.database.read(page_of, (status.boosted or status).id, page, without=without)
    return await accounts_page(context, request, rows, page.limit)


async def accounts_page(context: HttpContext, request: Request, rows: Rows, limit: int) -> Answer:
    """Return a page of accounts, all of which the viewer may see."""
    bodies = await render_accounts(context, (id for _, id in rows))
    return array(bodies, row_links(context, request, rows, limit, "since_id"))


def found_links(
    context: HttpContext,
    request: Request,
    found: AdmittedRows[Any],  # rows of any list
    limit: int,
    prev: PREV,
) -> Headers:
    """Return the links around rows that were read until the page was full.

    The next page begins after the last row that was read, also if that row is not shown.
    """
    full = len(found.rows) == limit or found.reached is not None
    return links(context.settings.base_url + request.path, request.query_texts, found.cursors, prev=prev, full=full)


def row_links(context: HttpContext, request: Request, rows: Rows, limit: int, prev: PREV) -> Headers:
    """Return the links to newer and older rows. There is no link to older rows if the page was not full."""
    ids = [id for id, _ in rows]
    return links(context.settings.base_url + request.path, request.query_texts, ids, prev=prev, full=len(ids) == limit)
