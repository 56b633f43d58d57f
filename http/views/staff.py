"""The common parts of the endpoints for staff: the viewer's name in the audit log, and pages of rows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from ...actors.staff import Staff
from ...storage.engine.database import Connection
from ...storage.paging import Page
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, Headers, json
from ..intake.paging import Paged, links
from ..intake.request import Request

ON_A_PAGE = 100  # unless the request says how many


class Numbered(Protocol):
    """A row with an id."""

    @property
    def id(self) -> int: ...


R = TypeVar("R", bound=Numbered)


async def staff_of(context: HttpContext, viewer: Viewer) -> Staff:
    account = await context.accounts.find(viewer.account_id)
    return Staff(viewer.account_id, str(viewer.account_id) if account is None else account.username)


async def page_of_rows(
    context: HttpContext,
    request: Request,
    paged: Paged,
    find: Callable[[Connection, Page], Awaitable[Sequence[R]]],
    fields: Callable[[R], dict[str, object]],
) -> Answer:
    """Answer with a page of rows that staff manage, newest first."""
    page = paged.page(ON_A_PAGE)
    rows = await context.database.read(find, page)
    return json([fields(row) for row in rows], 200, links_of(context, request, rows, page.limit))


def links_of(context: HttpContext, request: Request, rows: Sequence[Numbered], limit: int) -> Headers:
    """Return the links to newer and older rows. There is no link to older rows if the page was not full."""
    url, ids = context.settings.base_url + request.path, [row.id for row in rows]
    return links(url, request.query_texts, ids, full=len(ids) == limit)
