"""Search for accounts and hashtags by words. Statuses are in `status_search.py`."""

import re
from dataclasses import dataclass

from . import account_names
from .account_names import NameQuery
from .accounts import PENDING
from .engine.database import Connection
from .statuses import StatusTag

CANDIDATES = 200  # an account that shares its name with more others is found by a longer query

LAST = "\U0010ffff"  # sorts after every other letter, byte by byte


def begins(column: str, parameter: str) -> str:
    """Return SQL for a text that begins so, in a form for which every plan can use the index.

    With LIKE, the plan would need the value.
    """
    return f"{column} ~>=~ {parameter} AND {column} ~<~ ({parameter} || '{LAST}')"


NAME_BEGINS = "lower(a.username) ~>=~ $1::text AND lower(a.username) ~<~ $2::text"
ON_DOMAIN = "coalesce(a.domain, '') LIKE $3"
# The second condition can't use the index, and so costs nothing for words of which too many begin so.
BY_NAME = "a.names @@ $4::text::tsquery AND (a.names || '') @@ $5::text::tsquery"

THERE = f"a.suspended_at IS NULL AND a.deleted_at IS NULL AND a.moved_to_id IS NULL AND NOT {PENDING}"
# Silenced accounts are found by themselves and by their followers only. With $9, only follows are searched.
OPEN = f"""
    {THERE} AND NOT $9 AND (
        a.silenced_at IS NULL OR a.id = $8
        OR EXISTS (SELECT FROM follows f WHERE f.account_id = $8 AND f.target_account_id = a.id)
    )
"""

# By the beginning of a handle (from $1 to $2, with $3) or by words of a name ($4 and $5). First an exact handle ($6,
# $7), then accounts that the viewer ($8) follows. Accounts that are not shown are no candidates. All follows are
# read if they are asked for ($9), if $4 leaves out words that begin too many names ($10), or if there are too many
# candidates. Not a join: with it, all accounts of a frequent name are read. The planner believes that the conditions
# leave out nearly all rows, and would read all names with this beginning. CASE hides the conditions from it.
ACCOUNTS = f"""
    WITH handled AS MATERIALIZED (
        SELECT a.id FROM accounts a
        WHERE {NAME_BEGINS} AND CASE WHEN {ON_DOMAIN} AND {OPEN} THEN true ELSE false END
        ORDER BY lower(a.username) USING ~<~ LIMIT {CANDIDATES}
    ), named AS MATERIALIZED (
        SELECT a.id FROM accounts a WHERE {BY_NAME} AND {OPEN} LIMIT {CANDIDATES}
    ), found AS (
        SELECT a.id FROM accounts a
        WHERE lower(a.username) = $6 AND lower(coalesce(a.domain, '')) = $7 AND {OPEN}
        UNION SELECT id FROM handled
        UNION SELECT id FROM named
        UNION
        SELECT f.target_account_id FROM follows f
        WHERE f.account_id = $8
        AND (
            $9 OR $10
            OR (SELECT count(*) FROM handled) = {CANDIDATES} OR (SELECT count(*) FROM named) = {CANDIDATES}
        )
        AND (
            SELECT (({NAME_BEGINS} AND {ON_DOMAIN}) OR a.names @@ $5::text::tsquery) AND {THERE}
            FROM accounts a WHERE a.id = f.target_account_id
        )
    )
    SELECT a.id FROM found
    JOIN accounts a ON a.id = found.id
    LEFT JOIN follows f ON f.account_id = $8 AND f.target_account_id = a.id
    ORDER BY
        (lower(a.username) = $6 AND lower(coalesce(a.domain, '')) = $7) DESC, (f.id IS NOT NULL) DESC,
        (SELECT c.followers FROM account_counts c WHERE c.account_id = a.id) DESC, a.id
    LIMIT $11 OFFSET $12
"""

TAGS = f"""
    SELECT t.id, t.name, t.display_name FROM tags t
    WHERE {begins("t.name", "$1::text")} AND t.usable AND t.listable AND (NOT $3 OR t.reviewed_at IS NOT NULL)
    ORDER BY (t.name = $2) DESC, length(t.name), t.name LIMIT $4 OFFSET $5
"""


@dataclass(frozen=True, slots=True)
class Names:
    """The search terms for accounts: queries for words of a name, and a handle if the text can be a handle."""

    words: NameQuery | None
    username: str | None = None
    domain: str | None = None
    of_domain: bool = False  # true if a domain was given, even this server's own

    @property
    def empty(self) -> bool:
        return self.words is None and self.username is None

    @property
    def last(self) -> str | None:
        """The end of the range of user names that begin with the name."""
        return None if self.username is None else self.username + LAST


def names_of(query: str, handle: tuple[str, str | None] | None) -> Names:
    """Return the search terms for accounts. The words of a handle with a domain are not words of a name."""
    of_domain = handle is not None and "@" in query.strip().removeprefix("@")
    words = None if of_domain else account_names.query_of(query)
    if handle is None:
        return Names(words)
    return Names(words, handle[0].lower(), handle[1], of_domain)


async def accounts(
    db: Connection, names: Names, *, viewer: int | None, followed: bool = False, limit: int, offset: int = 0
) -> list[int]:
    """Return ids of accounts, the best first. `followed` restricts to accounts that the viewer follows."""
    if names.empty:
        return []
    exact, words = (names.username or "", (names.domain or "").lower()), names.words
    rows = await db.fetch(
        ACCOUNTS, names.username, names.last, _domains(names), words and words.indexed, words and words.whole, *exact,
        viewer, followed, words is not None and words.indexed != words.whole, limit, offset,
    )  # fmt: skip
    return [row["id"] for row in rows]


async def tags(db: Connection, name: str, *, reviewed: bool, limit: int, offset: int = 0) -> list[StatusTag]:
    """Return hashtags that begin with a name, the name itself first.

    `reviewed` leaves out hashtags that staff has not reviewed.
    """
    rows = await db.fetch(TAGS, name, name, reviewed, limit, offset)
    return [StatusTag(*row.values()) for row in rows]


def _domains(names: Names) -> str:
    if not names.of_domain:
        return "%"
    return f"{_literal(names.domain)}%" if names.domain else ""


def _literal(text: str) -> str:
    """Return text for a LIKE pattern, escaped."""
    return re.sub(r"([\\%_])", r"\\\1", text)
