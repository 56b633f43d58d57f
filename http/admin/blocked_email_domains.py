"""The domains whose e-mail addresses may not sign up."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, timedelta

from ...actors.commands.blocked_email_domains import BlockEmailDomain, UnblockEmailDomain
from ...actors.rules.domains import mail_domain
from ...actors.rules.roles import Permission
from ...storage import blocked_email_domains
from ...storage.blocked_email_domains import BlockedEmailDomain
from ..access.authentication import Viewer
from ..access.context import HttpContext, find_row
from ..answers.answer import EMPTY, Answer, json
from ..answers.errors import invalid
from ..entities.server_block import DAYS, blocked_email_domain_fields
from ..intake.paging import Paged
from ..intake.parameters import Flag, Input, Text
from ..intake.request import Request
from ..router import api
from ..views.staff import ON_A_PAGE, links_of, staff_of

READ = ("admin:read:email_domain_blocks",)
WRITE = ("admin:write:email_domain_blocks",)
PERMISSION = Permission.MANAGE_BLOCKS


class EmailDomain(Input):
    domain: Text = ""
    allow_with_approval: Flag = False

    def name(self) -> str:
        """The domain as it is stored."""
        if not self.domain.strip():
            raise invalid("Domain can't be blank")
        name = mail_domain(self.domain)
        if name is None:
            raise invalid("Domain is invalid", "Domain is not a valid domain name")
        return name


@api.get("/api/v1/admin/email_domain_blocks", auth="user", scopes=READ, permission=PERMISSION)
async def show_all(context: HttpContext, request: Request, paged: Paged) -> Answer:
    page = paged.page(ON_A_PAGE)
    rows = await context.database.read(blocked_email_domains.page, page)
    return json(await _shown(context, rows), 200, links_of(context, request, rows, page.limit))


@api.get("/api/v1/admin/email_domain_blocks/<id>", auth="user", scopes=READ, permission=PERMISSION)
async def show(context: HttpContext, id: int) -> Answer:
    found = await find_row(context, blocked_email_domains.find, id)
    return json((await _shown(context, [found]))[0])


@api.post("/api/v1/admin/email_domain_blocks", auth="user", scopes=WRITE, permission=PERMISSION)
async def block(context: HttpContext, viewer: Viewer, wanted: EmailDomain) -> Answer:
    message = BlockEmailDomain(await staff_of(context, viewer), wanted.name(), wanted.allow_with_approval)
    return json((await _shown(context, [await viewer.ask(message)]))[0])


@api.delete("/api/v1/admin/email_domain_blocks/<id>", auth="user", scopes=WRITE, permission=PERMISSION)
async def unblock(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(UnblockEmailDomain(await staff_of(context, viewer), id))
    return EMPTY


async def _shown(context: HttpContext, rows: Sequence[BlockedEmailDomain]) -> list[dict[str, object]]:
    """Return blocks with the attempts of the last days."""
    today = context.clock.now().astimezone(UTC).date()
    since = today - timedelta(days=DAYS - 1)
    history = await context.database.read(blocked_email_domains.history, [row.id for row in rows], since)
    return [blocked_email_domain_fields(row, history, today) for row in rows]
