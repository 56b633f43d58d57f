"""Polls: what a status asks, and what was answered."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

# One poll as JSON, for a query over statuses `s`. Times as seconds: JSON has none of its own.
OF_STATUS = """
    SELECT jsonb_build_object(
        'id', p.id, 'account_id', p.account_id, 'multiple', p.multiple, 'hide_totals', p.hide_totals,
        'voters_count', p.voters_count, 'expires_at', extract(epoch FROM p.expires_at),
        'options', (
            SELECT jsonb_agg(jsonb_build_array(o.title, o.votes) ORDER BY o.position)
            FROM poll_options o WHERE o.poll_id = p.id
        )
    ) FROM polls p WHERE p.id = s.poll_id
"""


@dataclass(frozen=True, slots=True)
class Option:
    """One thing to choose."""

    title: str
    votes: int


@dataclass(frozen=True, slots=True)
class Poll:
    """One poll with its counts, the same for everybody; who voted for what is asked for each viewer."""

    id: int
    account_id: int
    multiple: bool
    hide_totals: bool
    voters_count: int
    expires_at: datetime | None
    options: tuple[Option, ...]

    def expired(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now


def poll_of(value: dict[str, Any]) -> Poll:
    """A Poll of the JSON that OF_STATUS makes."""
    expires_at = value["expires_at"]
    return Poll(
        **value
        | {
            "expires_at": datetime.fromtimestamp(expires_at, UTC) if expires_at is not None else None,
            "options": tuple(Option(*option) for option in value["options"] or ()),
        }
    )
