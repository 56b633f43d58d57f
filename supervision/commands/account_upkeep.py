"""`troupe accounts refresh` and `rotate-keys`: fetch accounts of other servers again, and replace keys.

The commands queue effects, and the running server runs them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import click

from ...actors.rules.wording import number_of
from .chosen_server import ChosenServer
from .names import checked_domain, find_account, find_local
from .options import dry_run_option, json_option, print_json, setting_options
from .refusals import CommandRefused

if TYPE_CHECKING:
    from ...storage.engine.database import Connection
    from ...storage.upkeep.account_upkeep import ForeignAccount, KeyHolder
    from .rows import Here, Transact

# Accounts whose effect is queued already are left out.
GOING_ON = "The server does these. Run the same command again for the others."
AT_ONCE = 500  # effects queued in a transaction


@click.command
@click.argument("name", required=False)
@click.option("--by-domain", metavar="DOMAIN", help="All accounts of this server and its subdomains.")
@click.option("--all-stale", is_flag=True, help="All accounts of other servers that were fetched over a day ago.")
@dry_run_option
@json_option
@setting_options("data", "domain")
def refresh(
    server: ChosenServer, name: str | None, by_domain: str | None, all_stale: bool, dry_run: bool, as_json: bool
) -> None:
    """Fetch the account NAME of another server again, or many.

    The running server fetches it, or else the next server that starts. A server that does not answer is asked again for
    a day.
    """
    if [name is not None, by_domain is not None, all_stale].count(True) != 1:
        raise click.UsageError("Give NAME, --by-domain or --all-stale.")
    with server.transactions() as run:
        found = run(_find_many, by_domain) if name is None else run(_find_one, name)
        if not dry_run:
            _in_batches(run, _refresh, found, "Asking the server to fetch accounts")
    if as_json:
        print_json({"accounts": [account.acct for account in found], "dry_run": dry_run})
    else:
        click.echo(f"{'Would fetch' if dry_run else 'Fetching'} {number_of(len(found), 'accounts')} again")


async def _find_one(db: Connection, here: Here, handle: str) -> list[ForeignAccount]:
    """Return the account with a handle, unless it waits to be fetched. Raises CommandRefused for a local account."""
    from ...storage.upkeep import account_upkeep

    account = await find_account(db, here, handle)
    if account.local:
        raise CommandRefused(f"@{account.acct} is an account of this server.")
    return await account_upkeep.to_refresh(db, id=account.id)


async def _find_many(db: Connection, here: Here, domain: str | None) -> list[ForeignAccount]:
    """Return the accounts of a domain and its subdomains; without a domain, accounts that were fetched long ago."""
    from ...actors.federation.resolver import STALE_AFTER
    from ...storage.upkeep import account_upkeep

    if domain is not None:
        return await account_upkeep.to_refresh(db, domain=checked_domain(domain))
    return await account_upkeep.to_refresh(db, fetched_before=here.now - STALE_AFTER)


async def _refresh(db: Connection, here: Here, found: Sequence[ForeignAccount]) -> None:
    """Queue the effects that fetch accounts again."""
    from ...actors.effects.refreshes import refresh_of

    here.act.promise(*(refresh_of(account.id, account.domain) for account in found))


@click.command("rotate-keys")
@click.argument("name", required=False)
@click.option("--all", "everybody", is_flag=True, help="The keys of all accounts of this server.")
@dry_run_option
@json_option
@setting_options("data", "domain")
def rotate_keys(server: ChosenServer, name: str | None, everybody: bool, dry_run: bool, as_json: bool) -> None:
    """Give the account NAME, or all, a new key. Other servers get it in an Update that is signed with the old key.

    The running server does it, or else the next server that starts. Accounts that no other server has asked for have no
    key.
    """
    if (name is not None) is everybody:
        raise click.UsageError("Give NAME or --all.")
    with server.transactions() as run:
        found = run(_find_keys, name)
        if not dry_run:
            _in_batches(run, _rotate, found, "Asking the server to replace keys")
    if as_json:
        print_json({"accounts": [account.username for account in found], "dry_run": dry_run})
    else:
        click.echo(f"{'Would give' if dry_run else 'Giving'} {number_of(len(found), 'accounts')} a new key")


async def _find_keys(db: Connection, here: Here, handle: str | None) -> list[KeyHolder]:
    """Return the account with a handle, or all accounts, whose key can be replaced. Raises CommandRefused for none."""
    from ...storage.upkeep import account_upkeep

    account = None if handle is None else await find_local(db, here, handle)
    found = await account_upkeep.with_keys(db, None if account is None else account.id)
    if account is not None and not found:
        raise CommandRefused(f"@{account.acct} has no key yet, or it is being replaced.")
    return found


async def _rotate(db: Connection, here: Here, found: Sequence[KeyHolder]) -> None:
    """Queue the effects that replace the keys of accounts, and write it to the audit log."""
    from ...actors.effects.sending import key_rotates
    from ...actors.staff.acts import Target

    for account in found:
        await here.act.log("rotate_key", Target("account", account.id, account.username))
    here.act.promise(*(key_rotates(account.id) for account in found))


def _in_batches(run: Transact, work: Callable[..., Awaitable[None]], found: Sequence[object], label: str) -> None:
    """Run `work` with the accounts, at most AT_ONCE in a transaction, and show the progress."""
    from .progress import progress

    with progress(label, len(found), GOING_ON, things="accounts") as update:
        for start in range(0, len(found), AT_ONCE):
            batch = found[start : start + AT_ONCE]
            run(work, batch)
            update(len(batch))
