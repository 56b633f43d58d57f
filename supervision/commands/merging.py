"""Merging two rows of one person on another server, directly in the rows, for the command."""

from __future__ import annotations

from datetime import datetime

from ...actors.effects.blocked_domains import domain_moderated
from ...actors.effects.files import files_unused
from ...actors.effects.registry import Promise
from ...actors.effects.relations import relations_changed
from ...actors.kernel.ids import Ids
from ...actors.staff import Target, act_at_command_line
from ...storage import account_merges
from ...storage.accounts import Account
from ...storage.engine import notices
from ...storage.engine.database import Connection
from ...storage.engine.json_values import JsonObject
from .acting import NotDone
from .finding import find_account
from .moderating import announce_change

NOTICE = "statuses"
TOLD_AT_ONCE = 500  # accounts that one effect tells of their relations


async def merge(db: Connection, gone: str, local_domain: str, kept: str, ids: Ids, now: datetime) -> JsonObject:
    """Move everything of one account to another one, and remove it. Return what was moved and what was dropped."""
    one, other = await find_account(db, gone, local_domain), await find_account(db, kept, local_domain)
    for account in (one, other):
        if account.local:
            raise NotDone(f"@{account.acct} is an account of this server.")
    if one.id == other.id:
        raise NotDone(f"@{one.acct} and @{other.acct} are one account already.")
    if not await account_merges.lock(db, [one.id, other.id]):
        raise NotDone("One of the accounts was deleted meanwhile.")
    related = await account_merges.related(db, one.id)
    merged = await account_merges.merge(db, one.id, other.id)
    act = act_at_command_line(ids, now)
    counts = {"moved": merged.moved, "dropped": merged.dropped}
    await act.log(db, "merge_account", Target("account", one.id, one.acct), "", into=other.acct, **counts)
    await act.promise(db, _promises(other, related, merged.files))
    # Statuses are in memory with the id of their author.
    await notices.announce(db, NOTICE)
    await announce_change(db)
    return {"from": one.acct, "to": other.acct, **counts}


def _promises(kept: Account, related: list[int], files: list[str]) -> list[Promise]:
    """Have timelines and related accounts read their rows again, and remove files."""
    promises = [
        relations_changed(kept.id, related[start : start + TOLD_AT_ONCE])
        for start in range(0, len(related), TOLD_AT_ONCE)
    ]
    if kept.domain is not None:
        promises.append(domain_moderated(kept.domain))
    if files:
        promises.append(files_unused(files))
    return promises
