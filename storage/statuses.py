"""Statuses: storing and finding them. Deletions are in `deletions.py`, threads in `timeline_entries.py`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from . import accounts, custom_emojis, idempotency, media, notifications, outbox, polls, preview_cards, status_words
from .engine.database import Connection, Entering, Row
from .engine.shards import ENTER
from .engine.sql import Statement, insert_from
from .federation import activities

EMOJIS = custom_emojis.OF_ROW.format(row="s")


def columns(counts: str, mentions: str, tags: str, card: str, attached: str = media.OF_STATUS) -> str:
    """Return the columns in the order of Status's fields. The status is `s`, its original `r`, and its app `app`."""
    return f"""
        s.id, s.account_id, s.uri, s.url, s.local, s.text, s.content, s.content_type, s.spoiler_text, s.visibility,
        s.sensitive, s.language, s.in_reply_to_id, s.in_reply_to_account_id, s.conversation_id,
        s.reblog_of_id, r.account_id AS reblog_account_id, s.quote_of_id, s.quote_state, s.quote_policy,
        s.quote_manual_policy, s.quote_approval_uri, s.poll_id,
        s.application_id, app.name AS application_name, app.website AS application_website,
        s.created_at, s.edited_at,
        {counts},
        s.mentioned_ids, s.media_ids,
        CASE WHEN s.mentioned_ids <> '{{}}' THEN (
            SELECT jsonb_agg(jsonb_build_array(a.id, a.username, a.domain, coalesce(a.url, a.uri)) ORDER BY a.id)
            FROM {mentions} m JOIN accounts a ON a.id = m.account_id WHERE m.status_id = s.id AND NOT m.silent
        ) END AS mentions,
        (
            SELECT jsonb_agg(jsonb_build_array(t.id, t.name, t.display_name) ORDER BY t.name)
            FROM {tags} t WHERE t.status_id = s.id
        ) AS tags,
        CASE WHEN s.media_ids <> '{{}}' THEN ({attached}) END AS media,
        CASE WHEN s.poll_id IS NOT NULL THEN ({polls.OF_STATUS}) END AS poll,
        {card} AS card,
        CASE WHEN s.emoji_ids <> '{{}}' THEN ({EMOJIS}) END AS emojis
    """


NO_COUNTS = "0 AS replies_count, 0 AS reblogs_count, 0 AS favourites_count, 0 AS quotes_count"

NEW_COLUMNS = """
    id, account_id, uri, url, local, text, content, content_type, spoiler_text, visibility, sensitive,
    in_reply_to_id, in_reply_to_account_id, language, reblog_of_id, quote_of_id, quote_state, application_id, media_ids,
    quote_policy, created_at, poll_id, emoji_ids, mentioned_ids, conversation_id
"""
CONVERSATION = "coalesce((SELECT conversation_id FROM parent), :id)"


