"""Search for accounts, hashtags and statuses by words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .accounts import PENDING
from .engine.database import Connection
from .paging import Page
from .statuses import StatusTag
from .timeline_entries import ENTRY_COLUMNS, ENTRY_JOINS, TimelineEntry, entry_of

WORD = re.compile(r"\w+")
MOST_WORDS = 10
LONGEST_WORD = 100

# PostgreSQL counts minus signs as negations, and gives up at 32 of them in a row. Alone they have no effect.
STRAY_SIGN = re.compile(r'-(?!\w|"\w)|(?<!\w)(?<!^)(?<!\s)-')

CANDIDATES = 200  # an account that shares its name with more others is found by a longer query

LAST = "\U0010ffff"  # sorts after every other letter, byte by byte


def begins(column: str, parameter: str) -> str:
    """Return SQL for a text that begins so, in a form for which every plan can use the index.

    With LIKE, the plan would need the value.
    """
    return f"{column} ~>=~ {parameter} AND {column} ~<~ ({parameter} || '{LAST}')"


MATCHES = f"""
    (
        ({begins("lower(a.username)", "$1::text")} AND coalesce(a.domain, '') LIKE $2)
        OR to_tsvector('simple', a.username || ' ' || a.display_name) @@ to_tsquery('simple', $3)
    )
"""

# By the beginning of a handle ($1 with $2) or by words of a name ($3). First an exact handle ($4, $5), then accounts
# that the viewer ($6) follows. Silenced accounts are found by themselves and by their followers only.
ACCOUNTS = f"""
    WITH found AS (
        SELECT a.id FROM accounts a WHERE lower(a.username) = $4 AND lower(coalesce(a.domain, '')) = $5
        UNION
        SELECT a.id FROM follows f JOIN accounts a ON a.id = f.target_account_id
        WHERE f.account_id = $6 AND {MATCHES}
        UNION
        (SELECT a.id FROM accounts a WHERE {MATCHES} LIMIT {CANDIDATES})
    )
    SELECT a.id FROM found
    JOIN accounts a ON a.id = found.id
    LEFT JOIN follows f ON f.account_id = $6 AND f.target_account_id = a.id
    WHERE a.suspended_at IS NULL AND a.deleted_at IS NULL AND a.moved_to_id IS NULL
    AND (a.silenced_at IS NULL OR f.id IS NOT NULL OR a.id = $6)
    AND NOT {PENDING}
    AND (NOT $7 OR f.id IS NOT NULL)
    ORDER BY
        (lower(a.username) = $4 AND lower(coalesce(a.domain, '')) = $5) DESC, (f.id IS NOT NULL) DESC,
        (SELECT c.followers FROM account_counts c WHERE c.account_id = a.id) DESC, a.id
    LIMIT $8 OFFSET $9
"""

TAGS = f"""
    SELECT t.id, t.name, t.display_name FROM tags t
    WHERE {begins("t.name", "$1::text")} AND t.usable AND t.listable AND (NOT $3 OR t.reviewed_at IS NOT NULL)
    ORDER BY (t.name = $2) DESC, length(t.name), t.name LIMIT $4 OFFSET $5
"""

# The viewer's own statuses, those that mention the viewer or that the viewer interacted with, and those of authors who
# allow it.
STATUSES = f"""
    WITH found AS (
        SELECT s.id FROM statuses s
        WHERE to_tsvector('simple', s.spoiler_text || ' ' || s.content) @@ websearch_to_tsquery('simple', $1)
        AND s.deleted_at IS NULL AND s.reblog_of_id IS NULL AND s.id < $3 AND s.id > $4
        AND ($5::bigint IS NULL OR s.account_id = $5)
        AND (SELECT a.suspended_at IS NULL AND a.deleted_at IS NULL FROM accounts a WHERE a.id = s.account_id)
        AND (
            s.account_id = $2 OR $2 = ANY(s.mentioned_ids)
            OR (s.visibility = 'public' AND (SELECT a.indexable FROM accounts a WHERE a.id = s.account_id))
            OR EXISTS (SELECT FROM favourites f WHERE f.account_id = $2 AND f.status_id = s.id)
            OR EXISTS (SELECT FROM bookmarks b WHERE b.account_id = $2 AND b.status_id = s.id)
            OR EXISTS (
                SELECT FROM statuses r WHERE r.reblog_of_id = s.id AND r.account_id = $2 AND r.deleted_at IS NULL
            )
            OR EXISTS (SELECT FROM poll_votes v WHERE v.account_id = $2 AND v.poll_id = s.poll_id)
        )
        ORDER BY s.id DESC LIMIT $6 OFFSET $7
    )
    SELECT {ENTRY_COLUMNS} FROM found JOIN statuses s ON s.id = found.id {ENTRY_JOINS} ORDER BY s.id DESC
"""


@dataclass(frozen=True, slots=True)
class Names:
    """The search terms for accounts: words of a name, and a handle if the query can be one."""

    words: tuple[str, ...]
    username: str | None = None
    domain: str | None = None
    of_domain: bool = False  # true if a domain was given, even this server's own

    @property
    def empty(self) -> bool:
        return not self.words and self.username is None


def names_of(query: str, handle: tuple[str, str | None] | None) -> Names:
    """Return the search terms for accounts. The words of a handle with a domain are not words of a name."""
    of_domain = handle is not None and "@" in query.strip().removeprefix("@")
    words = () if of_domain else tuple(word[:LONGEST_WORD] for word in WORD.findall(query.lower())[:MOST_WORDS])
    if handle is None:
        return Names(words)
    return Names(words, handle[0].lower(), handle[1], of_domain)


async def accounts(
    db: Connection, names: Names, *, viewer: int | None, followed: bool = False, limit: int, offset: int = 0
) -> list[int]:
    """Return ids of accounts, the best first. `followed` restricts to those that the viewer follows."""
    if names.empty:
        return []
    name, domain = names.username or "", (names.domain or "").lower()
    rows = await db.fetch(
        ACCOUNTS, name or None, _domains(names), _words(names.words), name, domain,
        viewer, followed, limit, offset,
    )  # fmt: skip
    return [row["id"] for row in rows]


async def tags(db: Connection, name: str, *, reviewed: bool, limit: int, offset: int = 0) -> list[StatusTag]:
    """Return hashtags that begin with a name, the name itself first.

    `reviewed` leaves out those that staff has not reviewed.
    """
    rows = await db.fetch(TAGS, name, name, reviewed, limit, offset)
    return [StatusTag(*row.values()) for row in rows]


async def statuses(
    db: Connection,
    query: str,
    page: Page,
    *,
    viewer: int,
    account_id: int | None = None,
    offset: int = 0,
) -> list[TimelineEntry]:
    """Return statuses with all words, newest first. The reader decides which ones the viewer may see."""
    below, above, limit = page.bounds
    rows = await db.fetch(STATUSES, STRAY_SIGN.sub(" ", query), viewer, below, above, account_id, limit, offset)
    return [entry_of(row) for row in rows]


def _domains(names: Names) -> str:
    if not names.of_domain:
        return "%"
    return f"{_literal(names.domain)}%" if names.domain else ""


def _words(words: Sequence[str]) -> str:
    """Return a query for the beginnings of all words. They consist of letters, digits and underscores."""
    return " & ".join(f"{word}:*" for word in words)


def _literal(text: str) -> str:
    """Return text for a LIKE pattern, escaped."""
    return re.sub(r"([\\%_])", r"\\\1", text)
