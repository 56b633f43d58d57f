"""`troupe tokens`: access tokens, for scripts and tests."""

from __future__ import annotations

from pathlib import Path

import click

from ...actors.rules.wording import number_of
from ...storage.engine.json_values import JsonObject
from .acting import WrongValue, on_account
from .options import (
    CommandRefused,
    account_argument,
    ask_first,
    dry_run_option,
    json_option,
    print_list,
    setting_options,
    settings_from,
    yes_option,
)


@click.group
def tokens() -> None:
    """Access tokens of accounts of this server."""


@tokens.command
@account_argument
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
    from .finding import InvalidAccount, WrongAccount
    from .making import make_token, parse_scopes
    from .rows import transact

    settings = settings_from(config, data=data)
    try:
        token = transact(settings, make_token, name.removeprefix("@"), parse_scopes(scopes))
    except WrongAccount as wrong:
        raise WrongValue(f"{wrong}.") from None
    except InvalidAccount as unfit:
        raise CommandRefused(f"{unfit}.") from None
    click.echo(token)


@tokens.command("list")
@account_argument
@json_option
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="The most tokens.")
@setting_options("data", "domain")
def list_(name: str, as_json: bool, limit: int, data: str | None, domain: str | None, config: Path | None) -> None:
    """List the valid tokens of NAME, the newest first: id, app, scopes, last use. Their secrets are not stored."""
    from .modifying import list_tokens

    found = on_account(config, list_tokens, name, limit, data=data, domain=domain)
    print_list(found, _line, as_json=as_json)


@tokens.command
@account_argument
@click.argument("ids", nargs=-1, type=int)
@click.option("--all", "everything", is_flag=True, help="Revoke all of them, which needs a confirmation.")
@dry_run_option
@yes_option
@setting_options("data", "domain")
def revoke(
    name: str,
    ids: tuple[int, ...],
    everything: bool,
    dry_run: bool,
    yes: bool,
    data: str | None,
    domain: str | None,
    config: Path | None,
) -> None:
    """Revoke the tokens of NAME with these IDS, or with --all every one. Streams and pushes of them end."""
    from .modifying import revoke_tokens

    if bool(ids) == everything:
        raise click.UsageError("Name tokens by their ids, or say --all.")
    if everything and not dry_run:
        ask_first(lambda: f"Revoke all tokens of {name}?", yes=yes)
    count = on_account(config, revoke_tokens, name, ids, dry_run=dry_run, data=data, domain=domain)
    click.echo(f"{'Would revoke' if dry_run else 'Revoked'} {number_of(count, 'tokens')} of @{name.removeprefix('@')}")


def _line(one: JsonObject) -> str:
    return f"{one['id']}\t{one['application']}\t{' '.join(one['scopes'])}\t{one['last_used_at'] or 'never'}"
