"""`troupe invites`: codes with which people sign up while sign-ups are closed or wait for approval."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import click

from ...storage.engine.json_values import JsonObject
from ...storage.secrets import without_dashes
from ..settings.domain import base_url
from .chosen_server import ChosenServer
from .names import find_local
from .options import json_option, print_list, setting_options
from .refusals import CommandRefused, require

if TYPE_CHECKING:
    from ...storage.engine.database import Connection
    from .rows import Here

CODE_BYTES = 12  # of randomness: a code can't be guessed


@click.group
def invites() -> None:
    """Invites to sign up."""


@invites.command
@click.option("--uses", type=click.IntRange(1, 100_000), metavar="NUMBER", help="How often.  [default: without end]")
@click.option("--days", type=click.IntRange(1, 3650), metavar="DAYS", help="For how long.  [default: for ever]")
@click.option("--comment", default="", metavar="TEXT", help="The persons that it is for; staff alone read it.")
@click.option("--by", metavar="NAME", help="The account that invites; staff see it at who signs up.")
@setting_options("data", "domain")
def create(server: ChosenServer, uses: int | None, days: int | None, comment: str, by: str | None) -> None:
    """Make an invite, and print the address of its sign-up page."""
    code = server.transact(_create, uses, days, comment, by)
    click.echo(f"{base_url(server.settings)}/auth/sign_up?invite={code}")


async def _create(db: Connection, here: Here, uses: int | None, days: int | None, comment: str, by: str | None) -> str:
    """Make an invite by an account of this server, or by none. Return its code."""
    from ...actors.commands.invites import CreateInvite, NewInvite, create

    inviting = None if by is None else (await find_local(db, here, by)).id
    code = without_dashes(secrets.token_urlsafe(CODE_BYTES))
    wanted = NewInvite(code, uses, days, comment, inviting)
    require(await create(here.act, CreateInvite(here.staff, wanted)))
    return wanted.code


@invites.command("list")
@json_option
@setting_options("data")
def list_(server: ChosenServer, as_json: bool) -> None:
    """List the invites, one a line: code, state, uses, comment."""
    print_list(server.transact(_all_invites), _line, as_json=as_json)


async def _all_invites(db: Connection, here: Here) -> list[JsonObject]:
    """Return all invites, the oldest first."""
    from ...storage import invites

    return [
        {
            "id": str(invite.id),
            "code": invite.code,
            "account_id": None if invite.account_id is None else str(invite.account_id),
            "valid": invite.is_valid(here.now),
            "uses": invite.uses,
            "max_uses": invite.max_uses,
            "expires_at": invite.expires_at.isoformat() if invite.expires_at else None,
            "comment": invite.comment,
        }
        for invite in await invites.find_all(db)
    ]


def _line(invite: JsonObject) -> str:
    state = "valid" if invite["valid"] else "ended"
    return f"{invite['code']}\t{state}\t{invite['uses']}/{invite['max_uses'] or '-'}\t{invite['comment']}"


@invites.command
@click.argument("code")
@setting_options("data")
def expire(server: ChosenServer, code: str) -> None:
    """End the invite CODE. Accounts that were made with it stay."""
    server.transact(_expire, code)
    click.echo(f"Ended {code}")


async def _expire(db: Connection, here: Here, code: str) -> None:
    from ...actors.commands.invites import ExpireInvite, expire

    if await expire(here.act, ExpireInvite(here.staff, code)) is not None:
        raise CommandRefused(f"There is no invite {code!r} that can be used.")
