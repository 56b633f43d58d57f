"""Figures for staff: the acts of users in each period, their totals, and how many users stay.

Periods are ranges of ids, which contain the time. Each call counts rows: staff ask rarely, for few periods, and a count
that takes long is ended.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Concatenate, ParamSpec, TypeVar

from ..engine.database import Connection
from ..engine.statement_errors import QueryCanceledError

P = ParamSpec("P")
T = TypeVar("T")

# Milliseconds for one figure: less than the deadline of a call, at which its connection would be closed.
PATIENCE = 5000

LIMIT_TIME = "SELECT set_config('statement_timeout', $1, true)"

# The periods by their number: from the id `low` to below `high`, and as times, for rows not dated by their ids.
PERIODS = """
    unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::timestamptz[])
    WITH ORDINALITY AS period (low, high, begins, ends, place)
"""

# The acts of users of this server, each with its account: signing in, posting, boosting, favouriting, and any request
# in the time for which visits are kept.
ACTS = """
    SELECT s.account_id, s.id FROM statuses s WHERE s.local AND s.id >= {low} AND s.id < {high}
    UNION ALL SELECT t.account_id, t.id FROM access_tokens t
    WHERE t.account_id IS NOT NULL AND t.id >= {low} AND t.id < {high}
    UNION ALL SELECT f.account_id, f.id FROM favourites f JOIN users u ON u.account_id = f.account_id
    WHERE f.id >= {low} AND f.id < {high}
    UNION ALL SELECT v.account_id, 0 FROM visits v WHERE v.day >= {low_day} AND v.day < {high_day}
"""

# The day in UTC of an id, which begins with milliseconds.
DAY_OF_ID = "(to_timestamp(({} >> 16) / 1000.0) AT TIME ZONE 'UTC')::date"


def _acts(period: str) -> str:
    low, high = f"{period}.low", f"{period}.high"
    return ACTS.format(low=low, high=high, low_day=DAY_OF_ID.format(low), high_day=DAY_OF_ID.format(high))


OF_PERIOD = _acts("period")

_TAGGED = "status_tags st JOIN statuses s ON s.id = st.status_id AND s.visibility = 'public' AND s.deleted_at IS NULL"
_IN_TAG = f"FROM {_TAGGED} WHERE st.tag_id = $5::bigint AND st.status_id >= period.low AND st.status_id < period.high"

# By the name of a measure, the number for a period. $5 is the id of a hashtag.
OF_SERVER: Mapping[str, str] = {
    "active_users": f"(SELECT count(DISTINCT act.account_id) FROM ({OF_PERIOD}) AS act)",
    "new_users": "(SELECT count(*) FROM users u WHERE u.account_id >= period.low AND u.account_id < period.high)",
    "interactions": """(
        (SELECT count(*) FROM favourites f WHERE f.id >= period.low AND f.id < period.high)
        + (
            SELECT count(*) FROM statuses s WHERE s.id >= period.low AND s.id < period.high AND s.deleted_at IS NULL
            AND (s.reblog_of_id IS NOT NULL OR s.in_reply_to_id IS NOT NULL)
        )
    )""",
    "opened_reports": "(SELECT count(*) FROM reports r WHERE r.id >= period.low AND r.id < period.high)",
    "resolved_reports": """(
        SELECT count(*) FROM reports r WHERE r.action_taken_at >= period.begins AND r.action_taken_at < period.ends
    )""",
}
OF_TAG: Mapping[str, str] = {
    "tag_uses": f"(SELECT count(*) {_IN_TAG})",
    "tag_accounts": f"(SELECT count(DISTINCT s.account_id) {_IN_TAG})",
    "tag_servers": f"""(
        SELECT count(DISTINCT coalesce(a.domain, '')) FROM {_TAGGED} JOIN accounts a ON a.id = s.account_id
        WHERE st.tag_id = $5::bigint AND st.status_id >= period.low AND st.status_id < period.high
    )""",
}


def _of_domain(table: str, account: str, more: str = "") -> str:
    return f"""(
        SELECT count(*) FROM {table} row JOIN accounts a ON a.id = row.{account} AND a.domain = $5::text {more}
        WHERE row.id >= period.low AND row.id < period.high
    )"""


# $5 is the domain of another server.
OF_DOMAIN: Mapping[str, str] = {
    "instance_accounts": """(
        SELECT count(*) FROM accounts a WHERE a.domain = $5::text AND a.id >= period.low AND a.id < period.high
    )""",
    "instance_statuses": _of_domain("statuses", "account_id", "AND row.deleted_at IS NULL"),
    "instance_reports": _of_domain("reports", "target_account_id"),
    "instance_follows": _of_domain("follows", "target_account_id"),
    "instance_followers": _of_domain("follows", "account_id"),
    "instance_media_attachments": """(
        SELECT coalesce(sum(row.file_size), 0)::bigint FROM media_attachments row
        JOIN accounts a ON a.id = row.account_id AND a.domain = $5::text
        WHERE row.id >= period.low AND row.id < period.high
    )""",
}

_USED = "s.id >= $1 AND s.id < $2 AND s.deleted_at IS NULL"

# By the name of a dimension, keys with their numbers, the largest first. $1 and $2 are ids, $3 is the limit.
DIMENSIONS: Mapping[str, str] = {
    "languages": """
        SELECT coalesce(u.locale, 'und') AS key, count(*) AS value FROM users u
        WHERE u.account_id >= $1 AND u.account_id < $2 GROUP BY 1 ORDER BY value DESC, key LIMIT $3
    """,
    "sources": """
        SELECT coalesce(app.name, 'web') AS key, count(*) AS value FROM users u
        LEFT JOIN applications app ON app.id = u.created_by_application_id
        WHERE u.account_id >= $1 AND u.account_id < $2 GROUP BY 1 ORDER BY value DESC, key LIMIT $3
    """,
    "servers": f"""
        SELECT coalesce(a.domain, '') AS key, count(*) AS value FROM statuses s JOIN accounts a ON a.id = s.account_id
        WHERE {_USED} GROUP BY 1 ORDER BY value DESC, key LIMIT $3
    """,
    "space_usage": """
        SELECT * FROM (
            SELECT 'postgresql' AS key, pg_database_size(current_database()) AS value
            UNION ALL SELECT 'media', (SELECT coalesce(sum(file_size), 0)::bigint FROM media_attachments)
        ) AS used WHERE $2::bigint >= $1::bigint ORDER BY key DESC LIMIT $3
    """,
}
DIMENSIONS_OF_TAG: Mapping[str, str] = {
    "tag_servers": f"""
        SELECT coalesce(a.domain, '') AS key, count(*) AS value FROM {_TAGGED} JOIN accounts a ON a.id = s.account_id
        WHERE st.tag_id = $4::bigint AND st.status_id >= $1 AND st.status_id < $2
        GROUP BY 1 ORDER BY value DESC, key LIMIT $3
    """,
    "tag_languages": f"""
        SELECT coalesce(s.language, 'und') AS key, count(*) AS value FROM {_TAGGED}
        WHERE st.tag_id = $4::bigint AND st.status_id >= $1 AND st.status_id < $2
        GROUP BY 1 ORDER BY value DESC, key LIMIT $3
    """,
}
DIMENSIONS_OF_DOMAIN: Mapping[str, str] = {
    "instance_accounts": """
        SELECT a.username AS key, c.followers AS value FROM accounts a JOIN account_counts c ON c.account_id = a.id
        WHERE a.domain = $4::text AND $2::bigint >= $1::bigint ORDER BY value DESC, key LIMIT $3
    """,
    "instance_languages": f"""
        SELECT coalesce(s.language, 'und') AS key, count(*) AS value
        FROM statuses s JOIN accounts a ON a.id = s.account_id AND a.domain = $4::text
        WHERE {_USED} GROUP BY 1 ORDER BY value DESC, key LIMIT $3
    """,
}

# For each period of sign-up and each later period: how many users who signed up in the first acted in the second.
RETENTION = f"""
    WITH periods AS (
        SELECT period.low, period.high, period.place
        FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS period (low, high, place)
    ), seen AS (
        SELECT DISTINCT act.account_id, periods.place FROM periods
        CROSS JOIN LATERAL ({_acts("periods")}) AS act
    ), cohorts AS (
        SELECT u.account_id, periods.place FROM periods
        JOIN users u ON u.account_id >= periods.low AND u.account_id < periods.high
    )
    SELECT cohorts.place AS cohort, seen.place AS period, count(*) AS users
    FROM cohorts JOIN seen ON seen.account_id = cohorts.account_id GROUP BY 1, 2
