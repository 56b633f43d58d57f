"""Poll. It is rendered for each request, because it ends at a time of its own."""

from __future__ import annotations

from datetime import datetime

import orjson

from ...storage.polls import Poll
from .times import maybe_instant


def poll_json(
    poll: Poll, now: datetime, viewer: int | None, votes: tuple[int, ...], emojis: list[dict[str, object]]
) -> bytes:
    """Return the poll as a member of a status."""
    return b',"poll":' + orjson.dumps(poll_fields(poll, now, viewer, votes, emojis))


def poll_fields(
    poll: Poll, now: datetime, viewer: int | None, votes: tuple[int, ...], emojis: list[dict[str, object]]
) -> dict[str, object]:
    """Return the poll, with a viewer's votes if there is a viewer. `emojis` are those of its options."""
    expired = poll.expired(now)
    fields: dict[str, object] = {
        "id": str(poll.id),
        "expires_at": maybe_instant(poll.expires_at),
        "expired": expired,
        "multiple": poll.multiple,
        "votes_count": sum(option.votes for option in poll.options),
        "voters_count": poll.voters_count,
        "options": [
            {"title": option.title.strip(), "votes_count": option.votes if expired or not poll.hide_totals else None}
            for option in poll.options
        ],
        "emojis": emojis,
    }
    if viewer is not None:
        # The author of a poll counts as having voted: clients then show the results in place of the form.
        fields |= {"voted": bool(votes) or viewer == poll.account_id, "own_votes": list(votes)}
    return fields
