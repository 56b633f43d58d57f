"""`troupe nodes`: the servers that share a database as nodes of a cluster."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from ...actors.rules.wording import number_of
from ...storage.engine.json_values import JsonObject
from .chosen_server import ChosenServer
from .options import json_option, print_list, setting_options
from .refusals import CommandRefused

if TYPE_CHECKING:
    from ...storage.engine.database import Connection
    from ...storage.engine.nodes import NodeRow
    from .rows import Here

LOOK_EVERY = 0.2  # seconds
LONGEST_DRAIN = 60.0  # seconds


@click.group
def nodes() -> None:
    """Servers on one database that share its accounts: see `bus_url`. A server without it is alone."""


@nodes.command("list")
@json_option
@setting_options("data")
def list_(server: ChosenServer, as_json: bool) -> None:
    """List the nodes, one a line: name, state, and how many of the 256 shards of accounts it owns.

    A node whose process has ended without a word is listed until another node has removed it, after some seconds.
    """
    print_list(server.transact(_listed), _line, as_json=as_json)


async def _listed(db: Connection, here: Here) -> list[JsonObject]:
    from ...storage.engine import nodes as rows

    return [
        {"name": node.name, "state": _state(node), "shards": shards, "number": node.number}
        for node, shards in await rows.find_all(db)
    ]


def _state(node: NodeRow) -> str:
    if node.beat is None:
        return "alone"
    return "joining" if node.joining else "draining" if node.draining else "active"


def _line(node: JsonObject) -> str:
    shards = node["shards"]
    return f"{node['name']}\t{node['state']}\t{number_of(shards, 'shards')}"


@nodes.command
@click.argument("name")
@setting_options("data")
def drain(server: ChosenServer, name: str) -> None:
    """Have the other nodes take the accounts of node NAME, and wait until they have.

    It goes on answering, and can then be stopped without a pause for anybody. It takes accounts again when it is
    started anew.
    """
    with server.transactions() as run:
        run(_drain, name)
        end = time.monotonic() + LONGEST_DRAIN
        while left := run(_shards_of, name):
            if time.monotonic() > end:
                raise CommandRefused(f"{name} drains, and still owns {number_of(left, 'shards')}.")
            time.sleep(LOOK_EVERY)
    click.echo(f"{name} owns no accounts any more")


async def _drain(db: Connection, here: Here, name: str) -> None:
    from ...storage.engine import nodes as rows

    found = await rows.find_all(db)
    node = _named([node for node, _ in found], name)
    if not any(other.is_active and other.beat is not None for other, _ in found if other.name != name):
        raise CommandRefused(f"No other node could take the accounts of {name}.")
    await rows.drain(db, node.name, node.incarnation)


async def _shards_of(db: Connection, here: Here, name: str) -> int:
    from ...storage.engine import nodes as rows

    return sum(shards for node, shards in await rows.find_all(db) if node.name == name)


@nodes.command
@click.argument("name")
@setting_options("data")
def remove(server: ChosenServer, name: str) -> None:
    """Shut node NAME out. If it still runs it can write nothing more, and ends with exit code 70.

    The other nodes remove a node that is dead by themselves. This is for a node that is alive and does harm.
    """
    server.transact(_remove, name)
    click.echo(f"Removed {name}")


async def _remove(db: Connection, here: Here, name: str) -> None:
    from ...actors.cluster.membership import take_out
    from ...storage.engine import nodes as rows

    node = _named([node for node, _ in await rows.find_all(db)], name)
    if node.beat is None:
        raise CommandRefused(f"{name} is a server that is alone: stop it instead.")
    await rows.end_connections(db, node.name, node.incarnation)
    await take_out(db, node.name, node.incarnation, node.number)


def _named(found: list[NodeRow], name: str) -> NodeRow:
    for node in found:
        if node.name == name:
            return node
    raise CommandRefused(f"No node has the name {name}; `troupe nodes list` lists them.")
