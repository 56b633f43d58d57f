"""`troupe audit`: the log of the acts of staff."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from ...storage.engine.json_values import JsonObject
from ...storage.upkeep.paging import Page
from .chosen_server import ChosenServer
from .options import json_option, print_list, setting_options

if TYPE_CHECKING:
    from ...storage.engine.database import Connection
    from .rows import Here


@click.command
@json_option
@click.option("--account", metavar="NAME", help="Only acts of this account, and acts on it.")
@click.option(
    "--since", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]), help="Only acts from this UTC time on."
)
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="The most acts.")
@setting_options("data")
def audit(server: ChosenServer, as_json: bool, account: str | None, since: datetime | None, limit: int) -> None:
    """List the acts of staff, the latest first: time, actor, action, target, reason."""
    name = None if account is None else account.removeprefix("@")
    found = server.transact(_acts, name, since and since.replace(tzinfo=UTC), limit)
    print_list(found, _line, as_json=as_json)


async def _acts(
    db: Connection, here: Here, account: str | None, since: datetime | None, limit: int
) -> list[dict[str, object]]:
    """Return acts of staff, newest first, as JSON: all, or acts of an account and acts on it."""
    from ...actors.kernel.clock import first_id_at
    from ...storage import audit_log
    from ...storage.audit_log import AuditFilter

    page = Page(limit, since_id=None if since is None else first_id_at(since) - 1)
    return [
        {
            "id": str(entry.id),
            "created_at": entry.created_at.isoformat(),
            "actor": entry.actor,
            "action": entry.action,
            "target_type": entry.target_type,
            "target": entry.target,
            "reason": entry.reason,
            "details": entry.details,
        }
        for entry in await audit_log.page(db, AuditFilter(account=account), page)
    ]


def _line(entry: JsonObject) -> str:
    return "\t".join(str(entry[name]) for name in ("created_at", "actor", "action", "target", "reason"))
