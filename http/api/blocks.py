"""Blocking and unblocking accounts, and the accounts that the viewer blocks."""

from __future__ import annotations

from ...actors.commands.blocks import Block, Unblock
from ...storage import blocks
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer
from ..intake.paging import Paged
from ..intake.request import Request
from ..router import api
from ..views.accounts import PEOPLE
from ..views.listing import accounts_page
from .relations import relationship

READ = ("read:blocks", "follow")
WRITE = ("write:blocks", "follow")


@api.get("/api/v1/blocks", auth="user", scopes=READ, returns="[Account]")
async def show_blocks(context: HttpContext, request: Request, viewer: Viewer, paged: Paged) -> Answer:
    """The accounts that the viewer blocks, the latest first."""
    page = paged.page(PEOPLE)
    rows = await context.database.read(blocks.page, viewer.account_id, page)
    return await accounts_page(context, request, rows, page.limit)


@api.post("/api/v1/accounts/<id>/block", auth="user", scopes=WRITE, returns="Relationship")
async def block(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Block(id))
    return await relationship(context, viewer, id)


@api.post("/api/v1/accounts/<id>/unblock", auth="user", scopes=WRITE, returns="Relationship")
async def unblock(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(Unblock(id))
    return await relationship(context, viewer, id)
