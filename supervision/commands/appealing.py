"""Appeals and acts of staff on single statuses, directly in the rows, for the commands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ...actors.commands.strikes import ModerateStatuses, StatusAction, decide, strike_statuses
from ...actors.kernel import Refused
from ...actors.kernel.ids import Ids
from ...actors.staff import COMMAND_LINE, act_at_command_line
from ...storage import accounts, statuses, strikes
from ...storage.engine import notices
from ...storage.engine.database import Connection
from ...storage.paging import Page
from .finding import InvalidAccount

MOST_LISTED = 1000


async def open_appeals(db: Connection, ids: Ids, now: datetime) -> list[dict[str, object]]:
    """Return the appeals that wait for a decision, newest first, as JSON."""
    found = await strikes.open_appeals(db, Page(MOST_LISTED))
    named = await accounts.find_many(db, [one.target_account_id for one in found])
    return [
        {
            "id": str(one.appeal_id),
            "account": named[one.target_account_id].acct,
            "action": one.action,
            "reason": one.text,
            "text": one.appeal_text,
            "created_at": None if one.appealed_at is None else one.appealed_at.isoformat(),
        }
        for one in found
    ]


async def decide_appeal(db: Connection, id: int, approved: bool, ids: Ids, now: datetime) -> str:
    """Decide about an appeal. Return the name of the account that appeals."""
    decided = await decide(db, act_at_command_line(ids, now), id, approved=approved)
    if isinstance(decided, Refused):
        raise InvalidAccount(f"the appeal {id} is decided, or there is none")
    account = await accounts.find(db, decided.target_account_id)
    await notices.announce(db, "outbox")
    return "" if account is None else account.acct


async def act_on(
    db: Connection, status_ids: Sequence[int], action: StatusAction, reason: str, ids: Ids, now: datetime
) -> list[str]:
    """Act on statuses, a strike for each author, who is sent a mail. Return the names of the authors."""
    found = await statuses.find_many(db, status_ids)
    if missing := [id for id in status_ids if id not in found]:
        raise InvalidAccount(f"there is no post {missing[0]}")
    authors = sorted({one.account_id for one in found.values()})
    for author in authors:
        own = tuple(id for id, one in found.items() if one.account_id == author)
        message = ModerateStatuses(COMMAND_LINE, action, own, reason, mailed=True)
        struck = await strike_statuses(db, act_at_command_line(ids, now), author, message)
        if isinstance(struck, Refused):
            raise InvalidAccount(struck.text.removeprefix("Validation failed: "))
    await notices.announce(db, "outbox")
    named = await accounts.find_many(db, authors)
    return [named[author].acct for author in authors]
