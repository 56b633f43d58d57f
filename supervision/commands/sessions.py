"""`troupe sessions`: the browsers in which users are signed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...actors.rules.wording import number_of
from .chosen_server import ChosenServer
from .names import lock_local
from .options import account_argument, ask_first, dry_run_option, setting_options, yes_option

if TYPE_CHECKING:
    from ...storage.engine.database import Connection
    from .rows import Here


@click.group
def sessions() -> None:
    """Browsers in which users are signed in."""


@sessions.command
@account_argument
@dry_run_option
@yes_option
@setting_options("data", "domain")
def revoke(server: ChosenServer, name: str, dry_run: bool, yes: bool) -> None:
    """Sign NAME out of all browsers. Apps keep their access: see `troupe tokens revoke`."""
    if not dry_run:
        ask_first(lambda: f"Sign {name} out of all browsers?", yes=yes)
    acct, count = server.transact(_end_all, name, dry_run=dry_run)
    click.echo(f"{'Would sign' if dry_run else 'Signed'} @{acct} out of {number_of(count, 'browsers')}")


async def _end_all(db: Connection, here: Here, handle: str) -> tuple[str, int]:
    """Sign a user out of all browsers. Return the account's name, and out of how many."""
    from ...actors.commands.moderation import named
    from ...storage import sessions

    account, target = await lock_local(db, here, handle)
    count = await sessions.delete_others(db, account.id, b"")
    await here.act.log("revoke_sessions", named(target))
    return account.acct, count
