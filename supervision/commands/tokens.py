"""`troupe tokens`: access tokens, for scripts and tests."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ...actors.rules.wording import number_of
from ...storage import accounts
from ...storage.engine.json_values import JsonObject
from .chosen_server import ChosenServer
from .names import InvalidAccount, WrongAccount, find_local, lock_local, notify_servers
from .options import (
    account_argument,
    ask_first,
    dry_run_option,
    json_option,
    print_list,
    setting_options,
    yes_option,
)
from .refusals import CommandRefused

if TYPE_CHECKING:
    from ...storage.engine.database import Connection
    from .rows import Here

CLIENT_ID = "troupe-command-line"
CLIENT_NAME = "troupe command line"
OUT_OF_BAND = "urn:ietf:wg:oauth:2.0:oob"


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
def create(server: ChosenServer, name: str, scopes: str) -> None:
    """Print a new access token of the account NAME, alone on standard output."""
    click.echo(server.transact(_create, name.removeprefix("@"), parse_scopes(scopes)))


def parse_scopes(text: str) -> tuple[str, ...]:
    """Return the scopes of a text with spaces between."""
    from ...actors.rules import scopes as scope_tree

    parsed = scope_tree.parse(text)
    unknown = [scope for scope in parsed if not scope_tree.known([scope])]
    if unknown or not parsed:
        raise WrongAccount(f"no such scope: {', '.join(unknown) or '(none given)'}")
    return parsed


async def _create(db: Connection, here: Here, username: str, scopes: tuple[str, ...]) -> str:
    """Make a token of an account of this server, and return it."""
    found = await accounts.find_local_many(db, [username])
    if not found:
        raise InvalidAccount(f"there is no local account {username}")
    (token,) = await make_tokens(db, here, [found[username.lower()].id], scopes)
    return token


async def make_tokens(db: Connection, here: Here, account_ids: Sequence[int], scopes: tuple[str, ...]) -> list[str]:
    """Make a token for each account, and return them. All are of one application, made with the first token."""
    from ...actors.rules import scopes as scope_tree
    from ...storage import oauth
    from ...storage.oauth import Application, NewToken
    from ...storage.secrets import access_token, hash_of

    application = await oauth.find_client(db, CLIENT_ID)
    if application is None:
        application = Application(
            id=here.ids.next(),
            client_id=CLIENT_ID,
            secret_hash=hash_of(secrets.token_urlsafe(32)),
            name=CLIENT_NAME,
            website=None,
            redirect_uris=(OUT_OF_BAND,),
            scopes=tuple(sorted(scope_tree.ALL)),
            created_at=here.now,
        )
        await oauth.insert_application(db, application)
    tokens = [access_token(secrets.token_urlsafe(32), account_id) for account_id in account_ids]
    for account_id, token in zip(account_ids, tokens, strict=True):
        new = NewToken(here.ids.next(), hash_of(token), application.id, account_id, scopes)
        await oauth.insert_token(db, new, here.now)
    return tokens


@tokens.command("list")
@account_argument
@json_option
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="The most tokens.")
@setting_options("data", "domain")
def list_(server: ChosenServer, name: str, as_json: bool, limit: int) -> None:
    """List the valid tokens of NAME, the newest first: id, app, scopes, last use. Their secrets are not stored."""
    print_list(server.transact(_valid_tokens, name, limit), _line, as_json=as_json)


async def _valid_tokens(db: Connection, here: Here, handle: str, limit: int) -> list[JsonObject]:
    """Return the valid tokens of an account, as JSON. Their secrets are not stored."""
    from ...storage import oauth

    account = await find_local(db, here, handle)
    return [
        {
            "id": str(token.id),
            "application": token.application,
            "scopes": list(token.scopes),
            "created_at": token.created_at.isoformat(),
            "last_used_at": None if token.last_used_at is None else token.last_used_at.isoformat(),
        }
        for token in await oauth.valid_tokens(db, account.id, limit)
    ]


def _line(token: JsonObject) -> str:
    return f"{token['id']}\t{token['application']}\t{' '.join(token['scopes'])}\t{token['last_used_at'] or 'never'}"


@tokens.command
@account_argument
@click.argument("ids", nargs=-1, type=int)
@click.option("--all", "everything", is_flag=True, help="Revoke all of them, which needs a confirmation.")
@dry_run_option
@yes_option
@setting_options("data", "domain")
def revoke(server: ChosenServer, name: str, ids: tuple[int, ...], everything: bool, dry_run: bool, yes: bool) -> None:
    """Revoke the tokens of NAME with these IDS, or with --all every token. Their streams and pushes end."""
    if bool(ids) == everything:
        raise click.UsageError("Name tokens by their ids, or say --all.")
    if everything and not dry_run:
        ask_first(lambda: f"Revoke all tokens of {name}?", yes=yes)
    count = server.transact(_revoke, name, ids, dry_run=dry_run)
    click.echo(f"{'Would revoke' if dry_run else 'Revoked'} {number_of(count, 'tokens')} of @{name.removeprefix('@')}")


async def _revoke(db: Connection, here: Here, handle: str, only: Sequence[int]) -> int:
    """Revoke some tokens of an account, or all. Return how many were revoked."""
    from ...actors.commands.moderation import named
    from ...actors.facts.access import EndedAccess
    from ...storage import oauth, sessions

    account, target = await lock_local(db, here, handle)
    if only:
        for id in only:
            if not await oauth.revoke_one(db, account.id, id, here.now):
                raise CommandRefused(f"@{account.acct} has no valid token {id}.")
        count = len(only)
    else:
        count = len(await sessions.revoke_tokens(db, account.id, here.now))
    act = here.act
    await act.log("revoke_tokens", named(target), tokens=[str(id) for id in only] or "all")
    act.promise(EndedAccess(account.id).promise())
    await notify_servers(db)
    return count
