"""The page of what staff did: the audit log with its filters."""

from __future__ import annotations

from dataclasses import replace

from ...actors.rules.roles import Permission
from ...storage import audit_log
from ..access.context import HttpContext
from ..admin.audit_log import AuditLogQuery
from ..answers.answer import Answer
from ..intake.parameters import MaybeText
from ..intake.request import Request
from ..router import api
from .listing import ON_A_PAGE, page_links
from .member import staff_member

PERMISSION = Permission.VIEW_AUDIT_LOG
TARGETS = (
    "account", "report", "appeal", "setting", "announcement", "invite", "custom_emoji", "domain_block", "domain_allow",
    "ip_block", "email_domain_block", "canonical_email_block", "tag", "rule", "terms", "text", "domain", "media",
)  # fmt: skip


class ActQuery(AuditLogQuery):
    """The filters of the API, and the name of an account that acted or was acted on."""

    account: MaybeText = None


@api.get("/admin/acts", page=True)
async def show(context: HttpContext, request: Request, sought: ActQuery) -> Answer:
    """Show acts of staff, the latest first."""
    me = await staff_member(context, request, PERMISSION)
    page = sought.page(ON_A_PAGE)
    account = (sought.account or "").strip().removeprefix("@") or None
    wanted = replace(sought.wanted(), account=account, action=_stored(sought.action))
    found = await context.database.read(audit_log.page, wanted, page)
    return me.page(
        "acts.html",
        sought=sought,
        targets=[("", "Everything"), *((one, one.replace("_", " ").capitalize()) for one in TARGETS)],
        entries=found,
        page_links=page_links(request, page, [one.id for one in found]),
    )


def _stored(action: str | None) -> str | None:
    """Return the name of an act as the log has it: pages show it with spaces."""
    return (action or "").strip().lower().replace(" ", "_") or None
