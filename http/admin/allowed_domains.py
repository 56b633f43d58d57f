"""The domains that a server with limited federation deals with."""

from __future__ import annotations

from ...actors.commands.allowed_domains import AllowDomain, DisallowDomain
from ...actors.rules.roles import Permission
from ...storage import allowed_domains
from ..access.authentication import Viewer
from ..access.context import HttpContext, find_row
from ..answers.answer import Answer, json
from ..entities.server_block import allowed_domain_fields
from ..intake.paging import Paged
from ..intake.parameters import Domain
from ..intake.request import Request
from ..router import api
from ..views.staff import page_of_rows, staff_of

READ = ("admin:read:domain_allows",)
WRITE = ("admin:write:domain_allows",)
PERMISSION = Permission.MANAGE_FEDERATION


@api.get("/api/v1/admin/domain_allows", auth="user", scopes=READ, permission=PERMISSION)
async def show_all(context: HttpContext, request: Request, paged: Paged) -> Answer:
    return await page_of_rows(context, request, paged, allowed_domains.page, allowed_domain_fields)


@api.get("/api/v1/admin/domain_allows/<id>", auth="user", scopes=READ, permission=PERMISSION)
async def show(context: HttpContext, id: int) -> Answer:
    found = await find_row(context, allowed_domains.find, id)
    return json(allowed_domain_fields(found))


@api.post("/api/v1/admin/domain_allows", auth="user", scopes=WRITE, permission=PERMISSION)
async def allow(context: HttpContext, viewer: Viewer, domain: Domain) -> Answer:
    message = AllowDomain(await staff_of(context, viewer), domain.name())
    return json(allowed_domain_fields(await viewer.ask(message)))


@api.delete("/api/v1/admin/domain_allows/<id>", auth="user", scopes=WRITE, permission=PERMISSION)
async def disallow(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    message = DisallowDomain(await staff_of(context, viewer), id)
    return json(allowed_domain_fields(await viewer.ask(message)))
