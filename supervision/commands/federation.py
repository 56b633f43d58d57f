"""`troupe federation`: the other servers, and what is on its way to them."""

from __future__ import annotations

from pathlib import Path

import click

from ...actors.rules.wording import number_of
from ...storage.engine.json_values import JsonObject
from .acting import act
from .options import (
    ask_first,
    dry_run_option,
    json_option,
    print_json,
    print_list,
    setting_options,
    yes_option,
)


@click.group
def federation() -> None:
    """Other servers, and what is on its way to them."""


@federation.command
@json_option
@setting_options("data")
def hosts(as_json: bool, data: str | None, config: Path | None) -> None:
    """List the servers that deliveries wait for, one a line: host, deliveries, failures in a row, the last error."""
    from .reaching_hosts import listed

    print_list(act(config, listed, data=data), _line, as_json=as_json)


@federation.command
@click.argument("host")
@json_option
@setting_options("data")
def show(host: str, as_json: bool, data: str | None, config: Path | None) -> None:
    """Show what is known of HOST."""
    from .reaching_hosts import shown

    found = act(config, shown, host, data=data)
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        click.echo(f"{name}: {'-' if value is None else value}")


@federation.command
@click.argument("host")
@setting_options("data")
def retry(host: str, data: str | None, config: Path | None) -> None:
    """Send what waits for HOST now, however often it failed."""
    from .reaching_hosts import retried

    click.echo(f"Trying now: {number_of(act(config, retried, host, data=data), 'deliveries')} to {host}")


@federation.command
@click.argument("host")
@dry_run_option
@yes_option
@setting_options("data")
def drop(host: str, dry_run: bool, yes: bool, data: str | None, config: Path | None) -> None:
    """Delete what waits for HOST. It is never sent."""
    from .reaching_hosts import dropped

    if not dry_run:
        ask_first(lambda: f"Delete what waits for {host}, so that it is never sent?", yes=yes)
    number = act(config, dropped, host, dry_run=dry_run, data=data)
    click.echo(f"{'Would drop' if dry_run else 'Dropped'} {number_of(number, 'deliveries')} to {host}")


def _line(one: JsonObject) -> str:
    return f"{one['host']}\t{one['waiting']}\t{one['failures']}\t{one['error'] or ''}"
