"""A database like that of a server which has been in use: bulk SQL, the same numbers each time.

Accounts are numbered from one. The first ones have a part in the measures, which `Cast` names; the rest are a crowd
whose followers and posts have a long tail.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from troupe.storage.engine.connect import connect

STATUS_SECONDS = 20  # between two statuses
FOLLOWS_EACH = 30
TAGS = 50
NOTIFICATIONS = 200
FILTERS = 20

FILL = """
    SELECT setseed(0.5);
    INSERT INTO accounts (id, username, uri, url, display_name, note, note_source, discoverable, created_at, updated_at)
    SELECT {account}, 'person' || n, '{base}/users/person' || n, '{base}/@person' || n, 'Person ' || n,
        '<p>I am here to be measured, and to measure.</p>', 'I am here to be measured, and to measure.', true,
        '{began}', '{began}'
    FROM generate_series(1, {accounts}) n;
    INSERT INTO users (account_id, email, confirmed_at, approved_at, created_at)
    SELECT id, username || '@example.org', '{began}', '{began}', '{began}' FROM accounts;
    INSERT INTO applications (id, client_id, secret_hash, name, redirect_uris, scopes, created_at)
    VALUES (1, 'bench', sha256('bench'), 'Bench', '{{urn:ietf:wg:oauth:2.0:oob}}', '{{read,write,follow}}', '{began}');
    INSERT INTO access_tokens (id, token_hash, application_id, account_id, scopes, created_at)
    SELECT n, sha256(('token' || n)::bytea), 1, {account}, '{{read,write,follow}}', '{began}'
    FROM generate_series(1, {accounts}) n;

    CREATE TEMPORARY TABLE written AS
    SELECT n, ({status}) AS id, 1 + floor({accounts} * power(random(), 2))::bigint AS author,
        to_timestamp(({status} >> 16) / 1000.0) AS at
    FROM generate_series(1, {statuses}) n;
    INSERT INTO statuses (
        id, account_id, uri, url, local, visibility, conversation_id, text, content, language, application_id,
        created_at
    )
    SELECT id, {author}, '{base}/users/person' || author || '/statuses/' || id, '{base}/@person' || author || '/' || id,
        true, CASE n % 10 WHEN 0 THEN 'unlisted' ELSE 'public' END, id, body,
        '<p>' || body || CASE WHEN n % 10 = 3 THEN ' <a href="{base}/tags/t' || n % {tags}
            || '" class="mention hashtag" rel="tag">#<span>t' || n % {tags} || '</span></a>' ELSE '' END || '</p>',
        'en', 1, at
    FROM written, LATERAL (
        SELECT 'Number ' || n || ' of what people say in a day: ' || repeat('some words about it, ', 3 + (n % 8)::int)
    ) words (body);
    INSERT INTO status_counts (status_id, favourites, reblogs) SELECT id, n % 5, n % 3 FROM written;
    INSERT INTO tags (id, name, display_name, created_at)
    SELECT n + 1, 't' || n, 't' || n, '{began}' FROM generate_series(0, {tags} - 1) n;
    INSERT INTO status_tags (tag_id, status_id) SELECT n % {tags} + 1, id FROM written WHERE n % 10 = 3;

    CREATE TEMPORARY TABLE wanted AS
    SELECT n AS follower,
        {last_of_cast} + 1 + floor(({accounts} - {last_of_cast}) * power(random(), 3))::bigint AS followed
    FROM generate_series({last_of_cast} + 1, {accounts}) n, generate_series(1, {follows}) f
    UNION SELECT reader, n FROM generate_series(100, 199) n, unnest(ARRAY[{reader}, {filtering}]) reader
    UNION SELECT n, {quiet} FROM generate_series(10, 12) n
    UNION SELECT {accounts} - n, {loud} FROM generate_series(0, {crowd} - 1) n
    UNION SELECT {accounts} - n, {streamed} FROM generate_series(0, {sockets} - 1) n;
    INSERT INTO follows (id, account_id, target_account_id, created_at)
    SELECT row_number() OVER (), {follower}, {followed}, '{began}' FROM wanted WHERE follower <> followed;
    INSERT INTO notifications (id, account_id, from_account_id, type, status_id, created_at)
    SELECT id + 1, {reader_id}, {author}, 'favourite', id, at FROM (
        SELECT * FROM written WHERE author <> {reader} ORDER BY id DESC LIMIT {notifications}
    ) latest;
    INSERT INTO filters (id, account_id, title, contexts, action, created_at, updated_at)
    SELECT n, {filtering_id}, 't' || n, '{{home}}', 'warn', '{began}', '{began}' FROM generate_series(1, {filters}) n;
    INSERT INTO filter_keywords (id, filter_id, keyword, created_at)
    SELECT id, id, title, '{began}' FROM filters;
    INSERT INTO account_counts (account_id, statuses, followers, following, last_status_at)
    SELECT accounts.id, coalesce(posted.count, 0), coalesce(followers.count, 0), coalesce(following.count, 0), posted.at
    FROM accounts
    LEFT JOIN (SELECT account_id, count(*), max(created_at) AS at FROM statuses GROUP BY 1) posted
        ON posted.account_id = accounts.id
    LEFT JOIN (SELECT target_account_id, count(*) FROM follows GROUP BY 1) followers
        ON followers.target_account_id = accounts.id
    LEFT JOIN (SELECT account_id, count(*) FROM follows GROUP BY 1) following ON following.account_id = accounts.id;
