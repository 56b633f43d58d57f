"""`troupe email-domains`: the domains whose e-mail addresses may not sign up."""

from __future__ import annotations

from pathlib import Path

import click

from ...storage.engine.json_values import JsonObject
from .acting import act
from .options import json_option, print_list, setting_options


@click.group
def email_domains() -> None:
    """Domains of e-mail addresses, and of the mail servers that receive for others."""


@email_domains.command("list")
@json_option
@setting_options("data")
def list_(as_json: bool, data: str | None, config: Path | None) -> None:
    """List the blocked domains, one a line."""
    from .blocking_emails import listed

    found = act(config, listed, data=data)
    print_list(found, _line, as_json=as_json)


@email_domains.command
@click.argument("domain")
@click.option("--with-approval", is_flag=True, help="Let its users sign up, but wait for the approval of staff.")
@setting_options("data")
def block(domain: str, with_approval: bool, data: str | None, config: Path | None) -> None:
    """Keep the addresses of DOMAIN from signing up, and of domains whose mail servers are there."""
    from .blocking_emails import block_domain

    click.echo(f"Blocked {act(config, block_domain, domain, with_approval, data=data)}")


@email_domains.command
@click.argument("domain")
@setting_options("data")
def unblock(domain: str, data: str | None, config: Path | None) -> None:
    """Let the addresses of DOMAIN sign up again."""
    from .blocking_emails import unblock_domain

    click.echo(f"Unblocked {act(config, unblock_domain, domain, data=data)}")


def _line(one: JsonObject) -> str:
    return f"{one['domain']}\t{'approval' if one['allow_with_approval'] else 'refused'}"
