"""`troupe federation`: the other servers, and the deliveries to them."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

import click

from ...actors.rules.wording import number_of
from ...storage.engine.json_values import JsonObject
from .chosen_server import ChosenServer
from .options import ask_first, dry_run_option, json_option, print_json, print_list, setting_options, yes_option
from .refusals import CommandRefused

if TYPE_CHECKING:
    from ...storage.engine.database import Connection
    from ...storage.federation.hosts import HostOverview
    from .rows import Here


@click.group
def federation() -> None:
    """Other servers, and the deliveries to them."""


@federation.command
@json_option
@setting_options("data")
def hosts(server: ChosenServer, as_json: bool) -> None:
    """List the servers that deliveries wait for, one a line: host, deliveries, failures in a row, the last error."""
    print_list(server.transact(_hosts), _line, as_json=as_json)


async def _hosts(db: Connection, here: Here) -> list[JsonObject]:
    """Return the hosts that deliveries fail to reach or wait for."""
    from ...actors.deliveries.hosts import QUEUE
    from ...storage.federation import hosts

    return [_fields(host) for host in await hosts.overview(db, QUEUE)]


def _line(host: JsonObject) -> str:
    return f"{host['host']}\t{host['waiting']}\t{host['failures']}\t{host['error'] or ''}"


@federation.command
@click.argument("host")
@json_option
@setting_options("data")
def show(server: ChosenServer, host: str, as_json: bool) -> None:
    """Show the known facts about HOST."""
    found = server.transact(_known_of, host)
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        click.echo(f"{name}: {'-' if value is None else value}")


async def _known_of(db: Connection, here: Here, host: str) -> JsonObject:
    """Return the known facts about a host."""
    from ...actors.deliveries.hosts import QUEUE
    from ...storage.federation import hosts

    found = await hosts.overview(db, QUEUE, host.lower())
    if not found:
        raise CommandRefused(f"Nothing is known of {host}: no delivery has gone there, and none waits.")
    return _fields(found[0])


def _fields(host: HostOverview) -> JsonObject:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(host).items()}


@federation.command
@click.argument("host")
@setting_options("data")
def retry(server: ChosenServer, host: str) -> None:
    """Send all deliveries that wait for HOST now, also after many failures."""
    click.echo(f"Trying now: {number_of(server.transact(_retry, host), 'deliveries')} to {host}")


async def _retry(db: Connection, here: Here, host: str) -> int:
    """Make all deliveries to a host due. Return the number of deliveries that had to wait."""
    from ...actors.deliveries.hosts import QUEUE, groups_of
    from ...storage.engine import notices
    from ...storage.federation import hosts

    await hosts.close_breaker(db, host.lower())
    number = await hosts.make_due(db, groups_of(host.lower()), QUEUE, here.now)
    await notices.send(db, "hosts")
    return number


@federation.command
@click.argument("host")
@dry_run_option
@yes_option
@setting_options("data")
def drop(server: ChosenServer, host: str, dry_run: bool, yes: bool) -> None:
    """Delete the deliveries that wait for HOST. They are never sent."""
    if not dry_run:
        ask_first(lambda: f"Delete the deliveries that wait for {host}, so that they are never sent?", yes=yes)
    number = server.transact(_drop, host, dry_run=dry_run)
    click.echo(f"{'Would drop' if dry_run else 'Dropped'} {number_of(number, 'deliveries')} to {host}")


async def _drop(db: Connection, here: Here, host: str) -> int:
    """Delete all deliveries to a host, and the activities that had no others. Return their number."""
    from ...actors.deliveries.hosts import QUEUE, groups_of
    from ...storage.federation import activities, hosts

    gone = await hosts.drop(db, groups_of(host.lower()), QUEUE)
    for activity_id, deliveries in gone.items():
        await activities.finish(db, activity_id, deliveries)
    return sum(gone.values())
