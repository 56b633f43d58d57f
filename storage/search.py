"""Search for accounts and hashtags by words. Statuses are in `status_search.py`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .accounts import PENDING
from .engine.database import Connection
from .statuses import StatusTag

WORD = re.compile(r"\w+")
MOST_WORDS = 10
LONGEST_WORD = 100

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
