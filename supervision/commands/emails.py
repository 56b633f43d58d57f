"""`troupe emails`: the e-mail addresses that may not sign up, in all their spellings."""

from __future__ import annotations

from pathlib import Path

import click

from .acting import act
from .options import setting_options


@click.group
def emails() -> None:
    """E-mail addresses. Only hashes of them are stored."""


@emails.command
@click.argument("address")
@setting_options("data")
def block(address: str, data: str | None, config: Path | None) -> None:
    """Keep ADDRESS from signing up."""
    from .blocking_emails import block_email

    act(config, block_email, address, data=data)
    click.echo(f"Blocked {address}")


@emails.command
@click.argument("address")
@setting_options("data")
def unblock(address: str, data: str | None, config: Path | None) -> None:
    """Let ADDRESS sign up again."""
    from .blocking_emails import unblock_email

    act(config, unblock_email, address, data=data)
    click.echo(f"Unblocked {address}")


@emails.command
@click.argument("address")
@setting_options("data")
def test(address: str, data: str | None, config: Path | None) -> None:
    """Say whether ADDRESS is blocked."""
    from .blocking_emails import is_blocked

    click.echo("blocked" if act(config, is_blocked, address, data=data) else "not blocked")
