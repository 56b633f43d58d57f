"""A database like that of a server which has been in use: bulk SQL, the same numbers each time.

Accounts are numbered from one. The first ones have a part in the measures, which `Cast` names; the others' followers
and posts have a long tail. The last ones follow the authors whose posts are measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from troupe.storage.engine.database import EngineConnection

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
        '<p>' || body || CASE WHEN n % 10 = 3 THEN ' <a href="{base}/tags/t' || n / 10 % {tags}
            || '" class="mention hashtag" rel="tag">#<span>t' || n / 10 % {tags} || '</span></a>' ELSE '' END || '</p>',
        'en', 1, at
    FROM written, LATERAL (
        SELECT 'Number ' || n || ' of what people say in a day: ' || repeat('some words about it, ', 3 + (n % 8)::int)
    ) words (body);
    INSERT INTO status_counts (status_id, favourites, reblogs) SELECT id, n % 5, n % 3 FROM written;
    INSERT INTO tags (id, name, display_name, created_at)
    SELECT n + 1, 't' || n, 't' || n, '{began}' FROM generate_series(0, {tags} - 1) n;
    INSERT INTO status_tags (tag_id, status_id) SELECT n / 10 % {tags} + 1, id FROM written WHERE n % 10 = 3;

    CREATE TEMPORARY TABLE wanted AS
    SELECT n AS follower,
        {last_of_cast} + 1 + floor(({accounts} - {last_of_cast}) * power(random(), 3))::bigint AS followed
    FROM generate_series({first_reader}, {accounts}) n, generate_series(1, {follows}) f
    UNION SELECT reader, n
    FROM generate_series({first_read}, {last_read}) n, unnest(ARRAY[{reader}, {filtering}]) reader
    UNION SELECT n, author FROM unnest(ARRAY[{awake}]) n, unnest(ARRAY[{posting}]) author
    UNION SELECT {accounts} - n, author
    FROM (VALUES {audiences}) audience (author, followers), generate_series(0, followers - 1) n;
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


class Cast:
    """Who does what, by number."""

    ABROAD = 1  # is followed from other servers
    READER = 2  # follows a hundred, and reads
    QUIET = 3  # has three followers
    FILTERING = 4  # follows those that the reader follows, and filters hashtags
    STREAMED = 5  # has a follower behind each of 500 sockets
    MANY_STREAMED = 6  # and of 3,000
    LOUD = (7, 8, 9)  # with 100, 1,000 and 5,000 followers
    FOLLOWERS = (10, 11, 12)  # of those who have three
    AT_ONCE = tuple(range(13, 29))  # have three followers, and post at the same time
    LAST = 28


READ_BY_READER = range(100, 200)


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is of everything, at a scale of one or less; and a share of the statuses alone."""

    scale: float = 1.0
    share: float = 1.0

    @property
    def accounts(self) -> int:
        return max(300, int(6_000 * self.scale))

    @property
    def statuses(self) -> int:
        return int(200_000 * self.scale * self.share)

    @property
    def crowds(self) -> tuple[int, int, int]:
        """The numbers of followers of the loud ones."""
        return max(2, int(100 * self.scale)), int(1_000 * self.scale), int(5_000 * self.scale)

    @property
    def sockets(self) -> int:
        return int(500 * self.scale)

    @property
    def many_sockets(self) -> int:
        return int(3_000 * self.scale)

    @property
    def weighed(self) -> int:
        """The number of homes that are weighed: of the last accounts."""
        return self.crowds[1]

    @property
    def sleepers(self) -> range:
        """The accounts whose homes are woken, by number: followers of the loudest that are not weighed."""
        return range(self.accounts - self.crowds[2] + 1, self.accounts - self.weighed + 1)

    @property
    def strangers(self) -> range:
        """The accounts that are not awake for any row, by number."""
        return range(Cast.LAST + 1, self.accounts - self.crowds[2] + 1)

    @property
    def cold_pool(self) -> int:
        """The number of pages that are asked for once, in all runs."""
        return max(30, int(900 * self.scale))

    @property
    def posts(self) -> int:
        """The number of posts to many, a run."""
        return max(8, int(50 * self.scale))

    @property
    def received(self) -> int:
        """The number of activities of other servers, a run."""
        return max(75, int(1_000 * self.scale))


def token(number: int) -> str:
    return f"token{number}"


async def fill(db: EngineConnection, base: str, size: Size) -> None:
    """Fill a database with the schema in place."""
    end = datetime.now(UTC) - timedelta(hours=1)
    began = end - timedelta(seconds=STATUS_SECONDS * size.statuses, days=1)
    await db.execute(_statements(base, size, began, end))
    await db.execute("VACUUM ANALYZE")
    await db.execute("CHECKPOINT")


def _statements(base: str, size: Size, began: datetime, end: datetime) -> str:
    first_account, first_status = (
        int(at.timestamp() * 1000) for at in (began, end - timedelta(seconds=STATUS_SECONDS * size.statuses))
    )

    def account(number: str | int) -> str:
        return f"(({first_account} + {number}::bigint) << 16)"

    audiences = {
        Cast.STREAMED: size.sockets, Cast.MANY_STREAMED: size.many_sockets,
        **dict(zip(Cast.LOUD, size.crowds, strict=True)),
    }  # fmt: skip
    return FILL.format(
        base=base, began=began.isoformat(), accounts=size.accounts, statuses=size.statuses,
        follows=FOLLOWS_EACH, tags=TAGS, notifications=NOTIFICATIONS,
        account=account("n"), author=account("author"), follower=account("follower"), followed=account("followed"),
        reader_id=account(Cast.READER), reader=Cast.READER, filtering=Cast.FILTERING,
        filtering_id=account(Cast.FILTERING), filters=FILTERS,
        status=f"({first_status} + n::bigint * {STATUS_SECONDS * 1000}) << 16",
        first_reader=min(Cast.FOLLOWERS), last_of_cast=Cast.LAST,
        first_read=READ_BY_READER.start, last_read=READ_BY_READER.stop - 1,
        awake=", ".join(map(str, Cast.FOLLOWERS)), posting=", ".join(map(str, (Cast.QUIET, *Cast.AT_ONCE))),
        audiences=", ".join(map(str, audiences.items())),
    )  # fmt: skip
