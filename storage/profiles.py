"""Profiles: what the owner of an account changes about it, and the defaults that they post with."""

from dataclasses import astuple, dataclass
from datetime import datetime
from typing import Any

from .engine.database import Connection

# Read before the change, with the row held: who unlocks an account must know that it was locked.
LOCK = "SELECT locked FROM accounts WHERE id = $1 FOR NO KEY UPDATE"

# $3 and on are Profile's fields; NULL leaves a column as it is, an empty name takes a picture away.
UPDATE = """
    UPDATE accounts SET
        display_name = coalesce($3, display_name), note_source = coalesce($4, note_source), note = coalesce($5, note),
        fields = coalesce($6::jsonb, fields),
        avatar_file = CASE WHEN $7::text IS NULL THEN avatar_file ELSE nullif($7, '') END,
        avatar_description = coalesce($8, avatar_description),
        header_file = CASE WHEN $9::text IS NULL THEN header_file ELSE nullif($9, '') END,
        header_description = coalesce($10, header_description),
        locked = coalesce($11, locked), bot = coalesce($12, bot), discoverable = coalesce($13, discoverable),
        indexable = coalesce($14, indexable), hide_collections = coalesce($15, hide_collections),
        show_media = coalesce($16, show_media), show_media_replies = coalesce($17, show_media_replies),
        show_featured = coalesce($18, show_featured), attribution_domains = coalesce($19, attribution_domains),
        updated_at = $2
    WHERE id = $1
"""

# For the language NULL is a choice, hence its flag.
UPDATE_DEFAULTS = """
    UPDATE users SET
        default_privacy = coalesce($2, default_privacy), default_sensitive = coalesce($3, default_sensitive),
        default_quote_policy = coalesce($4, default_quote_policy),
        default_language = CASE WHEN $5 THEN $6 ELSE default_language END
    WHERE account_id = $1
"""


@dataclass(frozen=True, slots=True)
class Profile:
    """A change; None leaves things as they are. The order of the fields is that of UPDATE's arguments."""

    display_name: str | None = None
    note_source: str | None = None
    note: str | None = None
    fields: list[dict[str, Any]] | None = None
    avatar_file: str | None = None
    avatar_description: str | None = None
    header_file: str | None = None
    header_description: str | None = None
    locked: bool | None = None
    bot: bool | None = None
    discoverable: bool | None = None
    indexable: bool | None = None
    hide_collections: bool | None = None
    show_media: bool | None = None
    show_media_replies: bool | None = None
    show_featured: bool | None = None
    attribution_domains: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Defaults:
    """What an owner's posts are unless they say otherwise. The order of the fields is that of UPDATE_DEFAULTS."""

    privacy: str | None = None
    sensitive: bool | None = None
    quote_policy: str | None = None
    set_language: bool = False
    language: str | None = None


async def update(db: Connection, account_id: int, profile: Profile, now: datetime) -> bool:
    """Change a profile; whether the account was locked before and is not any more."""
    was_locked = await db.fetchval(LOCK, account_id)
    await db.execute(UPDATE, account_id, now, *astuple(profile))
    return bool(was_locked) and profile.locked is False


async def update_defaults(db: Connection, account_id: int, defaults: Defaults) -> None:
    """Change what an owner's posts are by default."""
    await db.execute(UPDATE_DEFAULTS, account_id, *astuple(defaults))
