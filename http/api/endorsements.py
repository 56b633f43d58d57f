"""Recommended accounts: added, removed, and listed."""

from __future__ import annotations

from collections.abc import Collection

from ...actors.commands.endorsements import Endorse, Unendorse
from ...actors.rules.visibility import shows_profile
from ...storage import endorsements
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, array
from ..intake.paging import Paged
from ..intake.request import Request
from ..router import api
from ..views.accounts import PEOPLE, find_account
from ..views.listing import accounts_page
from ..views.statuses import perspective_of
from .relations import relationship

READ = ("read:accounts",)

ENDORSE = ("write:accounts",)


@api.post("/api/v1/accounts/<id>/pin", auth="user", scopes=ENDORSE, returns="Relationship")
@api.post("/api/v1/accounts/<id>/endorse", auth="user", scopes=ENDORSE, returns="Relationship")
async def endorse(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Endorse(id))
    return await relationship(context, viewer, id)


@api.post("/api/v1/accounts/<id>/unpin", auth="user", scopes=ENDORSE, returns="Relationship")
@api.post("/api/v1/accounts/<id>/unendorse", auth="user", scopes=ENDORSE, returns="Relationship")
async def unendorse(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Unendorse(id))
    return await relationship(context, viewer, id)


@api.get("/api/v1/accounts/<id>/endorsements", returns="[Account]")
async def show_endorsements_of(
    context: HttpContext, request: Request, viewer: Viewer | None, id: int, paged: Paged
) -> Answer:  # fmt: skip
    """The accounts that an account recommends; an empty list if it blocks the viewer."""
    account, perspective = await find_account(context, id), await perspective_of(viewer)
    if not shows_profile(account.id, perspective):
        return array([])
    return await _endorsements(context, request, account.id, paged, perspective.shunned)


@api.get("/api/v1/endorsements", auth="user", scopes=READ, returns="[Account]")
async def show_endorsements(context: HttpContext, request: Request, viewer: Viewer, paged: Paged) -> Answer:
    """The accounts that the viewer recommends."""
    return await _endorsements(context, request, viewer.account_id, paged, ())


async def _endorsements(
    context: HttpContext, request: Request, account_id: int, paged: Paged, without: Collection[int]
) -> Answer:
    page = paged.page(PEOPLE)
    rows = await context.database.read(endorsements.page, account_id, page, without=without)
    return await accounts_page(context, request, rows, page.limit)
