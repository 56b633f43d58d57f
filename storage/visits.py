"""Visits: on which days users used their accounts, and from which addresses."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from .engine.database import Connection
from .engine.sql import Statement, rows_of

COLUMNS = {"account_id": "bigint", "day": "date", "ip": "inet", "used_at": "timestamptz"}

# The rows of users are locked, in the order of their ids: a user may be deleted at this moment.
INSERT_MANY = Statement(f"""
    WITH present AS (
        SELECT u.account_id FROM users u WHERE u.account_id = ANY(:account_id::bigint[])
        ORDER BY u.account_id FOR KEY SHARE
    )
    INSERT INTO visits (account_id, day, ip, used_at)
    SELECT new.* FROM {rows_of(COLUMNS, "new")} JOIN present ON present.account_id = new.account_id
    ORDER BY new.account_id, new.day, new.ip
    ON CONFLICT (account_id, day, ip) DO UPDATE SET used_at = greatest(visits.used_at, excluded.used_at)
""")

ADDRESSES = """
    SELECT account_id, host(ip) AS ip, max(used_at) AS used_at FROM visits WHERE account_id = ANY($1::bigint[])
    GROUP BY account_id, visits.ip ORDER BY used_at DESC
"""


@dataclass(frozen=True, slots=True)
class Visit:
    """The last use of an account on a day from an address."""

    account_id: int
    day: date
    ip: str
    used_at: datetime


@dataclass(frozen=True, slots=True)
class UsedAddress:
    """An address of a user, and when it was last used."""

    ip: str
    used_at: datetime


async def insert_many(db: Connection, visits: Sequence[Visit]) -> None:
    """Store visits, each once. Visits of deleted users are left out."""
    await db.execute(*INSERT_MANY.bind_many(visits))


async def addresses(db: Connection, account_ids: Sequence[int], most: int) -> dict[int, list[UsedAddress]]:
    """Return the addresses that users used last, by account, the newest first."""
    found: dict[int, list[UsedAddress]] = {}
    for row in await db.fetch(ADDRESSES, account_ids):
        of_account = found.setdefault(row["account_id"], [])
        if len(of_account) < most:
            of_account.append(UsedAddress(row["ip"], row["used_at"]))
    return found
