"""The profile directory: accounts that opted in to be found."""

from __future__ import annotations

from typing import Annotated

from ...storage import directory
from ...storage.directory import Order
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, array
from ..intake.paging import clamp
from ..intake.parameters import Choice, Count, Flag, Input
from ..router import api
from ..views.accounts import PEOPLE, render_accounts
from ..views.statuses import perspective_of

# The largest offset, 100 pages of 40. The cost of a page grows with its offset, to seconds.
DEEPEST = 4_000


class DirectoryQuery(Input):
    order: Annotated[Order, Choice] = "active"
    local: Flag = False
    limit: Count = None
    offset: Count = None


@api.get("/api/v1/directory", returns="[Account]")
async def show_directory(context: HttpContext, viewer: Viewer | None, query: DirectoryQuery) -> Answer:
    """Accounts that opted in, without accounts that the viewer blocks or mutes; none beyond an offset of 4,000."""
    context.check_preview(viewer)
    offset = max(query.offset or 0, 0)
    if offset > DEEPEST:
        return array([])
    perspective = await perspective_of(viewer)
    ids = await context.database.read(
        directory.page,
        query.order,
        local=query.local,
        without=perspective.shunned,
        without_domains=perspective.domain_blocks,
        limit=clamp(query.limit, PEOPLE),
        offset=offset,
    )
    return array(await render_accounts(context, ids))