"""


class CountTookTooLong(Exception):
    """Raised when a figure can't be counted in time. The transaction must be rolled back."""


@dataclass(frozen=True, slots=True)
class Periods:
    """Consecutive periods: the bounds of each, as ids and as times."""

    low: Sequence[int]
    high: Sequence[int]
    begins: Sequence[datetime]
    ends: Sequence[datetime]


async def in_time(
    db: Connection, count: Callable[Concatenate[Connection, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Count a figure, in a transaction of its own. Raises TookTooLong."""
    await db.fetchval(LIMIT_TIME, str(PATIENCE))
    try:
        return await count(db, *args, **kwargs)
    except QueryCanceledError:
        raise CountTookTooLong from None


async def measure(db: Connection, name: str, periods: Periods, about: int | str | None = None) -> list[int]:
    """Return the numbers of a measure for each period. `about` is a hashtag's id or a domain, or None."""
    number = OF_SERVER.get(name) or OF_TAG.get(name) or OF_DOMAIN[name]
    query = f"SELECT {number} AS number FROM {PERIODS} ORDER BY place"
    about_it = () if name in OF_SERVER else (about,)
    rows = await db.fetch(query, periods.low, periods.high, periods.begins, periods.ends, *about_it)
    return [row["number"] for row in rows]


async def dimension(
    db: Connection, name: str, low: int, high: int, limit: int, about: int | str | None = None
) -> list[tuple[str, int]]:
    """Return keys with their numbers, the largest first."""
    query = DIMENSIONS.get(name)
    if query is not None:
        rows = await db.fetch(query, low, high, limit)
    else:
        rows = await db.fetch(DIMENSIONS_OF_TAG.get(name) or DIMENSIONS_OF_DOMAIN[name], low, high, limit, about)
    return [(row["key"], row["value"]) for row in rows]


async def retention(db: Connection, low: Sequence[int], high: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return how many users of each cohort were active in each period, by the numbers of both, which begin at 0."""
    rows = await db.fetch(RETENTION, low, high)
    return {(row["cohort"] - 1, row["period"] - 1): row["users"] for row in rows}


async def new_users(db: Connection, periods: Periods) -> list[int]:
    """Return the sizes of the cohorts: the users of each period."""
    return await measure(db, "new_users", periods)
