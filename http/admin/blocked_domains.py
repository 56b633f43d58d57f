"""The domains that the whole server blocks."""

from __future__ import annotations

from typing import Annotated

from ...actors.commands.blocked_domains import ChangeDomainBlock, DomainTerms, ImposeDomainBlock, LiftDomainBlock
from ...actors.rules.limits import BLOCK_COMMENT_CHARACTERS
from ...actors.rules.roles import Permission
from ...storage import blocked_domains
from ...storage.blocked_domains import BlockedDomain, Severity
from ..access.authentication import Viewer
from ..access.context import HttpContext, find_row
from ..answers.answer import EMPTY, Answer, json
from ..answers.errors import invalid
from ..entities.server_block import blocked_domain_fields
from ..intake.paging import Paged
from ..intake.parameters import Choice, Domain, Input, MaybeFlag, MaybeProse
from ..intake.request import Request
from ..router import api
from ..views.staff import page_of_rows, staff_of

READ = ("admin:read:domain_blocks",)
WRITE = ("admin:write:domain_blocks",)
PERMISSION = Permission.MANAGE_FEDERATION


class DomainBlockParameters(Input):
    """The terms of a block. A parameter that is not sent keeps its value."""

    severity: Annotated[Severity | None, Choice] = None
    reject_media: MaybeFlag = None
    reject_reports: MaybeFlag = None
    private_comment: MaybeProse = None
    public_comment: MaybeProse = None
    obfuscate: MaybeFlag = None

    def terms(self) -> DomainTerms:
        comments = {"Private": self.private_comment, "Public": self.public_comment}
        if wrong := [
            f"{name} comment is too long (maximum is {BLOCK_COMMENT_CHARACTERS} characters)"
            for name, text in comments.items()
            if text and len(text) > BLOCK_COMMENT_CHARACTERS
        ]:
            raise invalid(*wrong)
        return DomainTerms(
            self.severity, self.reject_media, self.reject_reports, self.private_comment, self.public_comment,
            self.obfuscate,
        )  # fmt: skip


class NewDomainBlock(Domain, DomainBlockParameters):
    """A block to make."""


@api.get("/api/v1/admin/domain_blocks", auth="user", scopes=READ, permission=PERMISSION)
async def show_all(context: HttpContext, request: Request, paged: Paged) -> Answer:
    return await page_of_rows(context, request, paged, blocked_domains.page, blocked_domain_fields)


@api.get("/api/v1/admin/domain_blocks/<id>", auth="user", scopes=READ, permission=PERMISSION)
async def show(context: HttpContext, id: int) -> Answer:
    found = await find_row(context, blocked_domains.find, id)
    return json(blocked_domain_fields(found))


@api.post("/api/v1/admin/domain_blocks", auth="user", scopes=WRITE, permission=PERMISSION)
async def block(context: HttpContext, viewer: Viewer, wanted: NewDomainBlock) -> Answer:
    """Block a domain. Where a block that forbids more rules it already, that one is answered with the error."""
    message = ImposeDomainBlock(await staff_of(context, viewer), wanted.name(), wanted.terms())
    imposed = await viewer.ask(message)
    return json(blocked_domain_fields(imposed.block)) if imposed.is_new else _stricter(imposed.block)


@api.put("/api/v1/admin/domain_blocks/<id>", auth="user", scopes=WRITE, permission=PERMISSION)
async def change(context: HttpContext, viewer: Viewer, id: int, wanted: DomainBlockParameters) -> Answer:
    message = ChangeDomainBlock(await staff_of(context, viewer), id, wanted.terms())
    return json(blocked_domain_fields(await viewer.ask(message)))


@api.delete("/api/v1/admin/domain_blocks/<id>", auth="user", scopes=WRITE, permission=PERMISSION)
async def lift(context: HttpContext, viewer: Viewer, id: int) -> Answer:
    await viewer.ask(LiftDomainBlock(await staff_of(context, viewer), id))
    return EMPTY


def _stricter(existing: BlockedDomain) -> Answer:
    text = f"You have already imposed stricter limits on {existing.domain}."
    return json({"error": text, "existing_domain_block": blocked_domain_fields(existing)}, 422)
