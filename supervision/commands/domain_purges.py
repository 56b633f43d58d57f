"""`troupe domains purge`: delete all data of another domain. Its accounts are deleted like single accounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ...actors.rules.wording import number_of
from ...storage.engine.json_values import JsonObject
from .chosen_server import ChosenServer
from .names import checked_domain, notify_servers
from .options import ask_first, dry_run_option, json_option, print_json, setting_options, yes_option
from .refusals import CommandRefused

if TYPE_CHECKING:
    from ...storage.engine.database import Connection
    from ...storage.upkeep.purges import KnownDomain
    from .progress import Update
    from .rows import Here, Transact

ACCOUNTS_AT_ONCE = 100


@click.command
@click.argument("foreign", metavar="DOMAIN")
@dry_run_option
@yes_option
@json_option
@setting_options("data", "domain")
def purge(server: ChosenServer, foreign: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Delete all that this server keeps of DOMAIN and its subdomains: accounts with their posts, files, follows, emoji.

    The accounts are hidden at once. The running server erases their data; if none runs, the next server does as
    soon as it starts. Without a block of DOMAIN, its accounts may come again.
    """
    from .progress import progress

    name = _foreign(foreign, server)
    if not dry_run:
        ask_first(lambda: f"Delete {_purged(_counted(server.transact(_survey, name)))} of {name} for ever?", yes=yes)
    with server.transactions() as run:
        found = run(_survey, name)
        counts = _counted(found)
        if not dry_run:
            going_on = "These are deleted. Run the same command again for the others."
            label, total = f"Deleting accounts of {name}", counts["accounts"]
            with progress(label, total, going_on, things="accounts") as update:
                _purge(run, name, found, update)
    if as_json:
        print_json({"domain": name, "dry_run": dry_run, **counts})
        return
    for purge in counts["domains"]:
        click.echo(f"{'Would delete' if dry_run else 'Deleted'} {_purged(purge)} of {purge['domain']}")


def _purged(counts: JsonObject) -> str:
    accounts, posts = number_of(counts["accounts"], "accounts"), number_of(counts["statuses"], "posts")
    return f"{accounts} with {posts}, and {counts['emojis']} emoji,"


def _foreign(written: str, server: ChosenServer) -> str:
    """Return a domain as it is stored. Raises CommandRefused for this server's own, and for a parent of it."""
    from ...actors.rules.domains import is_within

    domain = checked_domain(written)
    if is_within(server.domain, domain):
        raise CommandRefused(f"{domain} is the domain of this server.")
    return domain


async def _survey(db: Connection, here: Here, domain: str) -> list[KnownDomain]:
    """Return the numbers of rows of a domain and its subdomains. Raises CommandRefused if it has none."""
    from ...storage.upkeep import purges

    found = await purges.survey(db, domain)
    if not found:
        raise CommandRefused(f"Nothing is kept of {domain}.")
    return found


def _purge(run: Transact, domain: str, found: Sequence[KnownDomain], progress: Update) -> None:
    """Delete everything of a domain, in batches. `progress` is called with the accounts of each batch.

    If it is interrupted, the next call does the rest.
    """
    run(_begin, domain, found)
    after: int | None = 0
    while after is not None:
        marked = run(_delete_some, domain, after)
        progress(len(marked))
        after = marked[-1] if marked else None


def _counted(found: Sequence[KnownDomain]) -> JsonObject:
    """Return how much is kept, in all and of each domain."""
    return {
        "accounts": sum(purge.accounts for purge in found),
        "statuses": sum(purge.statuses for purge in found),
        "emojis": sum(purge.emojis for purge in found),
        "domains": [asdict(purge) for purge in found],
    }


async def _begin(db: Connection, here: Here, domain: str, found: Sequence[KnownDomain]) -> None:
    """Log the act, and delete the emoji."""
    from ...actors.effects.files import files_unused
    from ...actors.kept.custom_emojis import NOTICE
    from ...actors.staff.acts import Target
    from ...storage.engine import notices
    from ...storage.upkeep import purges

    act = here.act
    await act.log("purge_domain", Target("domain", None, domain), "", **_counted(found))
    if files := await purges.delete_emojis(db, domain):
        act.promise(files_unused(files))
        await notices.send(db, NOTICE)


async def _delete_some(db: Connection, here: Here, domain: str, after: int) -> list[int]:
    """Delete the next accounts, and return them. The server erases their data and their rows."""
    from ...actors.commands.account_deletions import mark_deleted
    from ...actors.effects.account_deletions import account_purged
    from ...storage.upkeep import purges

    act = here.act
    found = await purges.accounts(db, domain, after, ACCOUNTS_AT_ONCE)
    for id in found:
        await mark_deleted(act, id)
    act.promise(*(account_purged(id) for id in found))
    await notify_servers(db)
    return found