# One statement: the status, its counts, its author's counts, those of the statuses that it replies to, boosts or quotes
# (it may reply to the status that it quotes), mentions, tags, and the counts of the author's featured hashtags. The
# result is read from the statement's own parts: the tables do not show it yet. A tag that was inserted since this
# statement's snapshot is found by DO UPDATE, which returns its id. Existing tags are only read.
def _inserting(before: str, condition: str, after: str, waiting: str, leaves: str) -> Statement:
    """Return the statement with parts of its own `before` and `after` the status, which is stored on a condition."""
    return Statement(f"""
    WITH parent AS (
        SELECT conversation_id FROM statuses WHERE id = :in_reply_to_id
    ){before}, made AS (
        {insert_from("statuses", NEW_COLUMNS, mentioned_ids=":mentioned_ids::bigint[]", conversation_id=CONVERSATION)}
        {condition}
        RETURNING *
    ){after}, counted AS (
        INSERT INTO status_counts (status_id) SELECT id FROM made
    ), worded AS (
        INSERT INTO status_words (status_id, words)
        SELECT id, :words::text::tsvector FROM made WHERE :words::text IS NOT NULL
    ), author AS (
        UPDATE account_counts SET
            statuses = statuses + (made.visibility <> 'direct')::int,
            last_status_at = CASE
                WHEN made.visibility = 'direct' THEN last_status_at ELSE greatest(last_status_at, made.created_at)
            END
        FROM made WHERE account_counts.account_id = made.account_id
        RETURNING account_counts.*
    ), above AS (
        UPDATE status_counts c SET
            replies = c.replies + (
                c.status_id IS NOT DISTINCT FROM made.in_reply_to_id AND made.visibility IN ('public', 'unlisted')
            )::int,
            reblogs = c.reblogs + (c.status_id IS NOT DISTINCT FROM made.reblog_of_id)::int,
            quotes = c.quotes + (
                c.status_id IS NOT DISTINCT FROM made.quote_of_id AND made.quote_state = 'accepted'
            )::int
        FROM made WHERE c.status_id = ANY(ARRAY[made.in_reply_to_id, made.reblog_of_id, made.quote_of_id])
    ), mentioned AS (
        INSERT INTO mentions (status_id, account_id, silent)
        SELECT made.id, named.id, named.id = ANY(:silent_mention_ids::bigint[])
        FROM made, unnest(made.mentioned_ids) AS named (id)
        RETURNING *
    ), wanted AS (
        SELECT * FROM unnest(:tag_ids::bigint[], :tag_names::text[], :tag_display_names::text[])
            AS wanted (id, name, display_name)
    ), known AS (
        SELECT tags.id, tags.name, tags.display_name FROM tags JOIN wanted USING (name)
    ), fresh AS (
        INSERT INTO tags (id, name, display_name, created_at)
        SELECT id, name, display_name, :created_at FROM wanted WHERE name NOT IN (SELECT name FROM known) ORDER BY name
        ON CONFLICT (name) DO UPDATE SET name = excluded.name
        RETURNING id, name, display_name
    ), tag AS (
        SELECT made.id AS status_id, known.* FROM made, known UNION ALL SELECT made.id, fresh.* FROM made, fresh
    ), tagged AS (
        INSERT INTO status_tags (tag_id, status_id) SELECT id, status_id FROM tag
        RETURNING tag_id
    ), featured AS (
        UPDATE featured_tags f SET
            statuses = f.statuses + 1, last_status_at = greatest(f.last_status_at, made.created_at)
        FROM made, tagged
        WHERE f.account_id = made.account_id AND f.tag_id = tagged.tag_id AND made.visibility IN ('public', 'unlisted')
    )
    SELECT
        {columns(NO_COUNTS, mentions="mentioned", tags="tag", card="NULL::jsonb")},
        {accounts.COLUMNS},
        {waiting} AS waiting,
        {leaves} AS leaves
    FROM made s
    JOIN accounts a ON a.id = s.account_id
    JOIN author c ON c.account_id = s.account_id
    LEFT JOIN applications app ON app.id = s.application_id
    LEFT JOIN statuses r ON r.id = s.reblog_of_id
    """)


IS_ABROAD_FOLLOWED = """
    EXISTS (SELECT FROM follows f WHERE f.target_account_id = {account} AND f.from_domain IS NOT NULL)
"""

INSERT = _inserting(
    "", "", "",
    waiting=f"ARRAY({notifications.WAITING.format(account='s.account_id', language='s.language')})",
    leaves=f"""s.local AND (
        (s.visibility <> 'direct' AND {IS_ABROAD_FOLLOWED.format(account="s.account_id")})
        OR EXISTS (
            SELECT FROM accounts concerned WHERE concerned.domain IS NOT NULL AND concerned.id = ANY(
                s.mentioned_ids || s.in_reply_to_account_id || r.account_id
                || (SELECT q.account_id FROM statuses q WHERE q.id = s.quote_of_id)
            )
        )
    )""",
)  # fmt: skip

