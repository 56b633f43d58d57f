"""Changes of an account's profile, and of its defaults for new posts."""

from dataclasses import dataclass
from datetime import datetime

from . import account_names
from .engine.database import Connection
from .engine.json_values import JsonObject
from .engine.sql import Statement, names_in

# Read before the change, with the row locked: unlocking has effects only if the account was locked.
LOCK = "SELECT locked FROM accounts WHERE id = $1 FOR NO KEY UPDATE"

KEPT = """
    display_name, note_source, note, avatar_description, header_description, locked, bot, discoverable, indexable,
    hide_collections, show_media, show_media_replies, show_featured, attribution_domains
"""

# NULL leaves a column as it is, an empty name removes a picture.
UPDATE = Statement(f"""
    UPDATE accounts SET
        {", ".join(f"{name} = coalesce(:{name}, {name})" for name in names_in(KEPT))},
        fields = coalesce(:fields::jsonb, fields),
        avatar_file = CASE WHEN :avatar_file::text IS NULL THEN avatar_file ELSE nullif(:avatar_file, '') END,
        header_file = CASE WHEN :header_file::text IS NULL THEN header_file ELSE nullif(:header_file, '') END,
        updated_at = :now
    WHERE id = :account_id
""")

# The language has a flag, because NULL is a value for it.
UPDATE_DEFAULTS = Statement("""
    UPDATE users SET
        default_privacy = coalesce(:privacy, default_privacy),
        default_sensitive = coalesce(:sensitive, default_sensitive),
        default_quote_policy = coalesce(:quote_policy, default_quote_policy),
        default_language = CASE WHEN :set_language THEN :language ELSE default_language END
    WHERE account_id = :account_id
""")


@dataclass(frozen=True, slots=True)
class Profile:
    """A change of a profile. None leaves a value as it is."""

    display_name: str | None = None
    note_source: str | None = None
    note: str | None = None
    fields: list[JsonObject] | None = None
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
    """The defaults for an account's new posts."""

    privacy: str | None = None
    sensitive: bool | None = None
    quote_policy: str | None = None
    set_language: bool = False
    language: str | None = None


async def update(db: Connection, account_id: int, profile: Profile, now: datetime) -> bool:
    """Change a profile. True if the account was locked before and is not any more."""
    was_locked = await db.fetchval(LOCK, account_id)
    await db.execute(*UPDATE.bind(profile, account_id=account_id, now=now))
    if profile.display_name is not None:
        await account_names.store(db, [account_id])
    return bool(was_locked) and profile.locked is False


async def update_defaults(db: Connection, account_id: int, defaults: Defaults) -> None:
    """Change the defaults for new posts."""
    await db.execute(*UPDATE_DEFAULTS.bind(defaults, account_id=account_id))
