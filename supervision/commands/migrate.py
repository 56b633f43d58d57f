"""`troupe migrate`: migrating the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .chosen_server import ChosenServer
from .options import json_option, print_list, setting_options

if TYPE_CHECKING:
    from ...actors.configuration import Settings
    from ...storage.engine.migrate import Migration

GOING_ON = "The applied steps stay. Run the same command again: it goes on with the next step."


@click.command
@click.option("--plan", is_flag=True, help="List the steps that would be applied, and change nothing.")
@json_option
@setting_options("data")
def migrate(server: ChosenServer, plan: bool, as_json: bool) -> None:
    """Bring the database's schema up to date.

    `troupe serve` does so by itself at start. A schema newer than this version of Troupe is refused, and so is a
    database that a server runs on, unless there is nothing to do. Each step is applied as a whole or not at all, also
    if the command is killed; --plan works beside a server.
    """
    from ...storage.engine.term import upgrade
    from .progress import progress
    from .rows import opened_database

    steps = _missing_steps(server.settings)
    if not plan:
        with (
            progress("Migrations", len(steps), GOING_ON, things="steps") as update,
            opened_database(server.settings) as dsn,
        ):
            steps = upgrade(dsn, lambda step: update(1))
    listed = [{"number": step.number, "name": step.name, "meaning": step.meaning} for step in steps]
    print_list(
        listed, lambda step: f"{'Would apply' if plan else 'Applied'} {step['number']:04} {step['name']}"
        + (f": {step['meaning']}" if plan else ""), as_json=as_json,
    )  # fmt: skip
    if not as_json and not (plan and steps):
        click.echo("The schema is up to date.")


def _missing_steps(settings: Settings) -> list[Migration]:
    """Return the steps that the schema lacks, and change nothing. Raises MigrationRefused for a newer schema."""
    from ...storage.engine.connect import LoneConnection
    from ...storage.engine.embedded import exists
    from ...storage.engine.migrate import migrations, missing
    from .rows import existing_database

    if not settings.database_url and not exists(settings.data):
        return migrations()
    with existing_database(settings) as dsn, LoneConnection(dsn) as session:
        return session(missing)
