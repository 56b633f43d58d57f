"""The key pairs with which this server signs requests: of local accounts, and its own."""

from dataclasses import dataclass

from ..engine.database import Connection, Row

FIND_OF_ACCOUNT = """
    SELECT uri, private_key, public_key FROM accounts WHERE id = $1 AND domain IS NULL AND private_key IS NOT NULL
"""

NEWEST = """
    SELECT uri, private_key, public_key FROM accounts WHERE domain IS NULL AND private_key IS NOT NULL
    ORDER BY id DESC LIMIT $1
"""

# The first key pair stays.
INSERT_OF_ACCOUNT = """
    UPDATE accounts SET private_key = coalesce(private_key, $2),
        public_key = CASE WHEN private_key IS NULL THEN $3 ELSE public_key END
    WHERE id = $1 AND domain IS NULL
    RETURNING uri, private_key, public_key
"""

# RETURNING has only new values, so the former key is read, and locked, by a subquery.
REPLACE = """
    UPDATE accounts SET private_key = $2, public_key = $3
    FROM (SELECT id, private_key FROM accounts WHERE id = $1 AND domain IS NULL FOR UPDATE) AS former
    WHERE accounts.id = former.id AND former.private_key IS NOT NULL
    RETURNING former.private_key
"""

FIND_OF_SERVER = "SELECT '' AS uri, private_key, public_key FROM server_key"

INSERT_OF_SERVER = "INSERT INTO server_key (private_key, public_key) VALUES ($1, $2) ON CONFLICT DO NOTHING"


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A key pair in PEM, and the URI of the account that it belongs to; empty for the server's own."""

    uri: str
    private_key: str
    public_key: str


async def find(db: Connection, account_id: int | None) -> KeyPair | None:
    """Return the key pair of a local account, or of the server for None. None if it has none yet."""
    of_server = account_id is None
    return _pair(await (db.fetchrow(FIND_OF_SERVER) if of_server else db.fetchrow(FIND_OF_ACCOUNT, account_id)))


async def newest(db: Connection, limit: int) -> list[KeyPair]:
    """Return the key pairs of the newest local accounts."""
    return [KeyPair(**row) for row in await db.fetch(NEWEST, limit)]


async def insert(db: Connection, account_id: int | None, private_key: str, public_key: str) -> KeyPair:
    """Store a key pair unless there is one. Return the stored pair. Raise LookupError if the account does not exist."""
    if account_id is None:
        await db.execute(INSERT_OF_SERVER, private_key, public_key)
        pair = _pair(await db.fetchrow(FIND_OF_SERVER))
    else:
        pair = _pair(await db.fetchrow(INSERT_OF_ACCOUNT, account_id, private_key, public_key))
    if pair is None:
        raise LookupError(f"there is no local account {account_id}")
    return pair


async def replace(db: Connection, account_id: int, private_key: str, public_key: str) -> str | None:
    """Replace the key of a local account. Return its old private key. None if it had no key: then nothing changes."""
    return await db.fetchval(REPLACE, account_id, private_key, public_key)


def _pair(row: Row | None) -> KeyPair | None:
    return KeyPair(**row) if row is not None else None
