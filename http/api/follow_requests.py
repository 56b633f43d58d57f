"""Who asks to follow the viewer, and the answers."""

from __future__ import annotations

from ...actors.commands.requests import AuthorizeRequest, RejectRequest
from ...storage import follows
from ..answer import Answer
from ..authentication import Viewer
from ..house import House
from ..paging import Paged
from ..people import PEOPLE, accounts_page
from ..request import Request
from ..routing import api
from .relations import relationship

READ = ("read:follows", "follow")
WRITE = ("write:follows", "follow")


@api.get("/api/v1/follow_requests", auth="user", scopes=READ)
async def show(house: House, request: Request, viewer: Viewer, paged: Paged) -> Answer:
    """The latest request first."""
    page = paged.page(PEOPLE)
    rows = await house.database.read(
        follows.requests_page, viewer.account_id,
        max_id=page.max_id, since_id=page.since_id, min_id=page.min_id, limit=page.limit,
    )  # fmt: skip
    return await accounts_page(house, request, rows, page.limit)


@api.post("/api/v1/follow_requests/<id>/authorize", auth="user", scopes=WRITE)
async def authorize(house: House, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(AuthorizeRequest(id))
    return await relationship(house, viewer, id)


@api.post("/api/v1/follow_requests/<id>/reject", auth="user", scopes=WRITE)
async def reject(house: House, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(RejectRequest(id))
    return await relationship(house, viewer, id)
