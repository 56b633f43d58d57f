"""ScheduledStatus."""

from __future__ import annotations

from ...storage.scheduled_statuses import ScheduledStatus
from .media import media_fields
from .times import instant


def scheduled_status_fields(scheduled: ScheduledStatus, base_url: str) -> dict[str, object]:
    return {
        "id": str(scheduled.id),
        "scheduled_at": instant(scheduled.scheduled_at),
        "params": _params(scheduled),
        "media_attachments": [media_fields(medium, base_url) for medium in scheduled.media],
    }


def _params(scheduled: ScheduledStatus) -> dict[str, object]:
    """The parameters of the request, with the further members that the reference server has."""
    kept = scheduled.params
    poll = kept["poll"]
    return {
        "text": kept["text"],
        "poll": None if poll is None else _poll(poll),
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


def _poll(poll: dict[str, object]) -> dict[str, object]:
    return {
        "options": poll["options"],
        "expires_in": poll["seconds"],
        "multiple": poll["multiple"],
        "hide_totals": poll["hide_totals"],
    }


def _maybe_id(id: int | None) -> str | None:
    return None if id is None else str(id)