"""


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is of everything, at a scale of one or less."""

    scale: float = 1.0

    @property
    def accounts(self) -> int:
        return max(250, int(2_000 * self.scale))

    @property
    def statuses(self) -> int:
        return int(200_000 * self.scale)

    @property
    def crowd(self) -> int:
        """The followers of the loudest."""
        return self.accounts // 2

    @property
    def sockets(self) -> int:
        return self.accounts // 4


class Cast:
    """Who does what, by number."""

    READER = 2  # follows a hundred, and reads
    QUIET = 3  # has three followers
    LOUD = 4  # has the crowd
    STREAMED = 5  # has a follower behind each socket
    FILTERING = 6  # follows those that the reader follows, and filters hashtags


def token(number: int) -> str:
    return f"token{number}"


def fill(dsn: str, base: str, size: Size) -> str:
    """Fill a database with the schema in place; the id of the newest status."""
    end = datetime.now(UTC) - timedelta(hours=1)
    began = end - timedelta(seconds=STATUS_SECONDS * size.statuses, days=1)

    async def run() -> str:
        db = await connect(dsn, application_name="bench", deadline=600)
        await db.execute(_statements(base, size, began, end))
        newest = await db.fetchval("SELECT max(id) FROM statuses WHERE visibility = 'public'")
        await db.execute("VACUUM ANALYZE")
        await db.close()
        return str(newest)

    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        return runner.run(run())


def _statements(base: str, size: Size, began: datetime, end: datetime) -> str:
    first_account, first_status = (
        int(at.timestamp() * 1000) for at in (began, end - timedelta(seconds=STATUS_SECONDS * size.statuses))
    )

    def account(number: str | int) -> str:
        return f"(({first_account} + {number}::bigint) << 16)"

    return FILL.format(
        base=base, began=began.isoformat(), accounts=size.accounts, statuses=size.statuses,
        crowd=size.crowd, sockets=size.sockets, follows=FOLLOWS_EACH, tags=TAGS, notifications=NOTIFICATIONS,
        account=account("n"), author=account("author"), follower=account("follower"), followed=account("followed"),
        reader_id=account(Cast.READER), filtering=Cast.FILTERING,
        filtering_id=account(Cast.FILTERING), filters=FILTERS,
        status=f"({first_status} + n::bigint * {STATUS_SECONDS * 1000}) << 16",
        last_of_cast=Cast.FILTERING, reader=Cast.READER, quiet=Cast.QUIET, loud=Cast.LOUD, streamed=Cast.STREAMED,
    )  # fmt: skip
