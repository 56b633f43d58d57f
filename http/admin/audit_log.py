"""The audit log of staff. The reference's API does not have it."""

from __future__ import annotations

from ...actors.rules.roles import Permission
from ...storage import audit_log
from ...storage.audit_log import AuditFilter
from ..access.authentication import Viewer
from ..access.context import HttpContext
from ..answers.answer import Answer, json
from ..entities.admin import audit_entry_fields
from ..intake.paging import Paged
from ..intake.parameters import AccountId, MaybeText
from ..intake.request import Request
from ..router import api
from ..views.staff import listed


class AuditLogQuery(Paged):
    """The filters of the list."""

    actor_id: AccountId = None
    target_type: MaybeText = None
    target_id: AccountId = None
    action: MaybeText = None

    def wanted(self) -> AuditFilter:
        return AuditFilter(self.actor_id, self.target_type or None, self.target_id, self.action or None)


@api.get(
    "/api/v1/admin/audit_log",
    auth="user",
    scopes=("admin:read",),
    permission=Permission.VIEW_AUDIT_LOG,
    returns="[Admin.AuditEntry]",
)
async def show(context: HttpContext, request: Request, viewer: Viewer, sought: AuditLogQuery) -> Answer:
    """Actions of staff, the latest first."""
    found, links = await listed(context, request, sought, audit_log.page, sought.wanted())
    return json([audit_entry_fields(entry) for entry in found], headers=links)
