"""`troupe migrate`: migrating the schema."""

from __future__ import annotations

from pathlib import Path

import click

from .options import setting_options, settings_from


@click.command
@setting_options("data")
def migrate(data: str | None, config: Path | None) -> None:
    """Bring the database's schema up to date.

    `troupe serve` does so by itself at start. A schema newer than this version of Troupe is refused, and so is a
    database that a server runs on, unless there is nothing to do.
    """
    from .rows import migrate as bring_up_to_date

    applied = bring_up_to_date(settings_from(config, data=data))
    for step in applied:
        click.echo(f"Applied {step.number:04} {step.name}")
    click.echo("The schema is up to date.")