# INSERT with the idempotency key, the activity for other servers, and all effects: a transaction of one statement,
# which takes one round trip instead of up to eight. It stores nothing if followers asked for every post, if the
# activity is not for exactly the current followers on other servers, or if the key is known.
INSERT_ALONE = _inserting(
    f""", entered AS MATERIALIZED ({ENTER}), ready AS MATERIALIZED (
        SELECT true AS is_ready FROM entered WHERE NOT EXISTS (
            SELECT FROM follows f WHERE f.target_account_id = :account_id AND f.notify
        ) AND {activities.FOLLOWERS_VERSION.format(account=":account_id")} = :followers_version
    ), expired AS ({idempotency.EXPIRED}), gone AS ({idempotency.DELETE_EXPIRED}), keyed AS (
        INSERT INTO idempotency (account_id, key, status_id, created_at)
        SELECT :account_id, :key::text, :id, :now FROM ready WHERE :key IS NOT NULL
        {idempotency.REPLACE}
    )""",
    "FROM ready WHERE :key IS NULL OR EXISTS (SELECT FROM keyed)",
    f""", queued AS ({outbox.INSERT_EFFECTS} WHERE EXISTS (SELECT FROM made)),
    sent AS ({activities.INSERT_WITH_STATUS})""",
    waiting="'{}'::bigint[]", leaves="false",
)  # fmt: skip

COUNTS = """
    c.replies AS replies_count, c.reblogs AS reblogs_count, c.favourites AS favourites_count, c.quotes AS quotes_count
"""

TAGS = "(SELECT st.status_id, t.* FROM status_tags st JOIN tags t ON t.id = st.tag_id)"

FROM = """
    FROM statuses s
    JOIN status_counts c ON c.status_id = s.id
    LEFT JOIN applications app ON app.id = s.application_id
    LEFT JOIN statuses r ON r.id = s.reblog_of_id
"""

CARD = f"({preview_cards.OF_STATUS})"

FIND_MANY = f"""
    SELECT {columns(COUNTS, mentions="mentions", tags=TAGS, card=CARD)} {FROM}
    WHERE s.id = ANY($1::bigint[]) AND s.deleted_at IS NULL
"""

FIND_STORED = f"""
    SELECT {columns(COUNTS, mentions="mentions", tags=TAGS, card=CARD, attached=media.THAT_STATUS_HAD)} {FROM}
    WHERE s.id = ANY($1::bigint[])
"""

FIND_REBLOG = "SELECT id FROM statuses WHERE account_id = $1 AND reblog_of_id = $2 AND deleted_at IS NULL"

# FOR UPDATE, because FOR NO KEY UPDATE would not wait for the transactions that hold the status by `HOLD`.
LOCK = "SELECT id FROM statuses WHERE id = $1 AND account_id = $2 AND deleted_at IS NULL FOR UPDATE"

# Until the transaction ends the status can't be deleted: a deletion locks the row FOR UPDATE.
HOLD = "SELECT id FROM statuses WHERE id = $1 AND deleted_at IS NULL FOR KEY SHARE"


# In the order of ids, so that two transactions never wait for each other.
HOLD_MANY = """
    SELECT id FROM statuses WHERE id = ANY($1::bigint[]) AND deleted_at IS NULL ORDER BY id FOR KEY SHARE
"""


@dataclass(frozen=True, slots=True)
class Mention:
    """An account that a status mentions, with what its JSON needs."""

    id: int
    username: str
    domain: str | None
    url: str

    @property
    def acct(self) -> str:
        return self.username if self.domain is None else f"{self.username}@{self.domain}"


@dataclass(frozen=True, slots=True)
class StatusTag:
    """A hashtag of a status: `name` in lower case, `display_name` as it was first written."""

    id: int
    name: str
    display_name: str


