"""Removing all that is kept of another domain, for the command. The accounts are deleted as single ones are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime

from ...actors.commands.account_deletions import mark_deleted
from ...actors.custom_emojis import NOTICE
from ...actors.effects.account_deletions import account_purged
from ...actors.effects.files import files_unused
from ...actors.kernel.ids import Ids
from ...actors.rules.domains import is_within
from ...actors.staff import Target, act_at_command_line
from ...storage import purges
from ...storage.engine import notices
from ...storage.engine.database import Connection
from ...storage.engine.json_values import JsonObject
from ...storage.purges import KnownDomain
from .acting import NotDone
from .blocking_domains import checked_domain
from .moderating import announce_change
from .rows import Transact

ACCOUNTS_AT_ONCE = 100


def check_foreign(written: str, local_domain: str) -> str:
    """Return a domain as it is stored. Raises NotDone for this server's own, and for one that it is a part of."""
    domain = checked_domain(written)
    if is_within(local_domain, domain):
        raise NotDone(f"{domain} is the domain of this server.")
    return domain


async def survey(db: Connection, domain: str, ids: Ids, now: datetime) -> list[KnownDomain]:
    """Return what is kept of a domain and of each of its subdomains. Raises NotDone if it is nothing."""
    found = await purges.survey(db, domain)
    if not found:
        raise NotDone(f"Nothing is kept of {domain}.")
    return found


def purge(run: Transact, domain: str, found: Sequence[KnownDomain], progress: Callable[[int], None]) -> None:
    """Delete everything of a domain, in batches. `progress` is told how many accounts each batch has deleted.

    If it is interrupted, the next call does the rest.
    """
    run(_begin, domain, found)
    after: int | None = 0
    while after is not None:
        marked = run(_delete_some, domain, after)
        progress(len(marked))
        after = marked[-1] if marked else None


def counted(found: Sequence[KnownDomain]) -> JsonObject:
    """Return how much is kept, in all and of each domain."""
    return {
        "accounts": sum(one.accounts for one in found),
        "statuses": sum(one.statuses for one in found),
        "emojis": sum(one.emojis for one in found),
        "domains": [asdict(one) for one in found],
    }


async def _begin(db: Connection, domain: str, found: Sequence[KnownDomain], ids: Ids, now: datetime) -> None:
    """Log the act, and delete the emoji."""
    act = act_at_command_line(ids, now)
    await act.log(db, "purge_domain", Target("domain", None, domain), "", **counted(found))
    if files := await purges.delete_emojis(db, domain):
        await act.promise(db, [files_unused(files)])
        await notices.announce(db, NOTICE)


async def _delete_some(db: Connection, domain: str, after: int, ids: Ids, now: datetime) -> list[int]:
    """Delete the next accounts, and return them. The server erases what they have and their rows."""
    act = act_at_command_line(ids, now)
    found = await purges.accounts(db, domain, after, ACCOUNTS_AT_ONCE)
    for id in found:
        await mark_deleted(db, id, now, act.promise)
    await act.promise(db, [account_purged(id) for id in found])
    await announce_change(db)
    return found
