"""The page of the supervision log: the newest records, with filters, and what one request led to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from ...actors.kernel.inspection import in_slices
from ...actors.rules.roles import Permission
from ..access.context import HttpContext
from ..access.operations import LogRecord
from ..answers.answer import Answer
from ..intake.parameters import Choice, Input, Text
from ..intake.request import Request
from ..pages.templates import rendered
from ..router import api
from .live import live
from .member import StaffMember, staff_member

PERMISSION = Permission.VIEW_DEVOPS
SHOWN = 100
LEVELS: dict[str, tuple[str, ...]] = {
    "info": ("info", "warning", "error"), "warning": ("warning", "error"), "error": ("error",),
}  # fmt: skip
# Facts with a place of their own on the page.
APART = frozenset({"actor", "child", "request_id", "stack", "error", "decision"})


class LogQuery(Input):
    """The records to show: all that fit each filter that is given."""

    level: Annotated[Literal["info", "warning", "error"], Choice] = "info"
    event: Text = ""
    actor: Text = ""
    request: Text = ""

    def fits(self, record: LogRecord) -> bool:
        facts = record.facts
        return (
            record.level in LEVELS[self.level]
            and record.event.startswith(self.event.strip())
            and self.actor.strip() in str(facts.get("actor") or facts.get("child") or "")
            and self.request.strip() in ("", facts.get("request_id"))
        )


@api.get("/admin/log", page=True)
async def show(context: HttpContext, request: Request, wanted: LogQuery) -> Answer:
    """Show the newest records, and what a request led to."""
    me = await staff_member(context, request, PERMISSION)
    query = request.query_string.decode("ascii", "replace")
    return me.page("log.html", wanted=wanted, levels=list(LEVELS), query=query, **await _facts(me, wanted))


@api.get("/admin/log/live", page=True)
async def keep_current(context: HttpContext, request: Request, wanted: LogQuery) -> Answer:
    """Send the records again when there are new ones."""
    me = await staff_member(context, request, PERMISSION)

    async def render() -> bytes:
        return rendered("staff/log_part.html", **await _facts(me, wanted))

    return live(me, PERMISSION, render)


# `Any`: facts of a template.
async def _facts(me: StaffMember, wanted: LogQuery) -> dict[str, Any]:
    context, followed = me.context, wanted.request.strip()
    steps = await in_slices(context.runtime.trail.of_request(followed)) if followed else []
    return {
        "records": newest(context.operations.records(), wanted, SHOWN),
        "apart": APART,
        "followed": followed,
        "steps": steps,
    }


def newest(records: Sequence[LogRecord], wanted: LogQuery, most: int) -> list[LogRecord]:
    """Return the records that fit, the newest first."""
    found: list[LogRecord] = []
    fitting: Iterable[LogRecord] = (record for record in reversed(records) if wanted.fits(record))
    for record in fitting:
        found.append(record)
        if len(found) == most:
            break
    return found
