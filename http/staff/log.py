"""The page of the supervision log: the newest records, with filters, and the steps of a request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from ...actors.kernel.inspection import in_slices
from ...actors.rules.roles import Permission
from ..access.operations import LogRecord
from ..intake.parameters import Choice, Input, Text
from .member import StaffMember
from .staff_page import Facts, StaffPage

LOG = StaffPage("/admin/log", Permission.VIEW_DEVOPS)
SHOWN = 100
LEVELS: dict[str, tuple[str, ...]] = {
    "info": ("info", "warning", "error"), "warning": ("warning", "error"), "error": ("error",),
}  # fmt: skip
# Facts that the page shows outside of the list of facts.
APART = frozenset({"actor", "child", "request_id", "stack", "error", "decision"})


class LogQuery(Input):
    """The filters. A record must match all given filters."""

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


@LOG.get("log.html", part="log_part.html")
async def show(me: StaffMember, wanted: LogQuery) -> Facts:
    """Show the newest records, and the steps of a request."""
    context, followed = me.context, wanted.request.strip()
    steps = await in_slices(context.runtime.trail.of_request(followed)) if followed else []
    return {
        "wanted": wanted,
        "levels": list(LEVELS),
        "query": me.request.query_string.decode("ascii", "replace"),
        "records": newest(context.operations.records(), wanted, SHOWN),
        "apart": APART,
        "followed": followed,
        "steps": steps,
    }


def newest(records: Sequence[LogRecord], wanted: LogQuery, most: int) -> list[LogRecord]:
    """Return at most `most` matching records, the newest first."""
    found: list[LogRecord] = []
    fitting: Iterable[LogRecord] = (record for record in reversed(records) if wanted.fits(record))
    for record in fitting:
        found.append(record)
        if len(found) == most:
            break
    return found
