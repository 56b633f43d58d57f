"""`troupe sessions`: the browsers in which users are signed in."""

from __future__ import annotations

from pathlib import Path

import click

from .acting import on_account
from .options import setting_options


@click.group
def sessions() -> None:
    """Browsers in which users are signed in."""


@sessions.command
@click.argument("name")
@setting_options("data", "domain")
def revoke(name: str, data: str | None, domain: str | None, config: Path | None) -> None:
    """Sign NAME out of all browsers. Apps keep their access: see `troupe tokens revoke`."""
    from .modifying import end_sessions

    click.echo(f"Signed @{on_account(config, end_sessions, name, data=data, domain=domain)} out of all browsers")
