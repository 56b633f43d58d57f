"""StatusEdit, StatusSource."""

from __future__ import annotations

import orjson

from ...actors.custom_emojis import CustomEmojis
from ...actors.statuses import ShownStatus
from ...storage.edits import Edit
from ...storage.statuses import Status
from .custom_emoji import emojis_of_edit
from .media import media_fields
from .times import instant


def edit_json(
    shown: ShownStatus, edit: Edit, author: bytes, quote: bytes, base_url: str, emojis: CustomEmojis
) -> bytes:
    """Return one state of a status. `author` is the account as JSON, and `quote` the quote, which no edit changes."""
    status, marked = shown.status, shown.author.sensitized_at is not None and bool(edit.media)
    fields: dict[str, object] = {
        "content": edit.content,
        "spoiler_text": edit.spoiler_text,
        "sensitive": edit.sensitive or marked,
        "created_at": instant(edit.created_at),
        "media_attachments": [media_fields(one, base_url) for one in edit.media],
        "emojis": emojis_of_edit(status, edit, emojis, base_url),
    }
    if edit.poll_options is not None:
        fields["poll"] = {"options": [{"title": title.strip()} for title in edit.poll_options]}
    quoted = b"" if status.quote_state is None else b',"quote":' + quote
    return b'%b,"account":%b%b}' % (orjson.dumps(fields)[:-1], author, quoted)


def only_edit(shown: ShownStatus) -> Edit:
    """Return the history of a status that was never edited."""
    status = shown.status
    options = None if status.poll is None else tuple(option.title for option in status.poll.options)
    return Edit(
        status.id, status.id, status.content, status.spoiler_text, status.sensitive, status.media, options,
        status.mentioned_ids, status.created_at,
    )  # fmt: skip


def source_fields(status: Status) -> dict[str, object]:
    """Return the text that the author typed."""
    return {
        "id": str(status.id),
        "text": status.text,
        "spoiler_text": status.spoiler_text,
        "content_type": status.content_type,
    }
