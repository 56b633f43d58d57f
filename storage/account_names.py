"""The names of accounts as searches find them: the folded words of the user name and of the display name."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import regex

from .engine.database import Connection, Row
from .words import Word, quoted, vector, words_of

LONGEST_QUERY = 1000  # characters that are read
MOST_PARTS = 10  # of a search, between its spaces
SHORTEST_BEGINNING = 2  # letters; of scripts with more letters, fewer words begin with each
BEGINNING = ":*"
# Names in scripts without spaces. Some have a space between family name and given name, and few searches have it.
UNSPACED_NAME = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\u30fc]{2,12}")

FIND = "SELECT id, username, display_name FROM accounts WHERE id = ANY($1::bigint[])"

# Rows that a transaction is changing are left for the next batch. Others wait until the batch is stored.
FIND_UNFOLDED = """
    SELECT id, username, display_name FROM accounts WHERE names IS NULL
    ORDER BY id DESC LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
"""

STORE = """
    UPDATE accounts SET names = new.names::tsvector
    FROM unnest($1::bigint[], $2::text[]) AS new (id, names)
    WHERE accounts.id = new.id AND accounts.names IS DISTINCT FROM new.names::tsvector
"""


async def store(db: Connection, ids: Sequence[int]) -> None:
    """Store the words of these accounts' names. Call it in each transaction that writes a name."""
    await _store(db, await db.fetch(FIND, list(ids)))


async def fill(db: Connection, limit: int) -> int:
    """Store the words of names that an earlier version wrote, the newest accounts first. Return how many."""
    rows = await db.fetch(FIND_UNFOLDED, limit)
    await _store(db, rows)
    return len(rows)


async def _store(db: Connection, rows: Sequence[Row]) -> None:
    names = [vector([row["username"], row["display_name"]]) for row in rows]
    await db.execute(STORE, [row["id"] for row in rows], names)


@dataclass(frozen=True, slots=True)
class NameQuery:
    """Literals of the type `tsquery` for names with all parts of a text, in any order.

    The last word of each part may be the beginning of one, because people search while they type. Too many words begin
    with one letter to be looked up in the index: `indexed` leaves such parts out, or takes them for whole words
    if there is no other part.
    """

    whole: str
    indexed: str


def query_of(text: str) -> NameQuery | None:
    """Return the query for a text. None if it has no word."""
    parts = [(piece, part) for piece in text[:LONGEST_QUERY].split()[:MOST_PARTS] if (part := list(words_of(piece)))]
    if not parts:
        return None
    queries = [(_spaced(piece, _part(part, BEGINNING)), part) for piece, part in parts]
    selective = [
        query for query, part in queries if len(part[-1].text) >= SHORTEST_BEGINNING or not part[-1].text.isascii()
    ]
    indexed = selective or [_part(part, "") for _, part in parts]
    return NameQuery(" & ".join(query for query, _ in queries), " & ".join(indexed))


def _spaced(text: str, query: str) -> str:
    """Return the query for a name in a script without spaces, wherever the name has one."""
    if not UNSPACED_NAME.fullmatch(text):
        return query
    pieces = (
        f"{_part(list(words_of(text[:at])), '')} & {_part(list(words_of(text[at:])), BEGINNING)}"
        for at in range(1, len(text))
    )
    return f"({' | '.join([query, *pieces])})"


def _part(words: Sequence[Word], end: str) -> str:
    """Return the query for words that follow each other, or that signs join to one."""
    needed = [word for word in words if not word.spare]
    query = quoted(needed[0].text)
    for before, word in pairwise(needed):
        query += f" <{word.place - before.place}> {quoted(word.text)}"
    joined = "".join(word.text for word in needed)
    written_together = any(word.spare and word.text == joined for word in words)
    return f"({query}{end} | {quoted(joined)}{end})" if written_together else f"{query}{end}"
