"""Preview cards: title, text and image of the pages that statuses link to, one row for each address."""

from dataclasses import dataclass, fields
from datetime import datetime

from .engine.database import Connection, Row
from .engine.sql import Statement, assigned, insert_into

FACTS = """
    type, title, description, language, author_name, author_url, provider_name, provider_url, html, embed_url, width,
    height, image_file, image_size, image_description, blurhash, published_at, creator, author_account_id
"""
COLUMNS = f"id, url, {FACTS}"

# For a query over statuses `s`.
OF_STATUS = f"""
    SELECT to_jsonb(c) FROM (
        SELECT {", ".join(f"card.{name.strip()}" for name in COLUMNS.split(","))}
        FROM status_cards sc JOIN preview_cards card ON card.id = sc.card_id WHERE sc.status_id = s.id
    ) AS c
"""

FIND = "SELECT id, found, fetched_at FROM preview_cards WHERE url = $1"

FIND_BY_ID = "SELECT to_jsonb(card) AS card FROM preview_cards card WHERE id = $1 AND found"

# Until the transaction ends the card can't be deleted.
HOLD = f"{FIND} FOR KEY SHARE"

# If a page is fetched twice at the same time, each fetch finds the image that it replaces, so that every replaced file
# is removed.
LOCK = "SELECT image_file FROM preview_cards WHERE url = $1 FOR UPDATE"

STORE = Statement(f"""
    {insert_into("preview_cards", f"id, url, found, fetched_at, {FACTS}", found="true", fetched_at=":now")}
    ON CONFLICT (url) DO UPDATE SET found = true, fetched_at = :now, {assigned(FACTS)}
    RETURNING id
""")

# A page that has nothing to show any more, or does not answer, keeps the card that it had.
STORE_NOTHING = """
    INSERT INTO preview_cards (id, url, found, fetched_at) VALUES ($1, $2, false, $3)
    ON CONFLICT (url) DO UPDATE SET fetched_at = excluded.fetched_at
"""

ATTACH = """
    INSERT INTO status_cards (status_id, card_id, id) VALUES ($1, $2, $3)
    ON CONFLICT (status_id) DO UPDATE SET card_id = excluded.card_id, id = excluded.id
    WHERE status_cards.card_id <> excluded.card_id
    RETURNING id
"""

DETACH = "DELETE FROM status_cards WHERE status_id = $1"

STATUSES = "SELECT status_id FROM status_cards WHERE card_id = $1"

# Two statements: a status that takes a card waits for the lock of the first statement, and is seen by the second.
LOCK_SOME = """
    WITH batch AS (SELECT id FROM preview_cards WHERE id > $1 ORDER BY id LIMIT $3)
    SELECT batch.id, locked.id IS NOT NULL AS unused FROM batch LEFT JOIN LATERAL (
        SELECT card.id FROM preview_cards card
        WHERE card.id = batch.id AND card.fetched_at < $2
        AND NOT EXISTS (SELECT FROM status_cards sc WHERE sc.card_id = card.id)
        FOR UPDATE SKIP LOCKED
    ) AS locked ON true ORDER BY batch.id
"""

DELETE_UNUSED = """
    DELETE FROM preview_cards card
    WHERE id = ANY($1::bigint[]) AND NOT EXISTS (SELECT FROM status_cards sc WHERE sc.card_id = card.id)
    RETURNING image_file
"""


@dataclass(frozen=True, slots=True)
class CardFacts:
    """The content of a card. Texts are plain; `html` is made by this server alone. Empty texts and zeros are unknown.

    `image_file` is a name in the media folder; `width` and `height` are of the image, or of the player in `html`.
    `creator` is the handle that the page names, `author_account_id` the account with it.
    """

    type: str = "link"
    title: str = ""
    description: str = ""
    language: str | None = None
    author_name: str = ""
    author_url: str = ""
    provider_name: str = ""
    provider_url: str = ""
    html: str = ""
    embed_url: str = ""
    width: int = 0
    height: int = 0
    image_file: str | None = None
    image_size: int = 0  # bytes
    image_description: str = ""
    blurhash: str | None = None
    published_at: datetime | None = None
    creator: str = ""
    author_account_id: int | None = None


@dataclass(frozen=True, slots=True)
class PreviewCard:
    """A stored card. All statuses with its link share it."""

    id: int
    url: str
    facts: CardFacts


@dataclass(frozen=True, slots=True)
class FetchedCard:
    """The time when an address was fetched, and if there was a page with something to show."""

    id: int
    found: bool
    fetched_at: datetime


@dataclass(frozen=True, slots=True)
class StoredCard:
    """A card that was stored. `old_image` is the file that no row names any more."""

    id: int
    old_image: str | None


async def find(db: Connection, url: str) -> FetchedCard | None:
    """Return what is known of an address."""
    row = await db.fetchrow(FIND, url)
    return None if row is None else FetchedCard(**row)


async def find_by_id(db: Connection, id: int) -> PreviewCard | None:
    """Return a card. None if its page has nothing to show."""
    row = await db.fetchval(FIND_BY_ID, id)
    return None if row is None else card_of(row)


async def hold(db: Connection, url: str) -> FetchedCard | None:
    """Return the same, locked against deletion until the transaction ends."""
    row = await db.fetchrow(HOLD, url)
    return None if row is None else FetchedCard(**row)


async def store(db: Connection, id: int, url: str, facts: CardFacts, now: datetime) -> StoredCard:
    """Store a card. The id is for a new row."""
    old_image = await db.fetchval(LOCK, url)
    return StoredCard(await db.fetchval(*STORE.bind(facts, id=id, url=url, now=now)), old_image)


async def store_nothing(db: Connection, id: int, url: str, now: datetime) -> None:
    """Note that an address has nothing to show. A card that it had before stays."""
    await db.execute(STORE_NOTHING, id, url, now)


async def attach(db: Connection, status_id: int, card_id: int, id: int) -> bool:
    """Give a status its card. False if it had it already. The status must be locked."""
    return await db.fetchval(ATTACH, status_id, card_id, id) is not None


async def detach(db: Connection, status_id: int) -> None:
    """Take a status's card away."""
    await db.execute(DETACH, status_id)


async def statuses_with(db: Connection, card_id: int) -> list[int]:
    """Return the ids of all statuses with a card."""
    return [row["status_id"] for row in await db.fetch(STATUSES, card_id)]


@dataclass(frozen=True, slots=True)
class Swept:
    """The part of the cards that was looked at: the last id, None at the end; how many were deleted, their images."""

    last_id: int | None
    count: int
    images: tuple[str, ...]


async def delete_unused(db: Connection, after: int, before: datetime, limit: int) -> Swept:
    """Delete cards that no status has and that were fetched before a time, among the next `limit` after an id."""
    rows = await db.fetch(LOCK_SOME, after, before, limit)
    unused = [row["id"] for row in rows if row["unused"]]
    gone = await db.fetch(DELETE_UNUSED, unused) if unused else []
    images = tuple(row["image_file"] for row in gone if row["image_file"] is not None)
    return Swept(rows[-1]["id"] if len(rows) == limit else None, len(gone), images)


NAMES = [field.name for field in fields(CardFacts)]


def card_of(row: Row) -> PreviewCard:
    """Return the card of a JSON object with COLUMNS."""
    facts = {name: row[name] for name in NAMES}
    if facts["published_at"] is not None:
        facts["published_at"] = datetime.fromisoformat(facts["published_at"])
    return PreviewCard(row["id"], row["url"], CardFacts(**facts))
