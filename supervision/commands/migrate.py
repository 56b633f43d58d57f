"""`troupe migrate`: migrating the schema."""

from __future__ import annotations

from pathlib import Path

import click

from .options import json_option, print_list, setting_options, settings_from

GOING_ON = "The steps that were applied stay. Run the same command again: it goes on with the next one."


@click.command
@click.option("--plan", is_flag=True, help="List the steps that would be applied, and change nothing.")
@json_option
@setting_options("data")
def migrate(plan: bool, as_json: bool, data: str | None, config: Path | None) -> None:
    """Bring the database's schema up to date.

    `troupe serve` does so by itself at start. A schema newer than this version of Troupe is refused, and so is a
    database that a server runs on, unless there is nothing to do. Each step is applied as a whole or not at all, also
    if the command is killed; --plan works beside a server.
    """
    from .progress import progress
    from .rows import migrate as bring_up_to_date
    from .rows import plan as missing_steps

    settings = settings_from(config, data=data)
    steps = missing_steps(settings)
    if not plan:
        with progress("Migrations", len(steps), GOING_ON, things="steps") as update:
            steps = bring_up_to_date(settings, lambda step: update(1))
    listed = [{"number": step.number, "name": step.name, "meaning": step.meaning} for step in steps]
    print_list(
        listed, lambda one: f"{'Would apply' if plan else 'Applied'} {one['number']:04} {one['name']}"
        + (f": {one['meaning']}" if plan else ""), as_json=as_json,
    )  # fmt: skip
    if not as_json and not (plan and steps):
        click.echo("The schema is up to date.")
