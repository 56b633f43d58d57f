"""Search for statuses by their words and marks (`status_words.py`), newest first.

A search finds two kinds of statuses. The *index* has public statuses of authors who allow it, the viewer's own, and
statuses that mention the viewer. The viewer's *library* has the statuses that the viewer has favourited, bookmarked,
boosted or voted in.

An index of words gives all statuses with a word, in no order. For a common word these would be most of the table, and
reading all statuses from the newest on is as slow for a rare word. So the index is read by stretches of time,
which are words of the index too: first a stretch with some thousand statuses, then older and longer stretches, until
the page is full. The results so far decide how long the next stretch is. A search reads `MOST_READ` statuses at most.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from . import status_words
from .engine.database import Connection
from .timeline_entries import ENTRY_COLUMNS, ENTRY_JOINS, TimelineEntry, entry_of
from .words import phrase, quoted

# Statuses in the first stretch of time, and statuses with the words that a later stretch should have.
FIRST_STRETCH = 2_000
EXPECTED = 1_000
FEW = 50
LONGER = 16  # times the stretch before, at most
# So many stretches after the first have at most `LONGER` times as many statuses as the first, also if few were found.
CAPPED = 2
# Statuses with the words that are read until a page is full. It then ends early: there are so many, and almost none of
# them may be shown.
MOST_READ = 3_000
# Of the longest. They are 140 years.
MOST_STRETCHES = 1_000
# The newest of each kind in the viewer's library.
LIBRARY = 2_000

BOUNDS = f"""
    SELECT
        (SELECT status_id FROM status_words WHERE status_id < $1 AND status_id >= $2 ORDER BY status_id DESC LIMIT 1)
            AS newest,
        (SELECT status_id FROM status_words WHERE status_id < $1 AND status_id >= $2 ORDER BY status_id LIMIT 1)
            AS oldest,
        (
            SELECT status_id FROM status_words WHERE status_id < $1 AND status_id >= $2
            ORDER BY status_id DESC OFFSET {FIRST_STRETCH} LIMIT 1
        ) AS near
"""

# None if a stretch has no more statuses than it may have.
FAR = f"""
    SELECT status_id FROM status_words WHERE status_id < $1 AND status_id >= $2
    ORDER BY status_id DESC OFFSET {FIRST_STRETCH * LONGER} LIMIT 1
"""

# The statuses that the viewer ($1) may see, without hidden accounts ($2) and domains ($3). The caller checks each
# status again; here the condition decides how far to read.
SHOWN = """
    s.deleted_at IS NULL AND a.suspended_at IS NULL AND a.deleted_at IS NULL
    AND s.account_id NOT IN (SELECT unnest($2::bigint[]))
    AND coalesce(a.domain, '') NOT IN (SELECT unnest($3::text[]))
    AND (
        s.account_id = $1
        OR (a.silenced_at IS NULL AND (s.visibility IN ('public', 'unlisted') OR $1 = ANY(s.mentioned_ids)))
        OR (
            (s.visibility <> 'direct' OR $1 = ANY(s.mentioned_ids))
            AND EXISTS (SELECT FROM follows f WHERE f.account_id = $1 AND f.target_account_id = s.account_id)
        )
    )
    AND NOT EXISTS (
        SELECT FROM unnest($4::bigint[], $5::bigint[]) AS without (low, high)
        WHERE s.id >= without.low AND s.id < without.high
    )
"""

# Of one stretch of time: the number of statuses with the words, and the newest of them that the viewer may see. With
# three conditions, the index jumps from a status that fulfils one to the next that fulfils another. With a single
# condition it would look at each status with the rarest word. Plans are made without the values: `+ 0` keeps them from
# reading all ids of the stretch, whose marks are the third condition.
OF_INDEX = f"""
    WITH matched AS MATERIALIZED (
        SELECT status_id FROM status_words
        WHERE words @@ $6::text::tsquery AND words @@ $12::text::tsquery AND words @@ $13::text::tsquery
        AND status_id + 0 < $7 AND status_id + 0 >= $8
    )
    SELECT (SELECT count(*) FROM matched), ARRAY(
        SELECT s.id FROM (SELECT status_id FROM matched ORDER BY status_id DESC LIMIT $9) AS newest
        JOIN statuses s ON s.id = newest.status_id
        JOIN accounts a ON a.id = s.account_id
        WHERE {SHOWN} AND (
            (s.visibility = 'public' AND a.indexable) OR ($11 AND (s.account_id = $1 OR $1 = ANY(s.mentioned_ids)))
        )
        ORDER BY newest.status_id DESC LIMIT $10
    )
"""

OF_LIBRARY = f"""
    WITH library AS MATERIALIZED (
        (
            SELECT status_id FROM favourites WHERE account_id = $1 AND status_id < $7 AND status_id >= $8
            ORDER BY status_id DESC LIMIT {LIBRARY}
        )
        UNION (
            SELECT status_id FROM bookmarks WHERE account_id = $1 AND status_id < $7 AND status_id >= $8
            ORDER BY status_id DESC LIMIT {LIBRARY}
        )
        UNION (
            SELECT reblog_of_id FROM statuses
            WHERE account_id = $1 AND local AND reblog_of_id < $7 AND reblog_of_id >= $8 AND deleted_at IS NULL
            ORDER BY reblog_of_id DESC LIMIT {LIBRARY}
        )
        UNION (
            SELECT voted.id FROM (
                SELECT poll_id FROM poll_votes WHERE account_id = $1 ORDER BY poll_id DESC LIMIT {LIBRARY}
            ) AS votes JOIN statuses voted ON voted.poll_id = votes.poll_id
            WHERE voted.id < $7 AND voted.id >= $8
        )
    )
    SELECT s.id FROM library
    JOIN status_words w ON w.status_id = library.status_id
    JOIN statuses s ON s.id = library.status_id
    JOIN accounts a ON a.id = s.account_id
    WHERE ($6::text = '' OR w.words @@ $6::text::tsquery) AND {SHOWN}
    ORDER BY library.status_id DESC LIMIT $9
