"""Rows of other servers, as federation would store them."""

from typing import Any

from troupe.storage.engine.connect import LoneConnection, transact_once
from troupe.storage.engine.database import Connection

ACCOUNT = """
    WITH account AS (
        INSERT INTO accounts (id, username, domain, uri, avatar_file, created_at, updated_at)
        VALUES ($1::bigint, $2::text, $3::text,
            'https://' || coalesce($3::text, 'here.test') || '/users/' || $2::text, $4::text, now(), now())
    )
    INSERT INTO account_counts (account_id) VALUES ($1)
"""

STATUS = """
    WITH status AS (
        INSERT INTO statuses
            (id, account_id, uri, local, content, visibility, conversation_id, reblog_of_id, in_reply_to_id,
            in_reply_to_account_id, created_at)
        SELECT $1::bigint, a.id, a.uri || '/statuses/' || $1::bigint, a.domain IS NULL, '',
            'public', $1::bigint, $3::bigint, $4::bigint,
            (SELECT account_id FROM statuses WHERE id = $4::bigint), now()
        FROM accounts a WHERE a.id = $2
    ), author AS (
        UPDATE account_counts SET statuses = statuses + 1 WHERE account_id = $2
    ), original AS (
        UPDATE status_counts SET reblogs = reblogs + ($3::bigint IS NOT NULL)::int,
            replies = replies + ($4::bigint IS NOT NULL)::int
        WHERE status_id IN ($3, $4)
    )
    INSERT INTO status_counts (status_id) VALUES ($1)
"""

FOLLOW = """
    WITH follow AS (
        INSERT INTO follows (id, account_id, target_account_id, from_domain, created_at)
        SELECT $1::bigint, $2::bigint, $3::bigint, a.domain, now() FROM accounts a WHERE a.id = $2
    ), follower AS (
        UPDATE account_counts SET following = following + 1 WHERE account_id = $2
    )
    UPDATE account_counts SET followers = followers + 1 WHERE account_id = $3
"""

FAVOURITE = """
    WITH favourite AS (
        INSERT INTO favourites (id, account_id, status_id, created_at) VALUES ($1, $2, $3, now())
    )
    UPDATE status_counts SET favourites = favourites + 1 WHERE status_id = $3
"""


class Rows:
    """The rows of a database, which tests add to. Ids are given by hand; the server's own are higher.

    Without a session, each statement has a connection of its own, which costs much more than the statement.
    """

    def __init__(self, dsn: str, session: LoneConnection | None = None) -> None:
        self._dsn = dsn
        self._session = session

    def account(self, id: int, name: str, domain: str | None, avatar: str | None = None) -> int:
        self.run(ACCOUNT, id, name, domain, avatar)
        return id

    def status(self, id: int, author: int, reblog_of: int | None = None, reply_to: int | None = None) -> int:
        self.run(STATUS, id, author, reblog_of, reply_to)
        return id

    def follow(self, id: int, follower: int, followed: int) -> None:
        self.run(FOLLOW, id, follower, followed)

    def favourite(self, id: int, account: int, status: int) -> None:
        self.run(FAVOURITE, id, account, status)

    def emoji(self, id: int, shortcode: str, domain: str, file: str | None = None) -> None:
        self.run(
            "INSERT INTO custom_emojis (id, shortcode, domain, file, static_file, remote_url, created_at, updated_at)"
            " VALUES ($1, $2, $3, $4, $4, 'https://far.example/cat.png', now(), now())",
            id, shortcode, domain, file,
        )  # fmt: skip

    def run(self, query: str, *args: object) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows."""

        async def fetch(db: Connection) -> list[tuple[Any, ...]]:
            return [tuple(row.values()) for row in await db.fetch(query, *args)]

        return transact_once(self._dsn, fetch) if self._session is None else self._session(fetch)
