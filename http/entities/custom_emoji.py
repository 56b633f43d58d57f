"""CustomEmoji, and the emoji that texts of this server's accounts use."""

from __future__ import annotations

from collections.abc import Iterable

from ...actors.kept.custom_emojis import CustomEmojis
from ...actors.rules.emojis import shortcodes_in
from ...actors.rules.markup import plain
from ...storage.accounts import Account
from ...storage.custom_emojis import CustomEmoji, RemoteEmoji
from ...storage.edits import Edit
from ...storage.statuses import Status
from .media import remote_file_address


def emoji_fields(emoji: CustomEmoji, base_url: str) -> dict[str, object]:
    fields: dict[str, object] = {
        "shortcode": emoji.shortcode,
        "url": f"{base_url}/media/{emoji.file}",
        "static_url": f"{base_url}/media/{emoji.static_file}",
        "visible_in_picker": emoji.visible_in_picker,
    }
    return fields if emoji.category is None else fields | {"category": emoji.category}


def managed_emoji_fields(emoji: CustomEmoji, base_url: str) -> dict[str, object]:
    """Return an emoji as staff see it."""
    return emoji_fields(emoji, base_url) | {"id": str(emoji.id), "disabled": emoji.disabled}


def remote_emoji_fields(emoji: RemoteEmoji, base_url: str) -> dict[str, object]:
    """Return an emoji of another server. Its picture is fetched on the first request for it."""
    return {
        "shortcode": emoji.shortcode,
        "url": remote_file_address("emoji", emoji.id, emoji.url, base_url),
        "static_url": remote_file_address("emoji", emoji.id, emoji.url, base_url, small=True),
        "visible_in_picker": False,
    }


def emojis_of_account(account: Account, emojis: CustomEmojis, base_url: str) -> list[dict[str, object]]:
    """Return the emoji of a profile. A name in a profile of another server means an emoji of that server."""
    if account.suspended_at is not None:
        return []
    if not account.local:
        return [remote_emoji_fields(RemoteEmoji(*emoji), base_url) for emoji in account.emojis or ()]
    fields = (str(field[part]) for field in account.fields for part in ("name", "value"))
    return _used_in([account.display_name, account.note_source, *map(plain, fields)], emojis, base_url)


def emojis_of_status(status: Status, emojis: CustomEmojis, base_url: str) -> list[dict[str, object]]:
    """Return the emoji of a status and its poll."""
    if not status.local:
        return [remote_emoji_fields(emoji, base_url) for emoji in status.emojis]
    return _used_in([status.spoiler_text, status.text, *_options(status)], emojis, base_url)


def emojis_of_poll(status: Status, emojis: CustomEmojis, base_url: str) -> list[dict[str, object]]:
    """Return the emoji of the poll of a status."""
    if not status.local:
        return _remote_in(_options(status), status, base_url)
    return _used_in(_options(status), emojis, base_url)


def emojis_of_edit(status: Status, edit: Edit, emojis: CustomEmojis, base_url: str) -> list[dict[str, object]]:
    """Return the emoji of a version of a status."""
    texts = [edit.spoiler_text, plain(edit.content), *(edit.poll_options or ())]
    return _used_in(texts, emojis, base_url) if status.local else _remote_in(texts, status, base_url)


def _remote_in(texts: Iterable[str], status: Status, base_url: str) -> list[dict[str, object]]:
    """Return the emoji of another server's status that some of its texts use."""
    used = set(shortcodes_in(texts))
    return [remote_emoji_fields(emoji, base_url) for emoji in status.emojis if emoji.shortcode in used]


def _options(status: Status) -> list[str]:
    return [] if status.poll is None else [option.title for option in status.poll.options]


def _used_in(texts: Iterable[str], emojis: CustomEmojis, base_url: str) -> list[dict[str, object]]:
    return [emoji_fields(emoji, base_url) for emoji in emojis.used_in(texts)]
