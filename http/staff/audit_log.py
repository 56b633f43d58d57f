"""The page of the audit log, with its filters."""

from __future__ import annotations

from dataclasses import replace

from ...actors.rules.roles import Permission
from ...storage import audit_log
from ..admin.audit_log import AuditLogQuery
from ..intake.parameters import MaybeText
from .member import StaffMember
from .staff_page import Facts, StaffPage, listed

ACTS = StaffPage("/admin/acts", Permission.VIEW_AUDIT_LOG)
TARGETS = (
    "account", "report", "appeal", "setting", "announcement", "invite", "custom_emoji", "domain_block", "domain_allow",
    "ip_block", "email_domain_block", "canonical_email_block", "tag", "rule", "terms", "text", "domain", "media",
)  # fmt: skip


class ActQuery(AuditLogQuery):
    """The filters of the API, and the name of the actor or the target."""

    account: MaybeText = None


@ACTS.get("acts.html")
async def show(me: StaffMember, sought: ActQuery) -> Facts:
    """Show actions of staff, the latest first."""
    account = (sought.account or "").strip().removeprefix("@") or None
    wanted = replace(sought.wanted(), account=account, action=_stored(sought.action))
    found, links = await listed(me, sought, audit_log.page, wanted)
    return {
        "sought": sought,
        "targets": [("", "Everything"), *((target, target.replace("_", " ").capitalize()) for target in TARGETS)],
        "entries": found,
        "page_links": links,
    }


def _stored(action: str | None) -> str | None:
    """Return the name of an action in the log. Pages show spaces in place of underscores."""
    return (action or "").strip().lower().replace(" ", "_") or None
