"""The entries of the property `tag` of actors and notes, and the texts of times."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from ....storage.custom_emojis import CustomEmoji
from ....storage.engine.json_values import JsonObject
from ...kept.custom_emojis import CustomEmojis
from ...rules.file_types import TYPES
from ...rules.text import tag_url
from ..names import LocalNames


def emojis_in(texts: Iterable[str], emojis: CustomEmojis, names: LocalNames) -> list[JsonObject]:
    """Return the custom emoji that texts of this server use."""
    return [emoji_of(emoji, names) for emoji in emojis.used_in(texts)]


def emoji_of(emoji: CustomEmoji, names: LocalNames) -> JsonObject:
    document: JsonObject = {
        "id": names.emoji(emoji.id),
        "type": "Emoji",
        "name": f":{emoji.shortcode}:",
        "icon": image_of(emoji.file, names),
    }
    return document if emoji.updated_at is None else document | {"updated": instant(emoji.updated_at)}


def hashtag_of(name: str, display_name: str, names: LocalNames) -> JsonObject:
    return {"type": "Hashtag", "href": tag_url(names.base_url, name), "name": f"#{display_name}"}


def image_of(file: str, names: LocalNames, description: str = "") -> JsonObject:
    """Return a picture of the media folder. Some servers read its description in `name`, others in `summary`."""
    image: JsonObject = {"type": "Image", "mediaType": media_type_of(file), "url": names.file(file)}
    return image | {"name": description, "summary": description} if description else image


def media_type_of(file: str) -> str | None:
    """Return the type of a file of the media folder, by the name that it was stored under."""
    known = TYPES.get(file.rpartition(".")[2])
    return None if known is None else known[0]


def instant(value: datetime) -> str:
    """Return `2026-11-21T09:05:00.123Z`. Other servers order two edits within a second by the milliseconds."""
    return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03}Z"


def midnight(value: datetime) -> str:
    """Return the day of an instant, as an instant."""
    return f"{value.astimezone(UTC):%Y-%m-%d}T00:00:00Z"
