"""Announcement and Reaction."""

from __future__ import annotations

from ...actors.custom_emojis import CustomEmojis
from ...actors.rules.text import tag_url
from ...storage.announcements import Reaction, ShownAnnouncement
from .custom_emoji import emoji_fields
from .times import instant, maybe_instant


def announcement_fields(shown: ShownAnnouncement, emojis: CustomEmojis, base_url: str) -> dict[str, object]:
    """Return an announcement. Without a viewer, as in streams, it does not say what the viewer did with it."""
    row = shown.announcement
    fields: dict[str, object] = {
        "id": str(row.id),
        "content": row.content,
        "starts_at": maybe_instant(row.starts_at),
        "ends_at": maybe_instant(row.ends_at),
        "all_day": row.all_day,
        "published_at": instant(row.published_at or row.updated_at),
        "updated_at": instant(row.updated_at),
        "mentions": list(row.mentions),
        "statuses": list(row.statuses),
        "tags": [{"name": name, "url": tag_url(base_url, name)} for name in row.tags],
        "emojis": [emoji_fields(one, base_url) for one in emojis.used_in([row.text])],
        "reactions": [_reaction(one, emojis, base_url, viewed=shown.read is not None) for one in shown.reactions],
    }
    return fields if shown.read is None else fields | {"read": shown.read}


def reaction_fields(name: str, count: int, emojis: CustomEmojis, base_url: str) -> dict[str, object]:
    """Return a reaction as all viewers see it. One with a custom emoji has its pictures."""
    fields: dict[str, object] = {"name": name, "count": count}
    if (emoji := emojis.find(name)) is not None:
        shown = emoji_fields(emoji, base_url)
        fields |= {"url": shown["url"], "static_url": shown["static_url"]}
    return fields


def _reaction(reaction: Reaction, emojis: CustomEmojis, base_url: str, *, viewed: bool) -> dict[str, object]:
    fields = reaction_fields(reaction.name, reaction.count, emojis, base_url)
    return fields | {"me": reaction.me} if viewed else fields
