"""`troupe tokens`: access tokens, for scripts and tests."""

from __future__ import annotations

from pathlib import Path

import click

from .options import CommandRefused, setting_options, settings_from


@click.group
def tokens() -> None:
    """Access tokens of accounts of this server."""


@tokens.command
@click.argument("name")
@click.option(
    "--scopes",
    default="read write follow push",
    show_default=True,
    metavar="SCOPES",
    help="What the token may be used for, with spaces between.",
)
@setting_options("data")
def create(name: str, scopes: str, data: str | None, config: Path | None) -> None:
    """Print a new access token of the account NAME, alone on standard output."""
    from .making import InvalidAccount, make_token, parse_scopes
    from .rows import transact

    settings = settings_from(config, data=data)
    try:
        token = transact(settings, make_token, name.removeprefix("@"), parse_scopes(scopes))
    except InvalidAccount as unfit:
        raise CommandRefused(f"{unfit}.") from None
    click.echo(token)
