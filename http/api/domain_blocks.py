"""The domains that the viewer blocks."""

from __future__ import annotations

from ...actors.commands.domain_blocks import BlockDomain, UnblockDomain
from ...storage import domain_blocks
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import EMPTY, Answer, json
from ..intake.paging import Paged
from ..intake.parameters import Domain
from ..intake.request import Request
from ..router import api
from ..views.listing import row_links

READ = ("read:blocks", "follow")
WRITE = ("write:blocks", "follow")

DOMAINS = 100  # on a page, unless the request has a limit


@api.get("/api/v1/domain_blocks", auth="user", scopes=READ, returns="[string]")
async def show_domain_blocks(context: HttpContext, request: Request, viewer: Viewer, paged: Paged) -> Answer:
    """The domains that the viewer blocks, the latest first."""
    page = paged.page(DOMAINS)
    rows = await context.database.read(domain_blocks.page, viewer.account_id, page)
    ids = [(id, id) for id, _ in rows]
    return json([domain for _, domain in rows], 200, row_links(context, request, ids, page.limit, "since_id"))


@api.post("/api/v1/domain_blocks", auth="user", scopes=WRITE, returns="{}")
async def block_domain(viewer: Viewer, domain: Domain) -> Answer:
    await viewer.ask(BlockDomain(domain.name()))
    return EMPTY


@api.delete("/api/v1/domain_blocks", auth="user", scopes=WRITE, returns="{}")
async def unblock_domain(viewer: Viewer, domain: Domain) -> Answer:
    await viewer.ask(UnblockDomain(domain.name()))
    return EMPTY
