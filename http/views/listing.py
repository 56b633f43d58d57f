"""Lists that page by rows of their own, whose ids nobody sees: favourites, bookmarks, and who favourited or boosted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from ...actors.rules.visibility import Perspective
from ...actors.statuses import may_see
from ...storage.accounts import Account
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, Headers, array
from ..entities.account import account_json
from ..intake.paging import PREV, Paged, links
from ..intake.request import Request
from .statuses import perspective_of, render_all

STATUSES = 20  # on a page, when nobody says how many
PEOPLE = 40

Rows = Sequence[tuple[int, int]]  # the paging id and what is listed, newest first


async def statuses_of(
    context: HttpContext,
    request: Request,
    viewer: Viewer,
    paged: Paged,
    page_of: Callable[..., Awaitable[list[tuple[int, int]]]],
) -> Answer:
    """A page of what the viewer has put aside, without what is hidden from them by now."""
    page = paged.page(STATUSES)
    rows = await context.database.read(page_of, viewer.account_id, page)
    perspective = await perspective_of(viewer)
    shown = await context.statuses.show_many(id for _, id in rows)
    bodies = await render_all(context, viewer, [one for one in shown.values() if may_see(one, perspective)])
    return array(bodies, row_links(context, request, rows, page.limit, "min_id"))


async def people(context: HttpContext, request: Request, viewer: Viewer | None, rows: Rows, limit: int) -> Answer:
    """A page of accounts, without those that the viewer shuns."""
    perspective = await perspective_of(viewer)
    found = await context.accounts.find_many(id for _, id in rows)
    bodies = [
        account_json(account, context.rendered, context.settings.base_url)
        for account in found.values()
        if _presentable(account, perspective)
    ]
    return array(bodies, row_links(context, request, rows, limit, "since_id"))


def row_links(context: HttpContext, request: Request, rows: Rows, limit: int, prev: PREV) -> Headers:
    """To the neighbours; to older rows only when the page was full."""
    ids = [id for id, _ in rows]
    return links(context.settings.base_url + request.path, request.query_texts, ids, prev=prev, full=len(ids) == limit)


def _presentable(account: Account, perspective: Perspective) -> bool:
    return account.suspended_at is None and account.deleted_at is None and not perspective.shuns(account.id)
