"""`troupe audit`: what staff did."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from ...storage.engine.json_values import JsonObject
from .acting import act
from .options import json_option, print_list, setting_options


@click.command
@json_option
@click.option("--account", metavar="NAME", help="Only acts of this account, and those that were done to it.")
@click.option(
    "--since", type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]), help="Only acts from this UTC time on."
)
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="The most acts.")
@setting_options("data")
def audit(
    as_json: bool, account: str | None, since: datetime | None, limit: int, data: str | None, config: Path | None
) -> None:
    """List what staff did, the latest first: time, who, what, to which, why."""
    from datetime import UTC

    from .listing import list_acts

    name = None if account is None else account.removeprefix("@")
    found = act(config, list_acts, name, since and since.replace(tzinfo=UTC), limit, data=data)
    print_list(found, _line, as_json=as_json)


def _line(one: JsonObject) -> str:
    return "\t".join(str(one[name]) for name in ("created_at", "actor", "action", "target", "reason"))