"""

ENTRIES = f"""
    SELECT {ENTRY_COLUMNS} FROM statuses s {ENTRY_JOINS} WHERE s.id = ANY($1::bigint[]) ORDER BY s.id DESC
"""


@dataclass(frozen=True, slots=True)
class Onlooker:
    """The account that searches, and the accounts and domains whose statuses are hidden from it."""

    account_id: int
    shunned: Sequence[int] = ()
    shunned_domains: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class StatusSearch:
    """A search for statuses with all terms, with ids from `low` to below `high`, but not in the ranges `without`."""

    terms: tuple[str, ...]
    low: int
    high: int
    without: tuple[tuple[int, int], ...] = ()
    in_public: bool = True  # public statuses of authors who allow it
    in_library: bool = True  # the viewer's library, own statuses and mentions

    @property
    def query(self) -> str:
        return " & ".join(self.terms)


def words(text: str, *, negated: bool = False) -> str:
    """Return a term for the words of a text in their order; empty if it has none."""
    found = phrase(text)
    return f"!({found})" if negated and found else found


def mark(name: str, *, negated: bool = False) -> str:
    """Return a term for a mark."""
    return f"!{quoted(name)}" if negated else quoted(name)


async def find_newest(
    db: Connection, sought: StatusSearch, onlooker: Onlooker, *, limit: int, offset: int = 0
) -> list[TimelineEntry]:
    """Return statuses, newest first. The caller checks again whether the viewer may see them."""
    if limit == 0:
        return []
    wanted = limit + offset
    shown = (
        onlooker.account_id, list(onlooker.shunned), list(onlooker.shunned_domains),
        [low for low, _ in sought.without], [high for _, high in sought.without],
    )  # fmt: skip
    ids = await _of_index(db, sought, onlooker.account_id, shown, wanted)
    if sought.in_library:
        low = ids[-1] if len(ids) == wanted else sought.low  # older statuses would not be on the page
        rows = await db.fetch(OF_LIBRARY, *shown, sought.query, sought.high, low, wanted)
        ids = sorted({*ids, *(row["id"] for row in rows)}, reverse=True)
    page = ids[offset:wanted]
    return [entry_of(row) for row in await db.fetch(ENTRIES, page)] if page else []


async def _of_index(
    db: Connection, sought: StatusSearch, viewer: int, shown: tuple[object, ...], wanted: int
) -> list[int]:
    """Return the newest statuses of the index that the viewer may see."""
    bounds = await db.fetchrow(BOUNDS, sought.high, sought.low)
    if bounds["newest"] is None:
        return []
    kinds = _kinds(sought, viewer)
    oldest, high = bounds["oldest"], bounds["newest"] + 1
    low = oldest if bounds["near"] is None else _begin_of(bounds["near"], high - bounds["near"])
    capped = CAPPED
    found: list[int] = []
    read = 0
    while True:
        most = MOST_READ - read, wanted - len(found)
        between = _between(low, high) or kinds
        number, ids = await db.fetchrow(
            OF_INDEX, *shown, sought.query or kinds, high, low, *most, sought.in_library, kinds, between
        )
        found += ids
        read += number
        if low <= oldest or len(found) >= wanted or read >= MOST_READ:
            return found
        length = max(1, int((high - low) * _times(number, len(ids), wanted - len(found))))
        low, high = max(oldest, _begin_of(low - length, length)), low
        capped -= 1
        if capped >= 0 or number > FEW:  # the time before may have many more statuses
            low = max(low, await db.fetchval(FAR, high, low) or low)


def _times(matched: int, shown: int, missing: int) -> float:
    """Return how many times longer than the last stretch of time the next is.

    In the last stretch, `matched` statuses had the words, and the viewer may see `shown` of them. `missing` are the
    places that are left on the page.
    """
    expected = min(EXPECTED, max(FEW, missing * matched * 1.5 / shown)) if shown else EXPECTED
    return min(LONGER, expected / max(matched, 1))


def _kinds(sought: StatusSearch, viewer: int) -> str:
    """Return a term for the statuses of the index that the viewer may find."""
    own = [status_words.author(viewer), status_words.mentioned(viewer)] if sought.in_library else []
    return _any_of([*own, status_words.PUBLIC] if sought.in_public else own)


def _between(low: int, high: int) -> str:
    """Return a term for a stretch of time. Empty for centuries: the term would be too long."""
    if (high - low) >> status_words.STRETCHES[-1] > MOST_STRETCHES:
        return ""
    return _any_of(status_words.stretches_between(low, high))


def _any_of(marks: Sequence[str]) -> str:
    return f"({' | '.join(map(quoted, marks))})"


def _begin_of(id: int, length: int) -> int:
    """Return the beginning of the stretch of time that has an id and is not much longer than `length`."""
    bits = max((bits for bits in status_words.STRETCHES if 1 << bits <= length), default=0)
    return max(0, id >> bits << bits)
