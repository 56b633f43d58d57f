"""`troupe invites`: codes with which people sign up while sign-ups are closed or wait for approval."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import click

from ...storage.engine.json_values import JsonObject
from .acting import act
from .options import json_option, print_list, setting_options, settings_from


@click.group
def invites() -> None:
    """Invites to sign up."""


@invites.command
@click.option("--uses", type=click.IntRange(1, 100_000), metavar="NUMBER", help="How often.  [default: without end]")
@click.option("--days", type=click.IntRange(1, 3650), metavar="DAYS", help="For how long.  [default: for ever]")
@click.option("--comment", default="", metavar="TEXT", help="The persons that it is for; staff alone read it.")
@click.option("--by", metavar="NAME", help="The account that invites; staff see it at who signs up.")
@setting_options("data", "domain")
def create(
    uses: int | None, days: int | None, comment: str, by: str | None, data: str | None, domain: str | None,
    config: Path | None,
) -> None:  # fmt: skip
    """Make an invite, and print the address of its sign-up page."""
    from ..domain import base_url
    from .inviting import create as create_invite

    settings = settings_from(config, data=data, domain=domain)
    url = base_url(settings)
    inviting = None if by is None else (by, urlsplit(url).netloc)
    code = act(config, create_invite, uses, days, comment, inviting, data=data, domain=domain)
    click.echo(f"{url}/auth/sign_up?invite={code}")


@invites.command("list")
@json_option
@setting_options("data")
def list_(as_json: bool, data: str | None, config: Path | None) -> None:
    """List the invites, one a line: code, state, uses, comment."""
    from .inviting import listed

    found = act(config, listed, data=data)
    print_list(found, _line, as_json=as_json)


@invites.command
@click.argument("code")
@setting_options("data")
def expire(code: str, data: str | None, config: Path | None) -> None:
    """End the invite CODE. Accounts that were made with it stay."""
    from .inviting import expire as expire_invite

    act(config, expire_invite, code, data=data)
    click.echo(f"Ended {code}")


def _line(one: JsonObject) -> str:
    state = "valid" if one["valid"] else "ended"
    return f"{one['code']}\t{state}\t{one['uses']}/{one['max_uses'] or '-'}\t{one['comment']}"
