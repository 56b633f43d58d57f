"""Admin::EmailDomainBlock."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from ...storage.blocked_email_domains import BlockedEmailDomain, History
from .times import instant

DAYS = 7  # of the history


def blocked_email_domain_fields(block: BlockedEmailDomain, history: History, today: date) -> dict[str, object]:
    """Return a block with the attempts of the last days, today first."""
    days = [today - timedelta(days=ago) for ago in range(DAYS)]
    return {
        "id": str(block.id),
        "domain": block.domain,
        "created_at": instant(block.created_at),
        "history": [_day(day, *history.get((block.id, day), (0, 0))) for day in days],
        "allow_with_approval": block.allow_with_approval,
    }


def _day(day: date, accounts: int, uses: int) -> dict[str, str]:
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return {"day": str(int(midnight.timestamp())), "accounts": str(accounts), "uses": str(uses)}
