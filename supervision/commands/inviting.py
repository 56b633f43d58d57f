"""Invites, directly in the rows, for the commands."""

from __future__ import annotations

import secrets
from datetime import datetime

from ...actors.commands import invites as invite_acts
from ...actors.commands.invites import NewInvite
from ...actors.kernel.ids import Ids
from ...actors.staff import act_at_command_line
from ...storage import invites
from ...storage.engine.database import Connection
from .acting import NotDone, allowed
from .finding import InvalidAccount, find_local

CODE_BYTES = 12  # of randomness: a code can't be guessed


async def create(
    db: Connection, uses: int | None, days: int | None, comment: str, by: tuple[str, str] | None, ids: Ids,
    now: datetime,
) -> str:  # fmt: skip
    """Make an invite, `by` an account of this server: its handle and the server's domain. Return its code."""
    wanted = NewInvite(secrets.token_urlsafe(CODE_BYTES), uses, days, comment, await _account_id(db, by))
    return allowed(await invite_acts.create(db, act_at_command_line(ids, now), wanted)).code


async def _account_id(db: Connection, by: tuple[str, str] | None) -> int | None:
    try:
        return None if by is None else (await find_local(db, *by)).id
    except InvalidAccount as unfit:
        raise NotDone(f"{unfit}.") from None


async def listed(db: Connection, ids: Ids, now: datetime) -> list[dict[str, object]]:
    """Return all invites, the oldest first."""
    return [
        {
            "id": str(one.id),
            "code": one.code,
            "account_id": None if one.account_id is None else str(one.account_id),
            "valid": one.is_valid(now),
            "uses": one.uses,
            "max_uses": one.max_uses,
            "expires_at": one.expires_at.isoformat() if one.expires_at else None,
            "comment": one.comment,
        }
        for one in await invites.find_all(db)
    ]


async def expire(db: Connection, code: str, ids: Ids, now: datetime) -> None:
    """End an invite."""
    if await invite_acts.expire(db, act_at_command_line(ids, now), code) is not None:
        raise NotDone(f"There is no invite {code!r} that can be used.")
