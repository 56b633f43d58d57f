"""The viewer as one of the staff, whose name stands in the audit log."""

from __future__ import annotations

from ...actors.staff import Staff
from ..access.authentication import Viewer
from ..access.context import HttpContext


async def staff_of(context: HttpContext, viewer: Viewer) -> Staff:
    account = await context.accounts.find(viewer.account_id)
    return Staff(viewer.account_id, str(viewer.account_id) if account is None else account.username)
