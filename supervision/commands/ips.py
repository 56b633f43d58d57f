"""`troupe ips`: the addresses and networks that the server keeps out, or keeps from signing up."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from ...storage.engine.json_values import JsonObject
from .acting import act
from .options import json_option, print_list, setting_options, settings_from

DAY = 86_400  # seconds


@click.group
def ips() -> None:
    """Addresses such as 192.0.2.7 and networks such as 192.0.2.0/24 or 2001:db8::/32."""


@ips.command("list")
@json_option
@setting_options("data")
def list_(as_json: bool, data: str | None, config: Path | None) -> None:
    """List the blocked networks, one a line: network, severity, end, comment."""
    from .blocking_networks import listed

    found = act(config, listed, data=data)
    print_list(found, _line, as_json=as_json)


@ips.command
@click.argument("network")
@click.option(
    "--severity",
    type=click.Choice(["sign_up_requires_approval", "sign_up_block", "no_access"]),
    help="What its clients may not.  [default: no_access]",
)
@click.option("--comment", metavar="TEXT", help="Why, for staff.")
@click.option("--days", type=click.IntRange(0, 36_500), metavar="DAYS", help="For how long; 0 for ever.  [default: 0]")
@setting_options("data")
def block(
    network: str,
    severity: Literal["sign_up_requires_approval", "sign_up_block", "no_access"] | None,
    comment: str | None,
    days: int | None,
    data: str | None,
    config: Path | None,
) -> None:
    """Block NETWORK, or change its block. What is not said stays as it is."""
    from ...actors.commands.blocked_networks import NetworkTerms
    from .blocking_networks import block as block_network

    terms = NetworkTerms(None, severity, comment, None if days is None else days * DAY)
    proxies = tuple(str(proxy) for proxy in settings_from(config, data=data).trusted_proxies)
    click.echo(f"Blocked {act(config, block_network, network, terms, proxies, data=data)}")


@ips.command
@click.argument("network")
@setting_options("data")
def unblock(network: str, data: str | None, config: Path | None) -> None:
    """End the block of NETWORK."""
    from .blocking_networks import unblock as unblock_network

    click.echo(f"Unblocked {act(config, unblock_network, network, data=data)}")


def _line(one: JsonObject) -> str:
    return f"{one['ip']}\t{one['severity']}\t{one['expires_at'] or 'never'}\t{one['comment']}"
