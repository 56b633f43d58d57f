"""Requests to follow the viewer: listed, accepted, rejected."""

from __future__ import annotations

from ...actors.commands.follow_requests import AuthorizeRequest, RejectRequest
from ...storage import follow_requests
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..intake.paging import Paged
from ..intake.request import Request
from ..router import api
from ..views.accounts import PEOPLE
from ..views.listing import accounts_page
from .relations import relationship

READ = ("read:follows", "follow")
WRITE = ("write:follows", "follow")


@api.get("/api/v1/follow_requests", auth="user", scopes=READ, returns="[Account]")
async def show(context: HttpContext, request: Request, viewer: Viewer, paged: Paged) -> Answer:
    """The accounts that ask to follow the viewer, the latest request first."""
    page = paged.page(PEOPLE)
    rows = await context.database.read(follow_requests.page, viewer.account_id, page)
    return await accounts_page(context, request, rows, page.limit)


@api.post("/api/v1/follow_requests/<id>/authorize", auth="user", scopes=WRITE, returns="Relationship")
async def authorize(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(AuthorizeRequest(id))
    return await relationship(context, viewer, id)


@api.post("/api/v1/follow_requests/<id>/reject", auth="user", scopes=WRITE, returns="Relationship")
async def reject(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(RejectRequest(id))
    return await relationship(context, viewer, id)