@dataclass(frozen=True, slots=True)
class Status:
    """A status with everything that rendering needs, except its author's account and its original."""

    id: int
    account_id: int
    uri: str
    url: str | None
    local: bool
    text: str
    content: str
    content_type: str
    spoiler_text: str
    visibility: str
    sensitive: bool
    language: str | None
    in_reply_to_id: int | None
    in_reply_to_account_id: int | None
    conversation_id: int
    reblog_of_id: int | None
    reblog_account_id: int | None
    quote_of_id: int | None
    quote_state: str | None
    quote_policy: str
    quote_manual_policy: str
    quote_approval_uri: str | None  # the document by which the author on another server allows the quote
    poll_id: int | None
    application_id: int | None
    application_name: str | None
    application_website: str | None
    created_at: datetime
    edited_at: datetime | None
    replies_count: int
    reblogs_count: int
    favourites_count: int
    quotes_count: int
    mentioned_ids: tuple[int, ...]
    media_ids: tuple[int, ...]
    mentions: tuple[Mention, ...]
    tags: tuple[StatusTag, ...]
    media: tuple[media.Media, ...]
    poll: polls.Poll | None
    card: preview_cards.PreviewCard | None
    emojis: tuple[custom_emojis.RemoteEmoji, ...] = ()  # of another server's status


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusBody:
    """The parts of a status that its author may edit. `tags` come with an id each, which is used if the tag is new."""

    text: str = ""
    content: str = ""
    content_type: str = "text/plain"
    spoiler_text: str = ""
    sensitive: bool = False
    language: str | None = None
    mentioned_ids: tuple[int, ...] = ()
    silent_mention_ids: tuple[int, ...] = ()
    tags: tuple[StatusTag, ...] = ()
    media_ids: tuple[int, ...] = ()
    poll_id: int | None = None
    emoji_ids: tuple[int, ...] = ()  # of another server


@dataclass(frozen=True, slots=True)
class NewStatus(StatusBody):
    """A status when it is first stored. The silently mentioned accounts are among those mentioned."""

    id: int
    account_id: int
    uri: str
    url: str | None
    visibility: str
    in_reply_to_id: int | None = None
    in_reply_to_account_id: int | None = None
    reblog_of_id: int | None = None
    quote_of_id: int | None = None
    quote_state: str | None = None
    quote_policy: str = "nobody"
    application_id: int | None = None
    local: bool = True
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class InsertedStatus:
    """A stored status, its author with the new counts, and the followers who asked for every post.

    `leaves` is True for a local status that concerns accounts on other servers: followers, or the accounts that it
    mentions, answers, boosts or quotes.
    """

    status: Status
    author: accounts.Account
    waiting: tuple[int, ...]
    leaves: bool


WIDTH = len(fields(Status))
PLAIN_FIELDS = {field.name for field in fields(Status)} & {field.name for field in fields(NewStatus)} - {"created_at"}


async def insert(db: Connection, new: NewStatus, now: datetime) -> InsertedStatus:
    """Store a status with its mentions, tags, media and every count it changes."""
    row = await db.fetchrow(*INSERT.bind(new, **_values_of(new, now)))
    if row is None:
        raise LookupError(f"status {new.id} was stored and is not there")
    made = _inserted(row)
    if new.media_ids:
        attached = await media.attach(db, new.media_ids, new.id, now)
        status = replace(made.status, media=tuple(attached[id] for id in new.media_ids if id in attached))
        made = replace(made, status=status)
    if _has_more_words(new):
        await _store_words(db, [made.status])
    return made


async def insert_alone(
    db: Connection, entering: Entering, new: NewStatus, now: datetime, key: str | None, expired_before: datetime,
    effects: Sequence[outbox.NewEffect], followers: activities.RemoteFollowers,
    activity: activities.NewActivity | None,
) -> InsertedStatus | None:  # fmt: skip
    """Store a status without mentions and media, with its idempotency key and its effects, in one statement.

    The effects include the deliveries of the `activity` to the `followers` on other servers. None, and nothing is
    stored, if the key is known, if followers asked for every post, or if the followers on other servers have changed.
    """
    shard, epoch = entering
    bound = INSERT_ALONE.bind(
        new, **_values_of(new, now), **outbox.values_of(effects), shard=shard, epoch=epoch, now=now, key=key,
        expired_before=expired_before, followers_version=followers.version, activity_id=activity and activity.id,
        activity=activity and activity.body, deliveries=activity and activity.deliveries,
    )  # fmt: skip
    row = await db.fetchrow(*bound)
    return None if row is None else _inserted(row)


