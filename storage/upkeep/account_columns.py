"""The columns that name an account, read from the foreign keys of the database.

Merges (`account_merges.py`) and deletions (`account_deletions.py`) treat each of them by a rule. The columns that need
something else are listed there. A new table needs no list: it says `REFERENCES accounts`, `ON DELETE CASCADE` if its
rows belong to the account, and has its unique constraints.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..engine.database import Connection

# An index with a condition does not count as unique: it allows rows with equal values. Neither does one of expressions:
# its columns alone would be a narrower key, by which a merge would drop rows that may stay.
COLUMNS = """
    SELECT t.relname AS table, a.attname AS column, c.confdeltype = 'c' AS owns, ARRAY(
        SELECT ARRAY(
            SELECT other.attname::text FROM unnest(i.indkey) AS number
            JOIN pg_attribute other ON other.attrelid = i.indrelid AND other.attnum = number
            WHERE other.attnum <> a.attnum ORDER BY other.attname
        )::text
        FROM pg_index i
        WHERE i.indrelid = t.oid AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL
        AND a.attnum = ANY(i.indkey)
        ORDER BY 1
    ) AS keys
    FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = c.conkey[1]
    WHERE c.contype = 'f' AND c.confrelid = 'accounts'::regclass ORDER BY t.relname, a.attname
"""


@dataclass(frozen=True, slots=True)
class AccountColumn:
    """A column with a foreign key to `accounts`.

    An account `owns` the rows that PostgreSQL deletes with its row. Each of `keys` is a set of columns of which an
    account has each value once.
    """

    table: str
    column: str
    owns: bool
    keys: tuple[tuple[str, ...], ...]


async def account_columns(db: Connection) -> Sequence[AccountColumn]:
    """Return all columns that name an account, by table and name."""
    return [
        AccountColumn(row["table"], row["column"], row["owns"], tuple(_names(key) for key in row["keys"]))
        for row in await db.fetch(COLUMNS)
    ]


def _names(array: str) -> tuple[str, ...]:
    """Return the names in the text of an array of PostgreSQL. None of ours needs quotes."""
    return tuple(name for name in array.strip("{}").split(",") if name)
