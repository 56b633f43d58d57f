"""`troupe sessions`: the browsers in which users are signed in."""

from __future__ import annotations

from pathlib import Path

import click

from ...actors.rules.wording import number_of
from .acting import on_account
from .options import account_argument, ask_first, dry_run_option, setting_options, yes_option


@click.group
def sessions() -> None:
    """Browsers in which users are signed in."""


@sessions.command
@account_argument
@dry_run_option
@yes_option
@setting_options("data", "domain")
def revoke(name: str, dry_run: bool, yes: bool, data: str | None, domain: str | None, config: Path | None) -> None:
    """Sign NAME out of all browsers. Apps keep their access: see `troupe tokens revoke`."""
    from .modifying import end_sessions

    if not dry_run:
        ask_first(lambda: f"Sign {name} out of all browsers?", yes=yes)
    acct, count = on_account(config, end_sessions, name, dry_run=dry_run, data=data, domain=domain)
    click.echo(f"{'Would sign' if dry_run else 'Signed'} @{acct} out of {number_of(count, 'browsers')}")
