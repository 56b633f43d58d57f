"""Other versions of a status: StatusEdit, StatusSource, ScheduledStatus and Translation."""

from __future__ import annotations

import orjson

from ...actors.kept.custom_emojis import CustomEmojis
from ...actors.shown.statuses import ShownStatus
from ...actors.translation.translations import TranslatedStatus
from ...storage.edits import Edit
from ...storage.scheduled_statuses import ScheduledStatus
from ...storage.statuses import Status
from .custom_emoji import emojis_of_edit
from .media import media_fields
from .times import instant


def edit_json(
    shown: ShownStatus, edit: Edit, author: bytes, quote: bytes, base_url: str, emojis: CustomEmojis
) -> bytes:
    """Return a version of a status. `author` and `quote` are JSON; no edit changes the quote."""
    status, marked = shown.status, shown.author.sensitized_at is not None and bool(edit.media)
    fields: dict[str, object] = {
        "content": edit.content,
        "spoiler_text": edit.spoiler_text,
        "sensitive": edit.sensitive or marked,
        "created_at": instant(edit.created_at),
        "media_attachments": [media_fields(medium, base_url) for medium in edit.media],
        "emojis": emojis_of_edit(status, edit, emojis, base_url),
    }
    if edit.poll_options is not None:
        fields["poll"] = {"options": [{"title": title.strip()} for title in edit.poll_options]}
    fields["account"] = orjson.Fragment(author)
    if status.quote_state is not None:
        fields["quote"] = orjson.Fragment(quote)
    return orjson.dumps(fields)


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


def scheduled_status_fields(scheduled: ScheduledStatus, base_url: str) -> dict[str, object]:
    return {
        "id": str(scheduled.id),
        "scheduled_at": instant(scheduled.scheduled_at),
        "params": _params(scheduled),
        "media_attachments": [media_fields(medium, base_url) for medium in scheduled.media],
    }


def _params(scheduled: ScheduledStatus) -> dict[str, object]:
    """Return the parameters of the request, with the further members that the reference server has."""
    kept = scheduled.params
    poll = kept["poll"]
    return {
        "text": kept["text"],
        "poll": None if poll is None else _poll_params(poll),
        "media_ids": [str(id) for id in scheduled.media_ids] or None,
        "sensitive": kept["sensitive"],
        "spoiler_text": kept["spoiler_text"] or None,
        "visibility": kept["visibility"],
        "in_reply_to_id": _maybe_id(kept["in_reply_to_id"]),
        "quoted_status_id": _maybe_id(kept.get("quoted_status_id")),  # missing in rows of versions without quotes
        "quote_approval_policy": kept["quote_policy"],
        "language": kept["language"],
        "application_id": _maybe_id(scheduled.application_id),
        "scheduled_at": None,
        "idempotency": None,
        "with_rate_limit": False,
    }


def _poll_params(poll: dict[str, object]) -> dict[str, object]:
    return {
        "options": poll["options"],
        "expires_in": poll["seconds"],
        "multiple": poll["multiple"],
        "hide_totals": poll["hide_totals"],
    }


def _maybe_id(id: int | None) -> str | None:
    return None if id is None else str(id)


def translation_fields(status: Status, translated: TranslatedStatus) -> dict[str, object]:
    texts = translated.texts
    fields: dict[str, object] = {
        "content": texts.content,
        "spoiler_text": texts.spoiler,
        "language": translated.target,
        "media_attachments": [
            {"id": str(medium.id), "description": description}
            for medium, description in zip(status.media, texts.descriptions, strict=True)
            if description
        ],
        "detected_source_language": translated.source,
        "provider": translated.provider,
    }
    if status.poll is not None:
        fields["poll"] = {"id": str(status.poll.id), "options": [{"title": title} for title in texts.options]}
    return fields
