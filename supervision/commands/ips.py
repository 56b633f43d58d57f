"""`troupe ips`: the addresses and networks that the server keeps out, or keeps from signing up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import click

from ...actors.rules.limits import BLOCK_COMMENT_CHARACTERS
from ...storage.engine.json_values import JsonObject
from .chosen_server import ChosenServer
from .options import json_option, print_list, setting_options
from .refusals import CommandRefused, WrongValue, require

if TYPE_CHECKING:
    from ...actors.commands.blocked_networks import NetworkTerms
    from ...storage.blocked_networks import BlockedNetwork
    from ...storage.engine.database import Connection
    from .rows import Here

DAY = 86_400  # seconds


@click.group
def ips() -> None:
    """Addresses such as 192.0.2.7 and networks such as 192.0.2.0/24 or 2001:db8::/32."""


@ips.command("list")
@json_option
@setting_options("data")
def list_(server: ChosenServer, as_json: bool) -> None:
    """List the blocked networks, one a line: network, severity, end, comment."""
    print_list(server.transact(_blocked), _line, as_json=as_json)


async def _blocked(db: Connection, here: Here) -> list[JsonObject]:
    """Return all blocks, in the order of their networks."""
    from ...http.entities.server_block import blocked_network_fields
    from ...storage import server_blocks
    from ...storage.blocked_networks import BlockedNetwork

    return [blocked_network_fields(block) for block in await server_blocks.find_all(db, BlockedNetwork)]


def _line(block: JsonObject) -> str:
    return f"{block['ip']}\t{block['severity']}\t{block['expires_at'] or 'never'}\t{block['comment']}"


@ips.command
@click.argument("network")
@click.option(
    "--severity",
    type=click.Choice(["sign_up_requires_approval", "sign_up_block", "no_access"]),
    help="What its clients may not do.  [default: no_access]",
)
@click.option("--comment", metavar="TEXT", help="Why, for staff.")
@click.option("--days", type=click.IntRange(0, 36_500), metavar="DAYS", help="For how long; 0 for ever.  [default: 0]")
@setting_options("data")
def block(
    server: ChosenServer,
    network: str,
    severity: Literal["sign_up_requires_approval", "sign_up_block", "no_access"] | None,
    comment: str | None,
    days: int | None,
) -> None:
    """Block NETWORK, or change its block. Values that are not given stay as they are."""
    from ...actors.commands.blocked_networks import NetworkTerms

    terms = NetworkTerms(None, severity, comment, None if days is None else days * DAY)
    click.echo(f"Blocked {server.transact(_block, network, terms)}")


async def _block(db: Connection, here: Here, written: str, terms: NetworkTerms) -> str:
    """Block a network, or change its block. Return it as it is stored. Trusted proxies keep their access."""
    from ...actors.commands.blocked_networks import BlockNetwork, ChangeNetworkBlock, KeptAddresses, block, change

    network = _checked(written)
    if len(terms.comment or "") > BLOCK_COMMENT_CHARACTERS:
        raise WrongValue(f"The comment has more than {BLOCK_COMMENT_CHARACTERS} characters.")
    existing = await _find(db, network)
    kept = KeptAddresses(None, tuple(str(proxy) for proxy in here.settings.trusted_proxies))
    if existing is not None:
        require(await change(here.act, ChangeNetworkBlock(here.staff, existing.id, terms, kept)))
    else:
        wanted = replace(terms, severity=terms.severity or "no_access")
        require(await block(here.act, BlockNetwork(here.staff, network, wanted, kept)))
    return network


@ips.command
@click.argument("network")
@setting_options("data")
def unblock(server: ChosenServer, network: str) -> None:
    """End the block of NETWORK."""
    click.echo(f"Unblocked {server.transact(_unblock, network)}")


async def _unblock(db: Connection, here: Here, written: str) -> str:
    """End the block of a network. Return it as it is stored."""
    from ...actors.commands.blocked_networks import UnblockNetwork, unblock

    network = _checked(written)
    existing = await _find(db, network)
    if existing is None:
        raise CommandRefused(f"{network} is not blocked.")
    require(await unblock(here.act, UnblockNetwork(here.staff, existing.id)))
    return network


def _checked(written: str) -> str:
    """Return a network as it is stored. Raises WrongValue."""
    from ...actors.rules.networks import network_of

    network = network_of(written)
    if network is None:
        raise WrongValue(f"{written!r} is not an address or a network.")
    return str(network)


async def _find(db: Connection, network: str) -> BlockedNetwork | None:
    from ...storage import server_blocks
    from ...storage.blocked_networks import BlockedNetwork

    return await server_blocks.find_by_key(db, BlockedNetwork, network)
