"""The common parts of the endpoints for staff: the viewer's name in the audit log, and pages of rows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from operator import attrgetter
from typing import TypeVar

from ...actors.staff.acts import Staff
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Headers
from ..intake.paging import Paged, links
from ..intake.request import Request

ON_A_PAGE = 100  # unless the request has a limit


R = TypeVar("R")


async def staff_of(context: HttpContext, viewer: Viewer) -> Staff:
    account = await context.accounts.find(viewer.account_id)
    return Staff(viewer.account_id, str(viewer.account_id) if account is None else account.username)


async def listed(
    context: HttpContext,
    request: Request,
    wanted: Paged,
    find: Callable[..., Awaitable[Sequence[R]]],
    *filters: object,
    id_of: Callable[[R], int] = attrgetter("id"),
) -> tuple[Sequence[R], Headers]:
    """Return the rows of a page, newest first, and its links. `find` takes the connection, the filters, the page.

    There is no link to older rows if the page is not full.
    """
    page = wanted.page(ON_A_PAGE)
    rows = await context.database.read(find, *filters, page)
    url, ids = context.settings.base_url + request.path, [id_of(row) for row in rows]
    return rows, links(url, request.query_texts, ids, full=len(ids) == page.limit)