def plain_status(new: NewStatus, created_at: datetime, parent: Status | None) -> Status:
    """Return a status of this server without mentions, media, poll and quote as it will be stored.

    Its app and the spelling of its hashtags are known when it is stored.
    """
    return Status(
        **{name: getattr(new, name) for name in PLAIN_FIELDS},
        created_at=created_at, conversation_id=new.id if parent is None else parent.conversation_id,
        reblog_account_id=None, quote_manual_policy="nobody", quote_approval_uri=None,
        application_name=None, application_website=None, edited_at=None, replies_count=0, reblogs_count=0,
        favourites_count=0, quotes_count=0, mentions=(), media=(), poll=None, card=None,
    )  # fmt: skip


def _values_of(new: NewStatus, now: datetime) -> dict[str, object]:
    """Return the parameters that are not attributes of the status."""
    return {
        "created_at": new.created_at or now,
        "tag_ids": [tag.id for tag in new.tags],
        "tag_names": [tag.name for tag in new.tags],
        "tag_display_names": [tag.display_name for tag in new.tags],
        "words": None if new.reblog_of_id or _has_more_words(new) else status_words.vector_of(new),
    }


def _has_more_words(new: NewStatus) -> bool:
    """True if a status has texts that its row does not have: descriptions of media, or options of a poll."""
    return bool(new.media_ids) or new.poll_id is not None


async def store_words(db: Connection, ids: Sequence[int]) -> None:
    """Store the words of statuses for searches anew. The statuses must be locked."""
    found = await find_many(db, ids)
    await _store_words(db, [status for status in found.values() if status.reblog_of_id is None])


async def _store_words(db: Connection, found: Iterable[Status]) -> None:
    await status_words.store(db, {status.id: vector_of(status) for status in found})


def vector_of(status: Status) -> str:
    """Return the vector by which a status is found, as a literal."""
    return status_words.vector_of(status, status.media, status.poll, status.card)


def _inserted(row: Row) -> InsertedStatus:
    *values, waiting, leaves = row.values()
    return InsertedStatus(_status(values[:WIDTH]), accounts.Account(*values[WIDTH:]), tuple(waiting), leaves)


async def find(db: Connection, id: int) -> Status | None:
    found = await find_many(db, [id])
    return found.get(id)


async def find_many(db: Connection, ids: Sequence[int]) -> dict[int, Status]:
    """Return statuses by id, without deleted statuses."""
    return {row["id"]: _status(row.values()) for row in await db.fetch(FIND_MANY, ids)}


async def find_stored(db: Connection, ids: Sequence[int]) -> dict[int, Status]:
    """Return statuses by id, also deleted statuses whose rows are still there. Only staff may see deleted statuses."""
    return {row["id"]: _status(row.values()) for row in await db.fetch(FIND_STORED, ids)}


async def find_reblog(db: Connection, account_id: int, status_id: int) -> int | None:
    """Return the id of this account's boost of a status."""
    return await db.fetchval(FIND_REBLOG, account_id, status_id)


async def hold(db: Connection, id: int) -> bool:
    """Lock a status against deletion until the transaction ends. False if it is deleted."""
    return await db.fetchval(HOLD, id) is not None


async def hold_many(db: Connection, ids: Sequence[int]) -> bool:
    """Lock statuses against deletion until the transaction ends. False if any is deleted."""
    return len(await db.fetch(HOLD_MANY, ids)) == len(set(ids))


async def lock_own(db: Connection, id: int, account_id: int) -> Status | None:
    """Return an account's own status, locked until the transaction ends."""
    return await find(db, id) if await db.fetchval(LOCK, id, account_id) is not None else None


# `Any`: rows have no types, and the columns are in the order of the fields.
def _status(values: Iterable[Any]) -> Status:
    *plain, mentioned_ids, media_ids, mentions, tags, attached, poll, card, emojis = values
    return Status(
        *plain,
        mentioned_ids=tuple(mentioned_ids),
        media_ids=tuple(media_ids),
        mentions=tuple(Mention(*mention) for mention in mentions or ()),
        tags=tuple(StatusTag(*tag) for tag in tags or ()),
        media=tuple(media.media_of(attachment) for attachment in attached or ()),
        poll=polls.poll_of(poll) if poll is not None else None,
        card=preview_cards.card_of(card) if card is not None else None,
        emojis=tuple(custom_emojis.RemoteEmoji(*emoji) for emoji in emojis or ()),
    )
