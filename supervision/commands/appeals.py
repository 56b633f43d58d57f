"""`troupe appeals`: appeals of users against decisions of staff."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...storage import accounts
from ...storage.engine.json_values import JsonObject
from ...storage.upkeep.paging import Page
from .chosen_server import ChosenServer
from .options import json_option, print_list, setting_options
from .refusals import CommandRefused

if TYPE_CHECKING:
    from ...storage.engine.database import Connection
    from .rows import Here

MOST_LISTED = 1000


@click.group
def appeals() -> None:
    """Appeals of users against decisions of staff."""


@appeals.command("list")
@json_option
@setting_options("data")
def list_(server: ChosenServer, as_json: bool) -> None:
    """List the appeals that wait for a decision, the newest first."""
    print_list(server.transact(_open_appeals), _line, as_json=as_json)


async def _open_appeals(db: Connection, here: Here) -> list[JsonObject]:
    """Return the appeals that wait for a decision, newest first, as JSON."""
    from ...storage import strikes

    found = await strikes.open_appeals(db, Page(MOST_LISTED))
    named = await accounts.find_many(db, [strike.target_account_id for strike in found])
    return [
        {
            "id": str(strike.appeal_id),
            "account": named[strike.target_account_id].acct,
            "action": strike.action,
            "reason": strike.text,
            "text": strike.appeal_text,
            "created_at": None if strike.appealed_at is None else strike.appealed_at.isoformat(),
        }
        for strike in found
    ]


def _line(appeal: JsonObject) -> str:
    return f"{appeal['id']}  @{appeal['account']}  {appeal['action']}  {appeal['created_at']}\n    {appeal['text']}"


@appeals.command
@click.argument("id", type=int)
@setting_options("data")
def approve(server: ChosenServer, id: int) -> None:
    """Approve the appeal ID: the decision counts no more, and its effects end."""
    click.echo(f"Approved the appeal of @{server.transact(_decide, id, True)}")


@appeals.command
@click.argument("id", type=int)
@setting_options("data")
def reject(server: ChosenServer, id: int) -> None:
    """Reject the appeal ID."""
    click.echo(f"Rejected the appeal of @{server.transact(_decide, id, False)}")


async def _decide(db: Connection, here: Here, id: int, approved: bool) -> str:
    """Decide about an appeal. Return the name of the account that appeals."""
    from ...actors.commands.strikes import DecideAppeal, decide
    from ...actors.kernel import Refused
    from ...storage import strikes

    struck = await strikes.find_appealed(db, id)
    message = DecideAppeal(here.staff, id, approved)
    if struck is None or isinstance(await decide(here.act, struck.target_account_id, message), Refused):
        raise CommandRefused(f"the appeal {id} is decided, or there is none.")
    account = await accounts.find(db, struck.target_account_id)
    return "" if account is None else account.acct
