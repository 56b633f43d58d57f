"""Lists that are paged by the ids of rows that the API does not show: favourites, bookmarks and boosts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from ...actors.rules.visibility import Perspective
from ...actors.statuses import may_see
from ...storage.accounts import Account
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, Headers, array, in_steps
from ..entities.account import account_json
from ..intake.paging import PREV, Paged, links
from ..intake.request import Request
from .statuses import find_visible, perspective_of, render_all

STATUSES = 20  # on a page, unless the request says how many
PEOPLE = 40

Rows = Sequence[tuple[int, int]]  # each the paging id and the id of the account or status, newest first


async def statuses_of(
    context: HttpContext,
    request: Request,
    viewer: Viewer,
    paged: Paged,
    page_of: Callable[..., Awaitable[list[tuple[int, int]]]],
) -> Answer:
    """Answer with a page of favourites or bookmarks, without statuses that are hidden from the viewer."""
    page = paged.page(STATUSES)
    rows = await context.database.read(page_of, viewer.account_id, page)
    perspective = await perspective_of(viewer)
    shown = await context.statuses.show_many(id for _, id in rows)
    bodies = await render_all(context, viewer, [one for one in shown.values() if may_see(one, perspective)])
    return array(bodies, row_links(context, request, rows, page.limit, "min_id"))


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
    rows = await context.database.read(page_of, (status.boosted or status).id, page)
    return await people(context, request, viewer, rows, page.limit)


async def people(context: HttpContext, request: Request, viewer: Viewer | None, rows: Rows, limit: int) -> Answer:
    """Answer with a page of accounts, without those that the viewer blocks or mutes."""
    perspective = await perspective_of(viewer)
    found = await context.accounts.find_many(id for _, id in rows)
    bodies = await in_steps(
        account_json(account, context.rendered, context.settings.base_url)
        for account in found.values()
        if _presentable(account, perspective)
    )
    return array(bodies, row_links(context, request, rows, limit, "since_id"))


def row_links(context: HttpContext, request: Request, rows: Rows, limit: int, prev: PREV) -> Headers:
    """Return the links to newer and older rows. There is no link to older rows if the page was not full."""
    ids = [id for id, _ in rows]
    return links(context.settings.base_url + request.path, request.query_texts, ids, prev=prev, full=len(ids) == limit)


def _presentable(account: Account, perspective: Perspective) -> bool:
    return account.suspended_at is None and account.deleted_at is None and not perspective.shuns(account.id)
