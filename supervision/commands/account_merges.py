"""`troupe accounts merge`: two accounts of a person on another server become a single account."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...storage.engine.json_values import JsonObject
from .chosen_server import ChosenServer
from .names import find_account, notify_servers
from .options import ask_first, dry_run_option, json_option, print_json, setting_options, yes_option
from .refusals import CommandRefused

if TYPE_CHECKING:
    from ...actors.effects.registry import Promise
    from ...storage.accounts import Account
    from ...storage.engine.database import Connection
    from .rows import Here

NOTICE = "statuses"
NOTIFIED_AT_ONCE = 500  # accounts that an effect notifies of changed relations


@click.command
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@dry_run_option
@yes_option
@json_option
@setting_options("data", "domain")
def merge(server: ChosenServer, source: str, target: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Merge two accounts of a person on another server, who has two names on this server.

    The follows, posts, mentions, favourites, blocks and all else of FROM move to TO, and FROM is removed. Rows that TO
    has already are dropped.
    """
    if not dry_run:
        ask_first(lambda: f"Give all of {source} to {target}, and remove {source}?", yes=yes)
    done = server.transact(_merge, source, target, dry_run=dry_run)
    if as_json:
        print_json({**done, "dry_run": dry_run})
        return
    click.echo(f"{'Would merge' if dry_run else 'Merged'} @{done['from']} into @{done['to']}")
    for table in sorted({*done["moved"], *done["dropped"]}):
        click.echo(f"{table}\t{done['moved'].get(table, 0)} moved\t{done['dropped'].get(table, 0)} dropped")


async def _merge(db: Connection, here: Here, gone: str, kept: str) -> JsonObject:
    """Move everything of `gone` to `kept`, and remove `gone`. Return the numbers of moved and dropped rows."""
    from ...actors.staff.acts import Target
    from ...storage.engine import notices
    from ...storage.upkeep import account_merges

    removed, other = await find_account(db, here, gone), await find_account(db, here, kept)
    for account in (removed, other):
        if account.local:
            raise CommandRefused(f"@{account.acct} is an account of this server.")
    if removed.id == other.id:
        raise CommandRefused(f"@{removed.acct} and @{other.acct} are one account already.")
    if not await account_merges.lock(db, [removed.id, other.id]):
        raise CommandRefused("One of the accounts was deleted meanwhile.")
    related = await account_merges.related(db, removed.id)
    merged = await account_merges.merge(db, removed.id, other.id)
    counts = {"moved": merged.moved, "dropped": merged.dropped}
    act = here.act
    await act.log("merge_account", Target("account", removed.id, removed.acct), "", into=other.acct, **counts)
    act.promise(*_promises(other, related, merged.files))
    # Statuses are in memory with the id of their author.
    await notices.send(db, NOTICE)
    await notify_servers(db)
    return {"from": removed.acct, "to": other.acct, **counts}


def _promises(kept: Account, related: list[int], files: list[str]) -> list[Promise]:
    """Have timelines and related accounts read their rows again, and remove files."""
    from ...actors.effects.files import files_unused
    from ...actors.facts.moderation import ModeratedDomain
    from ...actors.facts.relations import ChangedPairs

    promises = [
        ChangedPairs((kept.id, *related[start : start + NOTIFIED_AT_ONCE])).promised_by(kept.id)
        for start in range(0, len(related), NOTIFIED_AT_ONCE)
    ]
    if kept.domain is not None:
        promises.append(ModeratedDomain(kept.domain).promise())
    if files:
        promises.append(files_unused(files))
    return promises
